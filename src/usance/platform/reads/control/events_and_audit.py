"""Approvals, events and the audit as they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.documents import parse_json
from usance.base.ids import print_id
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import not_found

if TYPE_CHECKING:
    import asyncpg


def approval_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of an approval."""
    return {
        "approval": print_id("ap", row["approval_id"]), "command": row["command"],
        "state": row["state"], "needed": row["needed"], "given": row["people"],
        "payload_sha256": row["payload_sha256"], "subject": row["subject"],
    }  # fmt: skip


async def approvals(
    transaction: asyncpg.Connection, state: str | None = None, after: int = 0, limit: int = 50
) -> list[dict[str, Any]]:
    """Approvals by id."""
    rows = await transaction.fetch(
        "select a.*, (select count(*) from usance.principals p where p.principal_id = any(a.given) "
        "and p.kind = 'operator') as people from usance.approvals a "
        "where ($1::text is null or state = $1) and approval_id > $2 order by approval_id limit $3",
        state, after, limit,
    )  # fmt: skip
    return [approval_answer(row) for row in rows]


async def approval(transaction: asyncpg.Connection, approval_id: int) -> dict[str, Any]:
    """One approval."""
    rows = await approvals(transaction, after=approval_id - 1, limit=1)
    if not rows or rows[0]["approval"] != print_id("ap", approval_id):
        raise not_found("ap", approval_id)
    return rows[0]


async def events(
    transaction: asyncpg.Connection, after: int = 0, limit: int = 50
) -> list[dict[str, Any]]:
    """Events that the principal sees, of transactions that nothing can be added to any more."""
    rows = await transaction.fetch(
        "select * from usance.outbox where event_id > $1 "
        "and xid < pg_snapshot_xmin(pg_current_snapshot()) order by event_id limit $2",
        after, limit,
    )  # fmt: skip
    return [
        {"id": print_id("ev", row["event_id"]), "name": row["name"], "subject": row["subject"],
         "at": moment_text(row["at"]), "data": parse_json(row["data"])}
        for row in rows
    ]  # fmt: skip


async def audit(
    transaction: asyncpg.Connection, after: int = 0, limit: int = 50
) -> list[dict[str, Any]]:
    """Entries of the audit: who did what, and how it ended."""
    rows = await transaction.fetch(
        "select a.*, p.name from usance.audit a join usance.principals p using (principal_id) "
        "where entry_id > $1 order by entry_id limit $2", after, limit,
    )  # fmt: skip
    return [
        {"id": print_id("ev", row["entry_id"]), "at": moment_text(row["at"]),
         "principal": row["name"], "command": row["command"], "subject": row["subject"],
         "outcome": row["outcome"], "content_sha256": bytes(row["content"]).hex()}
        for row in rows
    ]  # fmt: skip
