"""Narrative figures: highlights and results, each a table's figure rounded again."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from usance.books.statements import cash
from usance.disclose.facts import NO_CURRENCY, UNITS
from usance.disclose.periods import Period
from usance.disclose.release.exact_amounts import ADJUSTED, OPERATIONS
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.rounding import CASH_LINES
from usance.disclose.ties import round_to

if TYPE_CHECKING:
    from usance.disclose.release.release import Release

HIGHLIGHTS, RESULTS = "release_highlights", "release_results"
TEXT_UNITS = {
    "unit": ("million", "thousand", "unit"),
    "thousand": ("million", "thousand"),
    "million": ("billion", "million"),
}
"""Units of the text by the unit of the tables, the largest first."""
HALF_YEAR, YEAR = 6, 12
"""Months of the year so far that are told beside the quarter."""
COMPANY = "Net income attributed to the Company"
ADJUSTED_COMPANY = "Non-GAAP net income attributed to the Company"
TAX = "Income tax expense"
ALL_CASH = "Total cash and cash equivalent (incl. restricted cash and security deposit)"
OWN_CASH = "Cash from operations"
DEPOSIT = "Security deposit prepaid to third-party guarantee companies"
_MARGINS = {
    "GAAP operating margin": "Operating margin",
    "Non-GAAP operating margin": "Non-GAAP operating margin",
    "GAAP net income margin": "Net income margin",
    "Non-GAAP net income margin": "Non-GAAP net income margin",
}
_HIGHLIGHTS = (
    "Total net revenue", "Income from operations", "Non-GAAP income from operations", "Net income",
    "Non-GAAP net income", COMPANY,
)  # fmt: skip


class NarrativeFigures:
    """The narrative figures of one release: this period, a year ago, and the period before."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.statements = release.statements
        self.profile = release.profile
        listed = release.periods
        self.periods = self._covered(listed.current, listed.year_ago, listed.preceding)
        self.so_far: list[Period] = []
        if listed.year_to_date != listed.current and listed.year_to_date.end.month in (
            HALF_YEAR,
            YEAR,
        ):
            self.so_far = self._covered(listed.year_to_date, listed.prior_year_to_date)

    def _covered(self, *periods: Period) -> list[Period]:
        return [each for each in periods if self.release.closed.covers(each.start, each.end)]

    def figures(self) -> Iterator[Figure]:
        """Highlights, then every line of the results; a half-year and a year beside the quarter."""
        now = self.release.periods.current
        years = [
            period
            for period in self.periods
            if period != self.release.periods.preceding or period == now
        ]
        told = [now, *self.so_far[:1]]
        for line in _HIGHLIGHTS:
            yield from self._line(HIGHLIGHTS, line, "", [*years, *self.so_far])
        for period in told:
            yield from self._margins(HIGHLIGHTS, period)
        yield from self._per_ads(HIGHLIGHTS, [*years, *self.so_far])
        yield from self._cash()
        for line, parent in self._result_lines():
            yield from self._line(RESULTS, line, parent, [*self.periods, *self.so_far])
        for period in told:
            yield from self._margins(RESULTS, period)
            yield from self._tax_rate(period)
            yield from self._per_ads(RESULTS, [period])
            yield from self._weighted(period)

    def _result_lines(self) -> Iterator[tuple[str, str]]:
        lines = self.statements.rounded.lines(OPERATIONS)
        names = [line.line for line in lines]
        for line in lines:
            if line.line.startswith("Net loss attributable"):
                continue
            if line.line == "Income taxes expense":
                yield TAX, ""
            elif line.line.startswith("Net income attributable"):
                yield "Non-GAAP net income", ""
                yield COMPANY, ""
                yield ADJUSTED_COMPANY, ""
            else:
                yield line.line, line.parent if names.count(line.line) > 1 else ""
            if line.line == "Income from operations":
                yield "Non-GAAP income from operations", ""

    def _line(
        self, statement: str, line: str, parent: str, periods: list[Period]
    ) -> Iterator[Figure]:  # fmt: skip
        if statement == RESULTS:
            groups = [[each for each in periods if each in own]
                      for own in (self.periods, self.so_far)]  # fmt: skip
            # A line of nothing but zeros is left out, of the quarter or of the year so far.
            periods = [
                each for group in groups for each in group
                if any(self.value(line, parent, one, translated=False) for one in group)
            ]  # fmt: skip
        cells = self._cells(line, parent, periods)
        unit, decimals = self._unit([value for _, _, value in cells])
        for period, translated, value in cells:
            currency = self.profile.translated if translated else self.profile.reporting
            shown = format_steps(self.in_unit(value, unit, decimals), decimals)
            yield Figure(statement, line, parent, period.written, currency, unit, shown)

    def _cells(
        self, line: str, parent: str, periods: list[Period]
    ) -> list[tuple[Period, bool, int]]:  # fmt: skip
        return [
            (period, translated, self.value(line, parent, period, translated=translated))
            for period in periods
            for translated in (False, True)
            if not translated or (self.statements.translated and period in self._narrated_periods())
        ]

    def result_unit(self, line: str, parent: str, least: Fraction) -> tuple[str, int]:
        """The unit and decimals of a line of the results; finer for an amount it would lose."""
        cells = self._cells(line, parent, [*self.periods, *self.so_far])
        unit, decimals = self._unit([value for _, _, value in cells])
        if least and not self.in_unit(least, unit, decimals):
            return TEXT_UNITS[self.statements.unit][-1], self.statements.decimals
        return unit, decimals

    def _narrated_periods(self) -> list[Period]:
        """The periods a release is about."""
        return [self.release.periods.current, *self.so_far[:1]]

    def _unit(self, values: list[int]) -> tuple[str, int]:
        """The unit and decimals of a line, by its size: none of its figures is rounded to zero."""
        sizes = [abs(self.statements.base(value)) for value in values if value]
        *larger, finest = TEXT_UNITS[self.statements.unit]
        for unit in larger:
            decimals = self.profile.rounding.text_decimals.get(unit, 1)
            if sizes and min(sizes) * 2 >= UNITS[unit]:
                return unit, decimals
        return finest, self.statements.decimals

    def value(self, line: str, parent: str, period: Period, *, translated: bool) -> int:
        """The table's figure behind a line of the text, in printed steps."""
        source = self.statements.translated if translated else self.statements.rounded
        assert source is not None
        made = source.operations(period.opens_on, period.end)
        found = {name: value for (name, _), value in made.items()}
        if parent:
            return made[line, parent]
        if line.startswith("Non-GAAP "):
            pay = self.statements.rounded.share_based_compensation(period.opens_on, period.end)
            if self.statements.translated and translated:
                pay = self.statements.translated.of(pay)
            name = line.removeprefix("Non-GAAP ")
            plain = name[0].upper() + name[1:]
            return pay + self.value(plain, "", period, translated=translated)
        if line == COMPANY:
            return next(
                v for name, v in found.items() if name.startswith("Net income attributable")
            )
        if line == TAX:
            return -found["Income taxes expense"]  # a charge by its size, a benefit below zero
        return found[line]

    def in_unit(self, value: int | Fraction, unit: str, decimals: int) -> int:
        """A printed figure in a unit of the text, in its smallest step."""
        scale = Fraction(UNITS[self.statements.unit], UNITS[unit])
        scale *= Fraction(10**decimals, 10**self.statements.decimals)
        return int(round_to(value * scale, Fraction(1), self.profile.rounding.method))

    def _margins(self, statement: str, period: Period) -> Iterator[Figure]:
        for each in self.release.per_share.adjusted([(period, False)]):
            if each.line in _MARGINS:
                line = _MARGINS[each.line]
                yield Figure(statement, line, "", each.period, each.currency, each.unit, each.text)

    def _cash(self) -> Iterator[Figure]:
        """Cash held, and cash from operations."""
        period, printed = self.release.periods.current, self.statements.rounded
        held = printed.balance_sheet(period.end)
        lines = [held[line, "Total current assets"] for line in (*CASH_LINES, DEPOSIT)]
        flow = printed.cash_flows(period.opens_on, period.end)[cash.OPERATING]
        money = self.profile.reporting
        unit, decimals = self._unit([sum(lines)])
        if unit != self.statements.unit:
            decimals = max(decimals, 2)  # as its rule has it
        yield Figure(HIGHLIGHTS, ALL_CASH, "", period.end.isoformat(), money, unit,
                     format_steps(self.in_unit(sum(lines), unit, decimals), decimals))  # fmt: skip
        unit, decimals = self._unit([flow])
        yield Figure(HIGHLIGHTS, OWN_CASH, "", period.written, money, unit,
                     format_steps(self.in_unit(flow, unit, decimals), decimals))  # fmt: skip

    def _weighted(self, period: Period) -> Iterator[Figure]:
        """The weighted ADSs of figures per ADS."""
        for line, shares in self.release.per_share.counts(period).items():
            name = f"Weighted average {line.lower()} ADS"
            ads = Fraction(shares, self.profile.rounding.ads_ratio)
            unit, decimals = ("million_ads", 2) if 2 * ads >= UNITS["million_ads"] else ("ads", 0)
            steps = int(round_to(ads / UNITS[unit] * 10**decimals, Fraction(1)))
            yield Figure(RESULTS, name, "", period.written, NO_CURRENCY, unit,
                         format_steps(steps, decimals))  # fmt: skip

    def _tax_rate(self, period: Period) -> Iterator[Figure]:
        made = self.statements.rounded.operations(period.opens_on, period.end)
        found = {name: value for (name, _), value in made.items()}
        base = found["Income before income tax expense"]
        if self.profile.rounding.effective_tax_adds_back == "share_based_pay":
            base += self.statements.rounded.share_based_compensation(period.opens_on, period.end)
        if base > 0:
            method = self.profile.rounding.method
            share = Fraction(-1000 * found["Income taxes expense"], base)
            tenths = int(round_to(share, Fraction(1), method))
            yield Figure(RESULTS, "Effective tax rate", "", period.written, NO_CURRENCY, "percent",
                         format_steps(tenths, 1))  # fmt: skip

    def _per_ads(self, statement: str, periods: list[Period]) -> Iterator[Figure]:
        names = {
            "Net income per ADS": "Net income per fully diluted ADS",
            "Non-GAAP net income per ADS": "Non-GAAP net income per fully diluted ADS",
        }
        pairs = [(period, period in self._narrated_periods()) for period in periods]
        for each in self.release.per_share.adjusted(pairs):
            for start, line in names.items():
                if each.statement == ADJUSTED and each.line.startswith(f"{start} "):
                    yield Figure(
                        statement, line, "", each.period, each.currency, each.unit, each.text
                    )
