"""Requests for help, plans and complaints as they are answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.shapes import day_text
from usance.platform.security.sealed_values import (
    COMPLAINT,
    COMPLAINT_ANSWER,
    HARDSHIP_ANSWER,
    texts_of,
)
from usance.platform.vault import Vault
from usance.service.help.complaints import Complaint, ComplaintDeadlines, due_on

if TYPE_CHECKING:
    import asyncpg


def hardship_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a request for help."""
    return {
        "case": print_id("ha", row["request_id"]), "user": print_id("us", row["user_id"]),
        "loan": print_id("ln", row["loan_id"]) if row["loan_id"] else None,
        "reason": row["reason"], "state": row["state"],
        "received_on": row["received_on"].isoformat(), "answer_by": row["answer_by"].isoformat(),
        "plan": print_id("pl", row["plan_id"]) if row["plan_id"] else None,
        "answer": row["answer"] or None, "answered_on": day_text(row["answered_on"]),
    }  # fmt: skip


def plan_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a plan: before and after, and what it costs the borrower."""
    before, after = (_read(row[name]) for name in ("before", "after"))
    return {
        "plan": print_id("pl", row["plan_id"]), "user": print_id("us", row["user_id"]),
        "loan": print_id("ln", row["loan_id"]), "kind": row["kind"], "state": row["state"],
        "before": before, "after": after,
        "added_cost_minor": after["cost_minor"] - before["cost_minor"],
        "pay_minor": row["pay_minor"], "offered_on": row["offered_on"].isoformat(),
        "answer_by": row["answer_by"].isoformat(), "answered_on": day_text(row["answered_on"]),
        "facts": _read(row["facts"]),
    }  # fmt: skip


def _read(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


async def hardship_requests(
    transaction: asyncpg.Connection, vault: Vault, user_id: int
) -> list[dict[str, Any]]:
    """Requests for help of a user, in their order."""
    rows = await transaction.fetch(
        "select * from usance.hardship_requests where user_id = $1 order by request_id", user_id
    )
    words = await texts_of(transaction, vault, user_id, HARDSHIP_ANSWER)
    return [
        hardship_answer({**row, "answer": words.get((HARDSHIP_ANSWER, row["request_id"]))
                         or row["answer"]})
        for row in rows
    ]  # fmt: skip


async def plans(transaction: asyncpg.Connection, user_id: int) -> list[dict[str, Any]]:
    """Plans that were offered to a user, in their order."""
    rows = await transaction.fetch(
        "select * from usance.plan_offers where user_id = $1 order by plan_id", user_id
    )
    return [plan_answer(row) for row in rows]


async def complaints(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, user_id: int
) -> list[dict[str, Any]]:
    """Complaints of a user, in their order."""
    rows = await transaction.fetch(
        "select * from usance.complaints where user_id = $1 order by complaint_id", user_id
    )
    words = await texts_of(transaction, vault, user_id, COMPLAINT, COMPLAINT_ANSWER)
    found = []
    for row in rows:
        number = row["complaint_id"]
        answer = words.get((COMPLAINT_ANSWER, number)) or row["answer"]
        told = complaint_answer(lender, {**row, "answer": answer})
        found.append({**told, "text": words.get((COMPLAINT, number)) or row["text"] or None})
    return found


def complaint_answer(lender: Lender, row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a complaint."""
    names = ("complaint_id", "subject", "received_on", "against", "acknowledged_on",
             "answered_on", "answer")  # fmt: skip
    known = Complaint(**{name: row[name] for name in names})
    last = due_on(known, ComplaintDeadlines.at(known.received_on, lender.parameters))
    shown = print_id("cp", row["complaint_id"])
    return {
        "case": shown, "complaint": shown, "user": print_id("us", row["user_id"]),
        "subject": row["subject"], "state": "open" if row["answered_on"] is None else "answered",
        "received_on": row["received_on"].isoformat(), "answer_by": day_text(last),
        "acknowledged_on": day_text(row["acknowledged_on"]),
        "answered_on": day_text(row["answered_on"]), "answer": row["answer"] or None,
    }  # fmt: skip
