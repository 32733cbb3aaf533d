"""Requests as the kernels read them: every code is already the row of its table.

>>> int(local_seconds(np.array([0]), "Asia/Shanghai")[0]) // 3600
8

For plans, requests that every mandate treats alike are merged to one row. Two are alike when
product, region, grade, channel, tenor, attributes, the hours that matter and the bounds on amounts
are the same and their rates lie in the same percent. The row has their mean amount and rate.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
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
    seconds = moments // MICROSECONDS
    if len(seconds) == 1:
        one: I64 = seconds + _offset(time_zone, int(seconds[0]) // _HOUR)
        return one
    hours, back = np.unique(seconds // _HOUR, return_inverse=True)
    shift = np.array([_offset(time_zone, hour) for hour in hours.tolist()], np.int64)
    return seconds + shift[back]


@lru_cache(maxsize=1 << 16)
def _offset(time_zone: str, hour: int) -> int:
    """Seconds that the clocks of a time zone are ahead in an hour since 1970."""
    at = datetime.fromtimestamp(hour * _HOUR, UTC).astimezone(ZoneInfo(time_zone)).utcoffset()
    return int(at.total_seconds()) if at else 0


RATE_STEP_PPM = 10_000
MAX_CODE = 1 << 62


def aggregate(
    rows: RequestRows, slot: I64, columns: SourceColumns, max_rows: int
) -> tuple[RequestRows, I64]:
    """At most so many rows with their slots; if there are more, a systematic sample by volume."""
    amounts = np.unique(np.concatenate([columns.min_amount, columns.max_amount + 1]))
    hours = np.unique(np.concatenate([columns.opens, columns.cut_off]))
    key = np.stack([
        slot, rows.product, rows.region, rows.grade, rows.channel, rows.months, rows.attributes,
        rows.blacklisted, rows.rate // RATE_STEP_PPM,
        np.searchsorted(amounts, rows.amount, side="right"),
        np.searchsorted(hours, rows.second, side="right"),
    ])  # fmt: skip
    _, first, group = np.unique(_code_of(key), return_index=True, return_inverse=True)
    weight = np.bincount(group, rows.weight, len(first)).astype(np.float64)
    total = np.bincount(group, rows.weight * rows.amount, len(first))
    rate = np.bincount(group, rows.weight * rows.amount * rows.rate, len(first)) / total
    amount = np.maximum(np.rint(total / weight), 1.0)
    merged = rows.take(first)._replace(
        weight=total / amount,
        amount=amount.astype(np.int64),
        rate=np.rint(rate).astype(np.int64),
    )
    return _systematic_sample(merged, np.ascontiguousarray(slot[first]), max_rows)


def _code_of(parts: I64) -> I64:
    """One number for each column of whole numbers, in the order of its parts.

    >>> _code_of(np.array([[1, 0, 1], [7, 9, 6]])).tolist()
    [17, 9, 16]
    """
    code, count = np.zeros(parts.shape[1], np.int64), 1
    for part in parts:
        low, high = int(part.min(initial=0)), int(part.max(initial=0))
        if count * (high - low + 1) > MAX_CODE:
            _, code = np.unique(code, return_inverse=True)
            _, part = np.unique(part, return_inverse=True)  # noqa: PLW2901 -- the same, numbered
            count, low, high = int(code.max(initial=0)) + 1, 0, int(part.max(initial=0))
        code, count = code * (high - low + 1) + part - low, count * (high - low + 1)
    return code


def _systematic_sample(rows: RequestRows, slot: I64, max_rows: int) -> tuple[RequestRows, I64]:
    """A systematic sample: rows in order, each picked in proportion to its volume."""
    if len(rows.amount) <= max_rows:
        return rows, slot
    volume = rows.weight * rows.amount
    ends = np.cumsum(volume)
    marks = (np.arange(max_rows) + 0.5) * ends[-1] / max_rows
    picked, times = np.unique(np.searchsorted(ends, marks), return_counts=True)
    kept = rows.take(picked)
    weight = times * ends[-1] / max_rows / kept.amount
    return kept._replace(weight=weight), np.ascontiguousarray(slot[picked])
