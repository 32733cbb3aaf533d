"""Real periods of a deal's loans: nothing is lost between two days, and the dates pay it all."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np

from usance.base.codes import FactKind
from usance.base.dates import add_months, last_of_month, to_month
from usance.fund.deal import Pool
from usance.fund.loan_collections import DealLoans
from usance.fund.payment_date import pay_date
from usance.fund.sample import sample_deal
from usance.fund.state import opening_state
from usance.loan import Fact, FactColumns, TermColumns, Terms, schedule

BEGUN = date(2023, 12, 31)


def deal_loans(count: int = 40) -> DealLoans:
    """Loans of a year; some stop paying, some of these pay again long after."""
    made = np.random.default_rng(9)
    terms, facts = [], []
    for _ in range(count):
        each = Terms(
            principal_minor=int(made.integers(50_000, 900_000)),
            rate_ppm=int(made.integers(90_000, 240_000)), instalments=12,
            disbursed_on=BEGUN, first_due_on=date(2024, 1, 31),
        )  # fmt: skip
        stops = int(made.integers(2, 14)) if made.random() < 0.5 else 14
        history = [Fact(FactKind.DISBURSED, BEGUN, each.principal_minor, ref=1)]
        for number, due in enumerate(schedule(each), start=1):
            if number < stops:
                history.append(Fact(FactKind.PAID, due.due_on, due.total, ref=number + 1))
        if stops < 6:
            history.append(Fact(FactKind.PAID, date(2024, 11, 20), 9_000, ref=50))
        terms.append(each)
        facts.append(history)
    return DealLoans(TermColumns.of(terms), FactColumns.of(facts))


def test_a_deal_lived_on_real_loans() -> None:
    loans = deal_loans()
    pool = int(loans.terms.principal_minor.sum())
    deal = replace(sample_deal(), pool=Pool(pool))
    state, defaulted, performing, paid_in = opening_state(deal), None, pool, 0
    for number in range(12):
        month = to_month(date(2024, 1, 1)) + number
        made = loans.period(last_of_month(month - 1), last_of_month(month), defaulted)
        flows, defaulted = made.collections.flows, made.defaulted
        performing -= flows.principal_minor + flows.defaulted_minor
        assert performing == made.collections.pool_end_minor
        held = sum(state.names[name] for name in state.names if name.startswith("account."))
        state, row = pay_date(deal, state, made.collections)
        assert row.accounts is not None
        assert held + row.collected_minor == row.paid_minor + sum(row.accounts.values())
        paid_in += row.collected_minor
    facts = loans.facts
    until = (add_months(date(2024, 12, 31), 0) - date(1970, 1, 1)).days
    paid = facts.amount_minor[(facts.kind == FactKind.PAID) & (facts.day <= until)]
    assert paid_in == int(paid.sum())
    assert flows.recovered_minor == 0
    assert defaulted is not None
    assert 0 < int(defaulted.sum()) < len(defaulted)


def test_what_a_defaulted_loan_pays_is_recovered() -> None:
    loans = deal_loans()
    by_autumn = loans.period(BEGUN, date(2024, 10, 31))
    november = loans.period(date(2024, 10, 31), date(2024, 11, 30), by_autumn.defaulted)
    assert november.collections.flows.recovered_minor > 0
    assert november.collections.flows.recovered_minor % 9_000 == 0
