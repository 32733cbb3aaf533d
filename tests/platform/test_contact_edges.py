"""The house and five agencies at the very edge of the window, also when clocks change.

A sandbox's clock moves by a microsecond with each command, so a storm that begins a few of them
before an edge runs over it: some contacts come before, some after, all at once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_contacts import at, debtors, owner
from usance.platform.commands.collections import contacts
from usance.platform.errors import Refused, StaleRead
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM, Principal

AGENCIES, PERSONS, AGENTS = 5, 8, 50
ACCOUNTS = AGENCIES + 1
"""Of each person: one with the house, one with each agency."""
BEFORE = 60
"""Ticks of the clock from the storm's begin to the edge; it has half as many again and more."""
OPENS, CLOSES, SHUT = "opens", "closes", "shut"
EDGES = [
    ("Asia/Shanghai", "2024-01-02T14:00:00", CLOSES),
    ("Europe/Berlin", "2024-03-30T21:00:00", CLOSES),
    ("Europe/Berlin", "2024-03-31T06:00:00", OPENS),  # clocks went forward that night
    ("Europe/Berlin", "2024-10-27T06:00:00", SHUT),  # and back: eight is an hour later
    ("Europe/Berlin", "2024-10-27T07:00:00", OPENS),
    ("Australia/Lord_Howe", "2024-04-06T21:30:00", OPENS),  # back by half an hour
    ("America/Santiago", "2024-09-09T01:00:00", CLOSES),  # forward at midnight the day before
]
"""Moments in UTC, by hand from the tables of the zones: what happens there on that clock."""


@pytest.fixture
def crowd(sandbox: Sandbox) -> tuple[Sandbox, list[str], list[Principal]]:
    """Persons with an account at the house and one with each agency, and the agencies."""
    users = debtors(sandbox, PERSONS * ACCOUNTS)
    owner(
        sandbox,
        "insert into usance.persons select n, decode(lpad(to_hex(n), 64, '0'), 'hex') "
        f"from generate_series(1, {PERSONS}) n",
        "insert into usance.user_persons (user_id, person_id, level, channel, details) "
        f"select user_id, (user_id - 1) / {ACCOUNTS} + 1, 1, user_id::smallint, '' "
        "from usance.users",
    )
    names = [f"agency {number}" for number in range(AGENCIES)]
    for number, name in enumerate(names):
        body = {"name": name, "commission_ppm": 200_000, "max_cases": 99,
                "valid_from": "2024-01-01"}  # fmt: skip
        sandbox.do("system", "agency.put", body)
        own = users[number + 1 :: ACCOUNTS]
        sandbox.do("operations", "agency.place", {"agency": name, "users": own})

    async def known(platform: Platform) -> list[Principal]:
        return [await platform.principal(name) for name in names]

    return sandbox, users, sandbox.within(known)


def storm(sandbox: Sandbox, users: list[str], agencies: list[Principal]) -> Counter[str]:
    """Outcomes of fifty agents and five agencies who contact everybody they may, at once."""
    calls = [(SYSTEM, users[(number % PERSONS) * ACCOUNTS]) for number in range(AGENTS)]
    for number, agency in enumerate(agencies):
        calls += [(agency, each) for each in users[number + 1 :: ACCOUNTS]]

    async def run(first: Platform) -> Counter[str]:
        desks = [first, *(Platform.of_database(first.database, first.services.vault)
                          for _ in range(AGENCIES))]  # fmt: skip
        told: Counter[str] = Counter()

        async def one(number: int, who: Principal, user: str) -> None:
            body = {"user": user, "channel": "message" if number % 3 else "voice"}
            try:
                await desks[number % len(desks)].do(who, "contact.begin", body)
                told["begun"] += 1
            except Refused as error:
                told[error.code.removeprefix("platform.")] += 1
            except StaleRead:
                told["stale"] += 1

        await asyncio.gather(*(one(number, *each) for number, each in enumerate(calls)))
        return told

    return sandbox.within(run)


def begun(sandbox: Sandbox) -> list[tuple[datetime, int, bool]]:
    """Every contact that was begun: when, whose, and whether it is a call."""

    async def read(connection: asyncpg.Connection) -> list[Any]:
        rows: list[Any] = await connection.fetch(
            "select began_at, person_id, place > 0 as is_call from usance.contact_attempts"
        )
        return rows

    return [tuple(row) for row in with_owner(sandbox.server, sandbox.name, read)]


def wrong_side(made: list[tuple[datetime, int, bool]], edge: datetime, kind: str) -> int:
    """Contacts that were begun while nobody may be contacted."""
    if kind == SHUT:
        return len(made)
    return sum((each[0] < edge) == (kind == OPENS) for each in made)


def cross(
    crowd: tuple[Sandbox, list[str], list[Principal]], zone: str, edge: datetime
) -> Counter[str]:
    """A storm that begins a little before an edge, for debtors of a zone."""
    sandbox = crowd[0]
    owner(sandbox, "truncate usance.contact_attempts",
          f"update usance.contact_profiles set time_zone = '{zone}'",
          "update usance.cases set locked_until = null, next_at = null")  # fmt: skip
    ticks = int(sandbox.sql("system", "select last_value from usance.ticks"))
    at(sandbox, (edge - timedelta(microseconds=ticks + BEFORE)).isoformat())
    return storm(*crowd)


@pytest.mark.slow
def test_no_contact_is_begun_on_the_wrong_side_of_an_edge(
    crowd: tuple[Sandbox, list[str], list[Principal]],
) -> None:
    for zone, moment, kind in EDGES:
        edge = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        told = cross(crowd, zone, edge)
        made = begun(crowd[0])
        assert told["begun"] == len(made), (zone, moment)
        assert wrong_side(made, edge, kind) == 0, (zone, moment)
        assert told["contact_quiet_hours"] > 0, (zone, moment)
        assert (len(made) > 0) == (kind != SHUT), (zone, moment)
        by_person = Counter(person for _, person, is_call in made if is_call)
        assert max(by_person.values(), default=0) <= 3, (zone, moment)


@pytest.mark.slow
def test_without_the_check_the_same_storm_runs_over_the_edge(
    crowd: tuple[Sandbox, list[str], list[Principal]], monkeypatch: pytest.MonkeyPatch
) -> None:
    zone, moment, kind = EDGES[4]
    # Without the check a person is called a fourth time too, which is not what this is about.
    owner(crowd[0], *("alter table usance.contact_attempts drop constraint contact_attempts_" + each
                      for each in ("quiet_hours", "daily_limit")))  # fmt: skip
    monkeypatch.setattr(contacts, "broken_rules", lambda *_: ())
    edge = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    cross(crowd, zone, edge)
    assert wrong_side(begun(crowd[0]), edge, kind) > 0
