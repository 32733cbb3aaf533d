"""Files of expected demand: requests by segment, over the period or by day.

DEMAND.csv has a row for each segment: product, region, grade, channel, months, the mean
amount_minor and rate_ppm of its requests, and the expected number of `requests`. With a column
`day` the rows are by day; without it they are for the whole period. `attributes` of the borrowers
must be there if some mandate asks for one.

>>> from usance.match.mandates.mandate import Mandates
>>> demand = demand_of(
...     product=[1],
...     region=[1],
...     grade=[3],
...     months=[12],
...     amount_minor=[500000],
...     rate_ppm=[240000],
...     requests=[1000],
... )
>>> demand.total_requests, demand.over_period().requests.tolist()
(1000, [1000])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Product
from usance.base.dates import from_day
from usance.match.csv_columns import (
    Column,
    DateColumn,
    IntegerColumn,
    column_names,
    read_columns,
    write_columns,
)
from usance.match.errors import DemandError
from usance.match.mandates.mandate import MAX_AMOUNT_MINOR, Mandates
from usance.match.router.requests import MAX_RATE_PPM, AttributeSets, Requests, from_columns

DEMAND_FILE = "DEMAND.csv"
SEGMENT = (
    "product", "region", "grade", "channel", "months", "amount_minor", "rate_ppm", "attributes",
)  # fmt: skip
NO_DAY = -1


@dataclass(frozen=True, slots=True)
class Demand:
    """Expected requests by segment, as requests that each stand for many."""

    segments: Requests
    day: I64
    """The day number of each row, -1 where rows are for the whole period."""
    requests: I64

    @property
    def total_requests(self) -> int:
        """All requests expected."""
        return int(self.requests.sum())

    @property
    def by_day(self) -> bool:
        """True if the forecast is by day."""
        return bool(len(self.day)) and bool((self.day != NO_DAY).all())

    def over_period(self) -> Demand:
        """The same demand with the days of each segment summed."""
        parts = np.stack([getattr(self.segments, name) for name in SEGMENT])
        segments, group = np.unique(parts, axis=1, return_inverse=True)
        counts = np.bincount(group.ravel(), self.requests, segments.shape[1])
        columns: dict[str, Any] = dict(zip(SEGMENT, segments, strict=True))
        return demand_of(requests=counts.astype(np.int64), **columns)

    def scaled(self, numerator: int, denominator: int) -> Demand:
        """The same demand times a fraction, rounded down by segment."""
        return replace(self, requests=self.requests * numerator // denominator)


def demand_of(**columns: Any) -> Demand:
    """Demand from arrays or lists by column name; day and channel may be left out."""
    rows = len(columns["requests"])
    given = {
        "day": np.full(rows, NO_DAY), "channel": np.zeros(rows), "attributes": np.zeros(rows),
        **columns,
    }  # fmt: skip
    segments = from_columns(
        requested_at=np.zeros(rows),
        loan_id=np.arange(1, rows + 1),
        **{name: given[name] for name in SEGMENT},
    )
    return Demand(
        segments,
        np.ascontiguousarray(given["day"], np.int64),
        np.ascontiguousarray(given["requests"], np.int64),
    )


def read_demand(path: Path | str, mandates: Mandates) -> Demand:
    """The demand of a file, or all its problems."""
    columns = _declared(mandates)
    asking = next((e for e in mandates.mandates if e.eligibility.needs), None)
    if asking is not None and "attributes" not in column_names(path, columns, DemandError):
        wanted = ", ".join(sorted(asking.eligibility.needs))
        what = f"has no column attributes, and {mandates.label_of(asking)} asks for {wanted}"
        fix = "Add it: the attributes of a segment's borrowers, joined by |"
        raise DemandError(what, where=str(path), fix=fix)
    return demand_of(**read_columns(path, columns, DemandError))


def demand_file_of(stream: Path, named: Path | None) -> Path | None:
    """The forecast that is named, else `DEMAND.csv` in the folder of the stream, else none."""
    default = stream.parent / DEMAND_FILE
    return named or (default if default.is_file() else None)


def write_demand(path: Path, demand: Demand) -> None:
    """A demand file."""
    import pyarrow as pa

    labels = np.array([product.label for product in Product])
    columns: dict[str, Any] = {}
    if demand.by_day:
        columns["day"] = pa.array([from_day(int(each)).isoformat() for each in demand.day])
    columns |= {name: getattr(demand.segments, name) for name in SEGMENT[:-1]}
    if demand.segments.attributes.any():
        columns["attributes"] = demand.segments.attributes
    columns["product"] = labels[demand.segments.product]
    columns["requests"] = demand.requests
    write_columns(path, columns)


def _declared(mandates: Mandates) -> dict[str, Column]:
    products = {product.label: int(product) for product in Product}
    grades = {str(grade): grade for grade in mandates.platform.losses}
    regions, channels = mandates.regions.numbers, mandates.channels.numbers
    return {
        "day": DateColumn(default=NO_DAY),
        "product": IntegerColumn(0, max(products.values()), products, only_named=True),
        "region": IntegerColumn(0, 32_767, regions, only_named=bool(regions)),
        "grade": IntegerColumn(0, 127, grades, only_named=True),
        "channel": IntegerColumn(0, 32_767, channels, default=0, only_named=bool(channels)),
        "months": IntegerColumn(1, 1200),
        "amount_minor": IntegerColumn(1, MAX_AMOUNT_MINOR),
        "rate_ppm": IntegerColumn(0, MAX_RATE_PPM),
        "requests": IntegerColumn(0, 10**9),
        "attributes": IntegerColumn(0, 2**62, AttributeSets(mandates.attributes), default=0),
    }
