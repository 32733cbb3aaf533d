"""Rows of the `dues` table: amounts due on each day of a period and their collection, by cell.

Day-1: of loans with nothing overdue at the start of the day and not settled before it, the
principal due that day and what of it is unpaid at its end. What was paid early is due and paid.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I64
from usance.base.columns import arrays, make, sort
from usance.base.dates import to_day
from usance.base.tables import table
from usance.loan.batch import Views
from usance.measure.book_tape import cells_of_loans
from usance.measure.positions import Portfolio

COLLECTION_DAYS = 30  # of the metric "30-day collection"
FIRST_PAYMENT_DAYS = (7, 30)  # of FPD7 and FPD30

_SCHEDULED = ("principal", "interest", "guarantee_fee", "service_fee")


def dues_between(
    portfolio: Portfolio, first: date, last: date, cells: pa.Table, as_of: date
) -> pa.Table:
    """The sums of every day and cell with something due; known up to `as_of`."""
    loans, days, amounts = _dues_of_loans(portfolio, first, last, as_of)
    cell = cells_of_loans(portfolio.columns, cells)[loans].astype(np.int64)
    keys, places = np.unique(np.stack((days, cell), 1), axis=0, return_inverse=True)
    sums = {name: np.zeros(len(keys), np.int64) for name in amounts}
    for name, values in amounts.items():
        np.add.at(sums[name], places.ravel(), values)
    return make("dues", due_on=keys[:, 0].astype(np.int32), cell=keys[:, 1], **sums)


def loans_due(
    loans: pa.Table, facts: pa.Table, cells: pa.Table, days: Collection[tuple[date, int]],
    as_of: date,
) -> pa.Table:  # fmt: skip
    """The loans behind some rows of `dues`, given as days and cells: a row for each that counts."""
    wanted = sorted({cell for _, cell in days})
    there = np.isin(cells_of_loans(arrays(loans), cells), wanted)
    chosen = loans.filter(pc.is_in(loans["loan_id"], loans["loan_id"].filter(pa.array(there))))
    theirs = facts.filter(pc.is_in(facts["loan_id"], chosen["loan_id"]))
    # A book's files follow each other by date, a portfolio's rows by loan.
    portfolio = Portfolio.of(sort(chosen, table("loans")), sort(theirs, table("facts")))
    span = min(day for day, _ in days), max(day for day, _ in days)
    owners, due_on, amounts = _dues_of_loans(portfolio, *span, as_of)
    cell = cells_of_loans(portfolio.columns, cells)[owners].astype(np.int64)
    known = {(to_day(day), number) for day, number in days}
    counted = np.any([values != 0 for values in amounts.values()], axis=0)
    kept = [
        n for n in np.flatnonzero(counted) if (int(due_on[n]), int(cell[n])) in known
    ]  # fmt: skip
    return pa.table(
        {
            "due_on": pa.array(due_on[kept].astype(np.int32), pa.date32()),
            "cell": cell[kept],
            "loan_id": portfolio.columns["loan_id"][owners[kept]],
            **{name: values[kept] for name, values in amounts.items()},
        }
    )


def _dues_of_loans(
    portfolio: Portfolio, first: date, last: date, as_of: date
) -> tuple[I64, I64, dict[str, I64]]:
    """Of each due in a period: the loan's row, its day, and its amounts."""
    plan = portfolio.dues()
    owners = np.repeat(np.arange(len(portfolio)), np.diff(plan.offsets))
    end = min(to_day(last), to_day(as_of))
    at = np.flatnonzero((plan.due_on >= to_day(first)) & (plan.due_on <= end))
    loans, days = owners[at], plan.due_on[at].astype(np.int64)
    then = portfolio.at(loans, days)
    drawn = then.column("disbursed") > 0
    at, loans, days, then = at[drawn], loans[drawn], days[drawn], Views(then.values[drawn])
    amounts = {
        **_day_1(portfolio, loans, days, then, plan.principal[at], to_day(as_of)),
        **_first_payment(portfolio, loans, days, at == plan.offsets[loans], to_day(as_of)),
    }
    return loans, days, amounts


def _day_1(
    portfolio: Portfolio, loans: I64, days: I64, then: Views, principal: I64, as_of: int
) -> dict[str, I64]:
    eve = portfolio.at(loans, days - 1)
    overdue_before = sum(eve.column(f"past_due_{part}") for part in _SCHEDULED)
    settled = (eve.column("disbursed") > 0) & (eve.column("next_due_day") < 0)
    counted = (overdue_before == 0) & ~settled
    due = np.where(counted, principal, 0)
    overdue = np.where(counted, np.minimum(principal, then.column("past_due_principal")), 0)
    later = portfolio.at(loans, np.minimum(days + COLLECTION_DAYS, as_of))
    # What was waived in between is not repaid, and no longer there to be repaid.
    waived = later.column("waived_principal") - then.column("waived_principal")
    left = overdue - np.minimum(overdue, np.maximum(0, waived))
    paid = np.maximum(0, later.column("paid_principal") - then.column("paid_principal"))
    return {
        "due_minor": due,
        "overdue_minor": overdue,
        "collected30_minor": np.minimum(left, paid),
    }


def _first_payment(
    portfolio: Portfolio, loans: I64, days: I64, is_first: I64, as_of: int
) -> dict[str, I64]:
    principal = np.where(is_first, portfolio.columns["principal_minor"][loans], 0)
    made = {"first_minor": principal}
    for span in FIRST_PAYMENT_DAYS:
        seen = portfolio.at(loans, np.minimum(days + span, as_of))
        unpaid = seen.column("instalments_paid") == 0
        made[f"first_unpaid{span}_minor"] = np.where(unpaid, principal, 0)
    return made
