"""Kills while agents work cases: none is lost, none is worked twice, none stays locked."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_contacts import at, debtors, owner
from tests.platform.test_kills import ROOT, crash, own, wait_until_up

__all__ = ["own"]
AGENTS = [f"agent {number}" for number in range(8)]
FIRST, OTHERS = AGENTS[:4], AGENTS[4:]


def worked(sandbox: Sandbox, agents: list[str], stop_after: int, victim: str) -> list[list[str]]:
    """Answers that agents got before they, or the database under them, were killed."""
    command = [sys.executable, "-m", "tests.platform.desk_worker", str(sandbox.server.home),
               sandbox.name, *agents]  # fmt: skip
    told: list[list[str]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT,
                          text=True) as worker:  # fmt: skip
        assert worker.stdout is not None
        for line in worker.stdout:
            told.append(line.split(maxsplit=2))
            if len(told) == stop_after:
                if victim == "worker":
                    worker.kill()
                else:
                    crash(sandbox)
    return told


def rows(sandbox: Sandbox, sql: str) -> list[Any]:
    async def read(connection: asyncpg.Connection) -> list[Any]:
        found: list[Any] = await connection.fetch(sql)
        return found

    return with_owner(sandbox.server, sandbox.name, read)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cases", "kills"), [(24, 2), pytest.param(300, 40, marks=pytest.mark.nightly)]
)
def test_no_case_is_lost_or_worked_twice_or_locked_for_ever(
    own: Sandbox, cases: int, kills: int
) -> None:
    chance = random.Random(kills)
    debtors(own, cases)
    at(own, "2024-01-02 02:00+00")
    owner(own, "insert into usance.principals (principal_id, name, kind, scopes) "
               "select 1000 + n, 'agent ' || n, 'operator', '{operations}' "
               "from generate_series(0, 7) n")  # fmt: skip
    told: list[list[str]] = []
    for number in range(kills):
        after = chance.randint(1, max(2, 3 * cases // kills // 2))
        told += worked(own, FIRST, after, ("worker", "database")[number % 2])
        wait_until_up(own)
    # Whoever was killed does not come back: others get what was locked to them.
    at(own, "2024-01-02 02:16+00")
    told += worked(own, OTHERS, -1, "worker")
    ended = [user for what, user, _ in told if what == "end"]
    assert len(ended) == len(set(ended))
    contacts = rows(own, "select user_id, reached from usance.contact_attempts")
    reached = [row["user_id"] for row in contacts if row["reached"] == "connected"]
    assert sorted(reached) == list(range(1, cases + 1))
    assert len(contacts) - len(reached) <= len(FIRST)  # begun, and nobody says what came of it
    [left] = rows(own, "select count(*) filter (where locked_until is not null) as locked, "
                       "count(*) filter (where closed_on is null) as still_open "
                       "from usance.cases")  # fmt: skip
    assert tuple(left) == (0, cases)
