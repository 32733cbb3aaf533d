"""Declared tables as Arrow: exact types in and out, and each departure by its column."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.base.rows import facts, tables
from usance.base.columns import ARROW, arrays, arrow_schema, check_keys, conform, make, sort
from usance.base.errors import DuplicateKey, Problems, SchemaError
from usance.base.schemas import Table
from usance.base.tables import TABLES, table

GOOD: dict[str, Any] = {"loan_id": [16385], "source": [3], "principal_minor": [900000]}


@pytest.mark.parametrize("spec", TABLES.values(), ids=TABLES)
def test_an_empty_table_has_the_exact_schema(spec: Table) -> None:
    empty = arrow_schema(spec, 4).empty_table()
    columns = {name: empty.column(name) for name in empty.column_names}
    assert conform(columns, spec, rows=0, where="").schema == empty.schema
    assert empty.schema.metadata[b"usance.schema"] == f"{spec.name}/{spec.number}".encode()


def test_kernels_see_days_and_moments_as_integers_without_a_copy() -> None:
    data = facts()
    seen = arrays(data)
    assert {name: str(column.dtype) for name, column in seen.items()} == {
        "loan_id": "int64",
        "effective_on": "int32",
        "kind": "int8",
        "ref": "int64",
        "amount_minor": "int64",
        "arg": "int64",
        "booked_at": "int64",
    }
    address = data.column("effective_on").chunk(0).buffers()[1].address
    assert seen["effective_on"].ctypes.data == address


def test_dates_and_moments_can_be_given_as_such() -> None:
    given = {"loan_id": [1], "kind": [0], "ref": [1], "amount_minor": [1], "arg": [0]}
    moment = datetime(2024, 1, 31, 8, tzinfo=UTC)
    data = make("facts", **given, effective_on=[date(2024, 1, 31)], booked_at=[moment])
    again = make(
        "facts",
        **given,
        effective_on=np.array(["2024-01-31"], "datetime64[D]"),
        booked_at=np.array([1706688000000000]),
    )
    assert data.equals(again)
    assert data.column("booked_at").to_pylist() == [moment]


def test_wider_integers_are_narrowed_and_optional_columns_filled() -> None:
    data = make(
        "users",
        user_id=np.arange(1, 4),
        registered_on=np.array([1, 2, 3], np.int16),
        channel=np.ones(3, np.uint64),
        region=[1, 1, 1],
        kind=[0, 0, 0],
    )
    assert data.schema.field("channel").type == pa.int16()
    assert data.column("client_ref").null_count == 3


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"principal_minor": [1.0]}, "principal_minor is double"),
        ({"principal_minor": [float("nan")]}, "principal_minor is double"),
        ({"principal_minor": ["1"]}, "principal_minor is string"),
        ({"source": [True]}, "source is bool"),
        ({"source": [40000]}, "source"),
        ({"principal_minor": [2**63]}, "principal_minor"),
        ({"principal_minor": np.array([2**63], np.uint64)}, "principal_minor"),
        ({"principal_minor": [None]}, "principal_minor has 1 nulls"),
        ({"principal_minor": [1, 2]}, "unequal length"),
        ({"loan_id": 1}, "loan_id is the one value 1"),
        ({"loan_id": "16385"}, "loan_id is the one value '16385'"),
        ({"loan_id": np.array(1)}, "loan_id is the one value"),
        ({"principal": [1]}, "no column 'principal'"),
        ({"source": pa.array([3], pa.int32())}, "source is int32"),
        ({"loan_id": pa.array([16385]).dictionary_encode()}, "loan_id is dictionary"),
    ],
)
def test_each_wrong_column_is_named(change: dict[str, Any], what: str) -> None:
    with pytest.raises(SchemaError, match=what):
        make("shares", **{**GOOD, **change})


def test_a_missing_column_says_what_it_is() -> None:
    with pytest.raises(SchemaError, match=r"lacks principal_minor. Add .* \(i64\): its part"):
        make("shares", loan_id=[1], source=[1])


def test_all_wrong_columns_are_named_at_once() -> None:
    with pytest.raises(Problems) as caught:
        make("shares", loan_id=pa.array(["a"]), source=pa.array([1.5]))
    assert len(caught.value.errors) == 3


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("effective_on", "2024-01-31"),
        ("effective_on", datetime(2024, 1, 31, 8, tzinfo=UTC)),
        ("effective_on", 2.0),
        ("effective_on", 2**31),
        ("booked_at", date(2024, 1, 31)),
        ("booked_at", datetime(2024, 1, 31)),  # noqa: DTZ001
        ("booked_at", "2024-01-31T00:00:00Z"),
    ],
)
def test_what_is_no_day_or_moment_does_not_become_one(column: str, value: Any) -> None:
    good = {name: facts().column(name) for name in facts().column_names}
    with pytest.raises(SchemaError, match=column):
        make("facts", **{**good, column: [value] * 3})


@given(tables(table("shares")), st.randoms(use_true_random=False))
def test_keys_must_rise(data: pa.Table, random: Any) -> None:
    spec = table("shares")
    check_keys(data, spec)
    order = list(range(data.num_rows))
    random.shuffle(order)
    shuffled = data.take(pa.array(order, pa.int64()))
    assert sort(shuffled, spec).equals(data)
    if order != sorted(order):
        with pytest.raises(DuplicateKey, match="out of order"):
            check_keys(shuffled, spec)
    if order:
        twice = sort(pa.concat_tables([data, data.slice(0, 1)]), spec)
        with pytest.raises(DuplicateKey, match="row 1 repeats the key"):
            check_keys(twice, spec)


def test_text_keys_are_checked_too() -> None:
    columns: dict[str, Any] = {"version": [1, 1], "series": ["a", "a"], "period": ["p", "p"],
               "dimensions": ["", ""], "numerator": [1, 1], "denominator": [1, 1],
               "unit": ["%", "%"], "value": [1.0, 1.0], "snapshot": ["s", "s"]}  # fmt: skip
    spec = table("metrics")
    check_keys(make("metrics", metric=["day_1", "dpd_90"], **columns), spec)
    with pytest.raises(DuplicateKey, match="metric day_1"):
        check_keys(make("metrics", metric=["day_1", "day_1"], **columns), spec)


def test_a_number_outside_its_closed_set_is_refused() -> None:
    good = {name: facts().column(name) for name in facts().column_names}
    with pytest.raises(
        SchemaError, match=r"kind has 77, which is no kind. Give one of 0 disbursed"
    ):
        make("facts", **{**good, "kind": [0, 77, 4]})
    with pytest.raises(SchemaError, match="kind has -1"):
        conform({**good, "kind": pa.array([0, -1, 4], pa.int8())}, table("facts"), rows=3, where="")


def test_every_type_has_an_arrow_type() -> None:
    kinds = {column.type for spec in TABLES.values() for column in spec.columns}
    assert kinds - {"inputs"} == set(ARROW)


@pytest.mark.parametrize("late", [False, True])
def test_many_rows_of_files_in_order_are_merged(late: bool) -> None:
    """Files in order, one after the other, as a plain sort has them; also where keys are long."""
    parts = []
    for month in range(5):
        loan = np.sort(np.random.default_rng(month).integers(1, 40_000, 70_000)) * 16_384 + 1
        day = np.full(len(loan), 20_000 + (31 * month if not late else -month))
        ref = np.arange(len(loan)) + (1 << 40)
        parts.append(make("facts", loan_id=loan, effective_on=day.astype(np.int32),
                          kind=np.full(len(loan), 4), ref=ref, amount_minor=ref, arg=ref,
                          booked_at=ref))  # fmt: skip
    whole = pa.concat_tables(parts)
    keys = [arrays(whole)[name] for name in table("facts").key]
    found = sort(whole, table("facts"))
    assert found.equals(whole.take(pa.array(np.lexsort(keys[::-1]))))
    check_keys(found, table("facts"))
