"""Settlement batches and claims as they are answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.books.loans.amounts import FACT_AMOUNTS
from usance.platform.ledger.fact_postings import whole_amounts
from usance.platform.lender import Lender
from usance.platform.reads.shapes import day_text, moment_text
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.platform.records.user_record import not_found
from usance.platform.settlement.guarantors import guarantor_name
from usance.platform.settlement.owed_amounts import ledger_payable, payable_of
from usance.service.settlement.batch import SettlementBatch

if TYPE_CHECKING:
    import asyncpg

RECOVERED = FACT_AMOUNTS.index("recovered_claim")


def settlement_answer(lender: Lender, row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a batch."""
    found = row["differences"]
    return {
        "settlement": print_id("se", row["settlement_id"]),
        "institution": lender.party_name("institution", row["institution"]),
        "day": row["day"].isoformat(), "settled_through": day_text(row["settled_through"]),
        "currency": lender.currency.name, "lines": row["lines"],
        "total_minor": row["total_minor"], "corrections_minor": row["corrections_minor"],
        "carried_minor": row["carried_minor"], "digest": row["digest"], "state": row["state"],
        "differences": json.loads(found) if isinstance(found, str) else list(found),
        "order": print_id("or", row["order_id"]) if row["order_id"] else None,
        "made_at": moment_text(row["made_at"]),
        "answered_at": moment_text(row["answered_at"]) if row["answered_at"] else None,
    }  # fmt: skip


async def settlements(
    transaction: asyncpg.Connection, lender: Lender, state: str | None = None, after: int = 0,
    limit: int = 50,
) -> list[dict[str, Any]]:  # fmt: skip
    """Batches that the principal sees, by id."""
    rows = await transaction.fetch(
        "select * from usance.settlements where ($1::text is null or state = $1) "
        "and settlement_id > $2 order by settlement_id limit $3", state, after, limit,
    )  # fmt: skip
    return [settlement_answer(lender, row) for row in rows]


async def load_settlement(transaction: asyncpg.Connection, number: int) -> dict[str, Any]:
    """The row of a batch that the principal sees."""
    row = await transaction.fetchrow(
        "select * from usance.settlements where settlement_id = $1", number
    )
    if row is None:
        raise not_found("se", number)
    return dict(row)


async def load_batch(transaction: asyncpg.Connection, row: Mapping[str, Any]) -> SettlementBatch:
    """A closed batch with its rows."""
    rows = await transaction.fetch(
        "select loan_id, day, kind, amount_minor from usance.settlement_rows "
        "where settlement_id = $1 order by no", row["settlement_id"],
    )  # fmt: skip
    kept = payable_of(row["institution"], rows)
    return SettlementBatch(row["institution"], row["day"], row["settled_through"], kept)


async def settlement_control(
    transaction: asyncpg.Connection, lender: Lender
) -> list[dict[str, Any]]:
    """Ledger and batches of each institution side by side; what is not settled yet differs."""
    posted = await ledger_payable(transaction, lender)
    rows = await transaction.fetch(
        "select institution, sum(total_minor)::bigint as total from usance.settlements group by 1"
    )
    told = {row["institution"]: row["total"] for row in rows}
    return [
        {"institution": lender.party_name("institution", who), "ledger_minor": posted.get(who, 0),
         "batches_minor": told.get(who, 0),
         "difference_minor": posted.get(who, 0) - told.get(who, 0)}
        for who in sorted(posted.keys() | told.keys())
    ]  # fmt: skip


def line_answers(batch: SettlementBatch) -> list[dict[str, Any]]:
    """The lines of a batch's file."""
    return [
        {"loan": print_id("ln", each.loan_id), "day": each.day.isoformat(),
         "kind": each.kind.name.lower(), "correction": each.is_correction,
         "amount_minor": each.amount_minor}
        for each in batch.lines()
    ]  # fmt: skip


async def claims(
    transaction: asyncpg.Connection, lender: Lender, today: date, state: str | None = None,
    after: int = 0, limit: int = 50,
) -> list[dict[str, Any]]:  # fmt: skip
    """Claims that the principal sees, by id, with what was recovered on each since."""
    rows = await transaction.fetch(
        "select * from usance.claims where ($1::text is null or state = $1) and claim_id > $2 "
        "order by claim_id limit $3", state, after, limit,
    )  # fmt: skip
    found = await load_loans(transaction, {row["loan_id"] for row in rows})
    return claim_answers(lender, rows, recovered_of(found, today))


def recovered_of(loans: Iterable[LoanRecord], today: date) -> dict[int, int]:
    """Amounts recovered on loans since they were compensated, by loan."""
    return {loan.loan_id: whole_amounts(loan, loan.facts, today, loan.fee_ppm or 0)[RECOVERED]
            for loan in loans}  # fmt: skip


def claim_answers(
    lender: Lender, rows: Sequence[Mapping[str, Any]], recovered: Mapping[int, int]
) -> list[dict[str, Any]]:
    """The shape of claims, with what was recovered by loan."""
    return [
        {"claim": print_id("cl", row["claim_id"]), "loan": print_id("ln", row["loan_id"]),
         "institution": lender.party_name("institution", row["institution"]),
         "guarantor": guarantor_name(lender, row["guarantor"]),
         "amount_minor": row["amount_minor"], "deposit_minor": row["deposit_minor"],
         "own_minor": row["own_minor"], "passed_minor": row["passed_minor"],
         "answer_by": day_text(row["answer_by"]), "reason": row["reason"] or None,
         "currency": lender.currency.name, "made_on": row["made_on"].isoformat(),
         "state": row["state"], "recovered_minor": recovered.get(row["loan_id"], 0),
         "settlement": print_id("se", row["settlement_id"]) if row["settlement_id"] else None}
        for row in rows
    ]  # fmt: skip
