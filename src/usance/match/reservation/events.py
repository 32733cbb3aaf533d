"""Events and outcomes of quota reservations: plain values that can be stored and compared.

A limit is a name with a ceiling: a budget of a day, a month or in total, a concentration limit or
a platform limit are all the same here. A candidate names the limits it uses, and how much of each.

>>> budget = LimitUse(ceiling_minor=1_000_00, held_minor=300_00, taken_minor=600_00)
>>> budget.headroom_minor
10000

Their log has one line of JSON for each event, from which everything is rebuilt.

>>> from datetime import UTC, datetime
>>> written = log_line(Answered(datetime(2024, 6, 3, 9, tzinfo=UTC), "a", 1, 7, approved=True))
>>> written
'{"event":"answered","at":"2024-06-03T09:00:00+00:00","key":"a","attempt":1,"source":7,"approved":true}'
>>> read_log([written])[0].source
7
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from usance.base.codes import Code
from usance.base.dates import parse_moment
from usance.base.documents import parse_json
from usance.base.errors import DocumentError, InputError, UsanceError, raise_all


class Result(Code):
    """Result of one step; the first six are the outcomes of the table `routing`."""

    RESERVED = 0
    APPROVED = 1
    DECLINED = 2
    TIMED_OUT = 3
    RELEASED = 4
    NO_SOURCE = 5
    NO_HEADROOM = 6
    PART_APPROVED = 7
    REPEATED = 8
    LATE = 9
    CONTRADICTED = 10
    REFUSED = 11


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A ceiling and what is used of it: held for answers, taken by loans, freed by repayment.

    A share or average names its `whole`; its ceiling is parts per million of that, and it is not
    judged before the whole is beyond the ramp (`limit_names`).
    """

    ceiling_minor: int
    held_minor: int = 0
    taken_minor: int = 0
    freed_minor: int = 0
    whole: str = ""
    ramp_minor: int = 0

    @property
    def used_minor(self) -> int:
        """Amount that counts against the ceiling."""
        return self.held_minor + self.taken_minor - self.freed_minor

    @property
    def headroom_minor(self) -> int:
        """Amount that may still be reserved; below zero, nothing is until enough comes back."""
        return self.ceiling_minor - self.used_minor


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to fund a loan: sources to approve it (the lead first), limits used, time to wait."""

    sources: tuple[int, ...]
    uses: tuple[tuple[str, int], ...]
    wait: timedelta


@dataclass(frozen=True, slots=True)
class LimitSet:
    """A limit begins, or its ceiling changes; its use stays."""

    at: datetime
    limit: str
    ceiling_minor: int
    whole: str = ""
    ramp_minor: int = 0


@dataclass(frozen=True, slots=True)
class Freed:
    """Loans under a limit that revolves were repaid by a difference; below zero by a reversal.

    Money that moved is never refused: headroom below zero only keeps new loans out.
    """

    at: datetime
    limit: str
    difference_minor: int


@dataclass(frozen=True, slots=True)
class Requested:
    """A drawdown asks for funding by its candidates, the best first; `key` is the caller's."""

    at: datetime
    key: str
    loan_id: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A source approved or declined an attempt (1, 2, 3 …) at a request."""

    at: datetime
    key: str
    attempt: int
    source: int
    approved: bool


@dataclass(frozen=True, slots=True)
class Waited:
    """Time has passed for a request; an attempt past its deadline ends."""

    at: datetime
    key: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The borrower gave up, or the drawdown failed after its approval."""

    at: datetime
    key: str


ReservationEvent = LimitSet | Freed | Requested | Answered | Waited | Withdrawn
"""Any event; a log of them is all that needs to be stored."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One result of a step, for the caller to act on and for the record."""

    result: Result
    key: str = ""
    loan_id: int = 0
    attempt: int = 0
    sources: tuple[int, ...] = ()
    limit: str = ""
    until: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """Status of one request: candidates asked so far, deadline of the latest, answers received."""

    request: Requested
    status: Result = Result.NO_SOURCE
    asked: tuple[int, ...] = ()
    until: datetime | None = None
    approved_by: frozenset[int] = frozenset()
    answers: Mapping[tuple[int, int], tuple[bool, tuple[Outcome, ...]]] = field(
        default_factory=dict
    )
    first_outcomes: tuple[Outcome, ...] = ()

    @property
    def attempt(self) -> int:
        """The number of the latest attempt, 0 before the first."""
        return len(self.asked)

    def candidate(self, attempt: int) -> Candidate:
        """Candidate that an attempt asked."""
        return self.request.candidates[self.asked[attempt - 1]]


@dataclass(frozen=True, slots=True)
class State:
    """Limits by name and placements by key: all of them, or those that one event concerns."""

    limits: Mapping[str, LimitUse] = field(default_factory=dict)
    placements: Mapping[str, Placement] = field(default_factory=dict)


_NAMES: dict[str, type[ReservationEvent]] = {
    "limit_set": LimitSet,
    "freed": Freed,
    "requested": Requested,
    "answered": Answered,
    "waited": Waited,
    "withdrawn": Withdrawn,
}
_LABELS = {kind: name for name, kind in _NAMES.items()}
_RESTORE = "Restore the log from a copy; a line is never edited"
_MICROSECOND = timedelta(microseconds=1)


def log_line(event: ReservationEvent) -> str:
    """One event as a line of JSON, without its line break."""
    parts = {"event": _LABELS[type(event)], **asdict(event)}
    return json.dumps(parts, default=_plain, separators=(",", ":"), ensure_ascii=False)


def read_log(lines: Iterable[str], *, where: str = "log") -> list[ReservationEvent]:
    """The events of a log, or every line that is none."""
    events: list[ReservationEvent] = []
    problems: list[UsanceError] = []
    for number, text in enumerate(lines, 1):
        try:
            events.append(_event(parse_json(text)))
        except InputError as error:
            place = f"{where} line {number}"
            problems.append(DocumentError(error.what, where=place, fix=_RESTORE))
    raise_all(problems, where=where)
    return events


def _event(parts: Any) -> ReservationEvent:
    try:
        kind = _NAMES[parts.pop("event")]
        return kind(**{name: _READERS[name](value) for name, value in parts.items()})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"is no event ({error!r})", fix=_RESTORE) from None


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    raise TypeError(f"{type(value).__name__} has no form in a log")


def _only(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return value

    return check


def _candidates(values: Any) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            tuple(_INTEGER(source) for source in value["sources"]),
            tuple((_TEXT(name), _INTEGER(used)) for name, used in value["uses"]),
            _INTEGER(value["wait"]) * _MICROSECOND,
        )
        for value in values
    )


_TEXT, _INTEGER = _only(str), _only(int)
_READERS: dict[str, Callable[[Any], Any]] = {
    "at": parse_moment,
    "key": _TEXT,
    "limit": _TEXT,
    "ceiling_minor": _INTEGER,
    "difference_minor": _INTEGER,
    "whole": _TEXT,
    "ramp_minor": _INTEGER,
    "loan_id": _INTEGER,
    "attempt": _INTEGER,
    "source": _INTEGER,
    "approved": _only(bool),
    "candidates": _candidates,
}
