"""Business days against a brute-force walk over the days."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.calendars import Calendar, Roll
from usance.base.documents import parse_yaml
from usance.base.errors import CodeError, DateError

DAYS = st.dates(date(2024, 1, 1), date(2024, 12, 31))
CALENDARS = st.builds(
    Calendar,
    weekend=st.sets(st.integers(0, 6), max_size=3).map(frozenset),
    holidays=st.sets(DAYS, max_size=30).map(frozenset),
)


def walk(calendar: Calendar, day: date, step: int) -> date:
    while not calendar.is_business(day):
        day += timedelta(days=step)
    return day


@given(CALENDARS, DAYS)
def test_rolls(calendar: Calendar, day: date) -> None:
    later, earlier = walk(calendar, day, 1), walk(calendar, day, -1)
    assert calendar.roll(day, Roll.NONE) == day
    assert calendar.roll(day, Roll.FOLLOWING) == later
    assert calendar.roll(day, Roll.PRECEDING) == earlier
    modified = later if later.month == day.month else earlier
    assert calendar.roll(day, Roll.MODIFIED_FOLLOWING) == modified


@given(CALENDARS, DAYS, st.integers(-30, 30))
def test_adding_business_days_counts_them(calendar: Calendar, day: date, count: int) -> None:
    there = calendar.add_business_days(day, count)
    low, high = sorted((day, there))
    between = [low + timedelta(days=n) for n in range((high - low).days + 1)]
    passed = sum(calendar.is_business(each) for each in between if each != day)
    assert passed == abs(count)
    assert count == 0 or calendar.is_business(there)


def test_a_worked_weekend_is_business() -> None:
    calendar = Calendar(workdays=frozenset({date(2024, 5, 11)}))
    assert calendar.is_business(date(2024, 5, 11))
    assert not calendar.is_business(date(2024, 5, 12))


def test_from_a_document() -> None:
    text = "weekend: [friday, saturday]\nholidays:\n- 2024-05-01\n- 2024-05-02"
    calendar = Calendar.from_document(parse_yaml(text))
    assert calendar.roll(date(2024, 5, 1), Roll.FOLLOWING) == date(2024, 5, 5)
    assert Calendar.from_document({}) == Calendar()


@pytest.mark.parametrize(
    ("document", "error", "message"),
    [
        ({"weekend": ["sun"]}, CodeError, "unknown weekday 'sun'"),
        ({"holidays": "2024-05-01"}, CodeError, "not a list"),
        ({"holidays": ["2024-05-32"]}, DateError, "May 2024 has 31 days"),
        ({"hollidays": []}, CodeError, "Did you mean 'holidays'"),
        (
            {"holidays": ["2024-05-11"], "workdays": ["2024-05-11"]},
            DateError,
            "both a holiday and a workday",
        ),
    ],
)
def test_wrong_documents(document: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Calendar.from_document(document, where="china.yaml")


def test_a_calendar_without_business_days_is_refused() -> None:
    with pytest.raises(DateError, match="Leave a day"):
        Calendar(weekend=frozenset(range(7)))
    start = date(2024, 1, 1)
    year = frozenset(start + timedelta(days=n) for n in range(366))
    with pytest.raises(DateError, match="Check the holidays"):
        Calendar(holidays=year).roll(date(2024, 5, 1), Roll.FOLLOWING)


def test_rolls_read_back() -> None:
    assert all(Roll.parse(roll.value) is roll for roll in Roll)
    with pytest.raises(CodeError, match="unknown roll"):
        Roll.parse("backwards")
