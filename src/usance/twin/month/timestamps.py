"""Moments of business days, as whole microseconds in UTC.

>>> timestamps(np.array([19_904]), END_OF_DAY, "Asia/Shanghai").tolist()
[1719763199000000]
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from usance.base.dates import from_day, last_of_month

DAY_SECONDS, MICROSECONDS = 86_400, 1_000_000
END_OF_DAY = DAY_SECONDS - 1


@lru_cache(maxsize=1 << 12)
def _offset_seconds(day: int, zone: str) -> int:
    """Offset of the zone's noon of a day from UTC."""
    noon = datetime.combine(from_day(day), time(12), ZoneInfo(zone))
    ahead = noon.utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())


def timestamps(days: NDArray[Any], seconds: Any, zone: str) -> NDArray[np.int64]:
    """Seconds after the beginning of business days."""
    if not len(days):
        return np.zeros(0, np.int64)
    first, last = int(days.min()), int(days.max())
    offsets = np.array([_offset_seconds(day, zone) for day in range(first, last + 1)], np.int64)
    begins = (np.arange(first, last + 1) * DAY_SECONDS - offsets) * MICROSECONDS
    if np.ndim(seconds) == 0:
        return np.asarray((begins + int(seconds) * MICROSECONDS)[days - first])
    return np.asarray(begins[days - first] + np.asarray(seconds, np.int64) * MICROSECONDS)


def end_of_month(month: int, zone: str) -> datetime:
    """The last moment of a month's last business day."""
    last = datetime.combine(last_of_month(month), time(23, 59, 59, 999_999), ZoneInfo(zone))
    return last.astimezone(UTC)
