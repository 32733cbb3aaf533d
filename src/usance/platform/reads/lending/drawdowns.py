"""Drawdowns and offers as they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency, Product
from usance.base.documents import parse_json
from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.reads.shapes import day_text, moment_text
from usance.platform.records.user_record import not_found

if TYPE_CHECKING:
    import asyncpg


def drawdown_answer(lender: Lender, row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a drawdown."""
    return {
        "loan": print_id("ln", row["loan_id"]), "user": print_id("us", row["user_id"]),
        "product": Product(row["product"]).label, "amount_minor": row["amount_minor"],
        "currency": Currency(row["currency"]).name, "months": row["months"],
        "state": row["state"], "decision": print_id("de", row["decision_id"]),
        "reasons": reasons_of(lender, row),
        "requested_at": moment_text(row["requested_at"]),
        "quote": print_id("qu", row["quote_id"]) if row["quote_id"] else None,
        "agreement": print_id("ag", row["agreement_id"]) if row["agreement_id"] else None,
        "source": lender.source_name(row["source"]) or None,
        "disbursed_on": day_text(row["disbursed_on"]),
    }  # fmt: skip


NO_SOURCE = {"code": "no_source", "text": "No funder takes this loan at present."}
"""The reason of a drawdown that was approved and found no money."""


def reasons_of(lender: Lender, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Reasons of a drawdown that was not granted, in the borrower's words."""
    if row["state"] == "no_source":
        return [NO_SOURCE]
    found = lender.decider.flow.reasons.with_texts(row["reasons"])
    return [{"code": each["code"], "text": each["text"]} for each in found]


async def drawdown(transaction: asyncpg.Connection, lender: Lender, loan_id: int) -> dict[str, Any]:
    """One drawdown."""
    row = await transaction.fetchrow("select * from usance.placements where loan_id = $1", loan_id)
    if row is None:
        raise not_found("ln", loan_id)
    return drawdown_answer(lender, row)


def offer_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of an offer."""
    report = row["report"]
    return {
        "offer": print_id("of", row["offer_id"]), "loan": print_id("ln", row["loan_id"]),
        "product": Product(row["product"]).label, "amount_minor": row["amount_minor"],
        "currency": Currency(row["currency"]).name, "months": row["months"],
        "state": row["state"], "made_at": moment_text(row["made_at"]),
        "answer_by": moment_text(row["answer_by"]),
        "report": parse_json(report) if isinstance(report, str) else report,
    }  # fmt: skip


async def offer(transaction: asyncpg.Connection, offer_id: int) -> dict[str, Any]:
    """One offer, for its institution."""
    row = await transaction.fetchrow("select * from usance.offers where offer_id = $1", offer_id)
    if row is None:
        raise not_found("of", offer_id)
    return offer_answer(row)


async def offers(
    transaction: asyncpg.Connection, state: str | None = None, after: int = 0, limit: int = 50
) -> list[dict[str, Any]]:
    """Offers that the principal sees, by id."""
    rows = await transaction.fetch(
        "select * from usance.offers where ($1::text is null or state = $1) and offer_id > $2 "
        "order by offer_id limit $3", state, after, limit,
    )  # fmt: skip
    return [offer_answer(row) for row in rows]
