"""Velocity: the number of events of the same key within a window before a moment.

>>> log = VelocityLog()
>>> for hour in (1, 2, 30):
...     log.add("device 77", hour * HOUR_US)
>>> log.count("device 77", 30 * HOUR_US, 24), log.count("device 77", 24 * HOUR_US, 24)
(1, 2)
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.fraud.links import longs

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
