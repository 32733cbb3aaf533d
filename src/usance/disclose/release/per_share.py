"""Figures per share and the reconciliation to adjusted income, from printed figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from usance.books.closed_books import ClosedBooks
from usance.books.statements.notes import income_per_share
from usance.books.statements.primary import ATTRIBUTABLE
from usance.capital.prices import whole
from usance.disclose.facts import NO_CURRENCY
from usance.disclose.periods import Period
from usance.disclose.release.apportionment import Values
from usance.disclose.release.exact_amounts import ADJUSTED, OPERATIONS, Key
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.statement_figures import StatementFigures
from usance.disclose.ties import round_to

SHARE = "Net income per ordinary share attributable to ordinary shareholders of {}"
ADS = "Net income per ADS attributable to ordinary shareholders of {}"
WEIGHTED = "Weighted average shares used in calculating net income per ordinary share"
ADS_COUNT = (
    "Weighted average ADS used in calculating net income per ordinary share for both GAAP and "
    "non-GAAP EPS -diluted"
)
ADD_SHARE_BASED_COMPENSATION = "Add: Share-based compensation expenses"
NET, OPERATING, REVENUE = "Net income", "Income from operations", "Total net revenue"


@dataclass(frozen=True)
class PerShareFigures:
    """Share counts and figures per share of one release, in both currencies."""

    closed: ClosedBooks
    statements: StatementFigures
    company: str

    def counts(self, period: Period) -> dict[str, int]:
        """Weighted shares of a period; none without facts of shares."""
        found = income_per_share(self.closed.books, self.closed.facts, period.opens_on, period.end)
        if found is None:
            return {}
        return {"Basic": whole(found[0].weighted_shares), "Diluted": whole(found[0].diluted_shares)}

    def below_operations(self, periods: list[tuple[Period, bool]]) -> Iterator[Figure]:
        """The lines per share and per ADS, and the shares they are divided by."""
        rows = [row for period, also in periods for row in self._column(period, also)]
        order = {"per_share": 0, "per_ads": 1, "shares": 2}
        yield from sorted(rows, key=lambda row: (order[row.unit], row.line))

    def _column(self, period: Period, also: bool) -> Iterator[Figure]:
        profile = self.statements.rounded.profile
        parents = SHARE.format(self.company), ADS.format(self.company)
        for line, shares in self.counts(period).items():
            each = self.in_both_currencies(period, shares)
            for currency, cents in zip((profile.reporting, profile.translated), each, strict=True):
                if currency == profile.translated and not (also and self.statements.translated):
                    continue
                ads = cents * profile.rounding.ads_ratio
                digits = profile.rounding.per_share_decimals
                for parent, unit, value in zip(
                    parents, ("per_share", "per_ads"), (cents, ads), strict=True
                ):
                    shown = format_steps(value, digits)
                    yield Figure(OPERATIONS, line, parent, period.written, currency, unit, shown)
                label = NO_CURRENCY if currency == profile.reporting else currency
                yield Figure(
                    OPERATIONS, line, WEIGHTED, period.written, label, "shares", str(shares)
                )

    def in_both_currencies(self, period: Period, shares: int) -> tuple[int, int]:
        """Income per share in the smallest printed part, in both currencies."""
        income = self.statements.rounded.operations(period.opens_on, period.end)[ATTRIBUTABLE, ""]
        own = self._half_up(Fraction(self.statements.base(income)) / shares)
        rate = self.statements.translated.rate if self.statements.translated else Fraction(1)
        digits = 10**self.statements.rounded.profile.rounding.per_share_decimals
        return own, self._half_up(Fraction(own, digits) / rate)

    def _half_up(self, value: Fraction) -> int:
        rounding = self.statements.rounded.profile.rounding
        step = Fraction(1, 10**rounding.per_share_decimals)
        return int(round_to(value, step, rounding.method) / step)

    def adjusted(self, periods: list[tuple[Period, bool]]) -> Iterator[Figure]:
        """Income without share-based compensation, its margins, and its figure per ADS."""
        columns = [(period, False, *self._incomes(period, False)) for period, _ in periods]
        columns += [
            (period, True, *self._incomes(period, True))
            for period, also in periods
            if also and self.statements.translated
        ]
        columns.sort(key=lambda each: ([period for period, _ in periods].index(each[0]), each[1]))
        company = self.company
        yield from self._block(columns, NET, "Non-GAAP net income")
        yield from self._margins(columns, NET, "net income margin")
        yield from self._block(
            columns, f"Net income attributable to shareholders of {company}",
            f"Non-GAAP net income attributable to shareholders of {company}", ATTRIBUTABLE,
        )  # fmt: skip
        yield from self._per_ads(columns)
        yield from self._block(columns, OPERATING, "Non-GAAP income from operations")
        yield from self._margins(columns, OPERATING, "operating margin")

    def _incomes(self, period: Period, translated: bool) -> tuple[dict[str, int], int]:
        source = self.statements.translated if translated else self.statements.rounded
        assert source is not None
        made: Values = source.operations(period.opens_on, period.end)
        pay = self.statements.rounded.share_based_compensation(period.opens_on, period.end)
        if translated and self.statements.translated:
            pay = self.statements.translated.of(pay)
        return {line: value for (line, _), value in made.items()}, pay

    def _block(
        self, columns: list[tuple[Period, bool, dict[str, int], int]], line: str, total: str,
        source: str = "",
    ) -> Iterator[Figure]:  # fmt: skip
        rows: list[tuple[Key, bool]] = [
            ((line, total), False),
            ((ADD_SHARE_BASED_COMPENSATION, total), False),
            ((total, ""), True),
        ]
        for (name, parent), is_total in rows:
            for period, translated, made, pay in columns:
                own = made[source or line]
                value = {line: own, ADD_SHARE_BASED_COMPENSATION: pay, total: own + pay}[name]
                yield self.statements.money(
                    ADJUSTED, (name, parent), period.written, value, is_total=is_total,
                    translated=translated,
                )  # fmt: skip

    def _margins(
        self, columns: list[tuple[Period, bool, dict[str, int], int]], line: str, name: str
    ) -> Iterator[Figure]:
        for label, adds in ((f"GAAP {name}", 0), (f"Non-GAAP {name}", 1)):
            for period, translated, made, pay in columns:
                if not translated and made[REVENUE]:
                    tenths = self._tenths(made[line] + adds * pay, made[REVENUE])
                    yield Figure(
                        ADJUSTED,
                        label,
                        "",
                        period.written,
                        NO_CURRENCY,
                        "percent",
                        format_steps(tenths, 1),
                    )

    def _tenths(self, part: int, total: int) -> int:
        method = self.statements.rounded.profile.rounding.method
        return int(round_to(Fraction(1000 * part, total), Fraction(1), method))

    def _per_ads(self, columns: list[tuple[Period, bool, dict[str, int], int]]) -> Iterator[Figure]:
        profile = self.statements.rounded.profile
        ratio, digits = profile.rounding.ads_ratio, profile.rounding.per_share_decimals
        plain = f"{ADS.format(self.company)} -diluted"
        rows: dict[str, list[Figure]] = {
            ADS_COUNT: [],
            plain: [],
            f"Non-GAAP {plain[0].lower()}{plain[1:]}": [],
        }
        for period, translated, made, pay in columns:
            shares = self.counts(period).get("Diluted")
            if not shares:
                continue
            ads = int(round_to(Fraction(shares, ratio), Fraction(1), profile.rounding.method))
            currency = profile.translated if translated else profile.reporting
            label = currency if translated else NO_CURRENCY
            own = ratio * self.in_both_currencies(period, shares)[translated]
            income = Fraction(self.statements.base(made[ATTRIBUTABLE] + pay))
            values = (
                (label, "ads", str(ads)),
                (currency, "per_ads", format_steps(own, digits)),
                (currency, "per_ads", format_steps(self._half_up(income / ads), digits)),
            )
            for line, (code, unit, shown) in zip(rows, values, strict=True):
                rows[line].append(Figure(ADJUSTED, line, "", period.written, code, unit, shown))
        for listed in rows.values():
            yield from listed
