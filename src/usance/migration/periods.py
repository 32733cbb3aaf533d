"""Periods of a migrated loan's plan, cut into spans of constant balance.

A period ends on a due date. Money that comes or goes on a day ends a span; what it changes is
written on the span that ends, and the next one begins with the new balance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from usance.migration.arithmetic import Arithmetic

_ZERO = Decimal(0)


@dataclass(slots=True)
class Span:
    """Days of constant balance within a period, and what changes on the day it ends."""

    start: date
    end: date
    paused: bool = False
    drawn: int = 0
    correction: int = 0
    credited_principal: int = 0
    credited_interest: int = 0
    level_factor: Decimal = _ZERO
    interest_factor: Decimal = _ZERO  # to the end of the period
    balance: int = 0

    @property
    def after(self) -> int:
        """The balance once what changes on the last day has changed."""
        return self.balance + self.drawn + self.correction


@dataclass(slots=True)
class Period:
    """One instalment's period: its spans, its level amount, what it owes and what was paid.

    `accrued`, `interest`, `principal` and `closing` are figures: they follow from the rest and
    are made again by `Model.refresh`.
    """

    start: date
    end: date
    spans: list[Span]
    level: int = 0
    agreed_level: int = 0
    paid_principal: int = 0
    paid_interest: int = 0
    deferred: int = 0  # interest of later days that this, the last open instalment, takes over
    fixed_interest: int = 0
    taken_over: bool = False  # its interest stands in an earlier instalment's `deferred`
    closed: bool = False  # its interest moved to re-aged instalments
    moved_credit: int = 0  # credited amounts that moved there, too
    re_aged: bool = False
    is_stub: bool = False  # holds what was paid ahead of a re-ageing
    grace_principal: bool = False
    grace_interest: bool = False
    borne: int = 0
    accrued: int = 0
    interest: int = 0
    principal: int = 0
    unplaced: int = 0  # interest for which the level amount has no room
    closing: int = 0  # balance after the due date, as if what is due were paid

    @property
    def dates(self) -> tuple[date, date]:
        """The first and the last day."""
        return self.start, self.end

    @property
    def paid(self) -> int:
        """Principal and interest paid."""
        return self.paid_principal + self.paid_interest

    @property
    def credited_principal(self) -> int:
        """Principal that came back by chargebacks."""
        return max(0, sum(span.credited_principal for span in self.spans))

    @property
    def credited(self) -> int:
        """Principal and interest that came back by chargebacks and are still here."""
        interest = max(0, sum(span.credited_interest for span in self.spans))
        return self.credited_principal + interest - self.moved_credit

    @property
    def capacity(self) -> int:
        """Principal and interest the instalment can take."""
        return self.level + self.credited + self.deferred

    @property
    def is_paid(self) -> bool:
        """True if all it can take is paid."""
        return self.capacity == self.paid

    @property
    def open_principal(self) -> int:
        """Principal due with it and not yet paid."""
        return max(0, self.principal - self.paid_principal)

    @property
    def open_interest(self) -> int:
        """Interest due with it and not yet paid."""
        return max(0, self.interest - self.paid_interest)

    @property
    def drawn(self) -> int:
        """Principal disbursed within it."""
        return sum(span.drawn for span in self.spans)

    def span_at(self, day: date, *, is_first: bool) -> Span | None:
        """The last span that a day falls in, its first day excluded but for the loan's first."""
        found = None
        for index, span in enumerate(self.spans):
            if span.start < day <= span.end or (is_first and not index and day == span.start):
                found = span
        return found

    def cut(self, day: date) -> Span:
        """The span that ends on a day, cut where none does."""
        for span in self.spans:
            if span.end == day:
                return span
        return self.split(day)

    def split(self, day: date) -> Span:
        """End a span on a day, even if one of no length is left; the ended one."""
        span = next((s for s in reversed(self.spans) if s.start < day <= s.end), self.spans[0])
        border = min(max(day, span.start), span.end)
        rest = Span(border, span.end, span.paused)
        span.end = border
        self.spans.insert(_place(self.spans, span) + 1, rest)
        return span

    def recompute(self, before: Period | None, math: Arithmetic) -> None:
        """Recompute the figures from spans, level amount and payments."""
        waiting = before.unplaced if before else 0
        self.borne = 0 if self.taken_over or self.closed else math.whole(self._borne(math))
        self.accrued = max(0, self.borne + self.fixed_interest + self.deferred + waiting)
        room = self.capacity
        if self.grace_interest or self.paid_principal > max(0, room - self.accrued):
            self.interest = self.paid_interest
        else:
            self.interest = max(min(self.accrued, room), self.paid_interest)
        self.principal = max(0, room - self.interest, self.paid_principal)
        self.unplaced = max(0, self.accrued - self.interest)
        last = self.spans[-1].after if self.spans else 0
        self.closing = max(0, last + self.paid_principal - self.principal)

    def _borne(self, math: Arithmetic) -> Decimal:
        total = _ZERO
        for span in self.spans:
            total = math.add_exactly(total, _interest(span, self.end, math))
        return total

    def copied(self) -> Period:
        """Another period with the same content."""
        return replace(self, spans=[replace(span) for span in self.spans])


def _interest(span: Span, end: date, math: Arithmetic) -> Decimal:
    """Interest of a span: its share, by days, of the interest to the end of its period."""
    credited = Decimal(span.credited_interest)
    if span.paused:
        return credited
    days_left = (end - span.start).days
    if not days_left or not span.balance or not span.interest_factor:
        return max(_ZERO, credited)
    whole = math.times(Decimal(span.balance), span.interest_factor)
    share = math.times(math.over(whole, Decimal(days_left)), Decimal((span.end - span.start).days))
    return max(_ZERO, math.plus(credited, share))


def _place(spans: list[Span], span: Span) -> int:
    return next(index for index, each in enumerate(spans) if each is span)


def new_period(start: date, end: date) -> Period:
    """A period of one span."""
    return Period(start, end, [Span(start, end)])
