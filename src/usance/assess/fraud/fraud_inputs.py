"""Fraud findings of applications, as a flow reads them: lists, velocity and links.

Applications are a CSV with `user_id`, `at` and `device`; links one with `user_id`, `attribute`,
`value` and `booked_at`; users who turned out bad one with `user_id` and `booked_at`. Each
application sees what was booked by its moment, and nothing later; its own device is a link of its
user from that moment on.

Velocity is the number of events of the same key within a window before a moment.

>>> log = VelocityLog()
>>> for hour in (1, 2, 30):
...     log.add("device 77", hour * HOUR_US)
>>> log.count("device 77", 30 * HOUR_US, 24), log.count("device 77", 24 * HOUR_US, 24)
(1, 2)

Lists of people and things not to lend to are dated entries with a source, read from YAML.

>>> text = '''
... - {attribute: device, value: 77, list: block, from: 2024-01-01, booked_at: 2024-01-02T00:00:00Z,
...    source: police notice}
... '''
>>> from datetime import UTC
>>> lists = parse_lists(text)
>>> on, at = date(2024, 6, 30), datetime(2024, 6, 30, tzinfo=UTC)
>>> strongest(lists, {(Attribute.DEVICE, 77)}, on, at).list.label
'block'
>>> strongest(lists, {(Attribute.DEVICE, 77)}, on, datetime(2024, 1, 1, tzinfo=UTC)) is None
True
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import WrongInput
from usance.assess.fraud.links import Attribute, link_columns, longs
from usance.base.arrays import I64
from usance.base.codes import Code
from usance.base.dates import microseconds
from usance.base.document_places import Places, document_places
from usance.base.documents import parse_yaml, read_csv, read_document, read_text
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import Fields, day, moment, one_of, text, whole, whole_of
from usance.base.ids import LIMIT, PER_USER


class ListKind(Code):
    """The action a list asks for; the number is the flow's name of the same place."""

    WATCH = 1
    BLOCK = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: for whom or what, on which list, from when to when, and who says so."""

    attribute: Attribute
    value: int
    list: ListKind
    valid_from: date
    booked_at: datetime
    source: str
    valid_to: date | None = None


def read_lists(path: Path | str) -> tuple[Entry, ...]:
    """The entries of a file, or everything that is wrong with them."""
    places = document_places(str(path), partial(read_text, path))
    return _entries(read_document(path), places, str(path))


def parse_lists(content: str, *, where: str = "lists") -> tuple[Entry, ...]:
    """The entries of a YAML text."""
    places = document_places(where, lambda: content)
    return _entries(parse_yaml(content, where=where), places, where)


def strongest(
    lists: Sequence[Entry], attributes: Collection[tuple[Attribute, int]], on: date, at: datetime
) -> Entry | None:
    """The strongest entry in force on a day for any of someone's attributes, as booked by then."""
    hits = [
        entry
        for entry in lists
        if (entry.attribute, entry.value) in attributes
        and entry.booked_at <= at
        and entry.valid_from <= on
        and (entry.valid_to is None or on <= entry.valid_to)
    ]
    return max(hits, key=lambda entry: entry.list, default=None)


def _entries(content: object, places: Places, where: str) -> tuple[Entry, ...]:
    problems: list[UsanceError] = []
    rows = content if isinstance(content, list) else [content]
    found = [
        _entry(Fields(row, places, problems, (number,))) for number, row in enumerate(rows, start=1)
    ]
    raise_all(problems, where=where)
    return tuple(entry for entry in found if entry is not None)


def _entry(given: Fields) -> Entry | None:
    attribute, value = given.need("attribute", one_of(Attribute)), given.need("value", whole)
    kind, first = given.need("list", one_of(ListKind)), given.need("from", day)
    booked, source = given.need("booked_at", moment), given.need("source", text)
    last = given.take("to", day)
    given.close()
    if not given.has_needed:
        return None
    if last is not None and last < first:
        given.wrong(f"ends on {last}, before it begins", "Give a later day", "to")
        return None
    return Entry(attribute, value, kind, first, booked, source, last)


HOUR_US = 3_600_000_000


class VelocityLog:
    """Events by key, each with the moment it was booked."""

    def __init__(self) -> None:
        self._events: dict[Hashable, list[int]] = {}

    def add(self, key: Hashable, booked_at: int) -> None:
        """Book an event."""
        insort(self._events.setdefault(key, []), booked_at)

    def count(self, key: Hashable, known_at: int, hours: int) -> int:
        """Events of a key in the hours up to a moment, that moment included."""
        events = self._events.get(key, [])
        first = bisect_right(events, known_at - hours * HOUR_US)
        return bisect_right(events, known_at) - first


def velocity_columns(
    keys: Any, booked_at: Any, asked: Any, known_at: Any, hours: int
) -> NDArray[np.int64]:
    """The same for columns of events and of questions."""
    events = longs("events", {"key": keys, "booked_at": booked_at}, "key", "booked_at")
    asked, known_at = longs("asked", {"key": asked, "known_at": known_at}, "key", "known_at")
    order = np.lexsort((events[1], events[0]))
    names, number = np.unique(events[0][order], return_inverse=True)
    # Rank keys and moments together, so one sorted search answers for all keys at once.
    moments = events[1][order]
    starts = np.searchsorted(number, np.arange(len(names) + 1))
    place = np.searchsorted(names, asked)
    found = np.zeros(len(asked), np.int64)
    inside = place < len(names)
    inside[inside] = names[place[inside]] == asked[inside]
    for key in np.unique(place[inside]):
        rows = np.flatnonzero(inside & (place == key))
        own = moments[starts[key] : starts[key + 1]]
        until = known_at[rows]
        last = np.searchsorted(own, until, side="right")
        found[rows] = last - np.searchsorted(own, until - hours * HOUR_US, side="right")
    return found


DAY_HOURS, MONTH_HOURS = 24, 30 * 24
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Columns = dict[str, I64]
Reader = Callable[[str, str], int]


def _user(given: str, where: str) -> int:
    return whole_of(1, LIMIT // PER_USER - 1)(given, where)


def _value(given: str, where: str) -> int:
    return whole_of(0, 2**63 - 2)(given, where)


def _moment(given: str, where: str) -> int:
    return microseconds(moment(given, where))


def _attribute(given: str, where: str) -> int:
    return int(one_of(Attribute)(given, where))


APPLICATIONS: Mapping[str, Reader] = {"user_id": _user, "at": _moment, "device": _value}
LINKS: Mapping[str, Reader] = {
    "user_id": _user, "attribute": _attribute, "value": _value, "booked_at": _moment,
}  # fmt: skip
BADS: Mapping[str, Reader] = {"user_id": _user, "booked_at": _moment}


def read_columns(path: Path | str, readers: Mapping[str, Reader]) -> Columns:
    """Columns of a CSV file, or everything that is wrong with its cells by line."""
    problems: list[UsanceError] = []
    found: dict[str, list[int]] = {name: [] for name in readers}
    for line, row in read_csv(path):
        for name, read in readers.items():
            if name not in row:
                fix = f"Give the columns {', '.join(readers)}"
                raise WrongInput(f"has no column {name}", where=str(path), fix=fix)
            try:
                found[name].append(read(row[name], f"{path} line {line}, {name}"))
            except UsanceError as error:
                problems.append(error)
    raise_all(problems, where=str(path))
    return {name: np.array(cells, np.int64) for name, cells in found.items()}


def findings(
    applications: Columns, links: Columns, bads: Columns, lists: Sequence[Entry], zone: tzinfo
) -> dict[str, Any]:
    """The inputs of a flow's first stage for each application; `zone` has the days of lists."""
    asked, at, device = (applications[name] for name in APPLICATIONS)
    links = _with_devices(applications, links)
    linked = link_columns({"user_id": asked, "known_at": at}, links, bads)
    return {
        "list_hit": _hits(applications, links, lists, zone),
        "applications_24h": velocity_columns(device, at, device, at, DAY_HOURS),
        "device_users_30d": _device_users(applications, links),
        "link_size": linked["size"],
        "link_degree": linked["degree"],
        "bad_neighbours_ppm": linked["bad_neighbours_ppm"],
    }


def _with_devices(applications: Columns, links: Columns) -> Columns:
    """The links, and the devices that applications came from."""
    device = np.full(len(applications["at"]), int(Attribute.DEVICE), np.int64)
    seen = (applications["user_id"], device, applications["device"], applications["at"])
    return {
        name: np.concatenate([links[name], more]) for name, more in zip(LINKS, seen, strict=True)
    }


def _device_users(applications: Columns, links: Columns) -> I64:
    """Users seen on the device of each application in 30 days."""
    rows = np.flatnonzero(links["attribute"] == Attribute.DEVICE)
    rows = rows[np.argsort(links["value"][rows], kind="stable")]
    device, user, seen = (links[name][rows] for name in ("value", "user_id", "booked_at"))
    found = np.zeros(len(applications["at"]), np.int64)
    for row, (own, at) in enumerate(zip(applications["device"], applications["at"], strict=True)):
        start, end = np.searchsorted(device, [own, own + 1])
        moments = seen[start:end]
        inside = (moments > at - MONTH_HOURS * HOUR_US) & (moments <= at)
        found[row] = len(np.unique(user[start:end][inside]))
    return found


def _hits(applications: Columns, links: Columns, lists: Sequence[Entry], zone: tzinfo) -> list[str]:
    """The strongest list each applicant is on, by any attribute known by then."""
    own: dict[int, list[tuple[int, Attribute, int]]] = {}
    for user, kind, value, booked in zip(*(links[name].tolist() for name in LINKS), strict=True):
        own.setdefault(user, []).append((booked, Attribute(kind), value))
    hits = []
    asked = (applications[name].tolist() for name in ("user_id", "at"))
    for user, at in zip(*asked, strict=True):
        known = {(kind, value) for booked, kind, value in own.get(user, ()) if booked <= at}
        now = (EPOCH + timedelta(microseconds=at)).astimezone(zone)
        entry = strongest(lists, known, now.date(), now)
        hits.append(entry.list.label if entry else "none")
    return hits
