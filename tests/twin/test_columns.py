"""The columns a run is made of: packed and unpacked, merged, dated."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from usance.base.array_bytes import pack, unpack
from usance.base.dates import add_months, from_day, microseconds, to_day
from usance.loan.pricing import a_month_later, month_of
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.timestamps import END_OF_DAY, end_of_month, timestamps

ROW = st.tuples(st.integers(1, 5), st.integers(0, 4), st.integers(3, 5), st.integers(1, 30))


def facts_of(rows: list[tuple[int, int, int, int]]) -> FactRows:
    """Facts whose amount says who they are; one for each loan and reference, in order."""
    once = {(loan, ref): (loan, day, kind, ref) for loan, day, kind, ref in rows}
    ordered = sorted(once.values())
    columns: NDArray[np.int64] = np.array(ordered, np.int64).reshape(-1, 4).T
    loan, day, kind, ref = columns
    return FactRows.of(
        loan_id=loan, day=day, kind=kind, ref=ref, amount=loan * 1_000 + ref, arg=ref, booked=day
    )


@given(st.lists(ROW, max_size=30), st.lists(ROW, max_size=8))
def test_a_few_more_facts_are_put_in_their_places(
    many: list[tuple[int, int, int, int]], few: list[tuple[int, int, int, int]]
) -> None:
    known, told = facts_of(many), facts_of(few)
    merged = known.with_inserted(told)
    keys = {(int(a), int(b)) for a, b in zip(known.loan_id, known.ref, strict=True)}
    new = [row for row in range(len(told.day))
           if (int(told.loan_id[row]), int(told.ref[row])) not in keys]  # fmt: skip
    rows = sorted(
        [*zip(*(each.tolist() for each in known), strict=True),
         *zip(*(each[new].tolist() for each in told), strict=True)]
    )  # fmt: skip
    assert list(zip(*(each.tolist() for each in merged), strict=True)) == rows
    again = merged.with_inserted(told)
    assert [each.tolist() for each in again] == [each.tolist() for each in merged]


def test_facts_without_a_loan_are_refused() -> None:
    facts = facts_of([(1, 0, 3, 1), (9, 0, 3, 2)])
    assert facts.columns_for(np.array([1, 9])).offsets.tolist() == [0, 1, 2]
    with pytest.raises(AssertionError, match="no loan"):
        facts.columns_for(np.array([1, 5]))


@given(
    st.dictionaries(
        st.text("abc.", min_size=1, max_size=4),
        st.tuples(st.sampled_from(["i1", "i2", "i4", "i8"]), st.integers(0, 9), st.integers(1, 3)),
        max_size=5,
    )
)
def test_what_is_packed_comes_out(shapes: dict[str, tuple[str, int, int]]) -> None:
    """Numbers of any width, in the widest or the narrowest type that holds them."""
    arrays = {
        name: np.resize([0, np.iinfo(kind).max, np.iinfo(kind).min // 3], (rows, width)).astype(
            "i8" if rows % 2 else kind
        )
        for name, (kind, rows, width) in shapes.items()
    }
    kept = pack(arrays)
    found = unpack(kept)
    assert list(found) == list(arrays)
    for name, values in arrays.items():
        assert found[name].dtype == values.dtype
        assert found[name].tolist() == values.tolist()
    assert pack(found) == kept


@given(st.lists(st.dates(date(1990, 1, 1), date(2090, 1, 1)), min_size=1, max_size=20))
def test_a_month_later_is_the_same_day_or_the_last(days: list[date]) -> None:
    numbers = np.array([to_day(each) for each in days], np.int64)
    later = [from_day(int(each)) for each in a_month_later(numbers)]
    assert later == [add_months(each, 1) for each in days]
    assert month_of(numbers).tolist() == [(d.year - 1970) * 12 + d.month - 1 for d in days]


def test_a_day_ends_where_the_platform_is() -> None:
    last = np.array([to_day(date(2024, 6, 30))])
    for zone in ("Asia/Shanghai", "America/New_York", "UTC"):
        end = int(timestamps(last, END_OF_DAY, zone)[0])
        assert end == microseconds(end_of_month(653, zone)) - 999_999
    assert timestamps(np.zeros(0, np.int32), 0, "UTC").tolist() == []
