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
from usance.disclose.release.exact import ADJUSTED, OPERATIONS, Key
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.printed import Values
from usance.disclose.release.reporting_periods import Span
from usance.disclose.release.statement_figures import StatementFigures
from usance.disclose.ties import round_to

SHARE = "Net income per ordinary share attributable to ordinary shareholders of {}"
ADS = "Net income per ADS attributable to ordinary shareholders of {}"
WEIGHTED = "Weighted average shares used in calculating net income per ordinary share"
ADS_COUNT = (
    "Weighted average ADS used in calculating net income per ordinary share for both GAAP and "
    "non-GAAP EPS -diluted"
)
PAY = "Add: Share-based compensation expenses"
NET, OPERATING, REVENUE = "Net income", "Income from operations", "Total net revenue"


@dataclass(frozen=True)
class PerShareFigures:
    """What stands below operations in one column: counts, and figures in both currencies."""

    closed: ClosedBooks
    tables: StatementFigures
    company: str

    def counts(self, span: Span) -> dict[str, int]:
        """Weighted shares of a period; none where the facts do not tell."""
        found = income_per_share(self.closed.books, self.closed.facts, span.before, span.day)
        if found is None:
            return {}
        return {"Basic": whole(found[0].weighted_shares), "Diluted": whole(found[0].diluted_shares)}

    def below_operations(self, spans: list[tuple[Span, bool]]) -> Iterator[Figure]:
        """The lines per share, per ADS, and the shares they are made with."""
        rows = [row for span, also in spans for row in self._column(span, also)]
        order = {"per_share": 0, "per_ads": 1, "shares": 2}
        yield from sorted(rows, key=lambda row: (order[row.unit], row.line))

    def _column(self, span: Span, also: bool) -> Iterator[Figure]:
        profile = self.tables.printed.profile
        parents = SHARE.format(self.company), ADS.format(self.company)
        for line, shares in self.counts(span).items():
            each = self.each(span, shares)
            for currency, cents in zip((profile.reporting, profile.translated), each, strict=True):
                if currency == profile.translated and not (also and self.tables.translated):
                    continue
                ads = cents * profile.rounding.ads_ratio
                digits = profile.rounding.per_share_decimals
                for parent, unit, value in zip(
                    parents, ("per_share", "per_ads"), (cents, ads), strict=True
                ):
                    shown = format_steps(value, digits)
                    yield Figure(OPERATIONS, line, parent, span.name, currency, unit, shown)
                label = NO_CURRENCY if currency == profile.reporting else currency
                yield Figure(OPERATIONS, line, WEIGHTED, span.name, label, "shares", str(shares))

    def each(self, span: Span, shares: int) -> tuple[int, int]:
        """Income per share in the smallest printed part, in both currencies."""
        income = self.tables.printed.operations(span.before, span.day)[ATTRIBUTABLE, ""]
        own = self._half_up(Fraction(self.tables.base(income)) / shares)
        rate = self.tables.translated.rate if self.tables.translated else Fraction(1)
        digits = 10**self.tables.printed.profile.rounding.per_share_decimals
        return own, self._half_up(Fraction(own, digits) / rate)

    def _half_up(self, value: Fraction) -> int:
        rounding = self.tables.printed.profile.rounding
        step = Fraction(1, 10**rounding.per_share_decimals)
        return int(round_to(value, step, rounding.method) / step)

    def adjusted(self, spans: list[tuple[Span, bool]]) -> Iterator[Figure]:
        """Income without share-based compensation, its margins, and its figure per ADS."""
        columns = [(span, False, *self._incomes(span, False)) for span, _ in spans]
        columns += [
            (span, True, *self._incomes(span, True))
            for span, also in spans
            if also and self.tables.translated
        ]
        columns.sort(key=lambda each: ([span for span, _ in spans].index(each[0]), each[1]))
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

    def _incomes(self, span: Span, translated: bool) -> tuple[dict[str, int], int]:
        source = self.tables.translated if translated else self.tables.printed
        assert source is not None
        made: Values = source.operations(span.before, span.day)
        pay = self.tables.printed.pay(span.before, span.day)
        if translated and self.tables.translated:
            pay = self.tables.translated.of(pay)
        return {line: value for (line, _), value in made.items()}, pay

    def _block(
        self, columns: list[tuple[Span, bool, dict[str, int], int]], line: str, total: str,
        source: str = "",
    ) -> Iterator[Figure]:  # fmt: skip
        rows: list[tuple[Key, bool]] = [
            ((line, total), False),
            ((PAY, total), False),
            ((total, ""), True),
        ]
        for (name, parent), is_total in rows:
            for span, translated, made, pay in columns:
                own = made[source or line]
                value = {line: own, PAY: pay, total: own + pay}[name]
                yield self.tables.money(
                    ADJUSTED, (name, parent), span.name, value, is_total=is_total,
                    translated=translated,
                )  # fmt: skip

    def _margins(
        self, columns: list[tuple[Span, bool, dict[str, int], int]], line: str, name: str
    ) -> Iterator[Figure]:
        for label, adds in ((f"GAAP {name}", 0), (f"Non-GAAP {name}", 1)):
            for span, translated, made, pay in columns:
                if not translated and made[REVENUE]:
                    tenths = self._tenths(made[line] + adds * pay, made[REVENUE])
                    yield Figure(
                        ADJUSTED,
                        label,
                        "",
                        span.name,
                        NO_CURRENCY,
                        "percent",
                        format_steps(tenths, 1),
                    )

    def _tenths(self, part: int, whole_: int) -> int:
        method = self.tables.printed.profile.rounding.method
        return int(round_to(Fraction(1000 * part, whole_), Fraction(1), method))

    def _per_ads(self, columns: list[tuple[Span, bool, dict[str, int], int]]) -> Iterator[Figure]:
        profile = self.tables.printed.profile
        ratio, digits = profile.rounding.ads_ratio, profile.rounding.per_share_decimals
        plain = f"{ADS.format(self.company)} -diluted"
        rows: dict[str, list[Figure]] = {
            ADS_COUNT: [],
            plain: [],
            f"Non-GAAP {plain[0].lower()}{plain[1:]}": [],
        }
        for span, translated, made, pay in columns:
            shares = self.counts(span).get("Diluted")
            if not shares:
                continue
            ads = int(round_to(Fraction(shares, ratio), Fraction(1), profile.rounding.method))
            currency = profile.translated if translated else profile.reporting
            label = currency if translated else NO_CURRENCY
            own = ratio * self.each(span, shares)[translated]
            income = Fraction(self.tables.base(made[ATTRIBUTABLE] + pay))
            values = (
                (label, "ads", str(ads)),
                (currency, "per_ads", format_steps(own, digits)),
                (currency, "per_ads", format_steps(self._half_up(income / ads), digits)),
            )
            for line, (code, unit, shown) in zip(rows, values, strict=True):
                rows[line].append(Figure(ADJUSTED, line, "", span.name, code, unit, shown))
        for listed in rows.values():
            yield from listed
