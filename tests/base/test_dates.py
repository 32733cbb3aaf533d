"""Days and months against NumPy's calendar; steps without drift; each impossible date by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.dates import (
    Frequency,
    MonthEnd,
    add_days,
    add_months,
    first_of_month,
    format_month,
    from_day,
    is_month_end,
    last_of_month,
    month_starts,
    parse_date,
    parse_moment,
    parse_month,
    to_day,
    to_month,
)
from usance.base.errors import CodeError, DateError

DATES = st.dates(date(1800, 1, 1), date(2200, 12, 31))


@given(DATES)
def test_numbers_are_those_of_numpy(day: date) -> None:
    moment = np.datetime64(day, "D")
    assert to_day(day) == int(moment.astype(np.int64))
    assert to_month(day) == int(moment.astype("datetime64[M]").astype(np.int64))
    assert from_day(to_day(day)) == day
    assert parse_date(day.isoformat()) == day
    assert parse_month(format_month(to_month(day))) == to_month(day)


def test_june_2024_is_653() -> None:
    assert to_month(date(2024, 6, 30)) == parse_month("2024-06") == 653


@given(DATES, st.integers(-1200, 1200))
def test_adding_months_keeps_the_day_or_clamps(anchor: date, months: int) -> None:
    there = add_months(anchor, months)
    assert to_month(there) == to_month(anchor) + months
    assert there.day == anchor.day or (there.day < anchor.day and is_month_end(there))
    if is_month_end(anchor):
        assert is_month_end(add_months(anchor, months, MonthEnd.END_OF_MONTH))
    else:
        assert add_months(anchor, months, MonthEnd.END_OF_MONTH) == there


@given(st.integers(-2000, 5000))
def test_a_month_begins_after_the_one_before_ends(month: int) -> None:
    assert last_of_month(month - 1) + timedelta(days=1) == first_of_month(month)
    assert is_month_end(last_of_month(month))


def test_month_starts_is_the_same_calendar() -> None:
    starts = month_starts(0, 3000)
    assert starts.dtype == np.int32
    assert starts.tolist() == [to_day(first_of_month(month)) for month in range(3000)]


def test_steps_are_counted_from_the_anchor() -> None:
    monthly = Frequency.parse("month")
    due = [monthly.step(date(2024, 1, 31), k) for k in range(4)]
    assert [d.day for d in due] == [31, 29, 31, 30]
    assert Frequency.parse("1 year").step(date(2024, 2, 29), 4) == date(2028, 2, 29)
    assert Frequency.parse("2 weeks").step(date(2024, 1, 1), -1) == date(2023, 12, 18)
    assert Frequency.parse("14 days").step(date(2024, 1, 1), 2) == date(2024, 1, 29)
    end = Frequency(1, "month").step(date(2024, 2, 29), 1, MonthEnd.END_OF_MONTH)
    assert end == date(2024, 3, 31)


@given(st.integers(1, 9999), st.sampled_from(["day", "week", "month", "year"]))
def test_frequency_reads_back(count: int, unit: str) -> None:
    frequency = Frequency(count, unit)
    assert Frequency.parse(str(frequency)) == frequency


@pytest.mark.parametrize(
    "text", ["", "0 months", "1 quarter", "monthly", "-1 day", "1.5 months", 3]
)
def test_unknown_frequency(text: Any) -> None:
    with pytest.raises(CodeError, match="such as 1 month"):
        Frequency.parse(text, where="terms.yaml")


def test_a_frequency_cannot_be_made_wrong() -> None:
    with pytest.raises(CodeError, match="frequency"):
        Frequency(0, "month")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2023-02-30", "February 2023 has 28 days"),
        ("2023-02-29", "February 2023 has 28 days"),
        ("2024-04-31", "April 2024 has 30 days"),
        ("2024-13-01", "Months go from 01 to 12"),
        ("2024-00-10", "Months go from 01 to 12"),
        ("0000-01-01", "Years start at 0001"),
    ],
)
def test_impossible_dates_say_why(text: str, why: str) -> None:
    with pytest.raises(DateError, match="does not exist") as caught:
        parse_date(text, where="row 3")
    assert why in caught.value.fix
    assert caught.value.where == "row 3"


@pytest.mark.parametrize(
    "given",
    ["", "30.06.2024", "2024-6-30", "20240630", "2024-06-30T00:00", " 2024-06-30", 19904, None,
     datetime(2024, 6, 30, tzinfo=UTC), "\uff12024-06-30"],
)  # fmt: skip
def test_only_iso_dates_are_read(given: Any) -> None:
    with pytest.raises(DateError, match="YYYY-MM-DD"):
        parse_date(given)


@pytest.mark.parametrize("given", ["2024-13", "2024", "2024-6", "0000-01", 653, None])
def test_only_iso_months_are_read(given: Any) -> None:
    with pytest.raises(DateError, match="2024-06"):
        parse_month(given)


def test_dates_beyond_the_calendar() -> None:
    makers: list[Callable[[], object]] = [
        lambda: from_day(10**9),
        lambda: first_of_month(-24000),
        lambda: add_months(date(9999, 12, 1), 1),
        lambda: add_days(date(9999, 12, 31), 1),
    ]
    for make in makers:
        with pytest.raises(DateError, match="1 to 9999"):
            make()


@pytest.mark.parametrize("given", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_moments_beyond_the_calendar_in_utc(given: str) -> None:
    with pytest.raises(DateError, match="1 to 9999") as caught:
        parse_moment(given, where="row 3")
    assert caught.value.where == "row 3"


def test_moments_are_utc() -> None:
    expected = datetime(2024, 6, 30, tzinfo=UTC)
    assert parse_moment("2024-06-30T00:00:00Z") == expected
    east = timezone(timedelta(hours=8))
    assert parse_moment(datetime(2024, 6, 30, 8, tzinfo=east)).isoformat() == expected.isoformat()


@pytest.mark.parametrize("given", ["2024-06-30T08:00:00", "yesterday", 5, "2024-06-30"])
def test_moments_need_an_offset(given: Any) -> None:
    with pytest.raises(DateError, match="offset"):
        parse_moment(given)
