"""The latest of what is only ever appended: audit entries and events, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.platform.reads.shapes import moment_text

if TYPE_CHECKING:
    import asyncpg


async def audit_entries(transaction: asyncpg.Connection, limit: int) -> list[dict[str, Any]]:
    """The latest commands: who, which, about what, and how each ended."""
    rows = await transaction.fetch(
        "select a.at, p.name, a.command, a.subject, a.outcome from usance.audit a "
        "join usance.principals p using (principal_id) order by entry_id desc limit $1",
        limit,
    )  # fmt: skip
    return [{**dict(row), "at": moment_text(row["at"])} for row in rows]


async def latest_events(transaction: asyncpg.Connection, limit: int) -> list[Any]:
    """The latest events."""
    rows: list[Any] = await transaction.fetch(
        "select event_id, name, subject, at, data from usance.outbox "
        "order by event_id desc limit $1", limit,
    )  # fmt: skip
    return rows


async def latest_requests(
    transaction: asyncpg.Connection, key: str, limit: int
) -> list[dict[str, Any]]:
    """The latest requests, of one idempotency key if it is given."""
    rows = await transaction.fetch(
        "select request_id, at, method, path, status, code, idempotency_key "
        "from usance.api_requests where $1 = '' or idempotency_key = $1 "
        "order by at desc, request_id desc limit $2", key, limit,
    )  # fmt: skip
    return [{**dict(row), "at": moment_text(row["at"])} for row in rows]
