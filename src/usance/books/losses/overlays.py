"""Management overlays on an estimate, each with a reason, an approver and an end date.

>>> extra = Overlay(
...     "contingent",
...     1,
...     "floods in the south",
...     "credit committee",
...     date(2024, 9, 30),
...     factor=Decimal("1.10"),
... )
>>> extra.applied(Fraction(200))
Fraction(220, 1)
>>> [str(problem) for problem in overlay_problems([extra], as_of=date(2024, 12, 31))]
['overlay 1: the overlay ended on 2024-09-30. Have it approved again, or leave it out.']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum, auto
from fractions import Fraction

from usance.base.errors import UsanceError, unknown
from usance.books.losses.errors import OverlayError


class Estimate(StrEnum):
    """Estimates that an overlay can adjust."""

    LOAN_ALLOWANCE = auto()
    CONTINGENT = auto()
    RECEIVABLE = auto()
    CONTRACT = auto()
    IFRS_LOAN_ALLOWANCE = auto()
    IFRS_CONTINGENT = auto()


_RATES = (Estimate.RECEIVABLE, Estimate.CONTRACT)
"""Fees have a loss rate and no target, so their overlays are factors."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A factor on a segment's estimate, or an amount (minor units) on top of it."""

    estimate: str
    segment: int
    reason: str
    approver: str
    ends_on: date | None
    factor: Decimal | None = None
    amount_minor: int | None = None
    where: str = ""
    begins_on: date | None = None
    """The first day it counts; without one it counts from ever."""

    def overlaps(self, other: Overlay) -> bool:
        """True if both count for the same estimate of a segment on some day."""
        same = (self.estimate, self.segment) == (other.estimate, other.segment)
        ends = [each.ends_on or date.max for each in (self, other)]
        begins = [each.begins_on or date.min for each in (self, other)]
        return same and max(begins) <= min(ends)

    def is_followed_by(self, other: Overlay) -> bool:
        """True if another takes its place after its end."""
        same = (self.estimate, self.segment) == (other.estimate, other.segment)
        end = self.ends_on or date.max
        return same and other.begins_on is not None and other.begins_on > end

    def applied(self, target: Fraction) -> Fraction:
        """The target with the overlay, never below zero."""
        moved = target * Fraction(1 if self.factor is None else self.factor)
        return max(Fraction(0), moved + (self.amount_minor or 0))


def overlay_problems(overlays: Sequence[Overlay], *, as_of: date) -> list[UsanceError]:
    """Everything that keeps an overlay out of a close."""
    problems: list[UsanceError] = []
    places = [each.where or f"overlay {number}" for number, each in enumerate(overlays, start=1)]
    for place, each in enumerate(overlays):
        where = places[place]
        if each.estimate not in set(Estimate):
            problems.append(unknown("estimate", each.estimate, list(Estimate), where=where))
        is_last = not any(each.is_followed_by(other) for other in overlays)
        faults = _faults(each, as_of if is_last else date.min)
        problems += [OverlayError(what, where=where, fix=fix) for what, fix in faults]
        for first, other in zip(places[:place], overlays, strict=False):
            if each.overlaps(other):
                what = f"{each.estimate} of segment {each.segment} has another overlay at {first}"
                problems.append(OverlayError(what, where=where, fix="Make the two into one"))
                break
    return problems


def in_force(overlays: Sequence[Overlay], as_of: date) -> list[Overlay]:
    """The overlays that count on a day: begun, and not ended."""
    return [
        each
        for each in overlays
        if (each.begins_on or date.min) <= as_of <= (each.ends_on or date.max)
    ]


def _faults(overlay: Overlay, as_of: date) -> list[tuple[str, str]]:
    faults = []
    if not overlay.reason.strip():
        faults.append(("the overlay has no reason", "Say what the curves cannot know"))
    if not overlay.approver.strip():
        faults.append(("the overlay has no approver", "Name who answers for it"))
    if overlay.ends_on is None:
        faults.append(("the overlay has no end", "Give the day it ends on"))
    elif overlay.ends_on < as_of:
        what = f"the overlay ended on {overlay.ends_on}"
        faults.append((what, "Have it approved again, or leave it out"))
    if overlay.begins_on and overlay.ends_on and overlay.ends_on < overlay.begins_on:
        faults.append(("the overlay ends before it begins", "Exchange from and ends_on"))
    if (overlay.factor is None) == (overlay.amount_minor is None):
        faults.append(("the overlay has not one of factor and amount", "Give exactly one of them"))
    if overlay.factor is not None and overlay.factor < 0:
        faults.append((f"a factor of {overlay.factor}", "Give a factor of 0 or more"))
    if overlay.amount_minor is not None and overlay.estimate in _RATES:
        faults.append(("an amount on a rate of fees", "Give a factor"))
    return faults
