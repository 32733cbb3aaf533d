"""Screening again: everybody who is known is compared with lists that have changed, as a job."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.people.screening import ScreenUser
from usance.platform.commands.unit_of_work import now
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.jobs.worker import Work
from usance.platform.principals import SYSTEM
from usance.platform.security.subject_keys import key_of

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

SCREEN_JOB = "screening.run"
AT_ONCE = 500
_LAST = "select version, run_id from usance.screening_runs order by run_id desc limit 1"
_IS_KNOWN = "select exists (select from usance.jobs where key = $1)"
_OTHERS = (
    "select p.user_id, p.details, usance.subject_key(p.user_id, null) as wrapped "
    "from usance.user_persons p left join usance.screened s using (user_id) "
    "where p.user_id > $1 and s.version is distinct from $2 order by p.user_id limit $3"
)


async def enqueue_screening(platform: Platform) -> bool:
    """Put a run into the queue where the lists are others than those of the last; True if so."""
    version = platform.services.screening.version
    if not version:
        return False
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        last = await transaction.fetchrow(_LAST)
        if last is not None and last["version"] == version:
            return False
        run = last["run_id"] if last else 0
        job = NewJob(SCREEN_JOB, f"{SCREEN_JOB}/{run}/{version}", {"version": version})
        if await transaction.fetchval(_IS_KNOWN, job.key):
            return False
        await enqueue(transaction, [job])
    return True


async def screen_all(platform: Platform, work: Work | None = None) -> dict[str, Any]:
    """Compare everybody who was not compared with the lists of now; hits are kept by command."""
    lists = platform.services.screening
    version = lists.version
    last = persons = hits = 0
    while rows := await _piece(platform, last, version):
        last = rows[-1]["user_id"]
        listed = await asyncio.to_thread(_listed, platform, rows)
        for user_id in listed:
            made = await platform.do(SYSTEM, ScreenUser(print_id("us", user_id)))
            hits += made.answer["state"] != version
        clear = [row["user_id"] for row in rows if row["user_id"] not in listed]
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            moment = await now(transaction, platform.services)
            await transaction.execute(
                "select usance.mark_screened($1, $2, $3)", clear, version, moment.at
            )
        persons += len(rows)
        if work is not None:
            await work.report(persons, persons)
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        await transaction.execute(
            "select usance.note_screening_run($1, $2, $3, $4)", version, lists.entries, persons,
            hits,
        )  # fmt: skip
    return {"version": version, "entries": lists.entries, "persons": persons, "hits": hits}


async def _piece(platform: Platform, last: int, version: str) -> list[asyncpg.Record]:
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        return list(await transaction.fetch(_OTHERS, last, version, AT_ONCE))


def _listed(platform: Platform, rows: list[asyncpg.Record]) -> set[int]:
    """Users of a piece who may be on a list."""
    found = set()
    for row in rows:
        if row["wrapped"] is not None:
            key = key_of(platform.services.keys, row["user_id"], row["wrapped"])
            person = json.loads(key.open("details", row["details"]))
            if platform.services.screening.hits(person["name"], person["national_id"]):
                found.add(row["user_id"])
    return found
