"""Contacts under a storm: hard limits hold over agents, agencies and users of one person.

Each guard has a negative control: with the guard off the same storm breaks the promise.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from usance.platform.commands.collections import contacts
from usance.platform.errors import Refused, StaleRead
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.refusals import ContactDailyLimit, ContactQuietHours

AGENTS = 50
LIMIT = 3


def debtors(sandbox: Sandbox, count: int, zone: str = "Asia/Shanghai") -> list[str]:
    """Users with an open case each."""

    async def made(platform: Platform) -> list[str]:
        channel, users = await platform.principal("channel"), []
        for number in range(count):
            body = {"client_ref": f"d{number}", "region": 3}
            user = str((await platform.do(channel, "user.register", body)).answer["user"])
            profile = {"user": user, "time_zone": zone, "channels": ["voice", "message"]}
            await platform.do(channel, "contact.profile", profile)
            users.append(user)
        return users

    users = sandbox.within(made)
    owner(sandbox, "insert into usance.cases select user_id, 10, 50000, 2, 6000 + user_id, "
          "'2024-01-01', null, 0, null, null from usance.users")  # fmt: skip
    return users


def owner(sandbox: Sandbox, *statements: str) -> None:
    async def change(connection: asyncpg.Connection) -> None:
        for statement in statements:
            await connection.execute(statement)

    with_owner(sandbox.server, sandbox.name, change)


def at(sandbox: Sandbox, moment: str) -> None:
    owner(sandbox, f"update usance.installation set clock = '{moment}'")


def agents() -> list[Principal]:
    """Fifty who call, of the house and of five agencies."""
    return [Principal(0, f"agent {number} of agency {number % 6}", PrincipalKind.SYSTEM)
            for number in range(AGENTS)]  # fmt: skip


def storm(sandbox: Sandbox, users: list[str], rounds: int = 1) -> Counter[str]:
    """Outcomes of everybody calling at once, over all users."""

    async def run(first: Platform) -> Counter[str]:
        workers = [first, *(Platform.of_database(first.database, first.services.vault)
                            for _ in range(3))]  # fmt: skip
        told: Counter[str] = Counter()

        async def one(number: int, who: Principal) -> None:
            body = {"user": users[number % len(users)], "channel": "voice"}
            try:
                await workers[number % 4].do(who, "contact.begin", body)
                told["begun"] += 1
            except Refused as error:
                told[error.code.removeprefix("platform.")] += 1
            except StaleRead:
                told["stale"] += 1

        calls = [one(number, who) for number, who in enumerate(agents() * rounds)]
        await asyncio.gather(*calls)
        return told

    return sandbox.within(run)


def calls(sandbox: Sandbox) -> int:
    return int(sandbox.sql("system", "select count(*) from usance.contact_attempts "
                                     "where reached <> 'not_connected'"))  # fmt: skip


@pytest.mark.slow
def test_three_calls_reach_a_person_whoever_calls_and_whichever_account(sandbox: Sandbox) -> None:
    users = debtors(sandbox, 2)
    owner(
        sandbox,
        "insert into usance.persons values (1, '\x01')",
        "insert into usance.user_persons (user_id, person_id, level, channel, details) "
        "select user_id, 1, 1, user_id::smallint, '' from usance.users",
    )
    at(sandbox, "2024-01-02 04:00+00")
    told = storm(sandbox, users)
    assert told["begun"] == LIMIT == calls(sandbox)
    assert told["contact_daily_limit"] == AGENTS - LIMIT


@pytest.mark.slow
def test_without_the_limit_the_same_storm_breaks_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = debtors(sandbox, 1)
    at(sandbox, "2024-01-02 04:00+00")
    owner(
        sandbox,
        "drop index usance.contact_attempts_place",
        "alter table usance.contact_attempts drop constraint contact_attempts_daily_limit",
    )
    monkeypatch.setattr(contacts, "broken_rules", lambda *_: ())
    assert storm(sandbox, users)["begun"] > LIMIT
    assert calls(sandbox) > LIMIT


def test_the_database_alone_refuses_a_fourth_place_and_a_night(sandbox: Sandbox) -> None:
    insert = ("insert into usance.contact_attempts values ({}, 1, 1, 'voice', 1, '', "
              "'2024-01-02 04:00+00', '2024-01-02', '{}', {}, 'open', null)")  # fmt: skip
    owner(sandbox, *(insert.format(place, "12:00", place) for place in (1, 2, 3)))
    for number, clock, place in ((9, "12:00", 4), (9, "12:00", 3), (9, "22:00", 1)):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            owner(sandbox, insert.format(number, clock, place))


@pytest.mark.parametrize(
    ("zone", "moment", "is_allowed"),
    [
        ("Asia/Shanghai", "2024-01-02 13:59:58+00", True),
        ("Asia/Shanghai", "2024-01-02 14:00:00+00", False),
        ("Europe/Berlin", "2024-03-30 06:59:58+00", False),
        ("Europe/Berlin", "2024-03-31 06:00:00+00", True),
        ("Europe/Berlin", "2024-10-27 06:00:00+00", False),
        ("Europe/Berlin", "2024-10-27 07:00:00+00", True),
    ],
)
def test_the_window_is_that_of_the_debtors_clock(
    sandbox: Sandbox, zone: str, moment: str, is_allowed: bool
) -> None:
    [user] = debtors(sandbox, 1, zone)
    at(sandbox, moment)
    body = {"user": user, "channel": "voice"}
    if is_allowed:
        assert sandbox.do("system", "contact.begin", body).answer["reached"] == "open"
    else:
        with pytest.raises(ContactQuietHours):
            sandbox.do("system", "contact.begin", body)
        logged = "select count(*) from usance.audit where outcome = 'platform.contact_quiet_hours'"
        assert sandbox.sql("system", logged) == 1


def test_a_call_that_did_not_reach_gives_its_place_back(sandbox: Sandbox) -> None:
    [user] = debtors(sandbox, 1)
    at(sandbox, "2024-01-02 04:00+00")
    body = {"user": user, "channel": "voice"}
    begun = [sandbox.do("system", "contact.begin", body).answer["contact"] for _ in range(3)]
    with pytest.raises(ContactDailyLimit):
        sandbox.do("system", "contact.begin", body)
    sandbox.do("system", "contact.end", {"contact": begun[0], "connected": False})
    assert sandbox.do("system", "contact.begin", body).is_new
    with pytest.raises(ContactDailyLimit):
        sandbox.do("system", "contact.begin", body)


@pytest.mark.slow
def test_no_case_is_given_to_two_and_one_in_work_goes_back(sandbox: Sandbox) -> None:
    debtors(sandbox, 12)
    at(sandbox, "2024-01-02 04:00+00")

    async def run(platform: Platform) -> list[str | None]:
        async def one(number: int) -> str | None:
            async with platform.database.transaction(0) as transaction:
                found = await transaction.fetchval(
                    "select usance.next_case($1, '{0,1,2,3,4,5,6}', '{zh}', clock, '08:00', "
                    "'22:00', 'Asia/Shanghai') from usance.installation", 100 + number,
                )  # fmt: skip
                if found is not None:
                    await transaction.execute(
                        "select usance.hold_case($1, $2, clock + interval '15 minutes') "
                        "from usance.installation", found, 100 + number,
                    )  # fmt: skip
            return None if found is None else str(found)

        return list(await asyncio.gather(*(one(number) for number in range(20))))

    first = [each for each in sandbox.within(run) if each]
    assert sorted(first, key=int) == [str(number) for number in range(1, 13)]
    again = [each for each in sandbox.within(run) if each]
    assert Counter(again) == Counter(first)
    at(sandbox, "2024-01-02 04:16+00")
    owner(sandbox, "update usance.cases set agent = 0")
    assert len([each for each in sandbox.within(run) if each]) == 12


def test_promise_stop_complaint_and_next_case(sandbox: Sandbox) -> None:
    one, other = debtors(sandbox, 2)
    at(sandbox, "2024-01-02 04:00+00")
    taken = sandbox.do("system", "case.next", {}).answer["case"]
    assert (taken["user"], taken["stage"]) == (other, "in_house")
    assert taken["action"]["desk"] == "m1"
    today = sandbox.sql("system", "select business_date from usance.installation")
    body: dict[str, Any] = {"user": other, "amount_minor": 20_000, "due_on": today}
    assert sandbox.do("system", "promise.make", body).answer["state"] == "open"
    stop = sandbox.do("system", "stop.set", {"user": one, "reason": "dispute"}).answer
    assert stop["stops_debits"] is True
    with pytest.raises(Refused, match="stopped"):
        sandbox.do("system", "contact.begin", {"user": one, "channel": "message"})
    sandbox.do("system", "stop.end", {"stop": stop["stop"]})
    assert sandbox.do("system", "contact.begin", {"user": one, "channel": "message"}).is_new
    said = {"user": one, "subject": "contact", "text": "They called at night.", "against": "system"}
    complaint = sandbox.do("system", "complaint.open", said).answer["complaint"]
    with pytest.raises(Refused, match="complained about"):
        sandbox.do("system", "complaint.answer", {"complaint": complaint, "answer": "No."})


def test_evenings_open_move_and_close_cases_and_judge_promises(sandbox: Sandbox) -> None:
    """The evening's fold on the rows of the store: an agent keeps the case in work."""
    one, other = debtors(sandbox, 2)
    at(sandbox, "2024-01-02 04:00+00")
    first = sandbox.sql("system", "select business_date from usance.installation")
    sandbox.do("system", "promise.make", {"user": one, "amount_minor": 9_000, "due_on": first})
    loans = [[16385, 31, 70_000, 90_000], [16386, 4, 10_000, 90_000]]
    body = {"day": first + timedelta(days=9), "loans": loans}
    told = sandbox.do("system", "cases.serve", body).answer
    assert told == {"day": str(body["day"]), "cases": 1, "opened": 0, "moved": 1, "closed": 1,
                    "broken_promises": 1}  # fmt: skip
    shown = sandbox.sql(
        "system",
        "select json_agg(json_build_array(user_id, stage, past_due_minor, closed_on is null) "
        "order by user_id)::text from usance.cases",
    )
    assert json.loads(shown) == [[1, 3, 80_000, True], [2, 2, 0, False]]
    assert sandbox.sql("system", "select state from usance.promises") == "broken"
    again = sandbox.do("system", "cases.serve", {"day": body["day"] + timedelta(days=1),
                       "loans": [*loans, [32769, 1, 5, 5]]}).answer  # fmt: skip
    assert (again["opened"], again["closed"]) == (1, 0)
    with pytest.raises(Refused):
        sandbox.do("system", "contact.begin", {"user": other, "channel": "push"})
