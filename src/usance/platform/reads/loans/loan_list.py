"""Lists of loans, newest first, and a loan as it would be after a payment."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind, FundingModel, Product, parse
from usance.base.ids import print_id
from usance.loan.facts import Fact
from usance.loan.loan import replay
from usance.platform.lender import Lender
from usance.platform.reads.loans.positions import loan_positions
from usance.platform.records.loan_record import LoanRecord
from usance.platform.records.user_record import read_id
from usance.platform.refusals import DateInFuture

if TYPE_CHECKING:
    import asyncpg

OPEN, CLOSED = "open", "closed"
HYPOTHETICAL = (1 << 62) - 1
"""The reference of a payment that nobody made: after all others of its day."""


async def loan_rows(
    transaction: asyncpg.Connection, lender: Lender, day: date, wanted: dict[str, str],
    before: str, limit: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Loans by state, product and funding model, newest borrower first, as they are on a day."""
    last = read_id(before, "ln", "before") if before else (1 << 62)
    state, product, model = (wanted.get(name, "") for name in ("state", "product", "model"))
    rows = await transaction.fetch(
        "select s.loan_id, s.is_open, l.product, l.model, l.source, l.principal_minor, "
        "l.disbursed_on from usance.loan_states s join usance.loans l "
        "on l.loan_id = s.loan_id and l.terms_no = 1 where s.loan_id < $1 "
        "and ($2::boolean is null or s.is_open = $2) and ($3::smallint is null or l.product = $3) "
        "and ($4::smallint is null or l.model = $4) order by s.loan_id desc limit $5",
        last, {OPEN: True, CLOSED: False}.get(state), int(parse(Product, product)) if product
        else None, int(parse(FundingModel, model)) if model else None, limit,
    )  # fmt: skip
    held = await loan_positions(transaction, [row["loan_id"] for row in rows], day)
    return [
        {"loan": print_id("ln", row["loan_id"]),
         "user": print_id("us", row["loan_id"] >> 14), "product": Product(row["product"]).label,
         "model": FundingModel(row["model"]).label,
         "source": lender.source_name(row["source"]) or "",
         "disbursed_on": row["disbursed_on"].isoformat(),
         "state": OPEN if row["is_open"] else CLOSED, "principal_minor": row["principal_minor"],
         "owed_minor": held[row["loan_id"]].owed_minor if row["loan_id"] in held else 0,
         "days_past_due": held[row["loan_id"]].days_past_due if row["loan_id"] in held else 0}
        for row in rows
    ]  # fmt: skip


def after_payment(loan: LoanRecord, amount_minor: int, day: date, today: date) -> dict[str, Any]:
    """A loan before and after a payment on a day, by the same fold that would book it."""
    if day < today:
        raise DateInFuture("is over", where="query.pay_on", fix="Give today or a later day")
    moment = datetime.combine(day, datetime.min.time(), UTC)
    paid = Fact(FactKind.PAID, day, amount_minor, ref=HYPOTHETICAL, booked_at=moment)
    told = {}
    for name, facts in (("before", loan.facts), ("after", [*loan.facts, paid])):
        found = replay(loan.terms, facts, day)
        view = found.view()
        told[name] = {
            "status": view.status.label, "principal_minor": view.principal_outstanding,
            "past_due_minor": sum(view.past_due), "settlement_minor": view.settlement,
            "days_past_due": view.days_past_due, "overpaid_minor": view.overpaid,
            "next_due_on": view.next_due_on.isoformat() if view.next_due_on else None,
            "next_due_minor": view.next_due if view.next_due_on else 0,
            "to_pay_minor": sum(sum(row.outstanding) for row in found.rows()),
        }  # fmt: skip
    return told
