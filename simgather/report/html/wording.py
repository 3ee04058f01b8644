"""The sentences of the text report, unwrapped: what is said in the terminal and on the page is written once."""

from __future__ import annotations

from simgather.report import text
from simgather.report.report import Report


def about(report: Report) -> list[str]:
    """What was simulated, a line each; without the scenario's name and the notes."""
    lines: list[str] = []
    for line in text._header(report):
        if line.startswith("#   ") and lines:
            lines[-1] += " " + line.removeprefix("#   ")
        else:
            lines.append(line.removeprefix("# "))
    return lines[1 : len(lines) - len(report.notes)]


def verdict_sentence(report: Report) -> str:
    """What the verdict means here, without the word itself."""
    line = _unwrapped(text._verdict(report))
    sentence = line.removeprefix(f"verdict: {report.verdict.upper()}, ")
    return sentence[:1].upper() + sentence[1:] + "."


def next_step(report: Report, alternative: Report | None) -> str:
    """The one next step worth taking; it compares with the alternative if there is one."""
    return _unwrapped(text._next_step(report, alternative)[1:])


def some(names: list[str], width: int = 160) -> str:
    """As many names as fit, then how many more."""
    return text._some(names, width)


def adding_up(total_ns: int | None, parts_ns: list[int | None]) -> list[str | None]:
    """Milliseconds of the parts, rounded such that they add up to the rounded total."""
    return text._adding_up(total_ns, parts_ns)


def ms(ns: int | None) -> str | None:
    """Milliseconds with three decimals."""
    return text._ms(ns)


def percent(share: float | None) -> str | None:
    """A share as a percentage with one decimal."""
    return text._percent(share)


def _unwrapped(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)
