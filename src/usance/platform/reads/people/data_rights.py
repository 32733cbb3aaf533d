"""Requests of persons about their data and decisions, as they are answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.reads.shapes import day_text
from usance.platform.security.sealed_values import RIGHT, RIGHT_ANSWER, texts_of
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

STATES = ("open", "granted", "refused")


def request_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a request, without the words of either side."""
    return {
        "case": print_id("rr", row["request_id"]), "user": print_id("us", row["user_id"]),
        "kind": row["kind"], "field": row["field"] or None,
        "decision": print_id("de", row["decision_id"]) if row["decision_id"] else None,
        "state": row["state"], "received_on": row["received_on"].isoformat(),
        "answer_by": row["answer_by"].isoformat(), "answered_on": day_text(row["answered_on"]),
    }  # fmt: skip


async def requests_of(
    transaction: asyncpg.Connection, vault: Vault, user_id: int
) -> list[dict[str, Any]]:
    """Requests of a user, with what was asked and answered."""
    rows = await transaction.fetch(
        "select * from usance.rights_requests where user_id = $1 order by request_id", user_id
    )
    words = await texts_of(transaction, vault, user_id, RIGHT, RIGHT_ANSWER)
    found = []
    for row in rows:
        number = row["request_id"]
        asked = json.loads(words.get((RIGHT, number), "{}"))
        found.append({**request_answer(row), "text": asked.get("text"),
                      "value": asked.get("value") or None,
                      "answer": words.get((RIGHT_ANSWER, number))})  # fmt: skip
    return found


async def queue(
    transaction: asyncpg.Connection, state: str | None, after: int, limit: int
) -> list[dict[str, Any]]:
    """Requests of everybody, in order of their ids; the words are read by user."""
    rows = await transaction.fetch(
        "select * from usance.rights_requests where request_id > $1 "
        "and ($2::text is null or state = $2) order by request_id limit $3",
        after, state, limit,
    )  # fmt: skip
    return [request_answer(row) for row in rows]
