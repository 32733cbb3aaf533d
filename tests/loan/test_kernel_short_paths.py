"""Short paths of the kernel, against the general fold of the same facts."""

from __future__ import annotations

from datetime import date

import numpy as np
from hypothesis import assume, event, given
from hypothesis import strategies as st

from tests.loan.strategies import own_terms
from usance.base.arrays import I64
from usance.base.codes import FactKind, Fee
from usance.base.dates import from_day
from usance.base.errors import UsanceError
from usance.loan import Fact, Terms, start, step
from usance.loan.batch import States
from usance.loan.kernel.arrays import Plan
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.plan import due_day, instalment, period_start
from usance.loan.kernel.short_paths import (
    charge_late_fee,
    due_at_settlement,
    has_no_nil_instalment,
    is_on_schedule,
    pay_instalment,
    pay_late_fee,
    pays_one_instalment,
    settle_early,
)
from usance.loan.kernel.state import BALANCE, LEVEL_MINOR


class OnSchedule:
    """A loan whose first instalments were paid on their days by the general fold."""

    def __init__(self, terms: Terms, paid: int) -> None:
        try:
            states = start(terms)
        except UsanceError:  # fees beyond the kernel
            assume(False)
        self.plan: Plan = plan_at(states.terms.arrays, 0)
        drawn = Fact(FactKind.DISBURSED, terms.disbursed_on, terms.principal_minor, ref=1)
        self.states = step(states, [[drawn]], terms.disbursed_on)
        for self.nth in range(paid + 1):
            self.due = due_day(self.plan, self.nth)
            self.parts = instalment(
                self.plan, self.nth, int(self.row[0, BALANCE]), int(self.row[0, LEVEL_MINOR])
            )
            self.amount = sum(self.parts)
            assume(self.amount > 0)
            if self.nth < paid:
                self.states = self.folded(self.paid(self.due, self.amount))
        assume(is_on_schedule(self.plan, self.row, 0, paid))

    @property
    def row(self) -> I64:
        return self.states.values

    @property
    def balance(self) -> int:
        return int(self.row[0, BALANCE])

    def paid(self, day: int, amount: int) -> Fact:
        return Fact(FactKind.PAID, from_day(day), amount, ref=10 + self.nth)

    def fee(self, day: int, amount: int) -> Fact:
        return Fact(FactKind.FEE_CHARGED, from_day(day), amount, 9, int(Fee.LATE_FEE))

    def folded(self, *facts: Fact) -> States:
        """The general fold of some more facts."""
        last: date = max(fact.effective_on for fact in facts)
        return step(self.states, [list(facts)], last)


def loans(most: int) -> st.SearchStrategy[OnSchedule]:
    return st.builds(
        lambda terms, paid: OnSchedule(terms, min(paid, terms.instalments - 1)),
        own_terms(), st.integers(0, most),
    )  # fmt: skip


@given(loans(8))
def test_an_instalment_paid_on_its_day_is_what_the_fold_makes_of_it(loan: OnSchedule) -> None:
    fits = pays_one_instalment(loan.plan, loan.nth, loan.balance, loan.amount)
    event(f"short path {fits}")
    if fits:
        short = loan.row.copy()
        pay_instalment(loan.plan, short, 0, loan.nth, *loan.parts)
        assert np.array_equal(short, loan.folded(loan.paid(loan.due, loan.amount)).values)


@given(loans(8), st.integers(1, 27), st.integers(0, 30), st.integers(0, 500_00))
def test_an_instalment_paid_late_with_its_fee_is_what_the_fold_makes_of_it(
    loan: OnSchedule, late: int, grace: int, fee: int
) -> None:
    fee = fee if grace < late else 0
    assume(has_no_nil_instalment(loan.plan, int(loan.row[0, LEVEL_MINOR])))
    amount, paid_on = loan.amount + fee, loan.due + late
    fits = pays_one_instalment(loan.plan, loan.nth, loan.balance, amount)
    event(f"short path {fits}, fee {fee > 0}")
    facts = [loan.paid(paid_on, amount)]
    if fee:
        facts.insert(0, loan.fee(loan.due + grace + 1, fee))
    if fits:
        short = loan.row.copy()
        pay_instalment(loan.plan, short, 0, loan.nth, *loan.parts)
        pay_late_fee(short, 0, fee)
        assert np.array_equal(short, loan.folded(*facts).values)
    if fee:
        unpaid = loan.row.copy()
        charge_late_fee(unpaid, 0, fee)
        assert np.array_equal(unpaid, loan.folded(facts[0]).values)


@given(loans(8), st.integers(0, 40))
def test_an_early_settlement_is_what_the_fold_makes_of_it(loan: OnSchedule, before: int) -> None:
    day = max(loan.due - before, period_start(loan.plan, loan.nth) + 1)
    assume(loan.balance > 0)
    _, interest, fees = due_at_settlement(loan.plan, loan.nth, day, *loan.parts)
    event(f"on the due day {day == loan.due}")
    short = loan.row.copy()
    settle_early(loan.plan, short, 0, interest, fees)
    settled = loan.folded(loan.paid(day, loan.balance + interest + fees))
    assert np.array_equal(short, settled.values)
