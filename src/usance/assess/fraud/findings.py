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
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import WrongInput
from usance.assess.features.records import micros
from usance.assess.fraud.links import Attribute, link_columns, longs
from usance.assess.fraud.lists import Entry, strongest
from usance.base.arrays import I64
from usance.base.documents import read_csv
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import moment, one_of, whole_of
from usance.base.ids import LIMIT, PER_USER

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
    return int(micros(moment(given, where)))


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
