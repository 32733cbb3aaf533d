"""The convenience translation of printed columns: leaves by the rate, totals footed from them.

A declared line takes what rounding leaves: on the balance sheet the equity of shareholders, in
cash flows the largest flow, since closing cash is that of the translated balance sheet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from usance.books.statements import cash
from usance.books.statements.layout import CLAIMS
from usance.disclose.release.exact_amounts import COMPREHENSIVE, OPERATIONS, SHEET, Line
from usance.disclose.release.rounding import (
    CASH_LINES,
    NONCONTROLLING_COMPREHENSIVE_LOSS,
    NONCONTROLLING_LOSS,
    RoundedStatements,
    Values,
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
