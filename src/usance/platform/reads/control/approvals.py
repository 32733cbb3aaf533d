"""Approvals as operators see them: what is asked, by whom, and who has agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.base.documents import parse_json
from usance.base.ids import print_id
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import not_found, read_id

if TYPE_CHECKING:
    import asyncpg

STATES = ("pending", "approved", "rejected", "expired")


async def approval_rows(
    transaction: asyncpg.Connection, state: str, text: str, before: str, limit: int
) -> list[dict[str, Any]]:
    """Approvals of a state, newest first; a text is looked for in command and subject."""
    last = read_id(before, "ap", "before") if before else (1 << 62)
    rows = await transaction.fetch(
        "select a.*, (select string_agg(p.name, ', ') from usance.principals p "
        "where p.principal_id = any(a.given)) as people from usance.approvals a "
        "where approval_id < $1 and ($2 = '' or state = $2) "
        "and ($3 = '' or strpos(lower(command || ' ' || subject), lower($3)) > 0) "
        "order by approval_id desc limit $4", last, state, text, limit,
    )  # fmt: skip
    return [_row(row) for row in rows]


def _row(row: Any) -> dict[str, Any]:
    return {
        "approval": print_id("ap", row["approval_id"]), "command": row["command"],
        "subject": row["subject"], "state": row["state"], "needed": row["needed"],
        "people": row["people"] or "", "proposed_at": moment_text(row["proposed_at"]),
        "expires_at": moment_text(row["expires_at"]),
    }  # fmt: skip


async def approval_of(transaction: asyncpg.Connection, name: str) -> dict[str, Any]:
    """One approval with everything that was proposed."""
    number = read_id(name, "ap", "approval")
    row = await transaction.fetchrow(
        "select a.*, (select string_agg(p.name, ', ') from usance.principals p "
        "where p.principal_id = any(a.given)) as people "
        "from usance.approvals a where approval_id = $1", number,
    )  # fmt: skip
    if row is None:
        raise not_found("ap", number)
    payload = parse_json(row["payload"]) if isinstance(row["payload"], str) else row["payload"]
    return {**_row(row), "payload": payload, "payload_sha256": row["payload_sha256"]}
