"""Requests as the kernels read them: every code is already the row of its table.

>>> from usance.match.router.requests import from_columns
>>> int(local_seconds(np.array([0]), "Asia/Shanghai")[0]) // 3600
8
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from usance.base.arrays import F64, I64
from usance.match.mandates.columns import SourceColumns, code_rows
from usance.match.mandates.mandate import MAX_MONTHS, MICROSECONDS
from usance.match.router.requests import DAY_SECONDS, Requests

_HOUR = 3600


class RequestRows(NamedTuple):
    """Requests as the kernels read them; `weight` is the number of requests of a row."""

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
    blacklisted: I64
    """The row of `SourceColumns.blacklisted`, -1 for a borrower on no blacklist."""
    weight: F64

    def take(self, keep: Any) -> RequestRows:
        """Some of the rows."""
        return RequestRows(*(np.ascontiguousarray(column[keep]) for column in self))


def make_request_rows(requests: Requests, columns: SourceColumns, time_zone: str) -> RequestRows:
    """The kernel's view of requests."""
    local = local_seconds(requests.requested_at, time_zone)
    users = requests.user_id
    blacklisted = code_rows(columns.blacklisted_users, users)
    nobody = len(columns.blacklisted_users)
    return RequestRows(
        loan_id=requests.loan_id,
        user=users,
        product=requests.product,
        amount=requests.amount_minor,
        months=np.clip(requests.months, 0, MAX_MONTHS + 1),
        rate=requests.rate_ppm,
        grade=code_rows(columns.grade_codes, requests.grade),
        region=code_rows(columns.region_codes, requests.region),
        channel=code_rows(columns.channel_codes, requests.channel),
        attributes=requests.attributes,
        day=local // DAY_SECONDS,
        second=local % DAY_SECONDS,
        blacklisted=np.where(blacklisted == nobody, -1, blacklisted),
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
