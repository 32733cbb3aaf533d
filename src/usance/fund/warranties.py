"""Loans that turn out not to have been eligible when a deal took them: they go back.

Who sells loans to a deal warrants that each was eligible at its cut-off. What is learned later,
such as a reversed receipt, can show that one was not: the platform takes it back at par and the
interest accrued, on the next date. In a revolving deal the money buys others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import to_day
from usance.fund.held_deal import NEVER, HeldDeal, cut_off
from usance.fund.loan_tables import LoanTables
from usance.fund.pool_columns import PoolColumns, eligible


def restated(
    held: HeldDeal, loans: LoanTables, known_at: datetime
) -> Iterator[tuple[LoanTables, date]]:
    """Loans whose past was told otherwise since the last date, by the cut-off they came with."""
    if not held.terms.eligibility:
        return
    pool, told = held.pool, loans.restated(held.until, held.known_at, known_at)
    for entered, day in _cut_offs(held) if len(told) else ():
        came = pool.loan_id[(pool.from_on == entered) & (pool.to_on == NEVER)]
        late = told.among(np.intersect1d(came, told.ids))
        late = late.restated(day, held.known_at, known_at)
        if len(late):
            yield late, day


def refused(held: HeldDeal, pool: PoolColumns) -> I64:
    """Ids of loans that the criteria of a deal refuse, as they stood at their cut-off."""
    fits, _ = eligible(pool, held.terms.eligibility, held.deal.name)
    return pool["loan_id"][~fits]


def _cut_offs(held: HeldDeal) -> Iterator[tuple[int, date]]:
    """The days on which loans came, each with the last day that was looked at then."""
    yield to_day(held.deal.closing_on), cut_off(held.deal, 0)
    for period in range(1, held.state.period + 1):
        yield to_day(held.deal.paid_on(period)), cut_off(held.deal, period)
