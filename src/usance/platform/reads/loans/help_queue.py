"""Help that waits for an answer: complaints, requests for help and plans, the most urgent first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.loans.plans import complaint_answer

if TYPE_CHECKING:
    import asyncpg

MAX_ROWS = 500
"""Rows of a queue that somebody looks at."""


async def help_waiting(transaction: asyncpg.Connection, lender: Lender) -> list[dict[str, Any]]:
    """Everything open with its last day, over all borrowers."""
    complaints = await transaction.fetch(
        "select * from usance.complaints where answered_on is null order by complaint_id limit $1",
        MAX_ROWS,
    )
    requests = await transaction.fetch(
        "select * from usance.hardship_requests where state = 'open' order by answer_by limit $1",
        MAX_ROWS,
    )
    plans = await transaction.fetch(
        "select plan_id, user_id, kind, offered_on, answer_by from usance.plan_offers "
        "where state = 'offered' order by answer_by limit $1", MAX_ROWS,
    )  # fmt: skip
    found = [_row("complaint", "cp", row, complaint_answer(lender, row)["answer_by"])
             for row in complaints]  # fmt: skip
    found += [_row("request", "ha", row, row["answer_by"].isoformat()) for row in requests]
    found += [_row("plan", "pl", row, row["answer_by"].isoformat()) for row in plans]
    return sorted(found, key=lambda row: (row["answer_by"], row["case"]))


def _row(kind: str, prefix: str, row: Any, answer_by: str) -> dict[str, Any]:
    """A case of a queue: what it is about, since when, until when."""
    about, since = {"complaint": ("subject", "received_on"), "request": ("reason", "received_on"),
                    "plan": ("kind", "offered_on")}[kind]  # fmt: skip
    return {"kind": kind, "case": print_id(prefix, row[f"{kind}_id"]), "about": row[about],
            "user": print_id("us", row["user_id"]), "since": row[since].isoformat(),
            "answer_by": answer_by}  # fmt: skip
