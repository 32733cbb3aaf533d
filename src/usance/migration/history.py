"""The state of a migrated loan: a pure function of its terms, its facts and the day.

>>> from datetime import date
>>> from decimal import Decimal
>>> from usance.migration.facts import MigratedFact, MigratedFactKind
>>> day = date(2024, 1, 1)
>>> terms = MigratedTerms(disbursed_on=day, rate_pct=Decimal(7), instalments=6)
>>> drawn = MigratedFact(MigratedFactKind.DISBURSED, day, day, amount=100_00)
>>> paid = MigratedFact(MigratedFactKind.PAID, date(2024, 2, 1), date(2024, 2, 1), amount=17_01)
>>> account = replay(terms, [drawn, paid], date(2024, 2, 1))
>>> [row.outstanding for row in account.rows]
[0, 1701, 1701, 1701, 1701, 1700]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date

from usance.base.codes import Component
from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.allocate import Allocation
from usance.migration.changes import change_rate, extend, move_due_date, pause
from usance.migration.charge_off import charge_off
from usance.migration.early_payments import (
    accrue_overdue,
    accrues_to_rest_date,
    charge_back_to_plan,
    interest_on,
    settlement_on,
)
from usance.migration.facts import (
    DOWN_PAYMENT,
    INTEREST_REFUND,
    REFUNDS,
    REPAYMENT,
    MigratedFact,
    MigratedFactKind,
    sort_facts,
)
from usance.migration.instalments import Instalment, InstalmentOrigin
from usance.migration.re_age import re_age
from usance.migration.re_amortise import re_amortise
from usance.migration.terms import DEFAULT_TRANSACTION, MigratedTerms


def replay(terms: MigratedTerms, facts: Sequence[MigratedFact], today: date) -> Account:
    """The loan after its facts, with interest on what is overdue up to a day."""
    return History(terms, sort_facts(facts)).run(today)


def schedule(terms: MigratedTerms, amount_minor: int) -> list[Instalment]:
    """The instalments of a loan drawn at once, before anything is paid."""
    account = Account(terms)
    account.disburse(terms.disbursed_on, amount_minor)
    return account.rows


def settlement(terms: MigratedTerms, facts: Sequence[MigratedFact], day: date) -> int:
    """The amount that settles the loan on a day."""
    account = History(terms, sort_facts(facts)).run(day, settles=True)
    rule = terms.recalculation
    if not account.is_live or rule is None:
        return account.outstanding
    running = account.plan.period_at(day)
    to_end = running is not None and accrues_to_rest_date(rule, settles=True)
    amount = sum(settlement_on(account.plan, running.end if running and to_end else day))
    for row in account.rows:
        planned = account.period_of(row) is not None
        amount += sum(row.open(c) for c in Component if c > INTEREST or not planned)
    return amount


class History:
    """Facts in their order, applied one by one."""

    def __init__(self, terms: MigratedTerms, facts: Sequence[MigratedFact]) -> None:
        self.terms, self.facts = terms, facts
        self.account = Account(terms)
        self.done: list[MigratedFact] = []
        self.portions: dict[int, list[int]] = {}  # how each payment was split, by its number

    def run(self, today: date, *, settles: bool = False) -> Account:
        """Apply all facts, then let overdue principal bear interest up to today."""
        for fact in self.facts:
            self._bear(fact)
            _APPLY[fact.kind](self, fact)
            self.done.append(fact)
        account = self.account
        if account.is_live and account.terms.recalculation:
            accrue_overdue(account.plan, account.terms.recalculation, today, settles=settles)
            account.update_instalments(today)
        return account

    def _bear(self, fact: MigratedFact) -> None:
        """Bring interest on what is overdue up to the day of a fact."""
        account = self.account
        rule = account.terms.recalculation
        if account.is_live and rule and self.done and fact.kind not in _TIMELESS:
            settles = fact.kind is MigratedFactKind.PAID and self._settles(fact)
            accrue_overdue(account.plan, rule, fact.on, settles=settles)
            account.update_instalments(fact.on)

    def _settles(self, fact: MigratedFact) -> bool:
        """True if a payment covers all that is open to the end of its period."""
        period = self.account.plan.period_at(fact.on)
        if period is None:
            return False
        return fact.amount >= sum(settlement_on(self.account.plan, period.end))

    def disbursed(self, fact: MigratedFact) -> None:
        """Draw, place what was overpaid before, and pay an automatic down payment."""
        account = self.account
        down = account.disburse(fact.on, fact.amount)
        self.place_overpaid(fact.on)
        if down and self.terms.down_payment_auto:
            self.pay(replace(fact, amount=down, transaction=DOWN_PAYMENT, number=-1))

    def place_overpaid(self, day: date) -> None:
        """Let what was overpaid pay what is now due."""
        account = self.account
        if account.overpaid:
            allocation = Allocation(account, day, account.overpaid)
            account.overpaid = allocation.run(self.terms.order(DEFAULT_TRANSACTION))

    def pay(self, fact: MigratedFact) -> None:
        """Send an amount through the buckets; what is left is overpaid."""
        account = self.account
        settles = account.is_live and self._settles(fact)
        allocation = Allocation(account, fact.on, fact.amount, settles=settles)
        left = allocation.run(self.terms.order(fact.transaction))
        account.overpaid += left
        self.portions[fact.number] = allocation.portions

    def paid(self, fact: MigratedFact) -> None:
        """A payment; a merchant's refund also gives back the interest it bore."""
        self.pay(fact)
        if self.terms.refunds_interest and fact.transaction in REFUNDS and self.account.is_live:
            amount = self._interest_to_refund(fact)
            if amount > 0:
                self.account.interest_refunded += amount
                refund = replace(fact, amount=amount, transaction=INTEREST_REFUND, number=-1)
                self.pay(refund)

    def _interest_to_refund(self, fact: MigratedFact) -> int:
        """Interest to that day, less what it would be had the refunds never been drawn."""
        history = [*self.done, fact]
        refunds = sum(each.amount for each in history if each.transaction in REFUNDS)
        others: list[MigratedFact] = []
        for each in history:
            if each.kind is MigratedFactKind.PAID and each.transaction in REFUNDS:
                continue
            others.append(each)
            if each.kind is MigratedFactKind.DISBURSED and refunds:
                part = min(refunds, each.amount)
                others.append(
                    replace(each, kind=MigratedFactKind.PAID, amount=part, transaction=REPAYMENT)
                )
                refunds -= part
        without = History(self.terms.changed(refunds_interest=False), others).run(fact.on)
        borne = interest_on(self.account.plan, fact.on)
        return borne - self.account.interest_refunded - interest_on(without.plan, fact.on)

    def charged(self, fact: MigratedFact) -> None:
        """A fee or a penalty."""
        self.account.charge(fact.on, fact.amount, is_penalty=fact.is_penalty)
        self.place_overpaid(fact.on)

    def charged_back(self, fact: MigratedFact) -> None:
        """A payment taken back; what was overpaid covers it first."""
        charge_back(self.account, fact.on, fact.amount, self.portions.get(fact.count))
        self.place_overpaid(fact.on)

    def refunded(self, fact: MigratedFact) -> None:
        """Money given back: from what was overpaid, the rest is owed again."""
        covered = min(self.account.overpaid, fact.amount)
        self.account.overpaid -= covered
        if fact.amount > covered:
            charge_back(self.account, fact.on, fact.amount - covered, None)

    def rate_changed(self, fact: MigratedFact) -> None:
        """A new rate from a day on."""
        change_rate(self.account.plan, fact.on, fact.rate_pct)
        self._update_open(fact.on)

    def _update_open(self, day: date) -> None:
        """Carry a change over to what is due from a day on; what is paid stays as it was."""
        rows = (row for row in self.account.rows if row.total and not row.is_open)
        paid = {id(row): list(row.due) for row in rows}
        self.account.update_instalments(day, since=day)
        for row in self.account.rows:
            if id(row) in paid and not self.account.is_live:
                row.due = paid[id(row)]
                row.settle(day)

    def due_date_moved(self, fact: MigratedFact) -> None:
        """An instalment is due on another day, and those after it follow."""
        assert fact.until is not None
        move_due_date(self.account.plan, fact.on, fact.until)
        self.account.update_due_dates()
        self.account.update_instalments(fact.known_on)

    def extended(self, fact: MigratedFact) -> None:
        """More instalments."""
        extend(self.account.plan, fact.on, fact.count)
        self.account.add_missing_rows()
        self._update_open(fact.on)

    def interest_paused(self, fact: MigratedFact) -> None:
        """Days that bear no interest."""
        assert fact.until is not None
        pause(self.account.plan, fact.on, fact.until)
        self._update_open(fact.on)

    def re_aged(self, fact: MigratedFact) -> None:
        """Spread all that is open over new instalments."""
        assert fact.ageing is not None
        re_age(self.account, fact.on, fact.ageing)

    def re_amortised(self, fact: MigratedFact) -> None:
        """Spread what is overdue over the instalments to come."""
        re_amortise(self.account, fact.on)

    def charged_off(self, fact: MigratedFact) -> None:
        """The loan is charged off."""
        charge_off(self.account, fact.on)


_TIMELESS = (
    MigratedFactKind.CHARGED,
    MigratedFactKind.RATE_CHANGED,
    MigratedFactKind.INTEREST_PAUSED,
    MigratedFactKind.EXTENDED,
    MigratedFactKind.DUE_DATE_MOVED,
)

_APPLY: Mapping[MigratedFactKind, Callable[[History, MigratedFact], None]] = {
    MigratedFactKind.DISBURSED: History.disbursed,
    MigratedFactKind.PAID: History.paid,
    MigratedFactKind.CHARGED: History.charged,
    MigratedFactKind.CHARGED_BACK: History.charged_back,
    MigratedFactKind.REFUNDED: History.refunded,
    MigratedFactKind.RATE_CHANGED: History.rate_changed,
    MigratedFactKind.DUE_DATE_MOVED: History.due_date_moved,
    MigratedFactKind.EXTENDED: History.extended,
    MigratedFactKind.INTEREST_PAUSED: History.interest_paused,
    MigratedFactKind.RE_AGED: History.re_aged,
    MigratedFactKind.RE_AMORTISED: History.re_amortised,
    MigratedFactKind.CHARGED_OFF: History.charged_off,
}


def charge_back(account: Account, day: date, amount: int, paid: Sequence[int] | None) -> None:
    """Owe an amount again with the running instalment.

    `paid` says how the payment was split. Where the terms name no order of components, all of it
    comes back as principal.
    """
    parts = _parts(account.terms.chargeback, amount, paid)
    if account.is_live and day <= account.plan.last.end:
        charge_back_to_plan(account.plan, day, parts[PRINCIPAL], parts[INTEREST])
        account.update_instalments(day)
        planned: tuple[Component, ...] = (PRINCIPAL, INTEREST)
    else:
        planned = ()
    row = _running(account, day)
    for component in Component:
        if component not in planned:
            row.due[component] += parts[component]
    row.credited += parts[PRINCIPAL]
    row.settle(day)


def _parts(order: Sequence[Component], amount: int, paid: Sequence[int] | None) -> list[int]:
    parts = [0] * len(Component)
    if not order or paid is None:
        parts[PRINCIPAL] = amount
        return parts
    for component in order:
        parts[component] = min(amount, paid[component])
        amount -= parts[component]
    return parts


def _running(account: Account, day: date) -> Instalment:
    regular = [row for row in account.rows if row.origin is InstalmentOrigin.REGULAR]
    for row in regular:
        if row.end > day:
            return row
    return regular[-1] if regular[-1].end == day else account.extra_row(day)
