"""Allocation of payments to twelve buckets, instalment by instalment or bucket by bucket."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from usance.base.codes import Component
from usance.loan.convention import Bucket, DueStatus, EarlyPayment, Sweep
from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.early_payments import (
    accrues_to_rest_date,
    pay_interest,
    pay_principal,
    settlement_of_instalment,
)
from usance.migration.instalments import Instalment
from usance.migration.terms import AllocationRule


class Allocation:
    """One amount on its way through the buckets of an account."""

    def __init__(self, account: Account, day: date, amount: int, *, settles: bool = False) -> None:
        self.account, self.day, self.left = account, day, amount
        self.settles = settles
        self.portions = [0] * len(Component)
        self._empty: list[Instalment] = []  # nothing can be paid into these now

    def run(self, order: AllocationRule) -> int:
        """Pay what the order says; what is left."""
        if self.account.terms.sweep is Sweep.BY_BUCKET:
            groups: Iterable[Sequence[Bucket]] = ([bucket] for bucket in order.buckets)
        else:
            groups = _by_due_status(order.buckets)
        for group in groups:
            self._empty.clear()
            while self.left and self._pay_group(group, order.future):
                pass
        return self.left

    def _pay_group(self, group: Sequence[Bucket], future: EarlyPayment) -> bool:
        """Pay one round of neighbouring buckets; whether another round can pay more."""
        rows = self._candidates(group, future)
        if not rows:
            return False
        before = self.left, len(self._empty)
        for _, component in group:
            self._share(rows, group[0][0], component)
        return (self.left, len(self._empty)) != before

    def _candidates(self, group: Sequence[Bucket], future: EarlyPayment) -> list[Instalment]:
        when, component = group[0]
        wanted = [row for row in self.account.rows if self._stands(row, when)]
        if self.account.terms.sweep is Sweep.BY_BUCKET:
            rows = [row for row in wanted if row.open(component)]
        else:
            rows = [row for row in wanted if row.is_open]
        if when is not DueStatus.IN_ADVANCE:
            return rows[:1]
        return self._early(rows, wanted, future)

    def _stands(self, row: Instalment, when: DueStatus) -> bool:
        if when is DueStatus.PAST_DUE:
            return row.end < self.day
        return row.end == self.day if when is DueStatus.DUE else row.end > self.day

    def _early(
        self, rows: list[Instalment], ahead: list[Instalment], future: EarlyPayment
    ) -> list[Instalment]:
        if future is EarlyPayment.LAST:
            if self.account.is_live and self.account.terms.sweep is Sweep.BY_INSTALMENT:
                # A coming instalment that asks for nothing may still take principal early.
                rows = [r for r in ahead if r.is_open or (not r.total and not self._is_empty(r))]
            return rows[-1:]
        return rows if future is EarlyPayment.REAMORTISE else rows[:1]

    def _note_empty(self, row: Instalment) -> None:
        if not self._is_empty(row):
            self._empty.append(row)

    def _is_empty(self, row: Instalment) -> bool:
        return any(row is each for each in self._empty)

    def _share(self, rows: Sequence[Instalment], when: DueStatus, component: Component) -> None:
        """Pay one component of some instalments in equal parts, the last taking the rest."""
        part = self.account.plan.math.part(self.left, len(rows))
        rest = self.left - part * len(rows)
        if part + rest < 0:
            part, rest = divmod(self.left, len(rows))
        for index, row in enumerate(rows):
            is_last = index == len(rows) - 1
            self._pay(row, when, component, part + rest if is_last else part)

    def _pay(self, row: Instalment, when: DueStatus, component: Component, amount: int) -> None:
        account = self.account
        period = account.period_of(row) if account.is_live else None
        day = self.day
        if period and when is DueStatus.IN_ADVANCE:
            day = self._early_day(row)
            principal, interest = settlement_of_instalment(account.plan, period, day)
            if not principal and not interest:
                self._note_empty(row)
            if component == INTEREST:
                row.due[INTEREST] = interest
            elif component == PRINCIPAL:
                row.due[PRINCIPAL] = principal
        elif account.is_live and period is None:
            self._note_empty(row)
        portion = row.pay(component, self.day, amount)
        self.left -= portion
        self.portions[component] += portion
        if period and component == PRINCIPAL:
            pay_principal(account.plan, period, day, portion)
            account.update_instalments(self.day)
        elif period and component == INTEREST:
            pay_interest(account.plan, period, day, portion)
            account.update_instalments(self.day)

    def _early_day(self, row: Instalment) -> date:
        """The day to which an early payment pays interest."""
        rule = self.account.terms.recalculation
        in_it = row.start < self.day <= row.end
        return (
            row.end
            if rule and in_it and accrues_to_rest_date(rule, settles=self.settles)
            else self.day
        )


def _by_due_status(buckets: Sequence[Bucket]) -> list[list[Bucket]]:
    """Buckets of the same due status together, in the order in which they are first named."""
    groups: dict[DueStatus, list[Bucket]] = {}
    for bucket in buckets:
        groups.setdefault(bucket[0], []).append(bucket)
    return list(groups.values())
