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
IN_TEXT = {"thousand": "million", "million": "billion", "unit": "unit"}
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
        wanted = (release.periods.current, release.periods.year_ago, release.periods.preceding)
        self.periods = [each for each in wanted if release.closed.covers(each.start, each.end)]
        unit = IN_TEXT[self.statements.unit]
        self.unit = unit
        known = self.profile.rounding.text_decimals.get(unit)
        self.decimals = self.statements.decimals if known is None else known

    def figures(self) -> Iterator[Figure]:
        """Highlights, then every line of the results."""
        now = self.release.periods.current
        years = [
            period
            for period in self.periods
            if period != self.release.periods.preceding or period == now
        ]
        lines = {line: (line, "") for line in _HIGHLIGHTS}
        for line, parent in lines.values():
            yield from self._line(HIGHLIGHTS, line, parent, years)
        yield from self._margins(HIGHLIGHTS, now)
        yield from self._per_ads(HIGHLIGHTS, years)
        yield from self._cash()
        for line, parent in self._result_lines():
            yield from self._line(RESULTS, line, parent, self.periods)
        yield from self._margins(RESULTS, now)
        yield from self._tax_rate()
        yield from self._per_ads(RESULTS, [now])
        yield from self._weighted(now)

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
        if statement == RESULTS and not any(
            self.value(line, parent, s, translated=False) for s in periods
        ):
            return  # a line of nothing but zeros is left out
        for period in periods:
            for translated in (False, True):
                if translated and (
                    not self.statements.translated or period != self.release.periods.current
                ):
                    continue
                value = self.value(line, parent, period, translated=translated)
                currency = self.profile.translated if translated else self.profile.reporting
                shown = format_steps(self._rounded(value), self.decimals)
                yield Figure(statement, line, parent, period.written, currency, self.unit, shown)

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

    def _rounded(self, value: int, decimals: int | None = None) -> int:
        """A printed figure in the text's unit, in its smallest step."""
        scale = Fraction(UNITS[self.statements.unit], UNITS[self.unit])
        digits = self.decimals if decimals is None else decimals
        scale *= Fraction(10**digits, 10**self.statements.decimals)
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
        yield Figure(HIGHLIGHTS, ALL_CASH, "", period.end.isoformat(), money, self.unit,
                     format_steps(self._rounded(sum(lines), 2), 2))  # fmt: skip
        yield Figure(HIGHLIGHTS, OWN_CASH, "", period.written, money, self.unit,
                     format_steps(self._rounded(flow), self.decimals))  # fmt: skip

    def _weighted(self, period: Period) -> Iterator[Figure]:
        """The weighted ADSs of figures per ADS."""
        million = 10**6 * self.profile.rounding.ads_ratio
        for line, shares in self.release.per_share.counts(period).items():
            ads = round_to(Fraction(100 * shares, million), Fraction(1))
            name = f"Weighted average {line.lower()} ADS"
            yield Figure(RESULTS, name, "", period.written, NO_CURRENCY, "million_ads",
                         format_steps(int(ads), 2))  # fmt: skip

    def _tax_rate(self) -> Iterator[Figure]:
        period = self.release.periods.current
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
        pairs = [(period, period == self.release.periods.current) for period in periods]
        for each in self.release.per_share.adjusted(pairs):
            for start, line in names.items():
                if each.statement == ADJUSTED and each.line.startswith(f"{start} "):
                    yield Figure(
                        statement, line, "", each.period, each.currency, each.unit, each.text
                    )
