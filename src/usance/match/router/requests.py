"""Drawdown requests as columns, read from a stream and checked.

A stream is CSV with the columns of the table `requests`, in order of (requested_at, loan_id), and
may have a last column `attributes`: names from the mandates' list, joined by `|`.

>>> from usance.match.mandates.mandate import Mandates
>>> requests = from_columns(
...     requested_at=[0], loan_id=[16385], product=[1], amount_minor=[500000], months=[12],
...     rate_ppm=[240000], grade=[3], region=[1], channel=[1],
... )  # fmt: skip
>>> len(requests), int(requests.user_id[0])
(1, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Product
from usance.base.ids import LIMIT, PER_USER, print_id
from usance.match.csv_columns import (
    Column,
    IntegerColumn,
    MomentColumn,
    line_numbers,
    read_columns,
    text_column,
    write_columns,
)
from usance.match.errors import StreamError, StreamOrder
from usance.match.mandates.mandate import MAX_AMOUNT_MINOR, Mandates

COLUMNS = (
    "requested_at", "loan_id", "decision_id", "product", "amount_minor", "months", "rate_ppm",
    "grade", "region", "channel",
)  # fmt: skip
DAY_SECONDS = 86_400
MAX_RATE_PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests in the order they meet the router; one array a column, all `int64`."""

    requested_at: I64
    """Microseconds since 1970 in UTC."""
    loan_id: I64
    decision_id: I64
    product: I64
    amount_minor: I64
    months: I64
    rate_ppm: I64
    grade: I64
    region: I64
    channel: I64
    attributes: I64
    """One bit for each attribute of the mandates' list that the borrower has."""

    def __len__(self) -> int:
        return len(self.loan_id)

    @property
    def user_id(self) -> I64:
        """The borrower of each request."""
        return self.loan_id // PER_USER

    def rows(self, start: int, stop: int) -> Requests:
        """The requests from one position to another."""
        return self.take(slice(start, stop))

    def take(self, positions: Any) -> Requests:
        """Some of the requests."""
        return Requests(*(getattr(self, name)[positions] for name in self.__slots__))


def from_columns(**columns: Any) -> Requests:
    """Requests from arrays or lists by column name; decision and attributes may be left out."""
    rows = len(columns["loan_id"])
    given = {"decision_id": np.zeros(rows), "attributes": np.zeros(rows), **columns}
    names = (*COLUMNS, "attributes")
    return Requests(*(np.ascontiguousarray(given[name], np.int64) for name in names))


def read_requests(path: Path | str, mandates: Mandates) -> Requests:
    """The requests of a stream file, or everything that is wrong with it."""
    found = read_columns(path, stream_columns(mandates), StreamError)
    requests = from_columns(**{name: found[name] for name in found})
    if not len(requests):
        raise StreamError(
            "no requests", where=str(path), fix="Give a row for each below the header"
        )
    check_order(requests, where=lambda row: line_numbers(path, [row])[0])
    return requests


def loan_refs(path: Path | str, mandates: Mandates) -> list[str]:
    """Own names of the loans of a stream file, in its order; none where it keeps no names."""
    return text_column(path, "loan_ref", stream_columns(mandates), StreamError)


def _row(row: int) -> str:
    return f"stream row {row + 1}"


def check_order(requests: Requests, *, where: Callable[[int], str] = _row) -> None:
    """Raise `StreamOrder` at the first request that comes too early or is there twice."""
    at, loan = requests.requested_at, requests.loan_id
    late = (at[1:] < at[:-1]) | ((at[1:] == at[:-1]) & (loan[1:] <= loan[:-1]))
    if late.any():
        row = int(np.argmax(late)) + 1
        shown = print_id("ln", int(loan[row]))
        what = f"{shown} comes before the request above it"
        fix = "Sort by requested_at, then loan_id"
        raise StreamOrder(what, where=where(row), fix=fix)
    order = np.argsort(loan, kind="stable")
    again = loan[order][1:] == loan[order][:-1]
    if again.any():
        row = int(order[int(np.argmax(again)) + 1])
        shown = print_id("ln", int(loan[row]))
        fix = "Keep one: a retry of a request is answered from the first, not routed again"
        raise StreamOrder(f"{shown} is there twice", where=where(row), fix=fix)


def write_requests(path: Path, requests: Requests) -> None:
    """A stream file of these requests."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = np.array([product.label for product in Product])
    columns: dict[str, Any] = {name: getattr(requests, name) for name in COLUMNS}
    stamps = pa.array(requests.requested_at).view(pa.timestamp("us", "UTC"))
    columns["requested_at"] = pc.strftime(
        pc.cast(stamps, pa.timestamp("s", "UTC")), "%Y-%m-%dT%H:%M:%SZ"
    )
    columns["product"] = labels[requests.product]
    write_columns(path, columns)


def stream_columns(mandates: Mandates) -> dict[str, Column]:
    """Columns of a stream, with the words and numbers that the mandates know."""
    products = {product.label: int(product) for product in Product}
    grades = {str(grade): grade for grade in mandates.platform.losses}
    regions, channels = mandates.regions.numbers, mandates.channels.numbers
    return {
        "requested_at": MomentColumn(),
        "loan_id": IntegerColumn(1, LIMIT - 1),
        "decision_id": IntegerColumn(0, LIMIT - 1, default=0),
        "product": IntegerColumn(0, max(products.values()), products, only_named=True),
        "amount_minor": IntegerColumn(1, MAX_AMOUNT_MINOR),
        "months": IntegerColumn(1, 1200),
        "rate_ppm": IntegerColumn(0, MAX_RATE_PPM),
        "grade": IntegerColumn(0, 127, grades, only_named=True),
        "region": IntegerColumn(0, 32_767, regions, only_named=bool(regions)),
        "channel": IntegerColumn(0, 32_767, channels, default=0, only_named=bool(channels)),
        "attributes": IntegerColumn(0, 2**62, AttributeSets(mandates.attributes), default=0),
    }


class AttributeSets(dict[str, int]):
    """Attributes joined by `|`, each set with its bits; an empty cell is the empty set.

    >>> AttributeSets(("repeat", "owner"))["owner|repeat"]
    3
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__({"": 0}, **{name: 1 << bit for bit, name in enumerate(names)})

    def __missing__(self, key: str) -> int:
        return sum({super(AttributeSets, self).__getitem__(name) for name in key.split("|")})

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and all(
            super(AttributeSets, self).__contains__(name) for name in key.split("|")
        )

    def get(self, key: str, default: Any = None) -> Any:
        """The bits of a set, or the default."""
        return self[key] if key in self else default  # noqa: SIM401 -- this is `get`
