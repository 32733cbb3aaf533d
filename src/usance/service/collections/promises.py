"""Promises to pay: kept, partly kept or broken by what was paid, each payment counted once.

>>> given = [
...     Promise(1, date(2024, 7, 1), date(2024, 7, 5), 500_00),
...     Promise(2, date(2024, 7, 1), date(2024, 7, 10), 200_00),
... ]
>>> paid = [Payment(date(2024, 7, 4), 450_00), Payment(date(2024, 7, 9), 150_00)]
>>> [(each.state.value, each.paid_minor) for each in settle(given, paid, date(2024, 7, 8))]
[('partly', 45000), ('open', 0)]
>>> [(each.state.value, each.paid_minor) for each in settle(given, paid, date(2024, 7, 20))]
[('partly', 45000), ('partly', 15000)]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from datetime import date, timedelta
from enum import Enum
from typing import NamedTuple, TypeVar

from usance.base.parameters import Parameters
from usance.service.errors import PromiseError

MAX_PROMISE_DAYS = 30
"""A later day is a change of terms, which has its own rules."""
K = TypeVar("K", bound=Hashable)


class PromiseState(Enum):
    """Outcome of a promise."""

    OPEN = "open"
    KEPT = "kept"
    PARTLY = "partly"
    BROKEN = "broken"


class Promise(NamedTuple):
    """An amount that a debtor promised to pay by a day."""

    promise_id: int
    made_on: date
    due_on: date
    amount_minor: int


class Payment(NamedTuple):
    """Money of the debtor that arrived, by the day of the payment."""

    paid_on: date
    amount_minor: int


class SettledPromise(NamedTuple):
    """A promise with what was paid towards it."""

    promise: Promise
    paid_minor: int
    state: PromiseState


def grace_days_at(day: date, parameters: Parameters | None = None) -> int:
    """Days after the promised one on which a payment still keeps a promise."""
    known = parameters or Parameters.load()
    return known.at("collections.promise_grace", day).integer


def check_promise(promise: Promise, past_due_minor: int) -> None:
    """Refuse a promise of nothing, of more than is past due, for the past or for too late a day."""
    where = "promise"
    if not 0 < promise.amount_minor <= past_due_minor:
        fix = f"Promise more than nothing and at most the {past_due_minor} that is past due"
        raise PromiseError(f"the amount is {promise.amount_minor}", where=where, fix=fix)
    last = promise.made_on + timedelta(days=MAX_PROMISE_DAYS)
    if not promise.made_on <= promise.due_on <= last:
        fix = f"Promise a day from {promise.made_on} to {last}, or offer a plan"
        raise PromiseError(f"the day is {promise.due_on}", where=where, fix=fix)


def settle(
    promises: Iterable[Promise], payments: Sequence[Payment], as_of: date, grace_days: int = 1
) -> list[SettledPromise]:
    """Every promise of one debtor as of a day; a payment counts for the promise that ends first."""
    ordered = sorted(promises, key=lambda each: (each.due_on, each.promise_id))
    arrived = [each for each in sorted(payments) if each.paid_on <= as_of]
    left = [each.amount_minor for each in arrived]
    settled = []
    for promise in ordered:
        last = promise.due_on + timedelta(days=grace_days)
        paid = 0
        for row, payment in enumerate(arrived):
            if promise.made_on <= payment.paid_on <= last:
                used = min(left[row], promise.amount_minor - paid)
                left[row] -= used
                paid += used
        settled.append(SettledPromise(promise, paid, _state(promise, paid, as_of > last)))
    return settled


def _state(promise: Promise, paid_minor: int, has_ended: bool) -> PromiseState:
    if paid_minor >= promise.amount_minor:
        return PromiseState.KEPT
    if not has_ended:
        return PromiseState.OPEN
    return PromiseState.PARTLY if paid_minor else PromiseState.BROKEN


def kept_rates(settled: Iterable[tuple[K, SettledPromise]]) -> dict[K, tuple[int, int]]:
    """Kept and decided promises by agent, segment or another key; open ones are not counted.

    >>> given = [Promise(1, date(2024, 7, 1), date(2024, 7, 5), 500_00)]
    >>> kept_rates(("anna", each) for each in settle(given, [], date(2024, 7, 9)))
    {'anna': (0, 1)}
    """
    kept: Counter[K] = Counter()
    decided: Counter[K] = Counter()
    for key, each in settled:
        if each.state is not PromiseState.OPEN:
            decided[key] += 1
            kept[key] += each.state is PromiseState.KEPT
    return {key: (kept[key], count) for key, count in decided.items()}
