"""Requests fed to a router so far, as given and as kernels read them, in arrays that grow.

>>> from usance.match.mandates.columns import source_columns
>>> from usance.match.mandates.mandate import Mandates
>>> from usance.match.router.requests import from_columns
>>> def one(at: int) -> Requests:
...     return from_columns(requested_at=[at], loan_id=[16385 + at], product=[1],
...         amount_minor=[500000], months=[12], rate_ppm=[240000], grade=[3], region=[1],
...         channel=[1])  # fmt: skip
>>> log = RequestLog(one(0), source_columns(Mandates(())), "Asia/Shanghai")
>>> log.append(one(3_600_000_000)), len(log.requests), (log.hours() - log.hours()[0]).tolist()
(None, 2, [0, 1])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.match.mandates.columns import SourceColumns
from usance.match.mandates.mandate import Mandates
from usance.match.router.request_rows import RequestRows, make_request_rows
from usance.match.router.requests import DAY_SECONDS, Requests

HOUR = 3600


class RequestLog:
    """Requests in order; `requests` and `rows` are views of what has been fed."""

    def __init__(self, requests: Requests, columns: SourceColumns, zone: str) -> None:
        self._columns, self._zone = columns, zone
        self.requests, self.rows = requests, make_request_rows(requests, columns, zone)
        self._arrays: list[Any] = [*_columns_of(requests), *self.rows]

    def __len__(self) -> int:
        return len(self.requests)

    def append(self, more: Requests) -> None:
        """Add later requests."""
        old, new = len(self.requests), len(self.requests) + len(more)
        rows = make_request_rows(more, self._columns, self._zone)
        if new > len(self._arrays[0]):
            grown = [np.empty(2 * new, each.dtype) for each in self._arrays]
            for to, array in zip(grown, self._arrays, strict=True):
                to[:old] = array[:old]
            self._arrays = grown
        for to, array in zip(self._arrays, (*_columns_of(more), *rows), strict=True):
            to[old:new] = array
        self._show(new)

    def cut(self, count: int) -> None:
        """Forget the requests from a position on."""
        self._show(count)

    def hours(self, start: int = 0) -> I64:
        """Hour of each request since 1970 by the clocks of the platform."""
        hours: I64 = (self.rows.day[start:] * DAY_SECONDS + self.rows.second[start:]) // HOUR
        return hours

    def _show(self, count: int) -> None:
        width = len(Requests.__slots__)
        self.requests = Requests(*(each[:count] for each in self._arrays[:width]))
        self.rows = RequestRows(*(each[:count] for each in self._arrays[width:]))


def _columns_of(requests: Requests) -> list[I64]:
    return [getattr(requests, name) for name in Requests.__slots__]


def batch_starts(log: RequestLog, mandates: Mandates, start: int = 0) -> list[int]:
    """Positions from one on at which an hour begins or an event has happened since the last."""
    before = max(start - 1, 0)
    moments, hours = log.requests.requested_at[before:], log.hours(before)
    events = np.array([event.moment for event in mandates.events], np.int64)
    happened = before + np.searchsorted(moments, events)
    new_hours = before + np.flatnonzero(np.diff(hours)) + 1
    first = [0] if start == 0 else []
    starts = np.unique(np.concatenate([first, new_hours, happened])).astype(np.int64)
    kept: list[int] = starts[(starts >= start) & (starts < len(log))].tolist()
    return kept
