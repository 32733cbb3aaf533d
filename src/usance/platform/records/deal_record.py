"""A deal as one command sees it: its file, its state, and its loans as they were known.

The figures are those of `fund`: this module brings it the loans of the database, as columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.dates import to_day
from usance.base.ids import PER_USER
from usance.base.tables import table
from usance.fund.deal import Deal, MonthFlows
from usance.fund.deal_folder import deal_of_text
from usance.fund.deal_terms import DealTerms
from usance.fund.held_deal import CLOSING, NEVER, PURCHASE, DealPool, HeldDeal
from usance.fund.loan_tables import LoanTables
from usance.fund.payment_files import distribution_of_dict
from usance.fund.pool_columns import PoolColumns
from usance.fund.state import DealState, state_of_dict
from usance.platform.errors import NotFound
from usance.platform.store.bulk import read_rows

if TYPE_CHECKING:
    import asyncpg

    from usance.fund.payment_date import Distribution

NO_FLOWS = MonthFlows()
REASONS = {"closing": CLOSING, "purchase": PURCHASE}


@dataclass(frozen=True)
class DealRecord:
    """A deal of the database."""

    deal: Deal
    terms: DealTerms
    state: DealState
    row: Mapping[str, Any]

    @property
    def carried(self) -> MonthFlows:
        """Reversed receipts that were more than a period's own; below zero."""
        return MonthFlows(**json.loads(self.row["carried"]))

    @property
    def is_over(self) -> bool:
        """True once the last date is paid, or the deal was called."""
        return self.row["next_on"] is None

    def held(self, pool: DealPool) -> HeldDeal:
        """The deal with its loans."""
        return HeldDeal(self.deal, self.terms, self.state, pool, self.row["until"],
                        self.row["known_at"], self.carried)  # fmt: skip


def record_of(row: Mapping[str, Any]) -> DealRecord:
    """A deal from its row."""
    deal, terms = deal_of_text(row["text"], "")
    return DealRecord(deal, terms, state_of_dict(json.loads(row["state"])), row)


async def load_deal(transaction: asyncpg.Connection, name: str) -> DealRecord:
    """A deal that the principal of the transaction sees."""
    row = await transaction.fetchrow("select * from usance.deals where deal = $1", name)
    if row is None:
        raise NotFound("there is no such deal", where="deal", fix="See the list of deals")
    return record_of(row)


async def deal_pool(transaction: asyncpg.Connection, name: str) -> DealPool:
    """The loans of a deal, in the order of their ids."""
    rows = await transaction.fetch(
        "select loan_id, from_on, to_on, price_minor, reason, defaulted_on "
        "from usance.deal_pools where deal = $1 order by loan_id", name,
    )  # fmt: skip
    numbers = [
        (row["loan_id"], to_day(row["from_on"]), _day(row["to_on"]), row["price_minor"],
         REASONS[row["reason"]], _day(row["defaulted_on"]))
        for row in rows
    ]  # fmt: skip
    return DealPool(*np.array(numbers, np.int64).reshape(-1, 6).T)


def _day(day: date | None) -> int:
    return NEVER if day is None else to_day(day)


async def paid_dates(transaction: asyncpg.Connection, name: str) -> list[Distribution]:
    """Every payment date of a deal, in order."""
    rows = await transaction.fetch(
        "select distribution from usance.deal_dates where deal = $1 order by period", name
    )
    return [distribution_of_dict(json.loads(row["distribution"])) for row in rows]


async def loan_tables(transaction: asyncpg.Connection, ids: I64) -> LoanTables:
    """Loans with their terms and facts, read as columns."""
    wanted, listed = "loan_id = any($1::bigint[])", ids.tolist()
    loans, facts = [
        await read_rows(transaction, table(name), wanted, listed) for name in ("loans", "facts")
    ]
    return LoanTables.of(loans, facts)


async def free_loans(
    transaction: asyncpg.Connection, source: int, numbers: Iterable[int] = ()
) -> LoanTables:
    """Open loans of a source on the balance sheet that no deal holds: all, or those of a list."""
    found: list[int] = await transaction.fetchval(
        "select coalesce(array_agg(s.loan_id order by s.loan_id), '{}') from usance.loan_states s "
        "where s.is_open and s.source = $1 "
        "and s.model = $2 and (cardinality($3::bigint[]) = 0 or s.loan_id = any($3)) "
        "and not exists (select from usance.deal_pools p "
        "where p.loan_id = s.loan_id and p.to_on is null)",
        source, int(FundingModel.ON_BALANCE_SHEET), list(numbers),
    )  # fmt: skip
    return await loan_tables(transaction, np.array(found, np.int64))


async def pool_at(
    transaction: asyncpg.Connection, loans: LoanTables, day: date, deal: str = ""
) -> PoolColumns:
    """Loans that owe principal at the end of a day; a borrower's debt is that of all open loans."""
    users = np.unique(loans.ids // PER_USER)
    every: list[int] = await transaction.fetchval(
        "select coalesce(array_agg(s.loan_id order by s.loan_id), '{}') "
        "from unnest($1::bigint[]) u join usance.loan_states s "
        "on s.loan_id >= u * $2 and s.loan_id < (u + 1) * $2 where s.is_open",
        users.tolist(), PER_USER,
    )  # fmt: skip
    beside = await loan_tables(transaction, np.setdiff1d(every, loans.ids))
    owed = np.zeros(len(users), np.int64)
    for part in (loans, beside):
        principal = part.views(day).column("principal_outstanding")
        np.add.at(owed, np.searchsorted(users, part.ids // PER_USER), principal)
    return loans.pool(day, deal=deal, owed_by=lambda some: owed[np.searchsorted(users, some)])


async def held_deal(transaction: asyncpg.Connection, record: DealRecord) -> HeldDeal:
    """A deal with its loans."""
    return record.held(await deal_pool(transaction, record.deal.name))


async def performing_pool(transaction: asyncpg.Connection, held: HeldDeal) -> PoolColumns:
    """The loans of a deal that have not defaulted, where its last date left them."""
    loans = await loan_tables(transaction, held.performing)
    return await pool_at(transaction, loans, held.until, held.deal.name)
