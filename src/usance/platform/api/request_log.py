"""The log of requests: noted in memory, written some times a second, never in a request's way."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import asyncpg
from starlette.types import Scope

from usance.platform.principals import SYSTEM
from usance.platform.store.database import Database

log = logging.getLogger("usance.requests")
SECONDS, MAX_WAITING = 0.5, 20_000
"""Requests are written this often; beyond so many that wait, further ones are only counted."""
COLUMNS = ("request_id", "at", "principal_id", "method", "path", "status", "code",
           "idempotency_key", "microseconds")  # fmt: skip


class RequestLog:
    """Requests of one worker on their way to the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.answered = 0
        self.failed = 0
        self.dropped = 0
        self.seconds = 0.0
        self._waiting: list[tuple[Any, ...]] = []
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._write_on())

    async def stop(self) -> None:
        """Write the rest and end."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._write()

    def note(self, scope: Scope, microseconds: int) -> None:
        """Note one answered request; no query, no body, no token is kept."""
        state = scope["state"]
        status = state.get("status", 499)  # the caller went before the answer
        self.answered += 1
        self.failed += status >= 500
        self.seconds += microseconds / 1e6
        if not scope["path"].startswith("/v1/"):
            return
        if len(self._waiting) >= MAX_WAITING:
            self.dropped += 1
            return
        key = next((value for name, value in scope["headers"] if name == b"idempotency-key"), b"")
        self._waiting.append((
            state["request_id"], datetime.now(UTC), state.get("principal_id", -1), scope["method"],
            _kept(scope["path"], 500), status, state["code"], _kept(key.decode("latin-1"), 255),
            min(microseconds, 2**31 - 1),
        ))  # fmt: skip

    async def _write_on(self) -> None:
        while True:
            await asyncio.sleep(SECONDS)
            await self._write()

    async def _write(self) -> None:
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        try:
            async with self.database.transaction(SYSTEM.principal_id) as transaction:
                await transaction.execute("set local synchronous_commit to off")
                await transaction.execute(
                    "insert into usance.api_requests (request_id, at, principal_id, method, path, "
                    "status, code, idempotency_key, microseconds) select * from unnest($1::text[], "
                    "$2::timestamptz[], $3::integer[], $4::text[], $5::text[], $6::smallint[], "
                    "$7::text[], $8::text[], $9::integer[])", *map(list, zip(*rows, strict=True)),
                )  # fmt: skip
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            self.dropped += len(rows)
            log.error("%d requests were not logged: %s", len(rows), error)


def _kept(text: str, length: int) -> str:
    """A text as the database can hold it."""
    return text.replace("\0", "")[:length].encode("utf-8", "replace").decode()
