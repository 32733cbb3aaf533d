"""The record of what people matched and separated by hand; nothing is matched twice.

>>> log = MatchLog().matched("OR1", "p2-0701/7", by="operator 7")
>>> log.matched("OR1", "p2-0701/8", by="operator 7")
Traceback (most recent call last):
usance.service.errors.MatchRefused: OR1 with p2-0701/8: OR1 is matched with p2-0701/7. \
Separate them first.
>>> log = log.unmatched("OR1", "p2-0701/7", by="operator 8")
>>> log.rules(["OR1"], ["p2-0701/7"]).apart, len(log.steps)
([(0, 0)], 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from usance.service.errors import MatchRefused
from usance.service.reconciliation.matching import MatchRules


class MatchStep(NamedTuple):
    """One decision: two lines are the same movement, or are not."""

    ours: str
    theirs: str
    is_match: bool
    by: str


@dataclass(frozen=True, slots=True)
class MatchLog:
    """Decisions in the order they were taken; only ever appended to."""

    steps: tuple[MatchStep, ...] = ()

    @property
    def in_force(self) -> dict[tuple[str, str], bool]:
        """The last decision about each pair: True for matched, False for separated."""
        return {(step.ours, step.theirs): step.is_match for step in self.steps}

    def matched(self, ours: str, theirs: str, *, by: str) -> MatchLog:
        """The log after somebody matched two lines."""
        for (one, other), is_match in self.in_force.items():
            if is_match and (one == ours or other == theirs):
                what = f"{one if one == ours else other} is matched with "
                what += other if one == ours else one
                raise _refusal(ours, theirs, what, "Separate them first")
        return self._after(MatchStep(ours, theirs, True, by))

    def unmatched(self, ours: str, theirs: str, *, by: str) -> MatchLog:
        """The log after somebody separated two lines, matched by rule or by hand."""
        if self.in_force.get((ours, theirs)) is False:
            raise _refusal(ours, theirs, "they are separate", "Match them again if they belong")
        return self._after(MatchStep(ours, theirs, False, by))

    def rules(self, our_keys: Sequence[str], their_keys: Sequence[str]) -> MatchRules:
        """The decisions as places among the lines of a run; lines that are not there are left."""
        ours = {key: place for place, key in enumerate(our_keys)}
        theirs = {key: place for place, key in enumerate(their_keys)}
        places = [
            (is_match, (ours[one], theirs[other]))
            for (one, other), is_match in self.in_force.items()
            if one in ours and other in theirs
        ]
        return MatchRules(
            together=[pair for is_match, pair in places if is_match],
            apart=[pair for is_match, pair in places if not is_match],
        )

    def _after(self, step: MatchStep) -> MatchLog:
        if not step.by:
            raise _refusal(step.ours, step.theirs, "nobody decided", "Name who decides")
        return MatchLog((*self.steps, step))


def _refusal(ours: str, theirs: str, what: str, fix: str) -> MatchRefused:
    return MatchRefused(what, where=f"{ours} with {theirs}", fix=fix)
