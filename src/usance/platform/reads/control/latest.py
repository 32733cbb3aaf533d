"""The latest of what is only ever appended: audit entries and events, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.reads.control.events_and_audit import audit_answer
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import read_id

if TYPE_CHECKING:
    import asyncpg


async def audit_page(
    transaction: asyncpg.Connection, wanted: dict[str, str], before: str, limit: int
) -> list[dict[str, Any]]:
    """Entries of the audit, newest first, by person, command and subject."""
    rows = await transaction.fetch(
        "select * from usance.told_audit where entry_id < $1 and ($2 = '' or name = $2) "
        "and ($3 = '' or command = $3) and ($4 = '' or subject = $4) "
        "order by entry_id desc limit $5",
        read_id(before, "ev", "before") if before else (1 << 62), wanted.get("who", ""),
        wanted.get("command", ""), wanted.get("subject", ""), limit,
    )  # fmt: skip
    return [{**audit_answer(row), "who": row["name"], "changed": ", ".join(row["changed"])}
            for row in rows]  # fmt: skip


async def last_done(
    transaction: asyncpg.Connection, subjects: list[str], latest: int
) -> Any | None:
    """The last thing that was done to one of some records, among the latest entries."""
    return await transaction.fetchrow(
        "select a.at, a.command, p.name from (select * from usance.audit order by entry_id desc "
        "limit $2) a join usance.principals p using (principal_id) "
        "where a.subject = any($1) and a.outcome = 'done' order by a.entry_id desc limit 1",
        subjects, latest,
    )  # fmt: skip


async def event_page(
    transaction: asyncpg.Connection, name: str, subject: str, before: str, limit: int
) -> list[dict[str, Any]]:
    """Events, newest first, by name and subject."""
    rows = await transaction.fetch(
        "select event_id, name, subject, at from usance.outbox where event_id < $1 "
        "and ($2 = '' or name = $2) and ($3 = '' or subject = $3) "
        "order by event_id desc limit $4",
        read_id(before, "ev", "before") if before else (1 << 62), name, subject, limit,
    )  # fmt: skip
    return [{"id": print_id("ev", row["event_id"]), "at": moment_text(row["at"]),
             "event": row["name"], "subject": row["subject"]} for row in rows]  # fmt: skip


async def request_page(
    transaction: asyncpg.Connection, wanted: dict[str, str], before: str, limit: int
) -> list[dict[str, Any]]:
    """Requests, newest first, by idempotency key, id, path and outcome."""
    rows = await transaction.fetch(
        "select * from usance.api_requests where ($1 = '' or idempotency_key = $1) "
        "and ($2 = '' or request_id = $2) and ($3 = '' or strpos(path, $3) = 1) "
        "and ($4 = '' or (status >= 400) = ($4 = 'failed')) "
        "and ($5 = '' or (at, request_id) < (select at, request_id from usance.api_requests "
        "where request_id = $5)) order by at desc, request_id desc limit $6",
        wanted.get("key", ""), wanted.get("request", ""), wanted.get("path", ""),
        wanted.get("outcome", ""), before, limit,
    )  # fmt: skip
    return [{"request": row["request_id"], "at": moment_text(row["at"]), "method": row["method"],
             "path": row["path"], "status": row["status"], "code": row["code"],
             "idempotency_key": row["idempotency_key"], "microseconds": row["microseconds"]}
            for row in rows]  # fmt: skip
