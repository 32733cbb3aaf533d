"""Rows to train C-scores on: case days with what was known that evening, and what came of them.

Three outcomes: `unpaid` (no payment within 10 days), `rolled` (past due into the next bucket), and
`missed` (an attempt by a channel that did not reach the debtor). In each, 1 is the bad one, as
`usance assess train` reads it; the model it writes is calibrated and monitored like any other.

>>> days = CaseDays.of(
...     user_id=[1, 1],
...     day=[100, 120],
...     days_past_due=[2, 22],
...     past_due_minor=[500, 500],
...     principal_minor=[4000, 4000],
...     loans=[1, 1],
... )
>>> events = Events.of(user_id=[1, 1], day=[95, 125], amount=[300, 500])
>>> rows = training_rows(
...     days, payments=events, attempts=Attempts.none(), target="unpaid", known_until=140
... )
>>> rows["unpaid"].tolist(), rows["days_since_payment"].tolist()
([1, 0], [5, 25])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from usance.base.ageing import ageing_buckets
from usance.base.arrays import I64
from usance.base.errors import unknown
from usance.service.errors import CaseError

PAYMENT_DAYS, ROLL_DAYS = 10, 30
TARGETS = ("unpaid", "rolled", "missed")
NEVER = 999
"""Days since something that never happened."""


class CaseDays(NamedTuple):
    """Cases as they were on evenings of the past, by borrower and day."""

    user_id: I64
    day: I64
    days_past_due: I64
    past_due_minor: I64
    principal_minor: I64
    loans: I64

    @classmethod
    def of(cls, **columns: Sequence[int] | I64) -> CaseDays:
        """From columns, put in order."""
        return cls(**_ordered(columns))


class Events(NamedTuple):
    """Payments of borrowers, by borrower and day."""

    user_id: I64
    day: I64
    amount: I64

    @classmethod
    def of(cls, **columns: Sequence[int] | I64) -> Events:
        """From columns, put in order."""
        return cls(**_ordered(columns))


class Attempts(NamedTuple):
    """Contacts that were tried, by borrower and day; `channel` is the place in `Channel`."""

    user_id: I64
    day: I64
    channel: I64
    connected: I64

    @classmethod
    def of(cls, **columns: Sequence[int] | I64) -> Attempts:
        """From columns, put in order."""
        return cls(**_ordered(columns))

    @classmethod
    def none(cls) -> Attempts:
        """No attempts."""
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))


def training_rows(
    days: CaseDays, payments: Events, attempts: Attempts, target: str, known_until: int,
    channel: int = -1,
) -> dict[str, I64]:  # fmt: skip
    """Inputs and outcome of every case day whose outcome is known; for `missed`, every attempt."""
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    if target == "missed":
        tried = np.flatnonzero((attempts.channel == channel) & (attempts.day <= known_until))
        place = _before(days.user_id, days.day, attempts.user_id[tried], attempts.day[tried] + 1)
        found = place >= 0
        bad = 1 - attempts.connected[tried][found]
        seen = CaseDays(*(column[place[found]] for column in days))
        # An attempt of a day is judged by what was known the evening before.
        seen = seen._replace(day=attempts.day[tried][found] - 1)
        return {**features(seen, payments, attempts), target: bad}
    ahead = PAYMENT_DAYS if target == "unpaid" else ROLL_DAYS
    days = CaseDays(*(column[days.day + ahead <= known_until] for column in days))
    if target == "unpaid":
        bad = 1 - (_count(payments, days.user_id, days.day, days.day + ahead) > 0)
    else:
        bad = _rolled(days, payments)
    return {**features(days, payments, attempts), target: bad.astype(np.int64)}


def features(days: CaseDays, payments: Events, attempts: Attempts) -> dict[str, I64]:
    """Inputs of every case day, from what was known at its end."""
    user, day = days.user_id, days.day
    reached = Attempts(*(column[attempts.connected == 1] for column in attempts))
    return {
        "user_id": user, "day": day, "days_past_due": days.days_past_due,
        "past_due_minor": days.past_due_minor, "principal_minor": days.principal_minor,
        "loans": days.loans,
        "days_since_payment": _days_since(payments, user, day),
        "payments_90_days": _count(payments, user, day - 90, day),
        "attempts_7_days": _count(attempts, user, day - 7, day),
        "attempts_30_days": _count(attempts, user, day - 30, day),
        "connected_30_days": _count(reached, user, day - 30, day),
        "days_since_connected": _days_since(reached, user, day),
    }  # fmt: skip


def features_known() -> list[str]:
    """Names of the inputs of a C-score."""
    none = np.zeros(0, np.int64)
    return list(features(CaseDays(*[none] * 6), Events(*[none] * 3), Attempts.none()))


def _rolled(days: CaseDays, payments: Events) -> I64:
    """1 where nothing was paid before the case passed into the next bucket."""
    bucket = ageing_buckets(days.days_past_due)
    next_first = bucket.astype(np.int64) * ROLL_DAYS + 1
    left = np.maximum(next_first - days.days_past_due, 1)
    paid = _count(payments, days.user_id, days.day, days.day + left)
    return np.where(paid == 0, 1, 0)


def _count(events: Any, user: I64, after: I64, until: I64) -> I64:
    """Events of each borrower after a day and up to another."""
    first = _before(events.user_id, events.day, user, after + 1, inside=False)
    last = _before(events.user_id, events.day, user, until + 1, inside=False)
    count: I64 = last - first
    return count


def _days_since(events: Any, user: I64, day: I64) -> I64:
    place = _before(events.user_id, events.day, user, day + 1)
    if not len(events.day):
        return np.full(len(user), NEVER, np.int64)
    since = np.where(place >= 0, day - events.day[np.maximum(place, 0)], NEVER)
    return np.minimum(since, NEVER).astype(np.int64)


def _before(users: I64, days: I64, user: I64, day: I64, *, inside: bool = True) -> I64:
    """Row of the last event of each borrower before a day, −1 if none; or the rows before it."""
    shift = 1 << 20
    place = np.searchsorted(users * shift + days, user * shift + day) - 1
    if not inside:
        return place
    if not len(users):
        return np.full(len(user), -1, np.int64)
    return np.where((place >= 0) & (users[np.maximum(place, 0)] == user), place, -1)


def _ordered(columns: dict[str, Any]) -> dict[str, I64]:
    arrays = {name: np.asarray(column, np.int64) for name, column in columns.items()}
    if len({len(column) for column in arrays.values()}) > 1:
        fix = "Give every column a value for each row"
        raise CaseError("columns differ in length", where="history", fix=fix)
    order = np.lexsort((arrays["day"], arrays["user_id"]))
    return {name: column[order] for name, column in arrays.items()}
