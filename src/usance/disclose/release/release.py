"""All figures of a release from closed books, in the order they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.books.close.closes import known_at_of
from usance.books.closed_books import ClosedBooks
from usance.books.group.facts import GroupFact, facts_of_table, visible_facts
from usance.books.periods import ClosePeriod
from usance.disclose.errors import FilerError
from usance.disclose.facts import NO_CURRENCY, UNITS
from usance.disclose.periods import Period, ReportingPeriods, parse_period, reporting_periods
from usance.disclose.profile import Profile
from usance.disclose.release.announcement import Announcement, outlook_figures
from usance.disclose.release.business_highlights import (
    BusinessHighlights,
    vintage_figures,
    wanted_metrics,
)
from usance.disclose.release.change_analysis import ChangeAnalysis
from usance.disclose.release.corporate_actions import CorporateActionFigures, CorporateActions
from usance.disclose.release.exact_amounts import (
    CASH_FLOWS,
    COMPREHENSIVE,
    OPERATIONS,
    ExactAmounts,
)
from usance.disclose.release.figure import Figure, printed_currency
from usance.disclose.release.filer import Filer
from usance.disclose.release.metrics import BookMetrics, metric_inputs
from usance.disclose.release.narrative_figures import NarrativeFigures
from usance.disclose.release.per_share import NET, PerShareFigures
from usance.disclose.release.rounding import RoundedStatements, year_start
from usance.disclose.release.statement_figures import StatementFigures, TranslatedStatements

RATE_WITHIN = timedelta(days=7)
"""A rate of the period's end is of its last weekday, or after holidays of the days before it."""
_GIVEN_RATE = (
    "--rate, or translation: {rate: 7.2672} in the filer's file "
    "(translation: {shown: false} leaves those columns out)"
)


@dataclass(frozen=True)
class Release:
    """One period of closed books, ready to be printed."""

    closed: ClosedBooks
    period: ClosePeriod
    profile: Profile
    filer: Filer
    announcement: Announcement = field(default_factory=Announcement)

    @cached_property
    def as_of(self) -> date:
        """The day of its announcement, else the last of the period."""
        return max(self.announcement.on or self.period.last_day, self.period.last_day)

    @cached_property
    def known_at(self) -> datetime:
        """The moment up to which facts outside the books are known."""
        end_of_day = datetime.combine(self.as_of + timedelta(days=1), time(), UTC)
        return max(end_of_day, known_at_of(self.closed.book, self.closed.closes[-1]))

    @cached_property
    def group_facts(self) -> list[GroupFact]:
        """The facts of the group known on its day."""
        facts = facts_of_table(self.closed.book.read("group_facts"))
        return visible_facts(facts, self.as_of, self.known_at)

    @cached_property
    def corporate_actions(self) -> CorporateActions:
        """Dividends and repurchases: of the announcement's capital document, else of the facts."""
        capital = self.announcement.capital
        return (
            CorporateActions.of_capital(capital)
            if capital
            else CorporateActions.of_facts(self.group_facts)
        )

    @cached_property
    def metrics(self) -> BookMetrics:
        """The metrics of the book."""
        inputs = metric_inputs(self.closed, self.period.last_day, self.as_of, self.known_at)
        return BookMetrics(inputs, self.as_of, wanted_metrics())

    @cached_property
    def business_highlights(self) -> BusinessHighlights:
        """Its business highlights."""
        return BusinessHighlights(self)

    def net_income_minor(self, period: str) -> int | None:
        """Net income of a period before rounding; None where the books do not cover it."""
        known = parse_period(period)
        if known is None or known.instant or not self.closed.covers(known.start, known.end):
            return None
        exact = self.statements.rounded.exact.flow(OPERATIONS, known.opens_on, known.end)
        return next(minor for (line, _), minor in exact.items() if line == NET)

    def in_reporting(self, minor: int, currency: Currency) -> Fraction | None:
        """An amount of one of the two currencies in minor units of the reporting one."""
        own = self.closed.books.entities.currency
        if currency is own:
            return Fraction(minor)
        if currency.label != self.profile.translated or not self.statements.translated:
            return None
        scale = Fraction(10**own.exponent, 10**currency.exponent)
        return minor * Fraction(self.rate) * scale

    @cached_property
    def document(self) -> str:
        """The name of the document in its table and addresses."""
        return self.periods.current.written

    @cached_property
    def company(self) -> str:
        """The name of the publishing company."""
        return self.filer.name or self.closed.books.entities.parent.name

    @cached_property
    def periods(self) -> ReportingPeriods:
        """Its periods."""
        return reporting_periods(self.period)

    @cached_property
    def statements(self) -> StatementFigures:
        """Its printed columns."""
        currency = self.closed.books.entities.currency
        if printed_currency(currency.label) != self.profile.reporting:
            what = f"the books are in {currency.label}, the profile in {self.profile.reporting}"
            raise FilerError(what, fix="Give a profile of the books' currency with --profile")
        minor = UNITS[self.filer.unit] * 10**currency.exponent // 10**self.filer.decimals
        printed = RoundedStatements(
            ExactAmounts(self.closed.books, self.closed.opening), self.profile, minor
        )
        shown = self.filer.translated and self.profile.translated
        translated = TranslatedStatements(printed, Fraction(self.rate)) if shown else None
        return StatementFigures(printed, translated, self.filer.unit, self.filer.decimals)

    @cached_property
    def rate(self) -> Decimal:
        """The rate of the convenience translation: as given, else of the books at period end."""
        if self.filer.rate is not None:
            return self.filer.rate
        currency, rates = Currency[self.profile.translated], self.closed.books.rates
        try:
            found = rates.at(currency, self.period.last_day)
        except UsanceError:
            what = f"there is no rate for the columns in {currency.label}"
            raise FilerError(what, where="rate", fix=f"Give {_GIVEN_RATE}") from None
        end = last_weekday(self.period.last_day)
        if self.rate_on <= end - RATE_WITHIN:
            what = (
                f"the last rate of {currency.label} in the books is that of {self.rate_on}, and "
                f"{self.document} ends on {self.period.last_day}"
            )
            fix = (
                f"State an exchange_rate of {end} before that month is closed, or give "
                f"{_GIVEN_RATE}"
            )
            raise FilerError(what, where="rate", fix=fix)
        return round(Decimal(found.numerator) / found.denominator, 4)

    @cached_property
    def rate_on(self) -> date:
        """The day of that rate: as given, the one the books state it on, else the last weekday."""
        if self.filer.rate is not None:
            return self.filer.rate_on or last_weekday(self.period.last_day)
        currency = Currency[self.profile.translated]
        return last_weekday(self.closed.books.rates.stated_on(currency, self.period.last_day))

    @cached_property
    def columns(self) -> list[tuple[Period, bool]]:
        """The periods of the tables that the books cover, with True if they are translated."""
        ours = (self.periods.current, self.periods.year_to_date)
        return [
            (period, period in ours)
            for period in self.periods.columns()
            if self.closed.covers(period.start, period.end)
        ]

    @cached_property
    def days(self) -> list[date]:
        """The days of the balance sheets."""
        listed = (year_start(self.period.last_day), self.period.last_day)
        return [day for day in listed if self.closed.has_balance_sheet(day)]

    @cached_property
    def per_share(self) -> PerShareFigures:
        """The lines per share below operations."""
        return PerShareFigures(self.closed, self.statements, self.company)

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure, once."""
        narrative = NarrativeFigures(self)
        return [
            *self.business_highlights.figures(), *narrative.figures(),
            *ChangeAnalysis(self).figures(),
            *vintage_figures(self.metrics, self.profile, self.periods.current),
            *CorporateActionFigures(self).figures(), *outlook_figures(self, narrative),
            *self._note(), *self._tables(), *self._matrices(),
        ]  # fmt: skip

    def _tables(self) -> Iterator[Figure]:
        statements = self.statements
        yield from statements.balance_sheet(self.days)
        yield from statements.flows(OPERATIONS, self.columns)
        yield from self.per_share.below_operations(self.columns)
        yield from statements.flows(CASH_FLOWS, self.columns)
        yield from statements.flows(COMPREHENSIVE, self.columns)
        yield from self.per_share.adjusted(self.columns)

    def _matrices(self) -> Iterator[Figure]:
        years = (self.periods.prior_year_to_date, self.periods.year_to_date)
        covered = [period for period in years if self.closed.covers(period.start, period.end)]
        yield from self.statements.operations_matrix(covered)
        yield from self.statements.balance_sheet_matrix(self.days)

    def _note(self) -> Iterator[Figure]:
        if not self.statements.translated:
            return
        name, day = "convenience_translation", self.period.last_day
        unit = "rmb_per_usd"
        yield Figure(name, "Convenience translation rate", "", day.isoformat(),
                     self.profile.reporting, unit, f"{self.rate:f}")  # fmt: skip
        on = self.rate_on
        yield Figure(name, "Rate date", "", day.isoformat(), NO_CURRENCY, "date", on.isoformat())
        if self.filer.rate_source:
            source = self.filer.rate_source
            yield Figure(name, "Rate source", "", day.isoformat(), NO_CURRENCY, "text", source)


def last_weekday(day: date) -> date:
    """The last day on or before a day that is not of a weekend.

    >>> last_weekday(date(2024, 6, 30)).isoformat()
    '2024-06-28'
    """
    return day - timedelta(days=max(0, day.weekday() - 4))
