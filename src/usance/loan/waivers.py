"""Waivers by instalment: the part of what is covered that nobody has paid.

A schedule as it stands tells what is covered of each instalment, by cash or by waiver. A waiver
covers the oldest instalments that are open when it comes, so its part is what it adds there. New
terms keep what was covered before them as instalments of their own, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from itertools import zip_longest

from usance.base.codes import FactKind
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.loan import replay
from usance.loan.terms import Terms
from usance.loan.views import ComponentAmounts, InstalmentState

_NOTHING = (0, 0, 0, 0, 0)


def waived_by_instalment(
    terms: Sequence[Terms], facts: Iterable[Fact], as_of: date, known_at: datetime = END_OF_TIME
) -> list[ComponentAmounts]:
    """The waived part of every instalment of a loan as it stands."""
    seen = visible(facts, as_of=as_of, known_at=known_at)
    waived: list[Sequence[int]] = []
    for number, fact in enumerate(seen):
        if fact.kind is FactKind.WAIVED:
            before = replay(terms, seen[:number], fact.effective_on).rows()
            after = replay(terms, seen[: number + 1], fact.effective_on).rows()
            added = [_less(has.paid, had.paid) for has, had in zip(after, before, strict=True)]
            waived = [_sum(a, b) for a, b in zip_longest(waived, added, fillvalue=_NOTHING)]
    return _within_covered(waived, replay(terms, seen, as_of).rows())


def _within_covered(
    waived: Sequence[Sequence[int]], rows: Sequence[InstalmentState]
) -> list[ComponentAmounts]:
    """Waivers where they still cover something: a charge-back takes cash, so they move back."""
    kept = [[0] * len(_NOTHING) for _ in rows]
    for component in range(len(_NOTHING)):
        left = sum(each[component] for each in waived)
        for own, row, given in zip(kept, rows, waived, strict=False):
            own[component] = min(given[component], row.paid[component])
            left -= own[component]
        for own, row in zip(kept, rows, strict=True):
            moved = min(left, row.paid[component] - own[component])
            own[component] += moved
            left -= moved
    return [ComponentAmounts(*each) for each in kept]


def _less(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [a - b for a, b in zip(one, other, strict=True)]


def _sum(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(one, other, strict=True)]
