"""The running plan of a progressive loan: its periods and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from usance.migration.arithmetic import Arithmetic
from usance.migration.dates import due_dates
from usance.migration.factors import Factors
from usance.migration.periods import Period, Span, new_period
from usance.migration.terms import InterestMethod, MigratedTerms


class RunningPlan:
    """All periods of one loan, and what follows from them."""

    def __init__(self, terms: MigratedTerms, periods: Sequence[Period], factors: Factors) -> None:
        self.terms, self.factors = terms, factors
        self.periods = list(periods)
        self.is_trial = False  # a copy without payments, on which a level is found
        self.overdue_until: date | None = None  # to which day overdue principal has borne interest
        self.overdue: list[tuple[date, int, date]] = []  # day, correction and period's end

    @classmethod
    def of(cls, terms: MigratedTerms) -> RunningPlan:
        """An empty plan with its due dates."""
        start, periods = terms.disbursed_on, []
        for index, due in enumerate(due_dates(terms)):
            period = new_period(start, due)
            period.grace_interest = index < terms.grace_interest
            period.spans[0].paused = index < terms.interest_free
            periods.append(period)
            start = due
        return cls(terms, periods, Factors(terms))

    @property
    def math(self) -> Arithmetic:
        """The arithmetic of the terms."""
        return self.factors.math

    @property
    def last(self) -> Period:
        """The last period."""
        return self.periods[-1]

    @property
    def drawn(self) -> int:
        """All principal disbursed into the plan."""
        return sum(period.drawn for period in self.periods)

    @property
    def credited_principal(self) -> int:
        """All principal that came back by chargebacks."""
        return sum(period.credited_principal for period in self.periods)

    @property
    def paid_principal(self) -> int:
        """All principal paid."""
        return sum(period.paid_principal for period in self.periods)

    @property
    def open_principal(self) -> int:
        """All principal not yet paid, due or not."""
        return max(0, self.drawn + self.credited_principal - self.paid_principal)

    @property
    def open_interest(self) -> int:
        """All interest of the plan not yet paid."""
        due = sum(period.interest for period in self.periods)
        return max(0, due - sum(period.paid_interest for period in self.periods))

    @property
    def is_empty(self) -> bool:
        """True if no instalment has an amount."""
        return not any(period.level for period in self.periods)

    def copied(self) -> RunningPlan:
        """Another plan with the same content."""
        factors = Factors(self.terms)
        factors.changes = list(self.factors.changes)
        plan = RunningPlan(self.terms, [period.copied() for period in self.periods], factors)
        plan.is_trial, plan.overdue_until = self.is_trial, self.overdue_until
        plan.overdue = list(self.overdue)
        return plan

    def period_at(self, day: date) -> Period | None:
        """The period a day falls in: after its first day, but for the loan's first."""
        for index, period in enumerate(self.periods):
            if period.start < day <= period.end or (not index and day == period.start):
                return period
        return None

    def period_of(self, start: date, end: date) -> Period | None:
        """The period with these dates, or the one that holds them."""
        for period in self.periods:
            if period.dates == (start, end):
                return period
        for period in self.periods:
            if period.start <= start and end <= period.end:
                return period
        return None

    def span_for(self, period: Period, day: date) -> Span:
        """The span that ends on a day of a period; at maturity always one of its own."""
        if period is self.last and day == period.end:
            last = period.spans[-1]
            if last.start == last.end:
                return last
            return period.split(day)
        return period.cut(day)

    def change_balance(self, day: date, *, drawn: int = 0, correction: int = 0) -> Period | None:
        """Write a change of balance on its day; the period it falls in."""
        period = self.period_at(day)
        if period:
            span = self.span_for(period, day)
            span.drawn += drawn
            span.correction += correction
        return period

    def rate(self, periods: Sequence[Period] | None = None) -> None:
        """Recompute the rate factors of some periods, or all."""
        origin = self.periods[0].start
        for period in self.periods if periods is None else periods:
            for span in period.spans:
                dates = period.dates
                span.level_factor = self.factors.level(dates, span.start, span.end)
                span.interest_factor = self.factors.interest(dates, span.start, origin)

    def recompute(self) -> None:
        """Recompute all balances and figures, from the first period to the last."""
        flat = self.terms.method is InterestMethod.FLAT
        before, balance, drawn = None, 0, 0
        for period in self.periods:
            for span in period.spans:
                span.balance = drawn if flat else balance
                drawn += span.drawn
                balance = max(0, balance + span.drawn + span.correction)
            period.recompute(before, self.math)
            if not flat and period.spans:
                balance = period.closing
            before = period
