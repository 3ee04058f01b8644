"""The text report on a terminal: the same sections with rules, colour and emphasis, in the same 80 columns.

Colour only repeats what words say; `NO_COLOR` turns it off.
"""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from simgather.report.report import Report, Verdict
from simgather.report.table import MISSING, Table
from simgather.report.text import WIDTH, heading, sections, verdict_lines

STYLES: dict[Verdict, str] = {
    "safe": "bold green",
    "race": "bold yellow",
    "stale": "bold red",
    "corrupt": "bold red",
    "hang": "bold red",
    "error": "bold red",
}


def print_report(report: Report, alternative: Report | None = None, console: Console | None = None) -> None:
    """Print the whole report; `alternative` is the same scenario under the policy to try instead, if any."""
    console = console or Console(highlight=False)
    console.width = min(console.width, WIDTH)
    name, *rest = heading(report)
    console.print(Text(name, "bold"))
    for line in rest:
        console.print(Text(line, "dim"))
    console.print()
    for number, line in enumerate(verdict_lines(report)):
        console.print(Text(line, STYLES[report.verdict] if number == 0 else ""))
    for section in sections(report, alternative):
        console.print()
        console.print(Text(section.title, "bold cyan"))
        if section.table:
            console.print(rich_table(section.table))
        for line in section.lines:
            console.print(Text(line, "dim" if line.startswith("#") else ""))


def rich_table(table: Table) -> RichTable:
    """The table with a rule under its head; names above units, as in plain text."""
    shown = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0), show_edge=False)
    for column in table.columns:
        title = f"{column.name}\n{column.unit}"
        shown.add_column(
            title, justify="left" if column.left else "right", width=column.width, no_wrap=True, overflow="crop"
        )
    for row in table.rows:
        shown.add_row(*(Text(MISSING if cell is None else cell) for cell in row))
    return shown
