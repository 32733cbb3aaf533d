"""Hits of screening, lists and runs as operators see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.reads.shapes import moment_text
from usance.platform.security.sealed_values import HIT, text_of
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

STATES = ("open", "cleared", "confirmed")


def hit_answer(row: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
    """The shape of a hit; the entry is looked up in its list."""
    decided = row["decided_at"]
    return {
        "hit": print_id("sh", row["hit_id"]), "user": print_id("us", row["user_id"]),
        "list": row["list"], "entry": row["entry"], "kind": row["kind"],
        "score_ppm": row["score_ppm"], "occasion": row["occasion"], "state": row["state"],
        "found_at": moment_text(row["found_at"]),
        "decided_at": moment_text(decided) if decided else None,
        "decided_by": row.get("name"), "reason": reason,
    }  # fmt: skip


async def hits(
    transaction: asyncpg.Connection, vault: Vault, state: str | None, after: int, limit: int
) -> list[dict[str, Any]]:
    """Hits in order of their ids, with who decided them and why."""
    rows = await transaction.fetch(
        "select h.*, p.name, s.content, usance.subject_key(h.user_id, null) as wrapped "
        "from usance.screening_hits h "
        "left join usance.principals p on p.principal_id = h.decided_by "
        "left join usance.sealed s on s.user_id = h.user_id and s.kind = 'hit' "
        "and s.number = h.hit_id "
        "where h.hit_id > $1 and ($2::text is null or h.state = $2) order by h.hit_id limit $3",
        after, state, limit,
    )  # fmt: skip
    return [
        hit_answer(dict(row), text_of(vault, row["user_id"], HIT, row["hit_id"], row))
        for row in rows
    ]


async def runs(transaction: asyncpg.Connection, after: int, limit: int) -> list[dict[str, Any]]:
    """Comparisons of everybody with changed lists, in their order."""
    rows = await transaction.fetch(
        "select * from usance.screening_runs where run_id > $1 order by run_id limit $2",
        after, limit,
    )  # fmt: skip
    return [
        {"run": row["run_id"], "version": row["version"], "entries": row["entries"],
         "persons": row["persons"], "hits": row["hits"],
         "ended_at": moment_text(row["ended_at"])}
        for row in rows
    ]  # fmt: skip
