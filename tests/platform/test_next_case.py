"""`next` offers what may be worked now, and leaves nobody with a case that they may not contact."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from tests.platform.sandbox import Sandbox
from tests.platform.test_contacts import at, debtors, owner
from tests.platform.test_desks import read
from usance.platform.errors import NotFound
from usance.platform.reads.collections.cases import one_case
from usance.platform.refusals import ContactDailyLimit, ContactQuietHours

NOON = "2024-01-02 04:00+00"
"""In Shanghai; the best case is that of the highest number."""


def given(sandbox: Sandbox, who: str = "operations", **body: Any) -> str | None:
    """The borrower of the next case."""
    case = sandbox.do(who, "case.next", body).answer["case"]
    return None if case is None else str(case["user"])


def begun(sandbox: Sandbox, user: str, channel: str = "voice", who: str = "operations") -> str:
    body = {"user": user, "channel": channel}
    return str(sandbox.do(who, "contact.begin", body).answer["contact"])


def ended(sandbox: Sandbox, contact: str, *, connected: bool, who: str = "operations") -> None:
    sandbox.do(who, "contact.end", {"contact": contact, "connected": connected})


def one_person(sandbox: Sandbox) -> None:
    """Everybody is the same person."""
    owner(
        sandbox, "insert into usance.persons values (1, '\x01')",
        "insert into usance.user_persons (user_id, person_id, level, channel, details) "
        "select user_id, 1, 1, user_id::smallint, '' from usance.users",
    )  # fmt: skip


def test_a_debtor_at_night_is_left_for_those_by_day(sandbox: Sandbox) -> None:
    by_day, at_night = debtors(sandbox, 2)
    owner(sandbox, "update usance.contact_profiles set time_zone = 'America/New_York' "
                   "where user_id = 2")  # fmt: skip
    at(sandbox, NOON)
    assert given(sandbox) == by_day
    ended(sandbox, begun(sandbox, by_day), connected=True)
    assert given(sandbox) is None
    at(sandbox, "2024-01-02 13:30+00")  # half past eight in the morning there, half past nine here
    assert given(sandbox) == at_night


def test_hours_of_an_action_are_kept_on_the_debtors_clock(sandbox: Sandbox) -> None:
    """The shipped strategy calls until nine in the evening, the law until ten."""
    [user] = debtors(sandbox, 1)
    at(sandbox, "2024-01-02 13:00+00")
    assert given(sandbox) is None
    shown = read(sandbox, "operations", one_case, 1)
    assert (shown["forbidden"], shown["next_at"]) == ([], "2024-01-03T00:00:00Z")
    assert begun(sandbox, user)  # whoever is called back may be
    at(sandbox, "2024-01-02 23:59:59+00")
    owner(sandbox, "update usance.contact_attempts set reached = 'not_connected'")
    assert given(sandbox) is None
    at(sandbox, "2024-01-03 00:00+00")
    assert given(sandbox) == user


def test_who_promised_rests_until_the_day_is_over(sandbox: Sandbox) -> None:
    other, user = debtors(sandbox, 2)
    at(sandbox, NOON)
    today = date(2024, 1, 2)
    owner(sandbox, f"update usance.installation set business_date = '{today}'")
    assert given(sandbox) == user
    contact = begun(sandbox, user)
    due = str(today + timedelta(days=3))
    sandbox.do("operations", "promise.make", {"user": user, "amount_minor": 9_000, "due_on": due})
    ended(sandbox, contact, connected=True)
    assert given(sandbox) == other
    shown = read(sandbox, "operations", one_case, 2)
    assert shown["forbidden"] == ["cool_off"]
    assert shown["allowed_from"] == f"{today + timedelta(days=4)}T00:00:00Z"
    owner(sandbox, "update usance.cases set closed_on = '2024-01-02', past_due_minor = 0 "
                   "where user_id = 1")  # fmt: skip
    at(sandbox, f"{due} 04:00+00")
    assert given(sandbox) is None
    at(sandbox, f"{today + timedelta(days=4)} 04:00+00")
    assert given(sandbox) == user


def test_calls_over_another_account_use_up_the_day(sandbox: Sandbox) -> None:
    one, other = debtors(sandbox, 2)
    one_person(sandbox)
    at(sandbox, NOON)
    for _ in range(3):
        ended(sandbox, begun(sandbox, one), connected=True)
    assert given(sandbox) is None
    shown = read(sandbox, "operations", one_case, 2)
    assert (shown["user"], shown["forbidden"]) == (other, ["daily_limit"])
    assert shown["allowed_from"] == "2024-01-03T00:00:00Z"
    at(sandbox, "2024-01-03 04:00+00")
    assert given(sandbox) == other


def test_nobody_is_stuck_with_a_case_that_may_not_be_contacted_any_more(sandbox: Sandbox) -> None:
    other, user = debtors(sandbox, 2)
    at(sandbox, NOON)
    assert given(sandbox) == user == given(sandbox)  # theirs until they did something
    owner(sandbox, "update usance.contact_profiles set channels = '{message}' where user_id = 1",
          "update usance.contact_profiles set channels = '{}' where user_id = 2")  # fmt: skip
    answer = sandbox.do("operations", "case.next", {}).answer["case"]
    assert (answer["user"], answer["action"]["channel"]) == (other, "message")
    assert read(sandbox, "operations", one_case, 2)["forbidden"] == ["no_consent"]
    # A contact under way is its agent's to end, whatever is forbidden meanwhile.
    contact = begun(sandbox, other, "message")
    sandbox.do("system", "stop.set", {"user": other, "reason": "dispute"})
    assert given(sandbox) == other
    ended(sandbox, contact, connected=True)
    assert given(sandbox) is None


def test_a_collector_gets_what_they_work(sandbox: Sandbox) -> None:
    first, second, third = debtors(sandbox, 3)
    at(sandbox, NOON)
    owner(sandbox, "update usance.contact_profiles set language = 'en' where user_id = 3",
          "update usance.cases set stage = 3 where user_id = 2")  # fmt: skip
    owner(sandbox, "insert into usance.principals (principal_id, name, kind, scopes) "
                   "select 1000 + n, 'agent ' || n, 'operator', '{operations}' "
                   "from generate_series(0, 3) n")  # fmt: skip
    works: tuple[dict[str, Any], ...] = (
        {"slots": 9, "stages": ["in_house"], "languages": ["zh"]},
        {"slots": 9, "languages": ["en"]}, {"slots": 0},
    )  # fmt: skip
    for number, own in enumerate(works):
        sandbox.do("system", "collector.put", {"name": f"agent {number}", **own})
    assert given(sandbox, "agent 0", stages=["senior_desk"]) is None
    assert given(sandbox, "agent 0") == first
    assert given(sandbox, "agent 1") == third
    assert given(sandbox, "agent 2") is None
    assert given(sandbox, "agent 3") == second  # of whom nothing is said works everything


def test_who_says_that_a_debtor_lives_elsewhere_opens_no_hour_and_no_day(sandbox: Sandbox) -> None:
    [user] = debtors(sandbox, 1)
    at(sandbox, "2024-01-02 12:00+00")
    for _ in range(3):
        ended(sandbox, begun(sandbox, user), connected=True)
    owner(sandbox, "update usance.cases set next_at = null")

    def moved(zone: str) -> None:
        body = {"user": user, "time_zone": zone, "channels": ["voice"]}
        sandbox.do("operations", "contact.profile", body)

    at(sandbox, "2024-01-02 18:30+00")  # half past two at night
    for zone in ("Europe/Berlin", "Pacific/Kiritimati"):
        moved(zone)
        with pytest.raises(ContactQuietHours, match="quiet_hours, daily_limit"):
            begun(sandbox, user)
    at(sandbox, "2024-01-03 18:20+00")  # at night still, and within a day of the change
    with pytest.raises(ContactQuietHours):
        begun(sandbox, user)
    at(sandbox, "2024-01-03 18:40+00")
    assert begun(sandbox, user)
    moved("Pacific/Kiritimati")  # nothing new


def test_an_agency_is_not_offered_whom_others_called(sandbox: Sandbox) -> None:
    """Limits are those of the person, over accounts that an agency does not see."""
    ours, theirs = debtors(sandbox, 2)
    one_person(sandbox)
    at(sandbox, NOON)
    agency = {"name": "north", "commission_ppm": 1, "max_cases": 9, "valid_from": "2024-01-01"}
    sandbox.do("system", "agency.put", agency)
    sandbox.do("system", "agency.place", {"agency": "north", "users": [theirs]})
    assert given(sandbox, "north") == theirs
    for _ in range(3):
        ended(sandbox, begun(sandbox, ours, who="system"), connected=True, who="system")
    assert given(sandbox, "north") is None
    with pytest.raises(ContactDailyLimit):
        begun(sandbox, theirs, who="north")
    with pytest.raises(NotFound):
        begun(sandbox, ours, who="north")
    at(sandbox, "2024-01-03 04:00+00")
    assert given(sandbox, "north") == theirs
