"""Requests as the kernel reads them: every code already the row of its table.

>>> from usance.match.router.requests import from_columns
>>> int(local_seconds(np.array([0]), "Asia/Shanghai")[0]) // 3600
8
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.match.mandates.columns import SourceColumns, places
from usance.match.mandates.mandate import MAX_MONTHS
from usance.match.router.requests import DAY_SECONDS, MICROSECONDS, Requests

_HOUR = 3600


class Rows(NamedTuple):
    """One array a column; `weight` says how many requests a row stands for."""

    loan_id: I64
    user: I64
    product: I64
    amount: I64
    months: I64
    rate: I64
    grade: I64
    region: I64
    channel: I64
    attributes: I64
    day: I64
    second: I64
    barred: I64
    """The row of `SourceColumns.barred`, -1 for a borrower on no blacklist."""
    weight: NDArray[np.float64]

    def take(self, keep: Any) -> Rows:
        """Some of the rows."""
        return Rows(*(np.ascontiguousarray(column[keep]) for column in self))


def make_rows(requests: Requests, columns: SourceColumns, time_zone: str) -> Rows:
    """The kernel's view of requests."""
    local = local_seconds(requests.requested_at, time_zone)
    users = requests.user_id
    barred = places(columns.barred_users, users)
    nobody = len(columns.barred_users)
    return Rows(
        loan_id=requests.loan_id,
        user=users,
        product=requests.product,
        amount=requests.amount_minor,
        months=np.clip(requests.months, 0, MAX_MONTHS + 1),
        rate=requests.rate_ppm,
        grade=places(columns.grade_codes, requests.grade),
        region=places(columns.region_codes, requests.region),
        channel=places(columns.channel_codes, requests.channel),
        attributes=requests.attributes,
        day=local // DAY_SECONDS,
        second=local % DAY_SECONDS,
        barred=np.where(barred == nobody, -1, barred),
        weight=np.ones(len(requests)),
    )


def local_seconds(moments: I64, time_zone: str) -> I64:
    """Seconds since 1970 by the clocks of a time zone."""
    zone = ZoneInfo(time_zone)
    seconds = moments // MICROSECONDS
    hours, back = np.unique(seconds // _HOUR, return_inverse=True)
    offsets = [
        datetime.fromtimestamp(int(hour) * _HOUR, UTC).astimezone(zone).utcoffset()
        for hour in hours
    ]
    shift = np.array([int(each.total_seconds()) if each else 0 for each in offsets], np.int64)
    return seconds + shift[back]
