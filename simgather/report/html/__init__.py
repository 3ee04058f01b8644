"""The report as one HTML file, opened offline: nothing is requested, and it is the same bytes on every run."""

from __future__ import annotations

from simgather.report.html.page import make_page
from simgather.report.report import Report

__all__ = ["html_page"]


def html_page(report: Report, alternative: Report | None = None) -> str:
    """The whole page; `alternative` is the same scenario under the policy to try instead, if there is one."""
    return make_page(report, alternative)
