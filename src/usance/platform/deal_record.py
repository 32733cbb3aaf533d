"""A deal as one command sees it: its file, its state, and its loans as they were known.

The figures are those of `fund`: this module brings it the loans of the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.arrays import Bools
from usance.base.codes import FundingModel
from usance.base.dates import last_of_month
from usance.base.errors import raise_all
from usance.base.fields import fields_of
from usance.fund.deal import Deal, MonthFlows
from usance.fund.deal_file import parse_deal
from usance.fund.deal_terms import DealTerms, terms_of_fields
from usance.fund.payment_files import distribution_of_dict
from usance.fund.pool_columns import PoolColumns, pool_of_rows
from usance.fund.projection import Stratum, stratum_of
from usance.fund.state import DealState, state_of_dict
from usance.fund.strata import Curves, strata_of_pool
from usance.loan.batch import Views, replay_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.facts import END_OF_TIME, visible
from usance.loan.stored_rows import EXACT_KINDS, view_values
from usance.loan.views import VIEW_FIELDS
from usance.platform.errors import NotFound
from usance.platform.loan_record import LoanRecord, load_loans, open_loans

if TYPE_CHECKING:
    import asyncpg

    from usance.fund.payment_date import Distribution

NO_FLOWS = MonthFlows()


@dataclass(frozen=True)
class PoolLoan:
    """A loan of a deal, as its row says."""

    loan_id: int
    defaulted_on: date | None


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


def read_deal_text(text: str) -> tuple[Deal, DealTerms]:
    """A deal and its terms from the text of a file."""
    deal = parse_deal(text)
    fields = fields_of(text, "")
    terms = terms_of_fields(fields)
    raise_all(fields.problems)
    return deal, terms


def record_of(row: Mapping[str, Any]) -> DealRecord:
    """A deal from its row."""
    deal, terms = read_deal_text(row["text"])
    return DealRecord(deal, terms, state_of_dict(json.loads(row["state"])), row)


async def load_deal(transaction: asyncpg.Connection, name: str) -> DealRecord:
    """A deal that the principal of the transaction sees."""
    row = await transaction.fetchrow("select * from usance.deals where deal = $1", name)
    if row is None:
        raise NotFound("there is no such deal", where="deal", fix="See the list of deals")
    return record_of(row)


async def deal_loans(
    transaction: asyncpg.Connection, name: str
) -> tuple[list[PoolLoan], list[LoanRecord]]:
    """The loans of a deal, each with its facts, in the order of their ids."""
    rows = await transaction.fetch(
        "select loan_id, defaulted_on from usance.deal_pools where deal = $1 order by loan_id", name
    )
    held = [PoolLoan(row["loan_id"], row["defaulted_on"]) for row in rows]
    return held, await load_loans(transaction, [each.loan_id for each in held])


async def paid_dates(transaction: asyncpg.Connection, name: str) -> list[Distribution]:
    """Every payment date of a deal, in order."""
    rows = await transaction.fetch(
        "select distribution from usance.deal_dates where deal = $1 order by period", name
    )
    return [distribution_of_dict(json.loads(row["distribution"])) for row in rows]


async def free_loans(
    transaction: asyncpg.Connection, source: int, numbers: Iterable[int] = ()
) -> list[LoanRecord]:
    """Open loans of a source on the balance sheet that no deal holds: all, or those of a list."""
    rows = await transaction.fetch(
        "select s.loan_id from usance.loan_states s where s.is_open and s.source = $1 "
        "and s.model = $2 and (cardinality($3::bigint[]) = 0 or s.loan_id = any($3)) "
        "and not exists (select from usance.deal_pools p "
        "where p.loan_id = s.loan_id and p.to_on is null) order by 1",
        source, int(FundingModel.ON_BALANCE_SHEET), list(numbers),
    )  # fmt: skip
    return await load_loans(transaction, [row["loan_id"] for row in rows])


def views_at(loans: Sequence[LoanRecord], day: date, known_at: datetime = END_OF_TIME) -> Views:
    """Views of loans on a day, as known at a moment; the kernel takes all but a few."""
    values = np.zeros((len(loans), len(VIEW_FIELDS)), np.int64)
    known = [visible(loan.facts, as_of=date.max, known_at=known_at) for loan in loans]
    plain: Bools = np.array(
        [len(loan.rows) == 1 and not any(fact.kind in EXACT_KINDS for fact in facts)
         for loan, facts in zip(loans, known, strict=True)], np.bool_,
    )  # fmt: skip
    rows = np.flatnonzero(plain).tolist()
    if rows:
        terms = TermColumns.of([loans[row].terms[0] for row in rows])
        facts = FactColumns.of([known[row] for row in rows])
        values[plain] = replay_columns(terms, facts, day).values
    for row in np.flatnonzero(~plain).tolist():
        values[row] = view_values(loans[row].at(day, known_at).view())
    return Views(values)


async def pool_at(
    transaction: asyncpg.Connection, loans: Sequence[LoanRecord], day: date, deal: str = ""
) -> PoolColumns:
    """Loans as a pool at the end of a day; a borrower's debt is that of all open loans."""
    views = views_at(loans, day)
    users = {loan.user_id for loan in loans}
    every = await open_loans(transaction, users)
    owed: dict[int, int] = dict.fromkeys(users, 0)
    principal = views_at(every, day).column("principal_outstanding").tolist()
    for loan, minor in zip(every, principal, strict=True):
        owed[loan.user_id] += minor
    names = ("principal_outstanding", "instalments_paid", "days_past_due")
    found = zip(loans, *(views.column(name).tolist() for name in names), strict=True)
    return pool_of_rows(
        {
            "loan_id": loan.loan_id, "principal_minor": minor, "rate_ppm": loan.first["rate_ppm"],
            "months_left": max(loan.rows[-1]["instalments"] - paid, 0), "instalments_paid": paid,
            "dpd": late, "grade": loan.first["grade"], "region": loan.first["region"],
            "product": loan.first["product"], "borrower_minor": owed[loan.user_id], "deal": deal,
        }
        for loan, minor, paid, late in found
    )  # fmt: skip


def cut_off(deal: Deal, period: int) -> date:
    """The last day whose receipts are a period's; of period 0, the eve of the closing."""
    if period == 0:
        return deal.closing_on - timedelta(days=1)
    return last_of_month(deal.first_month + period * deal.months_per_period - 1)


def strata_from(record: DealRecord, pool: PoolColumns | None) -> list[Stratum]:
    """Strata of a live pool by the curves of the deal's file, from the month it is in."""
    terms = record.deal.pool.terms
    assert terms is not None, "a deal in force has terms for its loans"
    if pool is None or not pool.principal_total_minor:
        return [stratum_of(terms, 0)]
    pool = pool.take(np.flatnonzero(pool["principal_minor"] > 0))
    months = record.state.period * record.deal.months_per_period
    recovery = (*([0] * terms.recovery_lag), terms.recovery_ppm)
    curves = Curves({}, {}, recovery).with_segment(
        0, mdr_ppm=(0, *terms.mdr_ppm), smm_ppm=(0, *terms.smm_ppm)
    )
    size = len(pool)
    same = {"grade": np.zeros(size, np.int64), "dpd": np.zeros(size, np.int64),
            "instalments_paid": np.full(size, months, np.int64),
            "months_left": np.maximum(pool["months_left"], 1)}  # fmt: skip
    paying = PoolColumns({**pool.values, **same}, pool.deal)
    return strata_of_pool(paying, curves, record.row["until"])
