"""Sales of charged-off loans as they are answered: their list, and the tape of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.lender import Lender
from usance.platform.records.user_record import not_found, read_id

if TYPE_CHECKING:
    import asyncpg


def sale_answer(lender: Lender, row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a sale."""
    return {
        "sale": print_id("sa", row["sale_id"]), "buyer": row["buyer"],
        "sold_on": row["sold_on"].isoformat(), "loans": row["loans"],
        "owed_minor": row["owed_minor"], "price_minor": row["price_minor"],
        "currency": lender.currency.name,
    }  # fmt: skip


async def load_sale(transaction: asyncpg.Connection, sale: str) -> Mapping[str, Any]:
    """The row of a sale by its printed id."""
    number = read_id(sale, "sa", "sale")
    row = await transaction.fetchrow("select * from usance.pool_sales where sale_id = $1", number)
    if row is None:
        raise not_found("sa", number)
    found: Mapping[str, Any] = row
    return found


async def pool_sales(
    transaction: asyncpg.Connection, lender: Lender, after: int = 0, limit: int = 50
) -> list[dict[str, Any]]:
    """Sales, in the order of their ids."""
    rows = await transaction.fetch(
        "select * from usance.pool_sales where sale_id > $1 order by sale_id limit $2", after, limit
    )
    return [sale_answer(lender, row) for row in rows]


async def pool_sale(transaction: asyncpg.Connection, lender: Lender, sale: str) -> dict[str, Any]:
    """One sale with its tape: of each loan what was owed on that day, and its price."""
    row = await load_sale(transaction, sale)
    loans = await transaction.fetch(
        "select s.*, l.disbursed_on, l.principal_minor as lent_minor, (select max(f.effective_on) "
        "from usance.facts f where f.loan_id = s.loan_id and f.kind = 10) as charged_off_on "
        "from usance.sold_loans s join usance.loans l on l.loan_id = s.loan_id and l.terms_no = 1 "
        "where s.sale_id = $1 order by s.loan_id", row["sale_id"],
    )  # fmt: skip
    return {**sale_answer(lender, row), "rows": [
        {"loan": print_id("ln", each["loan_id"]), "disbursed_on": each["disbursed_on"].isoformat(),
         "charged_off_on": each["charged_off_on"].isoformat(), "lent_minor": each["lent_minor"],
         "principal_minor": each["principal_minor"], "owed_minor": each["owed_minor"],
         "price_minor": each["price_minor"]}
        for each in loans
    ]}  # fmt: skip
