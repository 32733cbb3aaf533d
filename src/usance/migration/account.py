"""The account of a migrated loan: the running plan, its instalments, and over-payments."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from usance.base.codes import Component
from usance.migration.changes import draw
from usance.migration.instalments import Instalment, InstalmentOrigin
from usance.migration.periods import Period
from usance.migration.running_plan import RunningPlan
from usance.migration.terms import FEE, PENALTY, MigratedTerms, PlanMethod

PRINCIPAL, INTEREST = Component.PRINCIPAL, Component.INTEREST


class Account:
    """One loan between its facts: terms, plan and instalments.

    While it is `live`, what is paid changes the plan and the plan changes the instalments;
    otherwise instalments stand as they were planned.
    """

    def __init__(self, terms: MigratedTerms) -> None:
        self.terms = terms
        self.plan = RunningPlan.of(terms)
        self.rows = [Instalment(period.start, period.end) for period in self.plan.periods]
        self.drawn: list[tuple[date, int]] = []
        self.announced: list[tuple[date, int]] = []  # tranches agreed and not yet drawn
        self.overpaid = 0
        self.interest_refunded = 0
        self.has_own_rows = False  # spread anew without interest: the plan is past
        self.is_frozen = False  # charged off: interest is no longer recalculated

    @property
    def is_live(self) -> bool:
        """True if interest follows the real balance."""
        return bool(self.terms.recalculation and self.terms.rate_pct and not self.is_frozen)

    @property
    def outstanding(self) -> int:
        """All that is open."""
        return sum(row.outstanding for row in self.rows)

    def update_instalments(self, day: date, *, since: date | None = None) -> None:
        """Carry principal and interest of the plan over to its instalments."""
        if self.has_own_rows:
            return
        by_end = {period.end: period for period in self.plan.periods}
        for row in self.rows:
            period = by_end.get(row.end)
            if (
                period
                and row.origin is InstalmentOrigin.REGULAR
                and (since is None or row.end >= since)
            ):
                row.due[PRINCIPAL], row.due[INTEREST] = period.principal, period.interest
                row.settle(day)

    def period_of(self, row: Instalment) -> Period | None:
        """The period of an instalment of the plan."""
        if row.origin is not InstalmentOrigin.REGULAR or row.end > self.plan.last.end:
            return None
        return self.plan.period_of(row.start, row.end)

    def disburse(self, day: date, amount: int) -> int:
        """Draw an amount and plan it; the down payment that falls due with it."""
        self.drawn.append((day, amount))
        down = self._down_payment(amount)
        if down:
            row = Instalment(day, day, InstalmentOrigin.DOWN_PAYMENT)
            row.due[PRINCIPAL] = down
            self.rows.insert(self._place(day), row)
        if self.has_own_rows or day > self.plan.last.end:
            self._spread(day, amount - down)
        else:
            draw(self.plan, day, amount - down)
            self.add_missing_rows()
            is_whole = self.terms.plan is PlanMethod.CUMULATIVE
            self.update_instalments(day, since=None if is_whole else day)
        return down

    def _spread(self, day: date, amount: int) -> None:
        """Plan an amount by itself, over the instalments to come or after them."""
        coming = [
            row for row in self.rows if row.end > day and row.origin is InstalmentOrigin.REGULAR
        ]
        if coming:
            self.add_to_principal(coming, amount, day)
        else:
            row = self.extra_row(day)
            row.due[PRINCIPAL] += amount
            row.settle(day)

    def add_to_principal(self, rows: list[Instalment], amount: int, day: date) -> None:
        """Add equal parts of an amount to some instalments; the last takes the difference."""
        unit = self.terms.multiple_of * 10**self.terms.decimals
        part = self.plan.math.part(amount, len(rows))
        for row in rows[:-1]:
            new = self.plan.math.multiple(row.due[PRINCIPAL] + part, unit)
            amount -= new - row.due[PRINCIPAL]
            row.due[PRINCIPAL] = new
            row.settle(day)
        rows[-1].due[PRINCIPAL] += amount
        rows[-1].settle(day)

    def _down_payment(self, amount: int) -> int:
        terms, math = self.terms, self.plan.math
        share = math.whole(Decimal(amount) * terms.down_payment_pct / 100)
        return math.multiple(share, terms.multiple_of * 10**terms.decimals)

    def _place(self, day: date) -> int:
        """Position of a down payment: after earlier instalments, before later ones."""
        return sum(
            1
            for r in self.rows
            if r.end < day or (r.end == day and r.origin is InstalmentOrigin.DOWN_PAYMENT)
        )

    def add_missing_rows(self) -> None:
        """Give new periods of the plan their instalments."""
        if self.has_own_rows:
            return
        ends = {row.end for row in self.rows if row.origin is InstalmentOrigin.REGULAR}
        for period in self.plan.periods:
            if period.end not in ends:
                self.rows.append(Instalment(period.start, period.end))
        self.rows.sort(key=lambda row: (row.end, row.origin is not InstalmentOrigin.DOWN_PAYMENT))

    def update_due_dates(self) -> None:
        """Give the instalments the dates of their periods again."""
        regular = [row for row in self.rows if row.origin is InstalmentOrigin.REGULAR]
        for row, period in zip(regular, self.plan.periods, strict=True):
            row.start, row.end = period.dates

    def extra_row(self, day: date) -> Instalment:
        """The instalment after the last period, reaching at least to a day."""
        row = next((row for row in self.rows if row.origin is InstalmentOrigin.EXTRA), None)
        if row is None:
            row = Instalment(self.plan.last.end, day, InstalmentOrigin.EXTRA)
            self.rows.append(row)
        row.end = max(row.end, day)
        return row

    def charge(self, due: date, amount: int, *, is_penalty: bool) -> None:
        """A fee or penalty, due with the instalment whose period holds its due date."""
        row = self._row_of_charge(due)
        row.due[PENALTY if is_penalty else FEE] += amount
        row.settle(due)

    def _row_of_charge(self, due: date) -> Instalment:
        regular = [row for row in self.rows if row.origin is InstalmentOrigin.REGULAR]
        for index, row in enumerate(regular):
            if row.start < due <= row.end or (not index and due <= row.start):
                return row
        return self.extra_row(due)
