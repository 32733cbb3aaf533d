"""Rows of any declared table, for tests: right types, sorted, no key twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from usance.base.codes import code_lists
from usance.base.columns import make, sort
from usance.base.schemas import Table

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
DAYS = st.integers(-700_000, 2_900_000)  # years 53 to 9909: Python's calendar, not Arrow's
WIDTH = 3


def values(kind: str) -> SearchStrategy[Any]:
    if kind == "text":
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    if kind == "f64":
        return st.floats()
    if kind == "inputs":
        return st.lists(st.floats(allow_nan=False), min_size=WIDTH, max_size=WIDTH)
    if kind in {"day", "moment"}:
        return DAYS if kind == "day" else DAYS.map(lambda day: day * 86_400_000_123)
    limit = 1 << (BITS[kind] - 1)
    return st.integers(-limit, limit - 1)


@st.composite
def tables(draw: DrawFn, spec: Table, max_size: int = 12) -> pa.Table:
    """Up to a dozen rows of a table, in key order."""
    row = st.tuples(
        *(
            st.sampled_from(list(code_lists()[column.codes].values()))
            if column.codes
            else values(column.type)
            for column in spec.columns
        )
    )
    places = [spec.names.index(name) for name in spec.key]
    rows = draw(
        st.lists(
            row, max_size=max_size, unique_by=lambda row: tuple(row[place] for place in places)
        )
    )
    return sort(from_rows(spec, rows), spec)


def from_rows(spec: Table, rows: list[Any]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(spec.columns)
    return make(
        spec,
        **{
            column.name: np.array(list(given)).reshape(-1, WIDTH)
            if column.type == "inputs"
            else list(given)
            for column, given in zip(spec.columns, columns, strict=True)
        },
    )


def facts(loan: int = 16385, count: int = 3) -> pa.Table:
    """A loan's first facts: disbursed, then paid."""
    return make(
        "facts",
        loan_id=[loan] * count,
        effective_on=[19722 + 30 * n for n in range(count)],
        kind=[0] + [4] * (count - 1),
        ref=list(range(1, count + 1)),
        amount_minor=[900000] + [160860] * (count - 1),
        arg=[0] * count,
        booked_at=[1_704_000_000_000_000 + n for n in range(count)],
    )
