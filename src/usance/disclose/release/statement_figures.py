"""The figures of the primary statements and the reconciliations of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from usance.books.statements import cash
from usance.books.statements.matrix import COLUMNS
from usance.disclose.facts import UNITS
from usance.disclose.release.exact import (
    CASH_FLOWS,
    COMPREHENSIVE,
    OPERATIONS,
    OPERATIONS_MATRIX,
    SHEET,
    SHEET_MATRIX,
    Key,
)
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.printed import Printed, Values
from usance.disclose.release.reporting_periods import Span
from usance.disclose.release.translation import TranslatedStatements

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
    """How printed columns become figures: unit, currencies, decimals."""

    printed: Printed
    translated: TranslatedStatements | None
    unit: str
    decimals: int

    def money(
        self, statement: str, key: Key, period: str, value: int, *, is_total: bool,
        translated: bool = False,
    ) -> Figure:  # fmt: skip
        """An amount of money in the tables' unit."""
        profile = self.printed.profile
        currency = profile.translated if translated else profile.reporting
        shown = format_steps(value, self.decimals)
        return Figure(statement, *key, period, currency, self.unit, shown, is_total)

    def sheet(self, days: list[date]) -> Iterator[Figure]:
        """The balance sheets of some days, the last also translated."""
        columns = [(day.isoformat(), self.printed.sheet(day), False) for day in days]
        if self.translated:
            columns.append((days[-1].isoformat(), self.translated.sheet(days[-1]), True))
        yield from self._rows(SHEET, columns)

    def flows(self, statement: str, spans: list[tuple[Span, bool]]) -> Iterator[Figure]:
        """A statement of some periods; those marked are also translated."""
        columns = []
        for span, also in spans:
            columns.append((span.name, self._flow(statement, self.printed, span), False))
            if also and self.translated:
                columns.append((span.name, self._flow(statement, self.translated, span), True))
        yield from self._rows(statement, columns)

    def _flow(self, statement: str, source: Printed | TranslatedStatements, span: Span) -> Values:
        if statement == OPERATIONS:
            return source.operations(span.before, span.day)
        if statement == COMPREHENSIVE:
            return source.comprehensive(span.before, span.day)
        made = source.cash(span.before, span.day)
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
        return {line.key: line.is_total for line in self.printed.lines(statement)}

    def matrix_operations(self, spans: list[Span]) -> Iterator[Figure]:
        """Operations under both frameworks, for years so far."""
        for column in COLUMNS:
            made = [(span.name, self.printed.matrix_operations(column, span.day), False)
                    for span in spans]  # fmt: skip
            yield from self._rows(f"{OPERATIONS_MATRIX}:{column}", made)

    def matrix_sheet(self, days: list[date]) -> Iterator[Figure]:
        """The balance sheet under both frameworks."""
        for column in COLUMNS:
            made = [(day.isoformat(), self.printed.matrix_sheet(column, day), False)
                    for day in days]  # fmt: skip
            yield from self._rows(f"{SHEET_MATRIX}:{column}", made)

    def base(self, steps: int) -> Decimal:
        """A printed figure in units of currency."""
        return Decimal(steps) * UNITS[self.unit] / Decimal(10**self.decimals)
