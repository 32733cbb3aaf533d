"""Digests: equal to a plain loop over Python integers, and blind to order, pieces and widths."""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.base.rows import facts, tables
from usance.base.columns import arrays, make
from usance.base.digest import Digest, digest
from usance.base.draws import GOLDEN, MASK, mix
from usance.base.schemas import Table
from usance.base.tables import TABLES, table


def fold(z: int, k: int) -> int:
    return mix((z + GOLDEN * (k + 1)) & MASK)


def number(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "big")
    if isinstance(value, float):
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return int(value) & MASK


def slow_digest(data: pa.Table, spec: Table) -> Digest:
    """The rule, one value at a time."""
    seen = arrays(data)
    total = 0
    for row in range(data.num_rows):
        z = 0
        for position, column in enumerate(spec.columns):
            if column.type == "inputs":
                for each in data.column(column.name)[row].as_py():
                    z = fold(z, number(each))
                continue
            value = number(data.column(column.name)[row].as_py() if column.type == "text"
                           else seen[column.name][row].item())  # fmt: skip
            if not column.optional:
                z = fold(z, value)
            elif value != (column.default or 0):
                z = fold(fold(z, position), value)
        total += z
    return Digest(data.num_rows, total & MASK)


@pytest.mark.parametrize("spec", TABLES.values(), ids=TABLES)
@settings(max_examples=15)
@given(st.data())
def test_digest_is_the_slow_one(spec: Table, data: st.DataObject) -> None:
    rows = data.draw(tables(spec, max_size=5))
    assert digest(rows, spec) == slow_digest(rows, spec)


@given(st.data())
def test_order_and_pieces_do_not_matter(data: st.DataObject) -> None:
    spec = table("facts")
    rows = data.draw(tables(spec))
    order = data.draw(st.permutations(range(rows.num_rows)))
    whole = digest(rows, spec)
    assert digest(rows.take(pa.array(order, pa.int64())), spec) == whole
    cut = data.draw(st.integers(0, rows.num_rows))
    assert digest(rows.slice(0, cut), spec) + digest(rows.slice(cut), spec) == whole


def test_more_rows_than_a_piece() -> None:
    spec = table("shares")
    n = 100_000
    rows = make("shares", loan_id=np.arange(n), source=np.ones(n, np.int16),
                principal_minor=np.arange(n) * 7)  # fmt: skip
    parts = [digest(rows.slice(start, 999), spec) for start in range(0, n, 999)]
    total = Digest()
    for part in parts:
        total = total + part
    assert digest(rows, spec) == total
    assert total.rows == n


@pytest.mark.parametrize("column", table("facts").names)
def test_any_changed_value_changes_it(column: str) -> None:
    rows = facts()
    seen = {name: values.copy() for name, values in arrays(rows).items()}
    seen[column][1] += 1
    assert digest(make("facts", **seen), table("facts")) != digest(rows, table("facts"))


def test_swapping_values_between_rows_or_columns_changes_it() -> None:
    def of(**columns: list[int]) -> Digest:
        return digest(make("shares", **columns), table("shares"))

    straight = of(loan_id=[1, 2], source=[1, 2], principal_minor=[7, 8])
    assert of(loan_id=[1, 2], source=[1, 2], principal_minor=[8, 7]) != straight
    assert of(loan_id=[1, 2], source=[2, 1], principal_minor=[7, 8]) != straight


def test_a_column_added_later_changes_no_digest_until_it_is_used() -> None:
    new = table("loans")
    old = Table("loans", 1, "Before the fees.", new.columns[:-3])
    zeros = {column.name: [1] for column in old.columns}
    before = make(old, **zeros)
    assert digest(make(new, **zeros), new) == digest(before, old)
    flat = digest(make(new, **zeros, flat_fee_minor=[5]), new)
    upfront = digest(make(new, **zeros, upfront_fee_minor=[5]), new)
    assert len({flat, upfront, digest(before, old)}) == 3


def test_text_reads_back() -> None:
    value = Digest(3, 0xAB)
    assert str(value) == "3:00000000000000ab"
    assert Digest.parse(str(value)) == value
    assert Digest(1, MASK) + Digest(1, 2) == Digest(2, 1)
