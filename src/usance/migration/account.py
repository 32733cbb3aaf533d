"""A foreign loan on its way: the running plan, its instalments, and what is overpaid."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from usance.base.codes import Component
from usance.migration.changes import draw
from usance.migration.instalments import Instalment, Sort
from usance.migration.periods import Period
from usance.migration.running_plan import Model
from usance.migration.terms import FEE, PENALTY, ForeignTerms, Plan

PRINCIPAL, INTEREST = Component.PRINCIPAL, Component.INTEREST


class Account:
    """One loan between its facts: terms, plan and instalments.

    While it is `live`, what is paid changes the plan and the plan changes the instalments;
    otherwise instalments stand as they were planned.
    """

    def __init__(self, terms: ForeignTerms) -> None:
        self.terms = terms
        self.model = Model.of(terms)
        self.rows = [Instalment(period.start, period.end) for period in self.model.periods]
        self.drawn: list[tuple[date, int]] = []
        self.announced: list[tuple[date, int]] = []  # tranches agreed and not yet drawn
        self.overpaid = 0
        self.interest_refunded = 0
        self.has_own_rows = False  # spread anew without interest: the plan is past
        self.is_frozen = False  # charged off: interest is no longer recalculated

    @property
    def is_live(self) -> bool:
        """Whether interest follows what is really outstanding."""
        return bool(self.terms.recalculation and self.terms.rate_pct and not self.is_frozen)

    @property
    def outstanding(self) -> int:
        """All that is open."""
        return sum(row.outstanding for row in self.rows)

    def sync(self, day: date, *, since: date | None = None) -> None:
        """Carry principal and interest of the plan over to its instalments."""
        if self.has_own_rows:
            return
        by_end = {period.end: period for period in self.model.periods}
        for row in self.rows:
            period = by_end.get(row.end)
            if period and row.sort is Sort.REGULAR and (since is None or row.end >= since):
                row.due[PRINCIPAL], row.due[INTEREST] = period.principal, period.interest
                row.settle(day)

    def period_of(self, row: Instalment) -> Period | None:
        """The period of an instalment of the plan."""
        if row.sort is not Sort.REGULAR or row.end > self.model.last.end:
            return None
        return self.model.period_of(row.start, row.end)

    def disburse(self, day: date, amount: int) -> int:
        """Draw an amount and plan it; the down payment that falls due with it."""
        self.drawn.append((day, amount))
        down = self._down_payment(amount)
        if down:
            row = Instalment(day, day, Sort.DOWN_PAYMENT)
            row.due[PRINCIPAL] = down
            self.rows.insert(self._place(day), row)
        if self.has_own_rows or day > self.model.last.end:
            self._spread(day, amount - down)
        else:
            draw(self.model, day, amount - down)
            self.add_missing_rows()
            is_whole = self.terms.plan is Plan.CUMULATIVE
            self.sync(day, since=None if is_whole else day)
        return down

    def _spread(self, day: date, amount: int) -> None:
        """Plan an amount by itself, over the instalments to come or after them."""
        coming = [row for row in self.rows if row.end > day and row.sort is Sort.REGULAR]
        if coming:
            self.add_to_principal(coming, amount, day)
        else:
            row = self.extra_row(day)
            row.due[PRINCIPAL] += amount
            row.settle(day)

    def add_to_principal(self, rows: list[Instalment], amount: int, day: date) -> None:
        """Add equal parts of an amount to some instalments; the last takes the difference."""
        unit = self.terms.multiple_of * 10**self.terms.decimals
        part = self.model.math.part(amount, len(rows))
        for row in rows[:-1]:
            new = self.model.math.multiple(row.due[PRINCIPAL] + part, unit)
            amount -= new - row.due[PRINCIPAL]
            row.due[PRINCIPAL] = new
            row.settle(day)
        rows[-1].due[PRINCIPAL] += amount
        rows[-1].settle(day)

    def _down_payment(self, amount: int) -> int:
        terms, math = self.terms, self.model.math
        share = math.whole(Decimal(amount) * terms.down_payment_pct / 100)
        return math.multiple(share, terms.multiple_of * 10**terms.decimals)

    def _place(self, day: date) -> int:
        """Where a down payment of a day stands: after those before it, before what follows."""
        return sum(
            1 for r in self.rows if r.end < day or (r.end == day and r.sort is Sort.DOWN_PAYMENT)
        )

    def add_missing_rows(self) -> None:
        """Give new periods of the plan their instalments."""
        if self.has_own_rows:
            return
        ends = {row.end for row in self.rows if row.sort is Sort.REGULAR}
        for period in self.model.periods:
            if period.end not in ends:
                self.rows.append(Instalment(period.start, period.end))
        self.rows.sort(key=lambda row: (row.end, row.sort is not Sort.DOWN_PAYMENT))

    def follow_dates(self) -> None:
        """Give the instalments the dates of their periods again."""
        regular = [row for row in self.rows if row.sort is Sort.REGULAR]
        for row, period in zip(regular, self.model.periods, strict=True):
            row.start, row.end = period.dates

    def extra_row(self, day: date) -> Instalment:
        """The instalment after the last period, reaching at least to a day."""
        row = next((row for row in self.rows if row.sort is Sort.EXTRA), None)
        if row is None:
            row = Instalment(self.model.last.end, day, Sort.EXTRA)
            self.rows.append(row)
        row.end = max(row.end, day)
        return row

    def charge(self, due: date, amount: int, *, is_penalty: bool) -> None:
        """A fee or penalty, due with the instalment whose period holds its due date."""
        row = self._row_of_charge(due)
        row.due[PENALTY if is_penalty else FEE] += amount
        row.settle(due)

    def _row_of_charge(self, due: date) -> Instalment:
        regular = [row for row in self.rows if row.sort is Sort.REGULAR]
        for index, row in enumerate(regular):
            if row.start < due <= row.end or (not index and due <= row.start):
                return row
        return self.extra_row(due)
