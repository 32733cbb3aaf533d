"""The states of a loan of a tape at a month end, from codes or from days past due.

A status is written as its meaning: `current`, a range of days past due (`30-59`, `150+`),
`closed`, `charged_off`, or `absent` for a row that says there is no loan.

>>> late = State.parse("Late (31-120 days)", "31-120")
>>> late.first_day, late.last_day, late.kind.label
(31, 120, 'past_due')
>>> [state.label for state in BY_DAYS][:3]
['current', '1-30', '31-60']
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from usance.base.codes import Code
from usance.base.errors import DocumentError

MAX_DAYS = 32_767
"""The last day of an open range, and of a charge-off: more than any days past due."""

_RANGE = re.compile(r"(?P<first>[0-9]{1,4})(?:-(?P<last>[0-9]{1,4})|(?P<open>\+))")


class StateKind(Code):
    """The kinds of states."""

    CURRENT = 0
    PAST_DUE = 1
    CLOSED = 2
    CHARGED_OFF = 3
    ABSENT = 4


@dataclass(frozen=True, slots=True)
class State:
    """One state: its name in the tape, its kind, and its range of days past due."""

    label: str
    kind: StateKind
    first_day: int = 0
    last_day: int = 0

    @property
    def is_open(self) -> bool:
        """True of a bucket without a last day, in which loans stay."""
        return self.kind is StateKind.PAST_DUE and self.last_day == MAX_DAYS

    @classmethod
    def parse(cls, label: str, meaning: str, *, where: str = "") -> State:
        """A state from its meaning in a mapping."""
        found = _RANGE.fullmatch(meaning)
        if found:
            first = int(found["first"])
            last = MAX_DAYS if found["open"] else int(found["last"])
            if first <= last and last > 0:
                return cls(label, StateKind.PAST_DUE, first, last)
        for kind in StateKind:
            if meaning == kind.label and kind is not StateKind.PAST_DUE:
                last = MAX_DAYS if kind is StateKind.CHARGED_OFF else 0
                return cls(label, kind, last, last)
        raise DocumentError(
            f"{meaning!r} is no state",
            where=where,
            fix="Write current, closed, charged_off, absent, or days such as 31-60 or 181+",
        )


_RANGES = ("1-30", "31-60", "61-90", "91-120", "121-150", "151-180", "181+")
BY_DAYS: tuple[State, ...] = (
    State("current", StateKind.CURRENT),
    *(State.parse(each, each) for each in _RANGES),
    State("closed", StateKind.CLOSED),
    State.parse("charged_off", "charged_off"),
)
"""The buckets of the platform itself: 0 current, 1-7 by days; then closed and charged off."""


def buckets_of(states: Sequence[State]) -> list[int]:
    """For each state the first one of the same kind and days: several codes may name one bucket.

    >>> buckets_of([State("ok", StateKind.CURRENT), BY_DAYS[1], State("new", StateKind.CURRENT)])
    [0, 1, 0]
    """
    first: dict[tuple[StateKind, int, int], int] = {}
    return [
        first.setdefault((state.kind, state.first_day, state.last_day), place)
        for place, state in enumerate(states)
    ]


def roll_steps(states: Sequence[State]) -> list[tuple[int, int]]:
    """The successive buckets that roll rates are taken between, as positions in `states`.

    >>> roll_steps(BY_DAYS)[:2]
    [(0, 1), (1, 2)]
    """
    buckets = {
        (states[place].first_day, place)
        for place in buckets_of(states)
        if states[place].kind in (StateKind.CURRENT, StateKind.PAST_DUE)
    }
    ordered = [place for _, place in sorted(buckets)]
    return list(pairwise(ordered))
