"""One payment date of a deal: collect, accrue, test, call, pay, test again.

The same function serves a projection and a real date; only where the period's collections come
from differs. Money is conserved by every step: what leaves an account is paid, or is in another.

>>> from usance.fund.deal import MonthFlows
>>> from usance.fund.sample import sample_deal
>>> from usance.fund.state import opening_state
>>> deal = sample_deal()
>>> month = Collections(MonthFlows(1_665_000_00, 8_512_295_27, 100_000_00), 91_387_704_73)
>>> state, paid = pay_date(deal, opening_state(deal), month)
>>> (
...     str(paid.paid_on),
...     paid.fees,
...     paid.classes["A"].interest_minor,
...     paid.classes["A"].principal_minor,
... )
('2024-02-15', {'trustee': 616438, 'servicing': 12328767}, 31561644, 861229527)
>>> paid.classes["S"].residual_minor, state.names["A.balance"]
(105335617, 7138770473)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import accumulate, pairwise

from usance.base.daycount import year_fraction
from usance.base.formulas import Formula, evaluate
from usance.base.money import half_up, split
from usance.base.rates import PPM
from usance.fund.deal import (
    COLLECTION,
    Deal,
    Fee,
    MonthFlows,
    Status,
    Step,
    StepKind,
    TriggerMoment,
    at,
)
from usance.fund.errors import PaymentDateError
from usance.fund.state import (
    Cohort,
    DealState,
    account_balances,
    cohorts_of,
    shared_cohorts,
)


@dataclass(frozen=True, slots=True)
class Collections:
    """Flows of a deal's loans in one period."""

    flows: MonthFlows
    pool_end_minor: int
    """Performing principal at the end of the period, before purchases."""
    cohorts: tuple[Cohort, ...] = ()
    """The same by the day the loans came, if that is known; else shared by what performed."""


@dataclass(slots=True)
class ClassPayment:
    """Payments to one class on a date, and what is left."""

    interest_minor: int = 0
    residual_minor: int = 0
    """The residual it got, beside interest that was due."""
    principal_minor: int = 0
    balance_minor: int = 0
    unpaid_minor: int = 0
    oc_ppm: int | None = None
    ic_ppm: int | None = None


@dataclass(slots=True)
class Distribution:
    """One payment date as it went."""

    period: int
    paid_on: date
    status: Status
    flows: MonthFlows
    fees: dict[str, int]
    classes: dict[str, ClassPayment]
    pool_end_minor: int = 0
    bought_minor: int = 0
    """Principal of the loans bought."""
    cost_minor: int = 0
    """Paid for them."""
    called_minor: int = 0
    """The price of the clean-up call."""
    accounts: dict[str, int] | None = None

    @property
    def collected_minor(self) -> int:
        """Everything that came in."""
        flows = self.flows
        received = flows.interest_minor + flows.principal_minor + flows.recovered_minor
        return received + self.called_minor

    @property
    def paid_minor(self) -> int:
        """Everything that went out: fees, classes, loans bought."""
        to_classes = sum(
            each.interest_minor + each.residual_minor + each.principal_minor
            for each in self.classes.values()
        )
        return sum(self.fees.values()) + to_classes + self.cost_minor


def pay_date(
    deal: Deal, state: DealState, collections: Collections, paid_on: date | None = None
) -> tuple[DealState, Distribution]:
    """The state after the next payment date, and the date itself.

    `paid_on` is the day of a real date that differs from the deal's calendar.
    """
    if state.is_called or state.period >= deal.periods:
        what = f"the deal ended with date {state.period}"
        raise PaymentDateError(what, where=deal.name, fix="Pay no date after the last")
    run = _Date(deal, state.copy(), collections)
    run.collect()
    run.accrue(paid_on or deal.paid_on(run.state.period))
    run.test(TriggerMoment.COLLECTION)
    run.call()
    due_before = [run.names[f"{each.name}.due"] for each in deal.classes]
    run.row.status = run.state.status
    for step in deal.waterfall[run.state.status]:
        run.pay(step)
    run.close(due_before)
    run.test(TriggerMoment.DISTRIBUTION)
    return run.state, run.row


class _Date:
    """A payment date on its way."""

    def __init__(self, deal: Deal, state: DealState, collections: Collections) -> None:
        self.deal, self.state, self.names = deal, state, state.names
        self.collections = collections
        self.row = Distribution(
            state.period + 1, state.paid_on, state.status, collections.flows,
            {fee.name: 0 for fee in deal.fees},
            {each.name: ClassPayment() for each in deal.classes},
        )  # fmt: skip

    def number(self, formula: Formula) -> int:
        """The value of a formula as things stand, not below zero."""
        return max(int(evaluate(formula, self.names)), 0)

    def collect(self) -> None:
        """Let what the loans paid enter the collection account."""
        names, flows = self.names, self.collections.flows
        self.state.cohorts = self.collections.cohorts or shared_cohorts(
            cohorts_of(self.deal, self.state), self.collections.pool_end_minor,
            flows.defaulted_minor, self.deal.months_per_period,
        )  # fmt: skip
        names["period"] += 1
        names["pool_start"], names["pool_end"] = names["pool_end"], self.collections.pool_end_minor
        names["collected_interest"] = flows.interest_minor
        names["collected_principal"] = flows.principal_minor
        names["defaulted"], names["recovered"] = flows.defaulted_minor, flows.recovered_minor
        names["defaulted_to_date"] += flows.defaulted_minor
        names[f"account.{COLLECTION}"] += self.row.collected_minor
        for each in self.deal.classes:
            if each.targets_minor:
                names[f"{each.name}.target"] = at(each.targets_minor, names["period"])

    def accrue(self, paid_on: date) -> None:
        """Interest and fees since the last date, cumulative, rounded once."""
        if paid_on <= self.state.paid_on:
            what = f"{paid_on} is not after {self.state.paid_on}"
            raise PaymentDateError(what, where=self.deal.name, fix="Pay dates in their order")
        years = year_fraction(self.state.paid_on, paid_on, self.deal.day_count)
        for each in self.deal.classes:
            balance = self.names[f"{each.name}.balance"]
            self._add(each.name, f"{each.name}.due", balance * each.rate_ppm * years / PPM)
        for fee in self.deal.fees:
            self._add(f"fee.{fee.name}", f"fee.{fee.name}.due", self._fee(fee, years))
        self.state.paid_on = self.row.paid_on = paid_on

    def _fee(self, fee: Fee, years: Fraction) -> Fraction:
        base = self.number(fee.base) if fee.base is not None else 0
        return fee.fixed_minor + base * (fee.annual_ppm * years + fee.share_ppm) / Fraction(PPM)

    def _add(self, what: str, due: str, accrued: Fraction) -> None:
        before = self.state.accrued[what]
        after = self.state.accrued[what] = before + accrued
        self.names[due] += _rounded(after) - _rounded(before)

    def test(self, moment: TriggerMoment) -> None:
        """Move on to the latest status that a trigger of this moment asks for."""
        for trigger in self.deal.triggers:
            moves_on = trigger.at is moment and trigger.to.follows(self.state.status)
            if moves_on and evaluate(trigger.when, self.names):
                self.state.status = trigger.to

    def call(self) -> None:
        """The clean-up call: its price comes in, the pool is gone, the date is the last."""
        clean_up = self.deal.clean_up
        if (
            clean_up is None
            or not self.names["pool_end"]
            or not evaluate(clean_up.when, self.names)
        ):
            return
        self.row.called_minor = self.number(clean_up.price)
        self.names[f"account.{COLLECTION}"] += self.row.called_minor
        self.names["pool_end"] = 0
        self.state.cohorts = tuple(replace(each, balance_minor=0) for each in self.state.cohorts)
        self.state.is_called = True

    def pay(self, step: Step) -> None:
        """One step: the least of what is due, its amount and what its account holds."""
        if step.when is not None and not evaluate(step.when, self.names):
            return
        held = self.names[f"account.{step.source}"]
        most = held if step.amount is None else min(held, self.number(step.amount))
        paid = _PAY[step.kind](self, step, most)
        self.names[f"account.{step.source}"] -= paid

    def pay_fee(self, step: Step, most: int) -> int:
        """A fee, as far as it is due."""
        (name,) = step.payees
        paid = min(most, self.names[f"fee.{name}.due"])
        self.names[f"fee.{name}.due"] -= paid
        self.row.fees[name] += paid
        return paid

    def pay_interest(self, step: Step, most: int) -> int:
        """Interest of the classes, by largest remainder of what is due to each."""
        dues = [self.names[f"{name}.due"] for name in step.payees]
        paid = min(most, sum(dues))
        for name, part in zip(step.payees, _shares(paid, dues), strict=True):
            self.names[f"{name}.due"] -= part
            self.row.classes[name].interest_minor += part
        return paid

    def pay_principal(self, step: Step, most: int) -> int:
        """Principal of the classes, in their order or by balance."""
        balances = [self.names[f"{name}.balance"] for name in step.payees]
        paid = min(most, sum(balances))
        if step.pro_rata:
            parts = _shares(paid, balances)
        else:
            reached = [min(paid, total) for total in accumulate(balances, initial=0)]
            parts = [after - before for before, after in pairwise(reached)]
        for name, part in zip(step.payees, parts, strict=True):
            self.names[f"{name}.balance"] -= part
            self.row.classes[name].principal_minor += part
        self.names["classes"] -= paid
        return paid

    def move(self, step: Step, most: int) -> int:
        """From one account to another."""
        (target,) = step.payees
        self.names[f"account.{target}"] += most
        return most

    def buy(self, _: Step, most: int) -> int:
        """Loans, as many as the money and the supply allow; they perform at once."""
        purchase = self.deal.purchase
        assert purchase is not None
        supply = at(purchase.supply_minor, self.state.period) - self.row.bought_minor
        bought = min(most * PPM // purchase.price_ppm, supply)
        cost = half_up(bought * purchase.price_ppm, PPM)
        self.names["pool_end"] += bought
        self.names["bought_to_date"] += bought
        self.row.bought_minor += bought
        self.row.cost_minor += cost
        return cost

    def pay_residual(self, step: Step, most: int) -> int:
        """All that is left, to the class that bears the first loss."""
        (name,) = step.payees
        self.row.classes[name].residual_minor += most
        return most

    def close(self, due_before: Sequence[int]) -> None:
        """Balances, tests and accounts after payment."""
        names, row = self.names, self.row
        if row.bought_minor:
            self.state.cohorts += (Cohort(row.paid_on, row.bought_minor),)
        row.pool_end_minor = names["pool_end"]
        row.accounts = {name: names[f"account.{name}"] for name in account_balances(self.deal)}
        cover = row.pool_end_minor + sum(row.accounts.values())
        income = row.flows.interest_minor - sum(row.fees.values())
        balances = due = 0
        for each, due_to_class in zip(self.deal.classes, due_before, strict=True):
            paid = row.classes[each.name]
            paid.balance_minor = names[f"{each.name}.balance"]
            paid.unpaid_minor = names[f"{each.name}.due"]
            balances, due = balances + paid.balance_minor, due + due_to_class
            paid.oc_ppm, paid.ic_ppm = ratio_ppm(cover, balances), ratio_ppm(income, due)


_PAY = {
    StepKind.FEE: _Date.pay_fee,
    StepKind.INTEREST: _Date.pay_interest,
    StepKind.PRINCIPAL: _Date.pay_principal,
    StepKind.MOVE: _Date.move,
    StepKind.BUY: _Date.buy,
    StepKind.RESIDUAL: _Date.pay_residual,
}


def ratio_ppm(above: int, below: int) -> int | None:
    """A ratio in parts per million, half-up; None over nothing."""
    return half_up(above * PPM, below) if below else None


def _rounded(value: Fraction) -> int:
    return half_up(value.numerator, value.denominator)


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    return split(total, weights) if total else [0] * len(weights)
