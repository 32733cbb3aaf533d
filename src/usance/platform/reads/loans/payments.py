"""Payments as they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency
from usance.base.documents import parse_json
from usance.base.ids import PER_USER, print_id
from usance.platform.lender import Lender
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import not_found

if TYPE_CHECKING:
    import asyncpg


def loan_of(number: int) -> int:
    """The loan that a payment went to; 0 if it was for several loans of a user, or for none."""
    return number if number % PER_USER else 0


def payment_answer(lender: Lender, row: Mapping[str, Any], *, is_reversed: bool) -> dict[str, Any]:
    """The shape of a payment."""
    return {
        "payment": print_id("pm", row["payment_id"]),
        "loan": print_id("ln", row["loan_id"]) if loan_of(row["loan_id"]) else None,
        "user": print_id("us", row["user_id"]),
        "provider": lender.party_name("provider", row["provider"]), "ref": row["reference"],
        "amount_minor": row["amount_minor"], "currency": Currency(row["currency"]).name,
        "effective_on": row["effective_on"].isoformat(), "booked_at": moment_text(row["booked_at"]),
        "state": "reversed" if is_reversed else "booked",
        "allocation": parse_json(row["allocation"]),
        "unallocated_minor": row["unallocated_minor"],
    }  # fmt: skip


async def payment(
    transaction: asyncpg.Connection, lender: Lender, payment_id: int
) -> dict[str, Any]:
    """One payment."""
    row = await transaction.fetchrow(
        "select p.*, r.payment_id is not null as is_reversed from usance.payments p "
        "left join usance.payment_reversals r using (payment_id) where p.payment_id = $1",
        payment_id,
    )  # fmt: skip
    if row is None:
        raise not_found("pm", payment_id)
    return payment_answer(lender, row, is_reversed=row["is_reversed"])


async def payments_of(
    transaction: asyncpg.Connection, lender: Lender, loan_id: int
) -> list[dict[str, Any]]:
    """Payments for one loan, newest first."""
    rows = await transaction.fetch(
        "select p.*, r.payment_id is not null as is_reversed from usance.payments p "
        "left join usance.payment_reversals r using (payment_id) where p.loan_id = $1 "
        "order by p.payment_id desc limit 100", loan_id,
    )  # fmt: skip
    return [payment_answer(lender, row, is_reversed=row["is_reversed"]) for row in rows]
