"""Unallocated cash: money received that no loan could be found for, and what it may be for.

It has an owner and an age, and is allocated or returned by a person; suggestions only say where to
look first. What is allocated and returned never exceeds what was received.

>>> cash = UnallocatedCash("p2/T-9", date(2024, 7, 1), 1_500_00, "CNY", party_index="b1")
>>> known = [
...     Candidate(16385, date(2024, 7, 1), 1_500_00, party_index="b1"),
...     Candidate(32769, date(2024, 7, 1), 1_500_00, party_index="b2"),
...     Candidate(49153, date(2024, 6, 1), 9_00, party_index="b1"),
... ]
>>> [(each.loan_id, [why.value for why in each.reasons]) for each in suggestions(cash, known)]
[(16385, ['amount_and_day', 'party']), (32769, ['amount_and_day']), (49153, ['party'])]
>>> used = cash.after(Use(UseKind.ALLOCATED, 1_000_00, "operator 7", loan_id=16385))
>>> used.left_minor, used.age_days(date(2024, 7, 4))
(50000, 3)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from typing import NamedTuple

from usance.service.errors import AllocationRefused


class Reason(Enum):
    """Reason to look at a loan first, the strongest first."""

    REFERENCE = "reference"
    AMOUNT_AND_DAY = "amount_and_day"
    PARTY = "party"
    """The payer's name by its blind index."""
    RECENT_ORDER = "recent_order"


_WEIGHTS = {
    Reason.REFERENCE: 8, Reason.AMOUNT_AND_DAY: 4, Reason.PARTY: 2, Reason.RECENT_ORDER: 1,
}  # fmt: skip
"""Each reason outweighs all that come after it together."""


class UseKind(Enum):
    """A person's decision about unallocated cash."""

    ALLOCATED = "allocated"
    RETURNED = "returned"


class Use(NamedTuple):
    """A part of the money that was allocated to a loan or returned, and by whom."""

    kind: UseKind
    amount_minor: int
    actor: str
    loan_id: int = 0


@dataclass(frozen=True, slots=True)
class UnallocatedCash:
    """Money received, and what became of it."""

    key: str
    """Provider and reference: the same money is never entered twice."""
    received_on: date
    amount_minor: int
    currency: str
    party_index: str = ""
    reference: str = ""
    owner: str = "operations"
    account: str = ""
    """The virtual account it was sent to, if any."""
    uses: tuple[Use, ...] = ()

    @property
    def left_minor(self) -> int:
        """Money that still waits."""
        return self.amount_minor - sum(each.amount_minor for each in self.uses)

    def age_days(self, today: date) -> int:
        """Days it has waited."""
        return (today - self.received_on).days

    def after(self, use: Use) -> UnallocatedCash:
        """The money after a decision about it."""
        where = f"unallocated {self.key}"
        if not use.actor:
            raise AllocationRefused("nobody decided", where=where, fix="Name who decides")
        if use.kind is UseKind.ALLOCATED and use.loan_id <= 0:
            raise AllocationRefused("no loan is named", where=where, fix="Name the loan")
        if not 0 < use.amount_minor <= self.left_minor:
            what = f"{use.amount_minor} of the {self.left_minor} that are left"
            raise AllocationRefused(what, where=where, fix=f"Give 1 to {self.left_minor}")
        return replace(self, uses=(*self.uses, use))


class Candidate(NamedTuple):
    """An amount that a loan owes from a day on, as seen by who looks for a payment's loan."""

    loan_id: int
    due_on: date
    owed_minor: int
    party_index: str = ""
    reference: str = ""
    """The reference of a recent order of this loan."""
    ordered_on: date | None = None


class Suggestion(NamedTuple):
    """A loan the money may be for, and why."""

    loan_id: int
    reasons: tuple[Reason, ...]


def suggestions(
    cash: UnallocatedCash, candidates: Iterable[Candidate], *, recent_days: int = 7
) -> list[Suggestion]:
    """Loans the money may be for, the likeliest first; loans without any reason are left out."""
    found = [Suggestion(each.loan_id, _reasons(cash, each, recent_days)) for each in candidates]
    return sorted((each for each in found if each.reasons), key=_rank)


def _rank(found: Suggestion) -> tuple[int, int]:
    return -sum(_WEIGHTS[why] for why in found.reasons), found.loan_id


def _reasons(cash: UnallocatedCash, candidate: Candidate, recent_days: int) -> tuple[Reason, ...]:
    ordered = candidate.ordered_on
    holds = {
        Reason.REFERENCE: bool(cash.reference) and cash.reference == candidate.reference,
        Reason.AMOUNT_AND_DAY: candidate.owed_minor == cash.amount_minor
        and candidate.due_on == cash.received_on,
        Reason.PARTY: bool(cash.party_index) and cash.party_index == candidate.party_index,
        Reason.RECENT_ORDER: ordered is not None
        and 0 <= (cash.received_on - ordered).days <= recent_days
        and candidate.owed_minor == cash.amount_minor,
    }
    return tuple(why for why, is_so in holds.items() if is_so)
