"""Breaks: what two views do not agree on, with a class, an amount, an age, an owner and a command.

A break is cleared by a person; above a limit by a second one.

>>> found = Break(Leg.PROVIDER, BreakClass.DUPLICATE, "OR1", 900_00, 900_00, date(2024, 7, 1))
>>> found.age_days(date(2024, 7, 4)), found.owner, found.command
(3, 'operations', 'refund.propose')
>>> case = BreakCase(found).propose("operator 7", "the payer was debited twice")
>>> case.clear("operator 7", limit_minor=100_00)
Traceback (most recent call last):
usance.service.errors.BreakRefused: break of OR1: operator 7 proposed it, and 90000 is above \
10000. Let a second person clear it.
>>> case.clear("operator 8", limit_minor=100_00).cleared_by
'operator 8'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from typing import NamedTuple

from usance.base.parameters import Parameters
from usance.service.errors import BreakRefused


class BreakClass(Enum):
    """The kind of a difference between two views."""

    MISSING_WITH_US = "missing_with_us"
    MISSING_WITH_THEM = "missing_with_them"
    AMOUNT = "amount"
    DAY = "day"
    DUPLICATE = "duplicate"
    WRONG_LOAN = "wrong_loan"
    FEE = "fee"
    UNKNOWN = "unknown"
    """Nothing says whose it is."""


class Leg(Enum):
    """The two views that are compared."""

    PROVIDER = "provider"
    """Our facts and orders with the provider's file."""
    BANK = "bank"
    """The provider's batches with the bank's statement."""


_NEXT: dict[tuple[Leg, BreakClass], tuple[str, str]] = {
    (Leg.PROVIDER, BreakClass.MISSING_WITH_US): ("operations", "payment.book"),
    (Leg.PROVIDER, BreakClass.MISSING_WITH_THEM): ("operations", "order.ask"),
    (Leg.PROVIDER, BreakClass.AMOUNT): ("operations", "payment.correct"),
    (Leg.PROVIDER, BreakClass.DAY): ("operations", "payment.correct"),
    (Leg.PROVIDER, BreakClass.DUPLICATE): ("operations", "refund.propose"),
    (Leg.PROVIDER, BreakClass.WRONG_LOAN): ("operations", "payment.correct"),
    (Leg.PROVIDER, BreakClass.FEE): ("finance", "provider.claim"),
    (Leg.PROVIDER, BreakClass.UNKNOWN): ("operations", "unallocated.open"),
    (Leg.BANK, BreakClass.MISSING_WITH_US): ("treasury", "provider.request_file"),
    (Leg.BANK, BreakClass.MISSING_WITH_THEM): ("treasury", "provider.claim"),
    (Leg.BANK, BreakClass.AMOUNT): ("treasury", "provider.claim"),
    (Leg.BANK, BreakClass.DAY): ("treasury", "provider.claim"),
    (Leg.BANK, BreakClass.DUPLICATE): ("treasury", "provider.return"),
    (Leg.BANK, BreakClass.FEE): ("finance", "provider.claim"),
    (Leg.BANK, BreakClass.UNKNOWN): ("treasury", "unallocated.open"),
}
"""Owner and proposed command of every kind of break; a statement names no loan."""


class Break(NamedTuple):
    """One difference; `difference_minor` is theirs less ours, so that sums tie by breaks alone."""

    leg: Leg
    kind: BreakClass
    reference: str
    amount_minor: int
    difference_minor: int
    day: date
    our_place: int = -1
    their_place: int = -1

    @property
    def owner(self) -> str:
        """The desk that looks at it first."""
        return _NEXT[self.leg, self.kind][0]

    @property
    def command(self) -> str:
        """The command that would mend it, for a person to give."""
        return _NEXT[self.leg, self.kind][1]

    def age_days(self, today: date) -> int:
        """Days since it arose."""
        return (today - self.day).days


@dataclass(frozen=True, slots=True)
class BreakCase:
    """A break in people's hands."""

    found: Break
    proposed_by: str = ""
    reason: str = ""
    cleared_by: str = ""

    def propose(self, actor: str, reason: str) -> BreakCase:
        """The case with somebody's explanation."""
        if self.cleared_by or not actor or not reason:
            fix = "Name who explains an open break, and why it is as it is"
            raise self._refusal("cannot be explained so", fix)
        return replace(self, proposed_by=actor, reason=reason)

    def clear(self, actor: str, *, limit_minor: int) -> BreakCase:
        """The case closed: by its proposer up to the limit, by a second person above it."""
        if self.cleared_by or not self.proposed_by or not actor:
            raise self._refusal("is closed, or nobody has explained it", "Explain it first")
        amount = abs(self.found.amount_minor)
        if actor == self.proposed_by and amount > limit_minor:
            what = f"{actor} proposed it, and {amount} is above {limit_minor}"
            raise self._refusal(what, "Let a second person clear it")
        return replace(self, cleared_by=actor)

    def _refusal(self, what: str, fix: str) -> BreakRefused:
        return BreakRefused(what, where=f"break of {self.found.reference or 'no reference'}",
                            fix=fix)  # fmt: skip


def clearing_limit_minor(day: date, parameters: Parameters | None = None) -> int:
    """The amount above which a second person clears a break, in force on a day."""
    known = parameters or Parameters.load()
    return known.at("servicing.break_clearing_limit", day).integer
