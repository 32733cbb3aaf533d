"""History known of users' loans at a request: facts booked by the evening before.

A month is served at once, but a request is assessed at its moment. Payments of the month's later
days do not count yet, nor do those whose notice is still out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.ids import PER_USER
from usance.loan.batch import States, Views, step_columns, view_columns
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.users import Users

_MONEY = (int(FactKind.PAID), int(FactKind.RECOVERED))


class KnownHistory(NamedTuple):
    """Columns by user: principal owed, days past due, and the most days past due ever."""

    used_minor: I64
    overdue_days: I64
    worst_days: I64


class RequestMonth(NamedTuple):
    """A month of a shard's loans at its beginning, with and without late notices, and its facts."""

    loans: OpenLoans
    before_late: OpenLoans
    """Before the notices of earlier payments that the month brings."""
    late: FactRows
    """These notices."""
    facts: FactRows


def known_at_requests(
    users: Users, rows: I64, day: I64, month: RequestMonth, *, workers: int | None = None
) -> KnownHistory:
    """History known of some users, by row in ascending order, on the eve of a day each."""
    asked_on = np.zeros(len(users), np.int64)
    asked_on[rows] = day
    loans = _as_known(users, asked_on, month)
    owner = np.searchsorted(rows, users.rows(loans["loan_id"] // PER_USER))
    eve = day[owner] - 1
    facts = _booked_by(month.facts, loans, eve)
    used, overdue = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    worst = users["worst"][rows].astype(np.int64)
    np.maximum.at(worst, owner, loans["worst"])
    views = _views(loans, facts, eve, workers)
    np.add.at(used, owner, views.column("principal_outstanding"))
    for most in (overdue, worst):  # who never borrowed has no worst days
        np.maximum.at(most, owner, views.column("days_past_due"))
    for own, until in _eves_of_payments(loans, facts):
        before = _views(loans.take(own), _until(facts, loans, own, until), until, workers)
        np.maximum.at(worst, owner[own], before.column("days_past_due"))
    return KnownHistory(used, overdue, worst)


def _as_known(users: Users, asked_on: I64, month: RequestMonth) -> OpenLoans:
    """Loans of those who ask, without a notice that comes on the day they ask or later."""
    when = asked_on[users.rows(month.late.loan_id // PER_USER)]
    out = month.late.loan_id[(when > 0) & (month.late.booked >= when)]

    def ask(loans: OpenLoans) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = asked_on[users.rows(loans["loan_id"] // PER_USER)] > 0
        return found

    known = month.loans.take(ask(month.loans) & ~np.isin(month.loans["loan_id"], out))
    return known.joined(month.before_late.take(np.isin(month.before_late["loan_id"], out)))


def _booked_by(facts: FactRows, loans: OpenLoans, until: I64) -> FactRows:
    """The facts of some loans that are booked by a day each."""
    if not len(loans):
        return FactRows.none()
    at = np.minimum(np.searchsorted(loans["loan_id"], facts.loan_id), len(loans) - 1)
    return facts.where((loans["loan_id"][at] == facts.loan_id) & (facts.booked <= until[at]))


def _views(loans: OpenLoans, facts: FactRows, until: I64, workers: int | None) -> Views:
    """Views of loans on a day each, with these facts of the month."""
    last, known = int(until.max(initial=0)), facts.columns_for(loans["loan_id"])
    stepped = step_columns(loans.states_at(-1), known, last, workers=workers)
    days = until.astype(np.int32)
    return view_columns(States(stepped.terms, stepped.values, days), days, workers=workers)


def _eves_of_payments(loans: OpenLoans, facts: FactRows) -> list[tuple[I64, I64]]:
    """Rows of loans and the eve of their first payment, then of their second, and so on."""
    money = np.flatnonzero(np.isin(facts.kind, _MONEY))
    row = np.searchsorted(loans["loan_id"], facts.loan_id[money])
    nth = np.arange(len(row)) - np.searchsorted(row, row)
    return [
        (row[nth == n], facts.day[money[nth == n]].astype(np.int64) - 1)
        for n in range(int(nth.max(initial=-1)) + 1)
    ]


def _until(facts: FactRows, loans: OpenLoans, own: I64, until: I64) -> FactRows:
    """The facts of some loans up to a day each."""
    days = np.full(len(loans), -1, np.int64)
    days[own] = until
    return facts.where(facts.day <= days[np.searchsorted(loans["loan_id"], facts.loan_id)])
