"""The first allowed moment against a search minute by minute, also where clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.parameters import Parameters
from usance.service import (
    Attempt,
    Channel,
    Contact,
    ContactOutcome,
    ContactRules,
    Debtor,
    Party,
    Stop,
    allowed_from,
    broken_rules,
)
from usance.service.collections.quiet_days import parse_quiet_days

ZONES = ["Asia/Shanghai", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago",
         "Pacific/Kiritimati", "Pacific/Pago_Pago"]  # fmt: skip
BEGINS = [datetime(2024, 3, 30, tzinfo=UTC), datetime(2024, 10, 26, tzinfo=UTC),
          datetime(2024, 9, 7, tzinfo=UTC), datetime(2024, 4, 6, tzinfo=UTC),
          datetime(2024, 12, 24, tzinfo=UTC)]  # fmt: skip
RULES = ContactRules.at(date(2024, 7, 1), Parameters.load())
SUNDAYS = RULES._replace(quiet_days=parse_quiet_days("sunday 12-25"))
BOTH = frozenset({Channel.VOICE, Channel.MESSAGE})


@given(st.sampled_from(BEGINS), st.integers(0, 4 * 24 * 60), st.sampled_from(ZONES),
       st.sets(st.sampled_from(ZONES), max_size=1), st.sampled_from([RULES, SUNDAYS]),
       st.lists(st.integers(-1_500, 0), max_size=4), st.none() | st.integers(-3, 3),
       st.sampled_from([Channel.VOICE, Channel.MESSAGE, Channel.LETTER]))  # fmt: skip
def test_it_is_the_first_minute_that_is_allowed(  # type: ignore[no-untyped-def]
    begin, minute, zone, others, rules, calls, promised, channel
) -> None:
    at = begin + timedelta(minutes=minute)
    made = [Attempt(at + timedelta(minutes=each), Channel.VOICE, ContactOutcome.CONNECTED)
            for each in calls]  # fmt: skip
    day = at.date()
    until = None if promised is None else day + timedelta(days=promised)
    debtor = Debtor(zone, BOTH, frozenset(), until and day - timedelta(days=3), until,
                    frozenset(others))  # fmt: skip
    found = allowed_from(Contact(at, channel), debtor, made, lambda _: rules)
    wanted = at
    while broken_rules(Contact(wanted, channel), debtor, made, rules):
        wanted += timedelta(minutes=1)
        assert wanted - at < timedelta(days=20)
    assert found == wanted


@pytest.mark.parametrize(
    ("contact", "debtor"),
    [
        (Contact(BEGINS[0], Channel.EMAIL), Debtor("Asia/Shanghai", BOTH)),
        (Contact(BEGINS[0], Channel.VOICE), Debtor("Asia/Shanghai", BOTH, frozenset(Stop))),
        (Contact(BEGINS[0], Channel.VOICE, Party.FAMILY), Debtor("Asia/Shanghai", BOTH)),
    ],
)
def test_what_no_waiting_mends_is_never_allowed(contact: Contact, debtor: Debtor) -> None:
    assert allowed_from(contact, debtor, [], lambda _: RULES) is None


def test_rules_are_those_of_each_day() -> None:
    """A limit that ends on the next day is waited for, and not longer."""
    noon = datetime(2024, 7, 1, 4, tzinfo=UTC)
    shut = RULES._replace(quiet_days=parse_quiet_days("monday tuesday"))
    debtor = Debtor("Asia/Shanghai", BOTH)
    found = allowed_from(
        Contact(noon, Channel.VOICE), debtor, [],
        lambda day: shut if day < date(2024, 7, 2) else RULES,
    )  # fmt: skip
    assert found == datetime(2024, 7, 2, 0, tzinfo=UTC)
    every = RULES._replace(quiet_days=parse_quiet_days(
        "monday tuesday wednesday thursday friday saturday sunday"))  # fmt: skip
    assert allowed_from(Contact(noon, Channel.VOICE), debtor, [], lambda _: every) is None
