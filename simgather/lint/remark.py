"""What a rule has to say about a job, beside the verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A combination known to break or to bring nothing: which `rule`, what it means here and why, and where to read.

    `see` names the public report or the line of the framework that the rule comes from.
    """

    rule: str
    text: str
    see: str
