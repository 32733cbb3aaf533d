"""Keys, people, sessions and requests as they are answered; no hash and no secret is among them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usance.platform.ledger.seals import seal, verify

if TYPE_CHECKING:
    import asyncpg


def _text(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else None


async def keys(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Keys that the caller sees: all for operators and control, else its own."""
    rows = await transaction.fetch("select * from usance.listed_keys() order by key_id")
    return [
        {"id": row["key_id"], "principal": row["name"], "kind": row["kind"], "hint": row["hint"],
         "scopes": row["scopes"], "per_minute": row["per_minute"],
         "created_at": _text(row["created_at"]), "expires_at": _text(row["expires_at"]),
         "ended_at": _text(row["ended_at"])}
        for row in rows
    ]  # fmt: skip


async def people(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Operators with their roles, by address."""
    rows = await transaction.fetch("select * from usance.listed_operators() order by email")
    return [
        {"email": row["email"], "role": row["role"], "human": row["human"],
         "totp": row["has_totp"], "is_active": row["is_active"]}
        for row in rows
    ]  # fmt: skip


async def sessions(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Open sessions of the caller."""
    rows = await transaction.fetch("select * from usance.listed_sessions() order by session_id")
    return [
        {"session": row["session_id"], "address": row["address"],
         "started_at": _text(row["started_at"]), "seen_at": _text(row["seen_at"]),
         "expires_at": _text(row["ends_at"])}
        for row in rows
    ]  # fmt: skip


async def requests(
    transaction: asyncpg.Connection, key: str | None, request: str | None,
    after: tuple[str, str], limit: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Requests in the order they came: all for operators and control, else one's own."""
    first = datetime.fromisoformat(after[0]) if after[0] else datetime(1990, 1, 1, tzinfo=UTC)
    rows = await transaction.fetch(
        "select * from usance.api_requests where ($1::text is null or idempotency_key = $1) "
        "and ($2::text is null or request_id = $2) and (at, request_id) > ($3, $4) "
        "order by at, request_id limit $5", key, request, first, after[1], limit,
    )  # fmt: skip
    return [
        {"request": row["request_id"], "at": _text(row["at"]), "method": row["method"],
         "path": row["path"], "status": row["status"], "code": row["code"] or None,
         "idempotency_key": row["idempotency_key"] or None, "microseconds": row["microseconds"]}
        for row in rows
    ]  # fmt: skip


async def verify_seals(transaction: asyncpg.Connection) -> dict[str, Any]:
    """Everything that was appended, checked against its seals; what is new is sealed first."""
    await seal(transaction, datetime.now(UTC))
    broken = [
        {"stream": each.stream, "seal": each.no, "problem": each.problem}
        for each in await verify(transaction)
    ]
    seals = await transaction.fetchval("select count(*) from usance.seals")
    return {"verified": not broken, "seals": seals, "broken": broken}
