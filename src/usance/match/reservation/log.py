r"""The log of reservations: one line of JSON for each event, from which everything is rebuilt.

>>> from datetime import UTC, datetime
>>> written = log_line(Answered(datetime(2024, 6, 3, 9, tzinfo=UTC), "a", 1, 7, approved=True))
>>> written
'{"event":"answered","at":"2024-06-03T09:00:00+00:00","key":"a","attempt":1,"source":7,"approved":true}'
>>> read_log([written])[0].source
7
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from usance.base.dates import parse_moment
from usance.base.documents import parse_json
from usance.base.errors import DocumentError, InputError, UsanceError, raise_all
from usance.match.reservation.events import (
    Answered,
    Candidate,
    Freed,
    LimitSet,
    Requested,
    ReservationEvent,
    Waited,
    Withdrawn,
)

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
    "freed_minor": _INTEGER,
    "loan_id": _INTEGER,
    "attempt": _INTEGER,
    "source": _INTEGER,
    "approved": _only(bool),
    "candidates": _candidates,
}
