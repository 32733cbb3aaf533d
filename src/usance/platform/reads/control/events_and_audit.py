"""Approvals, events and the audit as they are answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from usance.base.documents import parse_json
from usance.base.ids import print_id
from usance.base.parameters import Parameters
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
    """Entries of the audit: who did what, how it ended, and the settings that it changed."""
    rows = await transaction.fetch(
        "select * from usance.told_audit where entry_id > $1 order by entry_id limit $2",
        after, limit,
    )  # fmt: skip
    return [audit_answer(row) for row in rows]


def audit_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of an entry of the audit."""
    return {
        "id": print_id("ev", row["entry_id"]), "at": moment_text(row["at"]),
        "principal": row["name"], "command": row["command"], "subject": row["subject"],
        "outcome": row["outcome"], "content_sha256": bytes(row["content"]).hex(),
        "changed": list(row["changed"]),
    }  # fmt: skip


async def audit_entry(
    transaction: asyncpg.Connection, shipped: Parameters, entry_id: int
) -> dict[str, Any]:
    """One entry of the audit, with every setting that it changed before and after."""
    row = await transaction.fetchrow(
        "select * from usance.told_audit where entry_id = $1", entry_id
    )
    if row is None:
        raise not_found("ev", entry_id)
    rows = await transaction.fetch(
        "select name, before, after from usance.setting_changes "
        "where xid::text::bigint = $1 order by change_id", int(row["xid"]),
    )  # fmt: skip
    changes = []
    for each in rows:
        before, after = (None if each[side] is None else parse_json(each[side])
                         for side in ("before", "after"))  # fmt: skip
        before = before or _shipped_value(shipped, each["name"], after)
        changes.append({"name": each["name"], "before": before, "after": after})
    return {**audit_answer(row), "changes": changes}


def _shipped_value(shipped: Parameters, name: str, after: Any) -> dict[str, Any] | None:
    """The value of a parameter that holds before its first one by command: that of its file."""
    parameter = shipped.by_name.get(name.removeprefix("parameter/"))
    if not name.startswith("parameter/") or parameter is None or after is None:
        return None
    day = date.fromisoformat(after["valid_from"])
    held = [each for each in parameter.entries if each.valid_from <= day]
    if not held:
        return None
    last = held[-1]
    document = {"value": str(last.value), "source": last.source}
    return {"version": 0, "valid_from": last.valid_from.isoformat(), "document": document}


def change_lines(change: Mapping[str, Any]) -> list[str]:
    """Lines of a setting that went and came, as a diff has them.

    >>> change_lines({"name": "key/3", "before": None, "after": {"scopes": ["jobs"]}})
    ['+scopes: ["jobs"]']
    """
    before, after = (_lines_of(change[side] or {}) for side in ("before", "after"))
    found = unified_diff(before, after, lineterm="", n=1)
    return [line for line in found if not line.startswith(("---", "+++", "@@"))]


def _lines_of(value: Any, path: str = "") -> list[str]:
    """A document as lines of path and value; a text of several lines is told line by line."""
    if isinstance(value, Mapping):
        return [line for name, each in value.items()
                for line in _lines_of(each, f"{path}.{name}" if path else str(name))]  # fmt: skip
    if isinstance(value, str) and "\n" in value:
        return value.splitlines()
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return [f"{path}: {told}"]
