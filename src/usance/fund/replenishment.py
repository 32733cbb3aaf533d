"""Replenishment: the loans a revolving deal takes on a payment date, within its limits.

The waterfall says how much it would spend; the selection says what there is to buy, judged together
with the pool. Then the date is paid again with a supply of just these loans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import numpy as np

from usance.fund.deal import Deal
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import PoolError
from usance.fund.payment_date import Collections, pay_date
from usance.fund.pool_columns import PoolColumns, eligible
from usance.fund.selection import SelectionRules, select_pool
from usance.fund.state import DealState

Offer = Callable[[], tuple[PoolColumns, PoolColumns | None]]
"""A function to the loans on offer and the performing loans of the pool; asked when money is."""


def wanted_minor(deal: Deal, state: DealState, collections: Collections, paid_on: date) -> int:
    """Principal a deal would buy on its next date if enough were on offer."""
    if deal.purchase is None:
        return 0
    return pay_date(deal, state, collections, paid_on)[1].bought_minor


def replenishment(
    deal: Deal, terms: DealTerms, state: DealState, wanted: int, offered: PoolColumns,
    held: PoolColumns | None,
) -> PoolColumns | None:  # fmt: skip
    """Eligible loans of at most the principal wanted, or None if no limit can be kept with any."""
    fits, _ = eligible(offered, terms.eligibility, deal.name)
    offered = offered.take(np.flatnonzero(fits & (offered["principal_minor"] > 0)))
    rules = SelectionRules(
        wanted, terms.limits, seed=state.period, borrower_minor=terms.borrower_minor, held=held
    )
    try:
        return offered.take(select_pool(offered, rules).rows) if len(offered) else None
    except PoolError:  # what is offered keeps no limit: the money waits for the next date
        return None


def with_supply(deal: Deal, bought: PoolColumns | None) -> Deal:
    """The deal on a date on which just these loans are for sale."""
    if deal.purchase is None:
        return deal
    supply = bought.principal_total_minor if bought is not None else 0
    return replace(deal, purchase=replace(deal.purchase, supply_minor=(supply,)))
