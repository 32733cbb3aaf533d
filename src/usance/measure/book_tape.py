"""Rows of the tables `tape` and `dues`, made from loans and facts by replay.

The tape has loans by month; dues are amounts due on each day of a period and their collection, by
cell. Day-1: of loans with nothing overdue at the start of the day and not settled before it, the
principal due that day and what of it is unpaid at its end. What was paid early is due and paid.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.ageing import ageing_buckets
from usance.base.arrays import I64
from usance.base.codes import FactKind, Status
from usance.base.columns import arrays, make, sort
from usance.base.dates import last_of_month, to_day
from usance.base.errors import SchemaError
from usance.base.segments import cell_key
from usance.base.tables import table
from usance.loan.batch import Views
from usance.measure.positions import Dues, Portfolio

_PAST_DUE = ("principal", "interest", "guarantee_fee", "service_fee", "penalty")
_MAX_DPD = int(np.iinfo(np.int16).max)
_DAYS = 1 << 24  # more days than any date has, so that loan and day fit one number


def tape_month(portfolio: Portfolio, month: int, cells: pa.Table) -> pa.Table:
    """Each loan on the book at the end of a month: from disbursement to its last row of zeros."""
    end, before = to_day(last_of_month(month)), to_day(last_of_month(month - 1))
    everyone = np.flatnonzero(portfolio.columns["disbursed_on"] <= end)
    now = portfolio.at(everyone, np.full(len(everyone), end))
    prev = portfolio.at(everyone, np.full(len(everyone), before))
    new = (now.column("disbursed") > 0) & (prev.column("disbursed") == 0)
    closed = int(Status.CLOSED)
    open_now = (now.column("disbursed") > 0) & (now.column("status") != closed)
    open_before = (prev.column("disbursed") > 0) & (prev.column("status") != closed)
    on_book = new | open_now | open_before
    rows = everyone[on_book]
    return _rows(
        portfolio, rows, Views(now.values[on_book]), Views(prev.values[on_book]), month, cells
    )


def _rows(
    portfolio: Portfolio, rows: I64, now: Views, prev: Views, month: int, cells: pa.Table
) -> pa.Table:
    end, start = to_day(last_of_month(month)), to_day(last_of_month(month - 1)) + 1
    was_there = prev.column("disbursed") > 0
    dpd = now.column("days_past_due")
    status = now.column("status")
    principal = now.column("principal_outstanding")
    late = (dpd > 0) | (status == Status.CHARGED_OFF)
    worst = np.where(late, worst_days(portfolio, rows, dpd, late, end), 0)
    cohort = _months(portfolio.columns["disbursed_on"][rows])
    old = ageing_buckets(prev.column("days_past_due"), prev.column("status"))
    return make(
        "tape",
        month=np.full(len(rows), month),
        loan_id=portfolio.columns["loan_id"][rows],
        mob=month - cohort,
        dpd=np.minimum(dpd, _MAX_DPD),
        bucket=ageing_buckets(dpd, status),
        bucket_prev=np.where(was_there, old, -1),
        status=status,
        principal_minor=principal,
        principal_prev_minor=np.where(was_there, prev.column("principal_outstanding"), 0),
        past_due_minor=sum(now.column(f"past_due_{part}") for part in _PAST_DUE),
        net30_minor=np.where(worst > 30, principal, 0),
        net180_minor=np.where(worst > 180, principal, 0),
        prepaid_minor=prepaid(portfolio, rows, start, end),
        recovered_minor=now.column("recovered") - prev.column("recovered"),
        cohort=cohort,
        cell=cells_of_loans(portfolio.columns, cells)[rows],
    )


def worst_days(portfolio: Portfolio, rows: I64, dpd: I64, late: NDArray[np.bool_], end: int) -> I64:
    """The most days past due each late loan has ever had.

    Days past due only grow from one fact to the next, so the eve of each fact, and today, are
    the days to look at. A loan beyond 180 days needs no look.
    """
    asked = np.flatnonzero(late & (dpd <= 180))
    facts, loans = portfolio.facts, rows[asked]
    counts = np.diff(facts.offsets)[loans]
    owner = np.repeat(asked, counts)
    first = np.repeat(facts.offsets[loans] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    days = facts.day[np.arange(len(owner)) + first].astype(np.int64) - 1
    drawn = portfolio.columns["disbursed_on"][rows[owner]]
    useful = (days < end) & (days > drawn)
    seen = portfolio.at(rows[owner[useful]], days[useful]).column("days_past_due")
    worst = dpd.copy()
    np.maximum.at(worst, owner[useful], seen)
    return worst


def prepaid(portfolio: Portfolio, rows: I64, start: int, end: int) -> I64:
    """Principal that loans paid before it was due, on the days from `start` to `end`."""
    facts = portfolio.facts
    owners = np.repeat(np.arange(len(portfolio)), np.diff(facts.offsets))
    chosen = (facts.kind == FactKind.PAID) & (facts.day >= start) & (facts.day <= end)
    wanted = np.zeros(len(portfolio), np.bool_)
    wanted[rows] = True
    chosen &= wanted[owners]
    pairs = np.unique(np.stack((owners[chosen], facts.day[chosen].astype(np.int64)), 1), axis=0)
    loans, days = pairs[:, 0], pairs[:, 1]
    after = portfolio.at(loans, days).column("paid_principal")
    eve, plan = portfolio.at(loans, days - 1), portfolio.dues()
    today = due_principal(plan, loans, days) - due_principal(plan, loans, days - 1)
    due = eve.column("due_principal") + today
    total = np.zeros(len(portfolio), np.int64)
    np.add.at(total, loans, np.maximum(0, after - np.maximum(eve.column("paid_principal"), due)))
    return total[rows]


def due_principal(plan: Dues, loans: I64, days: I64) -> I64:
    """Scheduled principal of each loan that falls due by its day, paid or not."""
    owners = np.repeat(np.arange(len(plan.offsets) - 1), np.diff(plan.offsets))
    keys = owners * _DAYS + plan.due_on
    sums = np.concatenate(([0], np.cumsum(plan.principal)))
    until = np.searchsorted(keys, loans * _DAYS + days, side="right")
    due: I64 = sums[until] - sums[plan.offsets[loans]]
    return due


def cells_table(loans: pa.Table) -> pa.Table:
    """The cells of loans whose book has none yet: every model, product and source, numbered."""
    columns = arrays(loans.select(["model", "product", "source"]))
    kinds = np.unique(np.stack([columns[name].astype(np.int64) for name in columns], 1), axis=0)
    return make(
        "cells", cell=np.arange(1, len(kinds) + 1), model=kinds[:, 0], product=kinds[:, 1],
        source=kinds[:, 2], entity=np.zeros(len(kinds), np.int64),
    )  # fmt: skip


def cells_of_loans(columns: dict[str, NDArray[Any]], cells: pa.Table) -> NDArray[Any]:
    """The cell of each loan by its model, product and source."""
    known = arrays(cells)
    keys = cell_key(known["model"], known["product"], known["source"])
    order = np.argsort(keys, kind="stable")
    wanted = cell_key(columns["model"], columns["product"], columns["source"])
    at = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
    missing = len(keys) == 0 or (keys[order][at] != wanted).any()
    if len(wanted) and missing:
        raise SchemaError(
            "some loans have a model, product and source that no cell has",
            where="cells", fix="Add a cell for each combination",
        )  # fmt: skip
    found: NDArray[Any] = known["cell"][order][at] if len(wanted) else known["cell"][:0]
    return found


def _months(days: NDArray[Any]) -> NDArray[np.int64]:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


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
