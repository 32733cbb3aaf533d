"""Hard limits on contacts: edges of the window, changes of clocks, counts over everybody."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.service import (
    Attempt,
    Channel,
    Contact,
    ContactError,
    ContactOutcome,
    ContactRule,
    ContactRules,
    Debtor,
    Party,
    Stop,
    broken_rules,
)
from usance.service.collections.quiet_days import parse_quiet_days

RULES = ContactRules.at(date(2024, 7, 1))
EVERY = frozenset(Channel)
BERLIN, CHINA = "Europe/Berlin", "Asia/Shanghai"


def local(zone: str, year: int, month: int, day: int, *clock: int) -> datetime:
    hour, minute, second = (*clock, 0, 0)[:3]
    return datetime(year, month, day, hour, minute, second, tzinfo=ZoneInfo(zone))


def at(moment: datetime, zone: str = CHINA, channel: Channel = Channel.VOICE, **debtor: object):  # type: ignore[no-untyped-def]
    person = Debtor(zone, EVERY)._replace(**debtor)  # type: ignore[arg-type]
    return broken_rules(Contact(moment, channel), person, [], RULES)


@pytest.mark.parametrize(
    ("clock", "is_quiet"),
    [((7, 59, 59), True), ((8, 0, 0), False), ((21, 59, 59), False), ((22, 0, 0), True),
     ((0, 0, 0), True)],
)  # fmt: skip
@pytest.mark.parametrize("zone", [CHINA, BERLIN, "America/New_York", "Asia/Kolkata"])
def test_the_window_has_sharp_edges_on_the_debtors_own_clock(
    clock: tuple[int, int, int], is_quiet: bool, zone: str
) -> None:
    moment = local(zone, 2024, 7, 1, *clock).astimezone(UTC)
    assert (ContactRule.QUIET_HOURS in at(moment, zone)) is is_quiet


@pytest.mark.parametrize(
    ("day", "utc_hour_of_eight"),
    [((2024, 3, 30), 7), ((2024, 3, 31), 6), ((2024, 10, 26), 6), ((2024, 10, 27), 7)],
)
def test_eight_o_clock_moves_with_daylight_saving(
    day: tuple[int, int, int], utc_hour_of_eight: int
) -> None:
    eight = datetime(*day, utc_hour_of_eight, tzinfo=UTC)
    assert at(eight, BERLIN) == ()
    assert at(eight - timedelta(seconds=1), BERLIN) == (ContactRule.QUIET_HOURS,)


def test_a_day_of_25_hours_is_one_day() -> None:
    """Three calls before and after the clocks are set back are three calls of that day."""
    zone = ZoneInfo(BERLIN)
    midnight = datetime(2024, 10, 27, 0, 0, tzinfo=zone).astimezone(UTC)
    calls = [Attempt(midnight + timedelta(hours=n), Channel.VOICE, ContactOutcome.CONNECTED)
             for n in (0, 2, 3)]  # fmt: skip
    evening = Contact(local(BERLIN, 2024, 10, 27, 21), Channel.VOICE)
    person = Debtor(BERLIN, EVERY)
    assert broken_rules(evening, person, calls, RULES) == (ContactRule.DAILY_LIMIT,)
    before = [each._replace(at=midnight - timedelta(seconds=1)) for each in calls]
    assert broken_rules(evening, person, before, RULES) == ()


@given(st.lists(st.tuples(st.integers(0, 47), st.sampled_from(list(Channel)),
                          st.sampled_from(list(ContactOutcome)))))  # fmt: skip
def test_only_calls_of_the_day_that_reached_or_may_reach_count(
    made: list[tuple[int, Channel, ContactOutcome]],
) -> None:
    start = local(CHINA, 2024, 7, 1, 0)
    attempts = [Attempt(start + timedelta(hours=hour), how, reached) for hour, how, reached in made]
    counted = sum(
        hour >= 24
        and how in (Channel.VOICE, Channel.AI_VOICE)
        and reached is not ContactOutcome.NOT_CONNECTED
        for hour, how, reached in made
    )
    noon = Contact(start + timedelta(hours=36), Channel.AI_VOICE)
    found = broken_rules(noon, Debtor(CHINA, EVERY), attempts, RULES)
    assert (ContactRule.DAILY_LIMIT in found) is (counted >= 3)


def test_every_broken_rule_is_named() -> None:
    person = Debtor(CHINA, frozenset(), frozenset({Stop.DISPUTE}), date(2024, 7, 1),
                    date(2024, 7, 3))  # fmt: skip
    night = Contact(local(CHINA, 2024, 7, 2, 23), Channel.VOICE, Party.FAMILY)
    calls = [Attempt(local(CHINA, 2024, 7, 2, 9), Channel.VOICE, ContactOutcome.OPEN)] * 3
    quiet = RULES._replace(quiet_days=parse_quiet_days("tuesday"))
    assert set(broken_rules(night, person, calls, quiet)) == set(ContactRule)


@pytest.mark.parametrize(("day", "cools"), [(1, True), (3, True), (4, False)])
def test_a_promise_is_left_alone_until_its_day_is_over(day: int, cools: bool) -> None:
    found = at(local(CHINA, 2024, 7, day, 12), promised_on=date(2024, 7, 1),
               promised_for=date(2024, 7, 3))  # fmt: skip
    assert (ContactRule.COOL_OFF in found) is cools


def test_a_promise_for_a_far_day_cools_off_a_week_at_most() -> None:
    far: dict[str, Any] = {"promised_on": date(2024, 7, 1), "promised_for": date(2024, 7, 30)}
    assert at(local(CHINA, 2024, 7, 8, 12), **far) == (ContactRule.COOL_OFF,)
    assert at(local(CHINA, 2024, 7, 9, 12), **far) == ()


def test_consent_is_by_channel_and_a_letter_needs_none() -> None:
    noon = local(CHINA, 2024, 7, 1, 12)
    only = frozenset({Channel.MESSAGE})
    assert at(noon, channel=Channel.VOICE, consents=only) == (ContactRule.NO_CONSENT,)
    assert at(noon, channel=Channel.MESSAGE, consents=only) == ()
    assert at(local(CHINA, 2024, 7, 1, 23), channel=Channel.LETTER, consents=only) == ()


def test_a_moment_without_a_zone_and_an_unknown_zone_are_refused() -> None:
    with pytest.raises(ContactError, match="no time zone"):
        at(datetime(2024, 7, 1, 12))  # noqa: DTZ001 -- this is what is refused
    with pytest.raises(ContactError, match="unknown"):
        at(local(CHINA, 2024, 7, 1, 12), "Mars/Base")
