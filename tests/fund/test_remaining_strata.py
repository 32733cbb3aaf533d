"""A live deal goes on from its state: each loan at its own age, and recoveries of what fell."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from tests.fund.test_held_deal import DEAL, closed, live, loan, moment, tables
from usance.base.money import half_up
from usance.fund.deal_file import parse_deal
from usance.fund.deal_terms import DealKind, DealTerms
from usance.fund.held_deal import PURCHASE, DealPool, HeldDeal
from usance.fund.loan_tables import LoanTables
from usance.fund.payment_date import Distribution
from usance.fund.projection import project
from usance.fund.remaining_strata import remaining_strata
from usance.fund.state import Cohort

TERMS = {name: value for name, value in DEAL["pool"].items() if name != "balance_minor"}
POOL = {**TERMS, "recovery_ppm": 200_000, "recovery_lag": 3}


def lived(
    loans: LoanTables, dates: int, kind: DealKind = DealKind.PLAN, **changes: Any
) -> HeldDeal:
    """A deal on loans after some dates."""
    opened = closed(loans, DealTerms(kind=kind))
    given = {**DEAL, "pool": POOL, **changes}
    whole = opened.deal.pool.balance_minor
    given["pool"] = {**given["pool"], "balance_minor": whole}
    given["classes"] = [{**DEAL["classes"][0], "balance_minor": whole}]
    deal = parse_deal(json.dumps(given))
    held, _ = live(replace(opened, deal=deal), loans, dates)
    return held


def to_come(held: HeldDeal, loans: LoanTables) -> tuple[Distribution, ...]:
    pool = loans.pool(held.until, held.known_at)
    mine = pool.take(np.flatnonzero(np.isin(pool["loan_id"], held.performing)))
    return project(held.deal, state=held.state, strata=remaining_strata(held, mine)).distributions


def test_recoveries_of_loans_that_defaulted_before_come_yet() -> None:
    """The second borrower stops in April: past due for more than ninety days from July on."""
    loans = tables(loan(9), loan(2))
    held = lived(loans, 5)
    owed = int(loans.views(date(2024, 7, 31)).column("principal_outstanding")[1])
    (cohort,) = held.state.cohorts
    assert cohort.defaulted_minor == (0, 0, 0, 0, owed)
    assert cohort.balance_minor == held.state.names["pool_end"] > 0
    found = [row.flows.recovered_minor for row in to_come(held, loans)]
    assert found == [0, 0, half_up(owed * 200_000, 10**6), 0]
    # A date later they are a date nearer; without its loans the deal says the same.
    later = lived(loans, 6)
    assert [row.flows.recovered_minor for row in to_come(later, loans)] == found[1:]
    alone = project(later.deal, state=later.state, strata=remaining_strata(later, None))
    assert [row.flows.recovered_minor for row in alone.distributions] == found[1:]


def test_of_what_the_platform_bought_out_nothing_is_recovered_later() -> None:
    loans = tables(loan(9), loan(2))
    held = lived(loans, 5, DealKind.TRUST)
    assert held.state.names["defaulted_to_date"] > 0
    assert not any(row.flows.recovered_minor for row in to_come(held, loans))


def test_a_default_is_of_its_month_within_a_longer_period() -> None:
    loans = tables(loan(9), loan(2))
    held = lived(loans, 2, periods=3, months_per_period=3)
    (cohort,) = held.state.cohorts
    assert [bool(minor) for minor in cohort.defaulted_minor] == [False] * 4 + [True, False]
    # Two months after July the period ends; with the lag of three the next one recovers it.
    (last,) = to_come(held, loans)
    assert last.flows.recovered_minor == half_up(max(cohort.defaulted_minor) * 200_000, 10**6)


def test_loans_that_came_later_are_as_old_as_they_are() -> None:
    """Loans of the closing are in their third month, those bought on the second date in the first.

    They default in the third month after they came, and those bought in the second.
    """
    loans = tables(loan(9), loan(9))
    curve = {"mdr_ppm": [0, 0, 100_000, 0]}
    bought = {**POOL, "mdr_ppm": [0, 300_000, 0], "price_ppm": 1_000_000, "supply_minor": [0]}
    held = lived(loans, 2, pool={**POOL, **curve}, purchase=bought)
    pool = loans.pool(held.until, held.known_at)
    half = int(pool["principal_minor"][1])
    later = DealPool.bought(pool.take(np.array([1])), held.state.paid_on, half, PURCHASE)
    first = DealPool(*(each[:1] for each in (
        held.pool.loan_id, held.pool.from_on, held.pool.to_on, held.pool.price_minor,
        held.pool.reason, held.pool.defaulted_on)))  # fmt: skip
    (cohort,) = held.state.cohorts
    state = held.state.copy()
    state.cohorts = (replace(cohort, balance_minor=cohort.balance_minor - half),
                     Cohort(state.paid_on, half))  # fmt: skip
    held = replace(held, state=state, pool=first.joined(later))
    rows = to_come(held, loans)
    owed = [int(each) for each in pool["principal_minor"]]
    assert rows[0].flows.defaulted_minor == half_up(owed[0] * 100_000, 10**6)
    left = rows[0].pool_end_minor
    assert rows[1].flows.defaulted_minor == pytest.approx(left * 0.3 / 1.9, rel=0.01)
    assert [row.flows.defaulted_minor for row in rows[2:]] == [0] * 5
    # A state of before knows no cohorts: loans take their age from the day they came.
    state = held.state.copy()
    state.cohorts = ()
    without = replace(held, state=state)
    assert [each.months for each in without.cohorts] == [2, 0]
    assert [row.flows for row in to_come(without, loans)] == [row.flows for row in rows]
    assert moment(held.until) <= held.known_at
