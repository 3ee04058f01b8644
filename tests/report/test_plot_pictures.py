"""Every picture of every kind of report: made without error, the same bytes twice, and saying what it must."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgather.errors import InputError
from simgather.report.plot import FORMATS, PICTURES, Selection, draw, save_timeline, timeline_bytes
from tests.report.plot_scenarios import SCENARIOS, large, report
from tests.strategies import by_rank, run, scenarios

BEGINNINGS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-1."}


@cache
def picture(kind: str, name: str, format: str) -> bytes:
    """A picture of one of the reports; drawn once."""
    return draw(kind, [report(name)], format)


def svg(kind: str, name: str) -> str:
    return picture(kind, name, "svg").decode()


def words(text: str) -> str:
    """All text of an SVG, one label a line."""
    root = ElementTree.fromstring(text)
    return "\n".join("".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text"))


def ids(text: str) -> list[str]:
    return re.findall(r' id="([^"]*)"', text)


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("kind", PICTURES)
def test_every_picture_of_every_report_is_a_readable_svg(kind: str, name: str) -> None:
    text = svg(kind, name)
    assert report(name).scenario.name in words(text).splitlines()
    assert report(name).verdict.upper() in words(text)
    assert not [one for one, count in Counter(ids(text)).items() if count > 1]


@pytest.mark.parametrize("name", ["hang", "no time at all"])
@pytest.mark.parametrize("kind", PICTURES)
def test_every_format_begins_as_it_must(kind: str, name: str) -> None:
    for format in FORMATS:
        assert picture(kind, name, format).startswith(BEGINNINGS[format])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", PICTURES)
def test_the_same_report_gives_the_same_bytes(kind: str, format: str) -> None:
    assert draw(kind, [report("stale")], format) == picture(kind, "stale", format)


def test_another_process_gives_the_same_bytes_and_none_needs_pyplot(tmp_path: Path) -> None:
    code = (
        "import sys; from tests.report.plot_scenarios import report; from simgather.report.plot import save_timeline;"
        "save_timeline(report('stale'), sys.argv[1]); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.svg")], check=True)
    assert (tmp_path / "a.svg").read_bytes() == picture("timeline", "stale", "svg")


def test_the_users_matplotlib_settings_change_nothing() -> None:
    import matplotlib as mpl

    expected = picture("timeline", "safe", "svg")
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "text.parse_math": True, "lines.linewidth": 9}):
        assert timeline_bytes(report("safe"), "svg") == expected
        assert mpl.rcParams["font.size"] == 30


def test_importing_the_package_does_not_import_matplotlib() -> None:
    code = "import sys, simgather.report.plot; sys.exit('matplotlib' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_two_hundred_modules_stay_small_enough_for_a_page() -> None:
    for kind in ("timeline", "versions", "overlap"):
        assert len(draw(kind, [large()], "svg")) < 700_000


def test_saving_writes_the_whole_file_or_nothing(tmp_path: Path) -> None:
    save_timeline(report("safe"), tmp_path / "t.SVG")
    assert (tmp_path / "t.SVG").read_bytes() == picture("timeline", "safe", "svg")
    with pytest.raises(InputError):
        save_timeline(report("safe"), tmp_path / "u.gif")
    with pytest.raises(InputError):
        save_timeline(report("safe"), tmp_path / "v.svg", ranks=(7,))
    assert [path.name for path in tmp_path.iterdir()] == ["t.SVG"]


@pytest.mark.parametrize(
    ("kind", "count", "format", "selection", "message"),
    [
        ("pie", 1, "svg", {}, "no picture is named 'pie'; known: timeline"),
        ("timeline", 1, "gif", {}, "no pictures in format 'gif'; known: png, svg, pdf"),
        ("timeline", 3, "svg", {}, "the picture 'timeline' takes 1 to 2 reports, got 3"),
        ("forward", 2, "svg", {}, "the picture 'forward' takes 1 report, got 2"),
        ("policies", 0, "svg", {}, "the picture 'policies' takes 1 to 24 reports, got 0"),
        ("timeline", 1, "svg", {"iterations": (1, 0)}, "iterations 1:0: the first comes before the last"),
        ("timeline", 1, "svg", {"iterations": (0, 2)}, "iterations 0:2: there are iterations 0 to 1"),
        ("timeline", 1, "svg", {"ranks": (0, 4)}, "rank 4: there are ranks 0 to 3"),
        ("versions", 1, "svg", {"iterations": (0, 9)}, "there are iterations 0 to 1"),
        ("forward", 1, "svg", {"iterations": (-1, 0)}, "0 is the first of all"),
        ("overlap", 1, "svg", {"ranks": (-1,)}, "rank -1: there are ranks 0 to 3"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_that_says_why(
    kind: str, count: int, format: str, selection: dict[str, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        draw(kind, [report("stale")] * count, format, Selection(**selection))  # type: ignore[arg-type]


def test_iterations_after_the_job_stopped_are_an_error_that_says_so() -> None:
    assert report("hang").verdict == "hang"
    with pytest.raises(InputError, match="for the job stops there"):
        timeline_bytes(report("hang"), "svg", iterations=(0, 1))


@settings(max_examples=12)
@given(st.one_of(scenarios(), scenarios(forward=by_rank)), st.sampled_from(sorted(PICTURES)))
def test_whatever_the_scenario_a_picture_is_made(mapping: dict[str, object], kind: str) -> None:
    assert words(draw(kind, [run(mapping)], "svg").decode())
