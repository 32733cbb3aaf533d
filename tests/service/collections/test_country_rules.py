"""Contact rules of every country: hours, calls, days of rest, the shipped strategy inside them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from usance.base.calendars import easter
from usance.base.packs import CountryPack, shipped_packs
from usance.cli import main
from usance.service.collections.contact_rules import (
    Attempt,
    Channel,
    Contact,
    ContactOutcome,
    ContactRule,
    ContactRules,
    Debtor,
    broken_rules,
)
from usance.service.collections.quiet_days import parse_quiet_days
from usance.service.collections.strategy_file import parse_strategy, shipped_text
from usance.service.errors import ContactError

EASTERS = {  # from the tables of the church
    1961: (4, 2), 1981: (4, 19), 2000: (4, 23), 2008: (3, 23), 2011: (4, 24), 2019: (4, 21),
    2024: (3, 31), 2025: (4, 20), 2035: (3, 25), 2038: (4, 25), 2049: (4, 18), 2076: (4, 19),
}  # fmt: skip
REST_2024 = [  # of the Netherlands, beside Sundays
    (1, 1), (3, 29), (4, 1), (4, 27), (5, 5), (5, 9), (5, 20), (12, 25), (12, 26),
]  # fmt: skip
ALL = frozenset(Channel)


def test_easter_is_that_of_the_tables() -> None:
    for year, day in EASTERS.items():
        assert easter(year) == date(year, *day)
    assert all(easter(year).weekday() == 6 for year in range(1900, 2100))


@pytest.mark.parametrize("name", sorted(shipped_packs()))
def test_the_shipped_strategy_of_a_country_keeps_its_rules(name: str) -> None:
    pack = CountryPack.load(name)
    strategy = parse_strategy(shipped_text(pack.currency), name, pack.parameters)
    assert strategy.currency == pack.currency


@pytest.mark.parametrize("name", sorted(shipped_packs()))
def test_every_minute_of_a_week_is_judged_by_the_countrys_own_clock(name: str) -> None:
    pack = CountryPack.load(name)
    zone = ZoneInfo(pack.time_zone(date(2024, 5, 1)))
    opens, closes, rest = {
        "cn": (8, 22, set()), "nl": (7, 20, {date(2024, m, d) for m, d in REST_2024}),
    }[name]  # fmt: skip
    debtor = Debtor(zone.key, ALL)
    # The week of Ascension Day, with a Sunday and the fifth of May.
    start = datetime(2024, 5, 4, tzinfo=zone)
    for quarter in range(7 * 24 * 4):
        at = start + timedelta(minutes=15 * quarter)
        rules = ContactRules.at(at.date(), pack.parameters)
        is_rest = at.date() in rest or (name == "nl" and at.weekday() == 6)
        allowed = opens <= at.hour < closes and not is_rest
        assert (broken_rules(Contact(at, Channel.MESSAGE), debtor, [], rules) == ()) == allowed, at
        assert broken_rules(Contact(at, Channel.LETTER), debtor, [], rules) == ()


def test_days_of_rest_of_a_year_are_those_of_the_calendar() -> None:
    rules = ContactRules.at(date(2024, 6, 1), CountryPack.load("nl").parameters)
    days = [date(2024, 1, 1) + timedelta(days=n) for n in range(366)]
    found = {day for day in days if rules.quiet_days.is_quiet(day)}
    assert found == {day for day in days if day.weekday() == 6} | {
        date(2024, *each) for each in REST_2024
    }


def test_a_person_with_two_zones_is_called_when_it_is_day_in_both() -> None:
    rules = ContactRules.at(date(2024, 7, 1))
    debtor = Debtor("Asia/Shanghai", ALL, other_zones=frozenset({"Europe/London"}))
    noon = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Asia/Shanghai"))  # five in London
    assert broken_rules(Contact(noon, Channel.VOICE), debtor, [], rules) == (
        ContactRule.QUIET_HOURS,
    )
    later = noon + timedelta(hours=4)
    assert broken_rules(Contact(later, Channel.VOICE), debtor, [], rules) == ()
    calls = [Attempt(later, Channel.VOICE, ContactOutcome.CONNECTED)]
    one = ContactRules.at(date(2024, 7, 1), CountryPack.load("nl").parameters)
    assert ContactRule.DAILY_LIMIT in broken_rules(
        Contact(later, Channel.VOICE), debtor, calls, one
    )


def test_a_day_that_is_none_is_refused() -> None:
    with pytest.raises(ContactError, match="'13-01' is no day"):
        parse_quiet_days("sunday 13-01")


def test_contacts_of_a_file_are_judged_and_every_wrong_cell_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "c.csv", tmp_path / "o.csv"
    file.write_text(
        "person,at,channel,consents,reached,promised_on,promised_for,party\n"
        "a,2024-05-06T10:00:00+02:00,voice,voice,connected,,,\n"
        "a,2024-05-06T11:00:00+02:00,ai_voice,voice ai_voice,,,,\n"
        "a,2024-05-05T11:00:00+02:00,voice,voice,,,,\n"
        "b,2024-05-06T11:00:00+02:00,voice,voice,,2024-05-04,2024-05-08,\n"
        "c,2024-05-06T11:00:00+02:00,voice,voice,,,,family\n",
        encoding="utf-8",
    )
    assert main(["collect", "contacts", str(file), "--out", str(out), "--pack", "nl"]) == 0
    capsys.readouterr()
    told = [line.split(",")[3:] for line in out.read_text(encoding="utf-8").splitlines()[1:]]
    assert told == [
        ["no", "quiet_day"], ["yes", ""], ["no", "daily_limit"], ["no", "cool_off"],
        ["no", "not_the_debtor"],
    ]  # fmt: skip
    file.write_text("person,at,channel\na,2024-05-06T10:00:00,voice\nb,x,phone\n", encoding="utf-8")
    assert main(["collect", "contacts", str(file), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "line 2" in said
    assert "line 3" in said
