"""Calendars as dated parameters: years with their source, rules, and days that nobody knows yet."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from usance.base.calendars import Calendar, CalendarRule
from usance.base.dated_calendars import DatedCalendar
from usance.base.errors import DateError, ParameterError, UsanceError
from usance.base.packs import CountryPack
from usance.base.parameters import Parameters

CHINA_2024 = (
    "01-01", "02-12", "02-13", "02-14", "02-15", "02-16", "04-04", "04-05", "05-01", "05-02",
    "05-03", "06-10", "09-16", "09-17", "10-01", "10-02", "10-03", "10-04", "10-07",
)  # fmt: skip
"""Days from Monday to Friday that were off in 2024, one by one."""
WORKED_2024 = ("02-04", "02-18", "04-07", "04-28", "05-11", "09-14", "09-29", "10-12")


def off_days(calendar: DatedCalendar, year: int) -> set[date]:
    days = (date(year, 1, 1) + timedelta(days=n) for n in range(366))
    return {day for day in days if day.year == year and not calendar.is_business(day)}


def test_a_year_of_banks_in_china_day_by_day() -> None:
    banks = DatedCalendar.of("banks", CountryPack.load("cn").parameters)
    weekends = {day for day in (date(2024, 1, 1) + timedelta(days=n) for n in range(366))
                if day.weekday() >= 5}  # fmt: skip
    off = {date.fromisoformat(f"2024-{each}") for each in CHINA_2024}
    worked = {date.fromisoformat(f"2024-{each}") for each in WORKED_2024}
    assert off_days(banks, 2024) == (weekends | off) - worked


@pytest.mark.parametrize("year", [2022, 2023, 2024, 2025, 2026])
def test_weekend_days_that_are_worked_make_up_for_days_off(year: int) -> None:
    """Every year's notice gives weekdays off: the public holidays, and those worked for."""
    banks = DatedCalendar.of("banks", CountryPack.load("cn").parameters)
    off = off_days(banks, year)
    worked = sum(1 for n in range(366) if (day := date(year, 1, 1) + timedelta(days=n)).year == year
                 and day.weekday() >= 5 and day not in off)  # fmt: skip
    weekdays = sum(day.weekday() < 5 for day in off)
    assert 9 <= weekdays - worked <= 13


@pytest.mark.parametrize(
    ("year", "off"),
    [
        (2024, "2024-01-01 2024-03-29 2024-04-01 2024-05-01 2024-12-25 2024-12-26"),
        (2025, "2025-01-01 2025-04-18 2025-04-21 2025-05-01 2025-12-25 2025-12-26"),
        (2038, "2038-01-01 2038-04-23 2038-04-26"),
    ],
)
def test_the_days_of_target_hold_every_year(year: int, off: str) -> None:
    target = DatedCalendar.of("banks", CountryPack.load("nl").parameters)
    weekdays = {day for day in off_days(target, year) if day.weekday() < 5}
    assert weekdays == set(map(date.fromisoformat, off.split()))
    assert target.last_day(date(year, 1, 1)) is None


def own(folder: Path, *values: tuple[str, str]) -> DatedCalendar:
    lines = [f"  {day}:\n    value: {value}\n    source: them\n" for day, value in values]
    (folder / "calendars").mkdir()
    (folder / "calendars" / "own.yaml").write_text(
        "description: d\nunit: calendar\nreference: r\nvalues:\n" + "".join(lines)
    )
    return DatedCalendar.of("own", Parameters.load(folder))


def test_a_year_that_is_lacking_is_named(tmp_path: Path) -> None:
    calendar = own(tmp_path, ("2024-01-01", "sunday 12-25"), ("2025-01-01", "sunday 12-26"),
                   ("2027-01-01", "sunday 12-27"))  # fmt: skip
    assert str(calendar.add_business_days(date(2024, 12, 24), 1)) == "2024-12-26"
    assert not calendar.is_business(date(2025, 12, 26))
    with pytest.raises(ParameterError, match=r"own: has no days of 2026.*end with 2025-12-31"):
        calendar.is_business(date(2026, 1, 2))
    with pytest.raises(ParameterError, match="no days of 2026"):
        calendar.add_business_days(date(2025, 12, 31), 1)
    with pytest.raises(ParameterError, match="no value on 2023-12-31"):
        calendar.is_business(date(2023, 12, 31))
    assert calendar.is_business(date(2027, 12, 25))
    assert [calendar.last_day(date(year, 6, 1)) for year in (2023, 2024, 2025, 2026, 2027)] == [
        date(2025, 12, 31), date(2025, 12, 31), date(2025, 12, 31), date(2025, 12, 31),
        date(2027, 12, 31),
    ]  # fmt: skip


def test_a_change_within_a_year_holds_from_its_day(tmp_path: Path) -> None:
    calendar = own(tmp_path, ("2020-01-01", "sunday 01-31 02-03"),
                   ("2020-01-27", "sunday 01-31..02-02 but 02-09"))  # fmt: skip
    days = [date(2020, 2, day) for day in (1, 2, 3, 9)]
    assert [calendar.is_business(day) for day in days] == [False, False, True, True]
    assert calendar.last_day(date(2020, 1, 1)) == date(2020, 12, 31)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("sundays", "'sundays' is no day off"),
        ("13-01", "2000-13-01"),
        ("02-30", "2000-02-30"),
        ("12-31..01-02", "ends before it begins"),
        ("sunday 05-01 but 05-01", "both a holiday and a workday"),
        ("sunday but monday", "'monday' is no day off"),
        ("monday tuesday wednesday thursday friday saturday sunday", "Leave a day to work"),
    ],
)
def test_words_that_make_no_calendar_are_refused(tmp_path: Path, words: str, problem: str) -> None:
    with pytest.raises(UsanceError, match=problem):
        own(tmp_path, ("2024-01-01", words))
    with pytest.raises(DateError, match=problem):
        CalendarRule.parse(words)


def test_a_leap_day_is_refused_in_another_year_when_it_is_read(tmp_path: Path) -> None:
    calendar = own(tmp_path, ("2023-01-01", "sunday 02-29"))
    with pytest.raises(DateError, match="own from 2023-01-01: 2023-02-29"):
        calendar.is_business(date(2023, 3, 1))
    assert CalendarRule.parse("sunday 02-29").of_year(2024) == Calendar(
        frozenset({6}), frozenset({date(2024, 2, 29)})
    )


def test_a_name_that_is_no_calendar_is_told_with_those_there_are() -> None:
    with pytest.raises(UsanceError, match=r"unknown calendar 'bank'\. Did you mean 'banks'"):
        DatedCalendar.of("bank", Parameters.load())
