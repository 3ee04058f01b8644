"""The report page without a browser: one file, the same bytes on every run, and names are never markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import simgather
from simgather.report.advice import alternative_policy
from simgather.report.html import html_page
from simgather.report.html.columns import base36, pack
from simgather.report.html.extent import choose_extent
from simgather.report.html.handles import handles
from simgather.report.html.places import Places
from simgather.report.html.scenario import scenario_yaml
from simgather.report.report import Report
from tests.scenario_files import FILES, FOLDER

HOSTILE = ("</script><img src=x onerror=alert(1)>", "\"'><svg onload=alert(2)>")

Scenario = dict[str, Any]


def two_modules(one: str = "A", other: str = "B", **keys: Any) -> Scenario:
    """Two modules in a bucket each, run the other way round: under 0.8 the second bucket is read stale."""
    scenario: Scenario = {
        "name": "two modules",
        "policy": "megatron-core-0.8",
        "iterations": 3,
        "cluster": {
            "gpus": 2,
            "gather": {"times": ["4 ms", "3 ms"]},
            "host": {"launch": "5 us", "wait": "2 us", "collective": "30 us"},
        },
        "model": {
            "modules": [
                {"name": one, "params": {"weight": "4M"}, "forward": "1 ms"},
                {"name": other, "params": {"weight": "2M"}, "forward": "1 ms"},
            ]
        },
        "buckets": {"groups": [[one], [other]]},
        "forward": [other, one],
    }
    return scenario | keys


def hang() -> Scenario:
    """Ranks that gather buckets of different sizes at the same time."""
    orders = {"per_rank": {0: [["A", "B"], ["B", "A"], ["B", "A"]], 1: ["A", "B"]}}
    return two_modules(policy="megatron-core-0.11", forward=orders)


def error() -> Scenario:
    """An order that 0.9 and 0.10 stop at: the chain dispatches a bucket that still has a handle."""
    return two_modules(policy="megatron-core-0.10")


def large(modules: int = 200, gpus: int = 8, iterations: int = 5) -> Scenario:
    """Modules of many sizes, pairs of them the wrong way round, on ranks of different speed."""
    kinds = ("self_attention.linear_qkv", "self_attention.linear_proj", "mlp.linear_fc1", "mlp.linear_fc2")
    names = [f"decoder.layers.{number // 4}.{kinds[number % 4]}" for number in range(modules)]
    forward = [names[number ^ 1] for number in range(modules)]
    return {
        "name": "large",
        "policy": "megatron-core-0.8",
        "iterations": iterations,
        "cluster": {
            "gpus": gpus,
            "gather": {"latency": "20 us", "bus_bandwidth": "340 GB/s"},
            "host": {"launch": "5 us", "wait": "2 us", "collective": "30 us"},
            "compute_skew": [1 + rank / 64 for rank in range(gpus)],
        },
        "model": {
            "modules": [
                {"name": name, "params": {"weight": f"{8 + number % 7}M"}, "forward": f"{150 + 37 * (number % 11)} us"}
                for number, name in enumerate(names)
            ]
        },
        "buckets": {"size": "8M"},
        "forward": forward,
    }


def simulated(scenario: Scenario | Path) -> Report:
    return simgather.simulate(simgather.load(scenario))


def page(scenario: Scenario) -> str:
    """As the command line writes it: with the policy advised beside it."""
    report = simulated(scenario)
    policy = alternative_policy(report)
    return html_page(report, None if policy is None else simulated(scenario | {"policy": policy}))


class Elements(HTMLParser):
    """What a browser would make of the page: start tags with their attributes, and the text in each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def timeline_data(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="timeline-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    assert "<" not in found[1]
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_verdict_comes_first_and_every_section_is_there(path: Path) -> None:
    report = simulated(path)
    text = html_page(report)
    sections = [attributes.get("id") for tag, attributes in Elements(text).found if tag == "section"]
    assert sections == ["verdict", "numbers", "timeline", "findings", "tables", "scenario"]
    assert text.index(f"<span>{report.verdict.upper()}</span>") < text.index('id="timeline"')


def test_nothing_is_requested_and_the_policy_forbids_it() -> None:
    text = page(two_modules())
    elements = Elements(text).found
    links = [attributes[key] for _, attributes in elements for key in ("src", "href") if key in attributes]
    assert links
    assert all(str(link).startswith(("#", "data:")) for link in links)
    assert not {"img", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in elements}
    assert not re.search(r"https?:|url\((?!#)|@import|fetch\(|XMLHttpRequest|innerHTML|insertAdjacent|\beval\b", text)
    (policy,) = (one["content"] for tag, one in elements if tag == "meta" and "http-equiv" in one)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not any(
        "style" in attributes or any(key.startswith("on") for key in attributes) for _, attributes in elements
    )


def test_the_page_is_the_same_bytes_on_every_run() -> None:
    assert page(two_modules()) == page(two_modules())


@pytest.mark.parametrize(("one", "other"), [HOSTILE, HOSTILE[::-1]])
def test_names_never_become_markup(one: str, other: str) -> None:
    scenario = two_modules(one, other, name=f"</title>{one}</pre>{other}<!--")
    hostile, plain = Elements(page(scenario)), Elements(page(two_modules()))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in plain.found]
    assert [sorted(attributes) for _, attributes in hostile.found] == [
        sorted(attributes) for _, attributes in plain.found
    ]
    assert f"{other} reads bucket 1" in hostile.text
    assert {names[0] for names in timeline_data(page(scenario))["uses"]} == {one, other}


@pytest.mark.parametrize("name", ["<!--<script>", "<!--<script /", "]]>", "&lt;b&gt;", "'\"`${x}", "\N{PILE OF POO}"])
def test_odd_names_are_shown_as_they_are(name: str) -> None:
    text = page(two_modules(name, "B"))
    assert name in Elements(text).text
    assert any(names[0] == name for names in timeline_data(text)["uses"])


def test_a_large_report_stays_under_two_megabytes_and_whole() -> None:
    report = simulated(large())
    extent = choose_extent(report)
    assert extent.left_out == ()
    assert len(html_page(report).encode()) < 2_000_000


def test_what_does_not_fit_is_left_out_and_said() -> None:
    report = simulated(large(modules=40, gpus=3, iterations=12))
    extent = choose_extent(report, most_rows=3 * 40 * 20)
    assert 0 < extent.last < 11
    assert extent.first == 0
    assert extent.left_out == (f"Iterations 0-{extent.last} of 12 are drawn, to keep this file small; --json has all.",)
    narrow = choose_extent(report, most_rows=100)
    assert len(narrow.bands) == 1
    assert all(part.stop - part.start <= 100 for part in narrow.slices)
    assert narrow.left_out[0] == "1 of 3 ranks are drawn: 0."
    assert narrow.left_out[-1] == "The iteration is cut off where the file would have become too large."


def test_ranks_beyond_sixteen_are_drawn_once_per_kind() -> None:
    cluster = two_modules()["cluster"] | {"gpus": 64}
    report = simulated(two_modules(cluster=cluster))
    (band,) = choose_extent(report).bands
    assert (band.rank, len(band.alike)) == (0, 63)


@pytest.mark.parametrize(
    "scenario", [two_modules(), hang(), error(), large(12, 3, 3)], ids=["stale", "hang", "error", "large"]
)
def test_every_finding_has_a_place_where_it_happens(scenario: Scenario) -> None:
    report = simulated(scenario)
    assert report.findings
    programs = report.timeline.program.ranks
    for finding, place in zip(report.findings, Places(report).of_findings(range(len(programs))), strict=True):
        assert place, finding
        for rank, index in place.items():
            operation = programs[rank].operations[index]
            assert operation.iteration == finding.iteration
            if finding.module is not None:
                assert operation.use.module_name == finding.module  # type: ignore[union-attr]


def test_a_finding_is_a_button_that_names_its_place() -> None:
    report = simulated(FOLDER / "issue-950.yaml")
    buttons = [one for tag, one in Elements(html_page(report)).found if one.get("class") == "finding"]
    assert len(buttons) == len({finding.message for finding in report.findings})
    program = report.timeline.program.ranks[0].operations
    kernel = program[int(buttons[0]["data-operation"] or -1)]
    assert kernel.use.name == "decoder.layers.0.self_attention.linear_qkv"  # type: ignore[union-attr]
    assert kernel.phase == "forward"  # type: ignore[union-attr]


def test_the_alternative_is_compared_in_the_words_of_the_terminal() -> None:
    text = Elements(page(two_modules())).text
    assert "megatron-core-0.11 instead is safe: forward" in text
    assert "Both policies in their steady iteration" in text


def test_a_framework_error_is_part_of_the_verdict() -> None:
    report = simulated(error())
    assert report.failure is not None
    text = Elements(html_page(report)).text
    assert f"The framework stops in iteration {report.failure.iteration}" in text
    assert report.failure.type_name in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_scenario_shown_gives_the_same_report(path: Path, tmp_path: Path) -> None:
    scenario = simgather.load(path)
    copy = tmp_path / "copy.yaml"
    copy.write_text(scenario_yaml(scenario))
    assert simgather.load(copy) == scenario


def test_what_the_hook_found_at_the_handle() -> None:
    report = simulated(two_modules(iterations=2))
    states = list(handles(report.timeline.program.ranks[0], report.workload))
    assert states == [
        *[("initial",)] * 4,  # before the first optimizer step
        ("none",),  # B reads bucket 1 before anything was dispatched for it
        ("waited",),  # A waits for bucket 0, dispatched at the start, and dispatches bucket 1
        ("done",),
        ("unused",),  # nothing waits for bucket 1
    ]


def test_a_hook_that_gathers_on_demand() -> None:
    report = simulated(two_modules(iterations=2, policy="megatron-core-0.11"))
    states = list(handles(report.timeline.program.ranks[0], report.workload))
    assert states[4:] == [("demanded",), ("demanded",), ("done",), ("done",)]


def test_columns_are_differences_in_base_36() -> None:
    assert [base36(number) for number in (0, 35, 36, -37)] == ["0", "z", "10", "-11"]
    assert pack([5, None, 5, 41, 0]) == "5 ~ 0 10 -15"
    assert pack([]) == ""
