"""The figures of the primary statements and the reconciliations of a release.

The convenience translation of printed columns: leaves by the rate, totals footed from them. A
declared line takes what rounding leaves: on the balance sheet the equity of shareholders, in cash
flows the largest flow, since closing cash is that of the translated balance sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

from usance.books.statements import cash
from usance.books.statements.ifrs_reconciliation import COLUMNS
from usance.books.statements.layout import CLAIMS
from usance.disclose.facts import UNITS
from usance.disclose.periods import Period
from usance.disclose.release.apportionment import Values
from usance.disclose.release.exact_amounts import (
    CASH_FLOWS,
    COMPREHENSIVE,
    OPERATIONS,
    OPERATIONS_MATRIX,
    SHEET,
    SHEET_MATRIX,
    Key,
    Line,
)
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.rounding import (
    CASH_LINES,
    NONCONTROLLING_COMPREHENSIVE_LOSS,
    NONCONTROLLING_LOSS,
    RoundedStatements,
)
from usance.disclose.ties import round_to


@dataclass(frozen=True)
class TranslatedStatements:
    """Printed figures in another currency, by one rate for every column."""

    rounded: RoundedStatements
    rate: Fraction

    def of(self, value: int) -> int:
        """A printed figure by the rate."""
        method = self.rounded.profile.rounding.method
        return int(round_to(value / self.rate, Fraction(1), method))

    def balance_sheet(self, day: date) -> Values:
        """The balance sheet of a day."""
        leaves = self._leaves(SHEET, self.rounded.balance_sheet(day))
        made = self._footed(SHEET, leaves)
        leaves[self.rounded.own_equity] += made["TOTAL ASSETS", ""] - made[CLAIMS, ""]
        return self._footed(SHEET, leaves)

    def operations(self, before: date, day: date) -> Values:
        """The statement of operations."""
        return self._footed(
            OPERATIONS, self._leaves(OPERATIONS, self.rounded.operations(before, day))
        )

    def comprehensive(self, before: date, day: date) -> Values:
        """Comprehensive income, with what operations show carried as it stands there."""
        leaves = self._leaves(COMPREHENSIVE, self.rounded.comprehensive(before, day))
        made = self.operations(before, day)
        for line, parent in leaves:
            if line == "Net income":
                leaves[line, parent] = next(v for (name, _), v in made.items() if name == line)
            elif line == NONCONTROLLING_COMPREHENSIVE_LOSS:
                leaves[line, parent] = made[NONCONTROLLING_LOSS]
        return self._footed(COMPREHENSIVE, leaves)

    def cash_flows(self, before: date, day: date) -> dict[str, int]:
        """The cash-flow statement by line."""
        given = self.rounded.cash_flows(before, day)
        found = {line: self.of(value) for line, value in given.items()}
        held = self.balance_sheet(day)
        found[cash.CLOSING_CASH] = sum(held[line, "Total current assets"] for line in CASH_LINES)
        found[cash.CHANGE] = found[cash.CLOSING_CASH] - found[cash.OPENING_CASH]
        flows = (cash.OPERATING, cash.INVESTING, cash.FINANCING, cash.EFFECT)
        rest = found[cash.CHANGE] - sum(found[line] for line in flows)
        found[max(flows, key=lambda line: abs(given[line]))] += rest
        return found

    def _lines(self, statement: str) -> Iterable[Line]:
        return self.rounded.lines(statement)

    def _leaves(self, statement: str, values: Values) -> Values:
        return {
            line.key: self.of(values[line.key])
            for line in self._lines(statement)
            if not line.is_total
        }

    def _footed(self, statement: str, leaves: Values) -> Values:
        return self.rounded.footed(self._lines(statement), leaves)


_CASH_ROWS = (
    (cash.OPERATING, cash.CHANGE, False),
    (cash.INVESTING, cash.CHANGE, False),
    (cash.FINANCING, cash.CHANGE, False),
    (cash.EFFECT, cash.CHANGE, False),
    (cash.CHANGE, cash.CLOSING_CASH, True),
    (cash.OPENING_CASH, cash.CLOSING_CASH, False),
    (cash.CLOSING_CASH, "", True),
)


@dataclass(frozen=True)
class StatementFigures:
    """Figures of printed columns, in their unit, currencies and decimals."""

    rounded: RoundedStatements
    translated: TranslatedStatements | None
    unit: str
    decimals: int

    def money(
        self, statement: str, key: Key, period: str, value: int, *, is_total: bool,
        translated: bool = False,
    ) -> Figure:  # fmt: skip
        """An amount of money in the tables' unit."""
        profile = self.rounded.profile
        currency = profile.translated if translated else profile.reporting
        shown = format_steps(value, self.decimals)
        return Figure(statement, *key, period, currency, self.unit, shown, is_total)

    def balance_sheet(self, days: list[date]) -> Iterator[Figure]:
        """The balance sheets of some days, the last also translated."""
        columns = [(day.isoformat(), self.rounded.balance_sheet(day), False) for day in days]
        if self.translated:
            columns.append((days[-1].isoformat(), self.translated.balance_sheet(days[-1]), True))
        yield from self._rows(SHEET, columns)

    def flows(self, statement: str, periods: list[tuple[Period, bool]]) -> Iterator[Figure]:
        """A statement of some periods; those marked are also translated."""
        columns = []
        for period, also in periods:
            columns.append((period.written, self._flow(statement, self.rounded, period), False))
            if also and self.translated:
                columns.append(
                    (period.written, self._flow(statement, self.translated, period), True)
                )
        yield from self._rows(statement, columns)

    def _flow(
        self, statement: str, source: RoundedStatements | TranslatedStatements, period: Period
    ) -> Values:
        if statement == OPERATIONS:
            return source.operations(period.opens_on, period.end)
        if statement == COMPREHENSIVE:
            return source.comprehensive(period.opens_on, period.end)
        made = source.cash_flows(period.opens_on, period.end)
        return {(line, parent): made[line] for line, parent, _ in _CASH_ROWS}

    def _rows(
        self, statement: str, columns: list[tuple[str, Values, bool]]
    ) -> Iterator[Figure]:  # fmt: skip
        for key, is_total in self._keys(statement).items():
            for period, values, translated in columns:
                yield self.money(
                    statement, key, period, values[key], is_total=is_total, translated=translated
                )

    def _keys(self, statement: str) -> Mapping[Key, bool]:
        if statement == CASH_FLOWS:
            return {(line, parent): is_total for line, parent, is_total in _CASH_ROWS}
        return {line.key: line.is_total for line in self.rounded.lines(statement)}

    def operations_matrix(self, periods: list[Period]) -> Iterator[Figure]:
        """Operations under both frameworks, for years so far."""
        for column in COLUMNS:
            made = [(period.written, self.rounded.operations_matrix(column, period.end), False)
                    for period in periods]  # fmt: skip
            yield from self._rows(f"{OPERATIONS_MATRIX}:{column}", made)

    def balance_sheet_matrix(self, days: list[date]) -> Iterator[Figure]:
        """The balance sheet under both frameworks."""
        for column in COLUMNS:
            made = [(day.isoformat(), self.rounded.balance_sheet_matrix(column, day), False)
                    for day in days]  # fmt: skip
            yield from self._rows(f"{SHEET_MATRIX}:{column}", made)

    def base(self, steps: int) -> Decimal:
        """A printed figure in units of currency."""
        return Decimal(steps) * UNITS[self.unit] / Decimal(10**self.decimals)
