"""From exact amounts to printed ones, so that everything that must tie does.

Leaves are rounded, totals are footed. A flow is the difference of two roundings of the year so
far: quarters then add up to the year. What is left over goes to a declared line: on a balance
sheet to the equity of shareholders (in an adjustment to retained earnings), in cash flows to the
largest flow, since cash itself is that of the balance sheet. An adjustment's income is the change
of its retained earnings, its tax the change of its deferred tax, and its largest line takes the
rest. All of it follows from the books alone: a figure is the same in every release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property

from usance.books.statements import cash
from usance.books.statements.layout import CLAIMS, NON_CONTROLLING
from usance.books.statements.matrix import COLUMNS
from usance.books.statements.primary import ATTRIBUTABLE
from usance.disclose.profile import Profile
from usance.disclose.release.exact import (
    ADJUSTED,
    CASH_FLOWS,
    COMPREHENSIVE,
    OPERATIONS,
    OPERATIONS_MATRIX,
    SHEET,
    SHEET_MATRIX,
    Exact,
    Key,
    Line,
    lines_of,
)
from usance.disclose.ties import round_to

Values = dict[Key, int]
"""Printed figures in the smallest step that is printed."""

SoFar = Callable[[date, date], Values]
CASH_LINES = ("Cash and cash equivalents", "Restricted cash")
MINORITY = ("Net loss attributable to noncontrolling interests", ATTRIBUTABLE)
CI_MINORITY = "Comprehensive loss attributable to noncontrolling interests"
PRETAX = "Income before income tax expense"
RETAINED, ASSETS_TAX, CLAIMS_TAX = (
    "Retained earnings",
    "Deferred tax assets",
    "Deferred tax liabilities",
)
ADJUSTMENTS = tuple(name for name in COLUMNS if name not in ("us_gaap", "ifrs"))


@dataclass(frozen=True)
class Printed:
    """The printed figures of books, for one profile and one step in minor units."""

    exact: Exact
    profile: Profile
    step_minor: int
    _kept: dict[tuple[object, ...], Values] = field(default_factory=dict, compare=False, repr=False)

    def rounded(self, minor: int) -> int:
        """An amount in printed steps."""
        step = Fraction(self.step_minor)
        return int(round_to(Fraction(minor), step, self.profile.rounding.method) / step)

    @cached_property
    def own_equity(self) -> Key:
        """The line of the balance sheet that takes what rounding leaves."""
        leaves = [line for line in self.lines(SHEET) if line.parent == "TOTAL EQUITY"]
        (own,) = [line.key for line in leaves if line.line != NON_CONTROLLING]
        return own

    def sheet(self, day: date) -> Values:
        """The balance sheet of a day."""
        return self._once((SHEET, day), lambda: self._balanced(SHEET, day, self.own_equity))

    def operations(self, before: date, day: date) -> Values:
        """The statement of operations after one day up to another."""
        return self._between(OPERATIONS, self._operations, before, day)

    def comprehensive(self, before: date, day: date) -> Values:
        """Comprehensive income; what operations already show is carried."""
        made = self.operations(before, day)
        moved = self._between(COMPREHENSIVE, self._translation, before, day)
        lines = self.lines(COMPREHENSIVE)
        result = next(value for (line, _), value in made.items() if line == "Net income")
        carried = {"Net income": result, CI_MINORITY: made[MINORITY]}
        leaves = {
            line.key: carried.get(line.line, moved.get(line.key, 0))
            for line in lines
            if not line.is_total
        }
        return self.footed(lines, leaves)

    def cash(self, before: date, day: date) -> dict[str, int]:
        """The cash-flow statement by line."""
        flows = self._between(CASH_FLOWS, self._cash, before, day)
        found = {line: value for (line, _), value in flows.items()}
        opening, closing = self._cash_held(before), self._cash_held(day)
        return found | {
            cash.CHANGE: closing - opening, cash.OPENING_CASH: opening, cash.CLOSING_CASH: closing
        }  # fmt: skip

    def pay(self, before: date, day: date) -> int:
        """Share-based compensation."""

        def so_far(start: date, end: date) -> Values:
            return {("", ""): self.rounded(self.exact.pay(start, end))}

        return self._between(ADJUSTED, so_far, before, day)["", ""]

    def matrix_sheet(self, column: str, day: date) -> Values:
        """A column of the balance sheet's reconciliation."""
        if column == "ifrs":
            return _added(self.matrix_sheet(each, day) for each in ("us_gaap", *ADJUSTMENTS))
        statement = f"{SHEET_MATRIX}:{column}"
        if column == "us_gaap":
            return self._once((statement, day), lambda: self._first_column(day))
        return self._once((statement, day), lambda: self._adjustment(statement, day))

    def matrix_operations(self, column: str, day: date) -> Values:
        """A column of the reconciliation of operations, for the year up to a day."""
        if column == "ifrs":
            return _added(self.matrix_operations(each, day) for each in ("us_gaap", *ADJUSTMENTS))
        if column == "us_gaap":
            made = self.operations(year_start(day), day).values()
            keys = [line.key for line in self.lines(f"{OPERATIONS_MATRIX}:us_gaap")]
            return dict(zip(keys, made, strict=True))
        return self._adjusted_income(column, day)

    def _once(self, key: tuple[object, ...], make: Callable[[], Values]) -> Values:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def lines(self, statement: str) -> tuple[Line, ...]:
        """The lines of a statement, in print order."""
        return lines_of(statement, self.exact.books.entities)

    def footed(self, lines: Iterable[Line], leaves: Values) -> Values:
        """Leaves, and every total as the sum of the lines under it."""
        listed = list(lines)
        children: dict[str, list[Line]] = {}
        for line in listed:
            children.setdefault(line.parent, []).append(line)

        def value(line: Line) -> int:
            if not line.is_total:
                return leaves[line.key]
            return sum(child.weight * value(child) for child in children.get(line.line, ()))

        return {line.key: value(line) for line in listed}

    def _leaves(self, statement: str, exact: Values) -> Values:
        return {
            line.key: self.rounded(exact[line.key])
            for line in self.lines(statement)
            if not line.is_total
        }

    def _balanced(
        self, statement: str, day: date, plug: Key, fixed: Values | None = None
    ) -> Values:
        """A balance sheet whose plug makes both sides equal."""
        leaves = self._leaves(statement, self.exact.sheet(statement, day)) | (fixed or {})
        lines = self.lines(statement)
        made = self.footed(lines, leaves)
        leaves[plug] += made["TOTAL ASSETS", ""] - made[CLAIMS, ""]
        return self.footed(lines, leaves)

    def _between(self, name: str, so_far: SoFar, before: date, day: date) -> Values:
        """The year up to a day less the year up to an earlier one."""
        start = year_start(day)
        whole = self._once((name, start, day), lambda: so_far(start, day))
        if before <= start:
            return whole
        part = self._once((name, start, before), lambda: so_far(start, before))
        return {key: value - part[key] for key, value in whole.items()}

    def _operations(self, start: date, day: date) -> Values:
        exact = self.exact.flow(OPERATIONS, start, day)
        leaves = self._leaves(OPERATIONS, exact)
        non_controlling = NON_CONTROLLING, "TOTAL EQUITY"
        moved = (
            self.exact.sheet(SHEET, day)[non_controlling]
            - self.exact.sheet(SHEET, start)[non_controlling]
        )
        if moved == -exact[MINORITY]:
            leaves[MINORITY] = self.sheet(start)[non_controlling] - self.sheet(day)[non_controlling]
        return self.footed(self.lines(OPERATIONS), leaves)

    def _translation(self, start: date, day: date) -> Values:
        return self._leaves(COMPREHENSIVE, self.exact.flow(COMPREHENSIVE, start, day))

    def _cash(self, start: date, day: date) -> Values:
        exact = self.exact.cash(start, day)
        lines = (cash.OPERATING, cash.INVESTING, cash.FINANCING, cash.EFFECT)
        flows = {line: self.rounded(exact[line]) for line in lines}
        rest = self._cash_held(day) - self._cash_held(start) - sum(flows.values())
        flows[max(lines, key=lambda line: abs(exact[line]))] += rest
        return {(line, cash.CHANGE): value for line, value in flows.items()}

    def _cash_held(self, day: date) -> int:
        return sum(self.sheet(day)[line, "Total current assets"] for line in CASH_LINES)

    def _first_column(self, day: date) -> Values:
        """The balance sheet itself, with equity by line."""
        statement, sheet = f"{SHEET_MATRIX}:us_gaap", self.sheet(day)
        lines, exact = self.lines(statement), self.exact.sheet(statement, day)
        leaves = {
            line.key: sheet.get(line.key, self.rounded(exact[line.key]))
            for line in lines
            if not line.is_total
        }
        made = self.footed(lines, leaves)
        retained = _key(lines, RETAINED)
        leaves[retained] += made["TOTAL ASSETS", ""] - made[CLAIMS, ""]
        return self.footed(lines, leaves)

    def _adjustment(self, statement: str, day: date) -> Values:
        """The balances of an adjustment; its deferred tax is that of its printed income."""
        lines = self.lines(statement)
        retained, asset = _key(lines, RETAINED), _key(lines, ASSETS_TAX)
        made = self._balanced(statement, day, retained)
        wrong = self._tax_gap(statement, day, made)
        if not wrong:
            return made
        liability = _key(lines, CLAIMS_TAX)
        fixed = (
            {asset: made[asset] + wrong} if made[asset] else {liability: made[liability] - wrong}
        )
        return self._balanced(statement, day, retained, fixed)

    def _tax_gap(self, statement: str, day: date, made: Values) -> int:
        """What a rounded tax lacks to the rate on rounded income: a step, or nothing to mend."""
        start, rate = year_start(day), self.profile.rounding.adjustment_tax_rate
        column = statement.partition(":")[2]
        if self.step_minor == 1 or not column.endswith("net_of_tax") or day <= self._begins:
            return 0
        before = self.matrix_sheet(column, start)
        tax = self._deferred(statement, made) - self._deferred(statement, before)
        moved = self._income(statement, made) - self._income(statement, before)
        want = int(round_to(-rate * (moved - tax), Fraction(1), self.profile.rounding.method))
        return want - tax if abs(want - tax) == 1 else 0

    @cached_property
    def _begins(self) -> date:
        periods = self.exact.books.ledger.periods()
        return self.exact.books.span(periods[0])[0] if periods else date.max

    def _deferred(self, statement: str, made: Values) -> int:
        lines = self.lines(statement)
        return made[_key(lines, ASSETS_TAX)] - made[_key(lines, CLAIMS_TAX)]

    def _earned(self, statement: str, made: Values) -> int:
        return made[_key(self.lines(statement), RETAINED)]

    def _income(self, statement: str, made: Values) -> int:
        return self._earned(statement, made) + made[NON_CONTROLLING, "TOTAL EQUITY"]

    def _adjusted_income(self, column: str, day: date) -> Values:
        statement, sheet = f"{OPERATIONS_MATRIX}:{column}", f"{SHEET_MATRIX}:{column}"
        lines, start = self.lines(statement), year_start(day)
        exact = self.exact.flow(statement, start, day)
        leaves = self._leaves(statement, exact)
        now, then = self.matrix_sheet(column, day), self.matrix_sheet(column, start)
        real = self._moves(sheet, start, day)
        tax = next(line.key for line in lines if line.parent == "Net income" and not line.is_total)
        if real[0] == exact[tax]:
            leaves[tax] = self._deferred(sheet, now) - self._deferred(sheet, then)
        non_controlling = NON_CONTROLLING, "TOTAL EQUITY"
        if real[1] == -exact[MINORITY]:
            leaves[MINORITY] = then[non_controlling] - now[non_controlling]
        made = self.footed(lines, leaves)
        if real[2] == exact[ATTRIBUTABLE, ""]:
            rest = self._earned(sheet, now) - self._earned(sheet, then) - made[ATTRIBUTABLE, ""]
            self._place(lines, leaves, exact, rest)
        return self.footed(lines, leaves)

    def _moves(self, sheet: str, start: date, day: date) -> tuple[int, int, int]:
        """Movements of deferred tax, non-controlling interests and retained earnings."""
        now, then = self.exact.sheet(sheet, day), self.exact.sheet(sheet, start)
        non_controlling = NON_CONTROLLING, "TOTAL EQUITY"
        return (
            self._deferred(sheet, now) - self._deferred(sheet, then),
            now[non_controlling] - then[non_controlling],
            self._earned(sheet, now) - self._earned(sheet, then),
        )

    def _place(self, lines: Iterable[Line], leaves: Values, exact: Values, rest: int) -> None:
        """Put what income lacks on its largest line above tax."""
        after = ("Net income", ATTRIBUTABLE)
        own = [line for line in lines if not line.is_total and line.parent not in after]
        largest = max(own, key=lambda line: abs(exact[line.key]))
        weight = next((line.weight for line in lines if line.line == largest.parent), 1)
        leaves[largest.key] += weight * rest


def year_start(day: date) -> date:
    """The evening before the year of a day."""
    return date(day.year - 1, 12, 31)


def _key(lines: Iterable[Line], name: str) -> Key:
    return next(line.key for line in lines if line.line == name)


def _added(columns: Iterable[Values]) -> Values:
    found: Values = {}
    for column in columns:
        for key, value in column.items():
            found[key] = found.get(key, 0) + value
    return found
