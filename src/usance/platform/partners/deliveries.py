"""Deliveries of events to webhooks: at least once, in order for each subject, with patience."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from usance.base.ids import print_id
from usance.platform.errors import PlatformError
from usance.platform.partners.http_targets import HttpTargets
from usance.platform.partners.outbound import Target, resolve
from usance.platform.partners.signatures import sign
from usance.platform.principals import SYSTEM
from usance.platform.security.permuted_ids import PermutedIds, ids_of_party
from usance.platform.store.database import Database
from usance.platform.vault import Vault

log = logging.getLogger("usance.webhooks")
MAX_TAKEN, MAX_AT_ONCE = 400, 32
IDLE_SECONDS, TIMEOUT_SECONDS, WHOLE_SECONDS = 0.2, 10.0, 20.0
"""Pause of an empty look, the longest silence of a target, and the whole time that it has."""
LEASE = timedelta(seconds=60)
FIRST_WAIT, MAX_WAIT, GIVES_UP = timedelta(seconds=5), timedelta(hours=6), timedelta(days=3)
"""Tries come after 5 s, 10 s, 20 s … at most 6 hours apart, for three days."""


@dataclass(frozen=True)
class DeliveryResult:
    """The result of one delivery, as it is noted."""

    webhook_id: int
    event_id: int
    state: str
    status: int | None
    problem: str
    wait: timedelta


def wait_after(tries: int) -> timedelta:
    """The time until the next try.

    >>> wait_after(1), wait_after(20)
    (datetime.timedelta(seconds=5), datetime.timedelta(seconds=21600))
    """
    doubled: int = 1 << min(tries - 1, 20)
    return min(MAX_WAIT, FIRST_WAIT * doubled)


class Deliverer:
    """The one who takes deliveries of a database and tells them to their targets."""

    def __init__(self, database: Database, vault: Vault, *, allow_private: bool) -> None:
        self.database, self.vault, self.allow_private = database, vault, allow_private
        self._http = HttpTargets(TIMEOUT_SECONDS)
        self._targets: dict[str, asyncio.Task[Target]] = {}
        """Targets of this step, by their URL: each name is resolved once, and looked at."""
        self._owners: dict[int, PermutedIds | None] = {}
        self._gate = asyncio.Semaphore(MAX_AT_ONCE)

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until told to stop; a database that is away is waited for."""
        while not stop.is_set():
            try:
                told = await self.step()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.error("deliveries wait: %s", error)
                told = 0
            if not told:
                try:
                    await asyncio.wait_for(stop.wait(), IDLE_SECONDS)
                except TimeoutError:
                    continue
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        self._http.close()

    async def step(self) -> int:
        """Line up what has happened and try what is due; gives how many were tried."""
        async with self.database.transaction(SYSTEM.principal_id) as transaction:
            if await transaction.fetchval("select usance.is_paused()"):
                return 0
            await transaction.fetchval("select usance.line_up_deliveries()")
            rows = await transaction.fetch(
                "select * from usance.take_deliveries($1, $2)", MAX_TAKEN, LEASE
            )
        if not rows:
            return 0
        self._targets = {}
        tried = await asyncio.gather(*(self._deliver(row) for row in rows))
        async with self.database.transaction(SYSTEM.principal_id) as transaction:
            await transaction.execute(
                "select usance.note_deliveries($1)",
                [(t.webhook_id, t.event_id, t.state, t.status, t.problem[:200], t.wait)
                 for t in tried],
            )  # fmt: skip
        return len(rows)

    async def _deliver(self, row: Any) -> DeliveryResult:
        status: int | None = None
        try:
            async with self._gate, asyncio.timeout(WHOLE_SECONDS):
                status = await self._post(await self._target(row["url"]), row)
            problem = "" if 200 <= status < 300 else f"answered with {status}"
        except (PlatformError, OSError) as error:
            problem = f"{type(error).__name__}: {error}"
        if not problem:
            return DeliveryResult(
                row["webhook_id"], row["event_id"], "delivered", status, "", timedelta()
            )
        is_over = datetime.now(UTC) - row["first_at"] > GIVES_UP
        state = "failed" if is_over else "waiting"
        wait = wait_after(row["tries"])
        return DeliveryResult(row["webhook_id"], row["event_id"], state, status, problem, wait)

    async def _target(self, url: str) -> Target:
        """The address of a URL, as it was looked at in this step."""
        if url not in self._targets:
            found = resolve(url, allow_private=self.allow_private)
            self._targets[url] = asyncio.create_task(found)
        return await asyncio.shield(self._targets[url])

    async def _ids_of(self, webhook_id: int) -> PermutedIds | None:
        """The permutation that the owner of a webhook sees ids through."""
        if webhook_id not in self._owners:
            async with self.database.transaction(SYSTEM.principal_id) as transaction:
                row = await transaction.fetchrow(
                    "select kind, party from usance.webhook_owner($1)", webhook_id
                )
            self._owners[webhook_id] = ids_of_party(self.vault, row["kind"], row["party"])
        return self._owners[webhook_id]

    async def _post(self, target: Target, row: Any) -> int:
        """The status that a target answers an event with; its body is not kept."""
        ids = await self._ids_of(row["webhook_id"])
        told = event_answer(row)
        body = json.dumps(ids.encode(told) if ids else told, separators=(",", ":")).encode()
        number = row["webhook_id"]
        keys = [self.vault.open(0, f"webhook/{number}", kept).decode()
                for kept in (row["secret"], row["former_secret"]) if kept is not None]  # fmt: skip
        return await self._http.post(target, body, {
            "Content-Type": "application/json", "User-Agent": "usance",
            "Usance-Signature": sign(body, int(time.time()), keys),
        })  # fmt: skip


def event_answer(row: Any) -> dict[str, Any]:
    """The shape of an event."""
    data = row["data"]
    return {
        "id": print_id("ev", row["event_id"]), "name": row["name"], "subject": row["subject"],
        "at": row["at"].astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "data": json.loads(data) if isinstance(data, str) else data,
    }  # fmt: skip
