"""Rounding of exact amounts to printed ones that still tie.

Totals are rounded themselves, and parts give way to them (`apportionment`). A flow is the
difference of two rounded amounts of the year to date, so that quarters add up to the year. In cash
flows the largest takes the residue, since cash itself is that of the balance sheet. An adjustment
foots from its own lines: its residue stands in retained earnings, its income is their change, its
tax is the profile's rate on its printed income, and its largest line takes what is left. All of it
follows from the books alone: a figure is the same in every release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from usance.base.dates import last_of_month
from usance.books.statements import cash
from usance.books.statements.ifrs_reconciliation import COLUMNS
from usance.books.statements.layout import CLAIMS, NON_CONTROLLING
from usance.books.statements.primary import ATTRIBUTABLE
from usance.disclose.profile import Profile
from usance.disclose.release.apportionment import Values, apportioned
from usance.disclose.release.exact_amounts import (
    ADJUSTED,
    CASH_FLOWS,
    COMPREHENSIVE,
    OPERATIONS,
    OPERATIONS_MATRIX,
    SHEET,
    SHEET_MATRIX,
    ExactAmounts,
    Key,
    Line,
    statement_lines,
)
from usance.disclose.ties import round_to

YearToDate = Callable[[date, date], Values]
NCI = (NON_CONTROLLING, "TOTAL EQUITY")
"""Non-controlling interests on the balance sheet."""
CASH_LINES = ("Cash and cash equivalents", "Restricted cash")
NONCONTROLLING_LOSS = ("Net loss attributable to noncontrolling interests", ATTRIBUTABLE)
NONCONTROLLING_COMPREHENSIVE_LOSS = "Comprehensive loss attributable to noncontrolling interests"
RETAINED, DEFERRED_TAX_ASSETS, DEFERRED_TAX_LIABILITIES = (
    "Retained earnings",
    "Deferred tax assets",
    "Deferred tax liabilities",
)
TAX_UNITS = 20  # of the currency: half a coin on each of some thousands of loans
TAX_ROUNDING = 500
"""Tax that is off by less than this part of income, or by one unit, was rounded loan by loan."""
ADJUSTMENTS = tuple(name for name in COLUMNS if name not in ("us_gaap", "ifrs"))


class BalanceChange(NamedTuple):
    """The movement of an adjustment's balances over a period."""

    deferred_tax: int
    noncontrolling: int
    retained_earnings: int


@dataclass(frozen=True)
class RoundedStatements:
    """The statements of a group, rounded by one profile to one step in minor units."""

    exact: ExactAmounts
    profile: Profile
    step_minor: int
    _cache: dict[tuple[object, ...], Values] = field(
        default_factory=dict, compare=False, repr=False
    )

    def rounded(self, minor: int) -> int:
        """An amount in printed steps."""
        step = Fraction(self.step_minor)
        return int(round_to(Fraction(minor), step, self.profile.rounding.method) / step)

    @cached_property
    def own_equity(self) -> Key:
        """The line of the balance sheet that takes the residue of rounding."""
        leaves = [line for line in self.lines(SHEET) if line.parent == "TOTAL EQUITY"]
        (own,) = [line.key for line in leaves if line.line != NON_CONTROLLING]
        return own

    def balance_sheet(self, day: date) -> Values:
        """The balance sheet of a day."""
        return self._once((SHEET, day), lambda: self._sheet(day))

    def operations(self, before: date, day: date) -> Values:
        """The statement of operations after one day up to another."""
        return self._between(OPERATIONS, self._operations, before, day)

    def comprehensive(self, before: date, day: date) -> Values:
        """Comprehensive income; what operations already show is carried."""
        made = self.operations(before, day)
        moved = self._between(COMPREHENSIVE, self._translation, before, day)
        lines = self.lines(COMPREHENSIVE)
        result = next(value for (line, _), value in made.items() if line == "Net income")
        carried = {
            "Net income": result,
            NONCONTROLLING_COMPREHENSIVE_LOSS: made[NONCONTROLLING_LOSS],
        }
        leaves = {
            line.key: carried.get(line.line, moved.get(line.key, 0))
            for line in lines
            if not line.is_total
        }
        return self.footed(lines, leaves)

    def cash_flows(self, before: date, day: date) -> dict[str, int]:
        """The cash-flow statement by line."""
        flows = self._between(CASH_FLOWS, self._cash, before, day)
        found = {line: value for (line, _), value in flows.items()}
        opening, closing = self._cash_held(before), self._cash_held(day)
        return found | {
            cash.CHANGE: closing - opening, cash.OPENING_CASH: opening, cash.CLOSING_CASH: closing
        }  # fmt: skip

    def share_based_compensation(self, before: date, day: date) -> int:
        """Share-based compensation expenses."""

        def year_to_date(start: date, end: date) -> Values:
            return {("", ""): self.rounded(self.exact.share_based_compensation(start, end))}

        return self._between(ADJUSTED, year_to_date, before, day)["", ""]

    def balance_sheet_matrix(self, column: str, day: date) -> Values:
        """A column of the balance sheet's reconciliation."""
        if column == "ifrs":
            return _added(
                self.balance_sheet_matrix(each, day) for each in ("us_gaap", *ADJUSTMENTS)
            )
        statement = f"{SHEET_MATRIX}:{column}"
        if column == "us_gaap":
            return self._once((statement, day), lambda: self._first_column(day))
        return self._once((statement, day), lambda: self._adjustment(statement, day))

    def operations_matrix(self, column: str, day: date) -> Values:
        """A column of the reconciliation of operations, for the year up to a day."""
        if column == "ifrs":
            return _added(self.operations_matrix(each, day) for each in ("us_gaap", *ADJUSTMENTS))
        if column == "us_gaap":
            made = self.operations(year_start(day), day).values()
            keys = [line.key for line in self.lines(f"{OPERATIONS_MATRIX}:us_gaap")]
            return dict(zip(keys, made, strict=True))
        return self._adjusted_income(column, day)

    def _once(self, key: tuple[object, ...], make: Callable[[], Values]) -> Values:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def lines(self, statement: str) -> tuple[Line, ...]:
        """The lines of a statement, in print order."""
        return statement_lines(statement, self.exact.books.entities)

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

    def _sheet(self, day: date) -> Values:
        exact = self.exact.balance_sheet(SHEET, day)
        tops = [("TOTAL ASSETS", ""), (CLAIMS, "")]
        fixed = {NCI: self.rounded(exact[NCI])}
        return self._apportioned(SHEET, exact, tops, fixed)

    def _apportioned(
        self, statement: str, exact: Values, tops: Iterable[Key], fixed: Values
    ) -> Values:
        """A statement whose totals are rounded themselves."""
        lines = self.lines(statement)
        sums = self.footed(lines, exact)
        method = self.profile.rounding.method
        leaves = apportioned(lines, sums, self.step_minor, tops, fixed=fixed, method=method)
        return self.footed(lines, fixed | leaves)

    def _balanced(
        self, statement: str, day: date, plug: Key, fixed: Values | None = None
    ) -> Values:
        """A balance sheet whose plug makes both sides equal."""
        leaves = self._leaves(statement, self.exact.balance_sheet(statement, day)) | (fixed or {})
        lines = self.lines(statement)
        made = self.footed(lines, leaves)
        leaves[plug] += made["TOTAL ASSETS", ""] - made[CLAIMS, ""]
        return self.footed(lines, leaves)

    def _between(self, name: str, year_to_date: YearToDate, before: date, day: date) -> Values:
        """The year up to a day less the year up to an earlier one."""
        start = year_start(day)
        whole = self._once((name, start, day), lambda: year_to_date(start, day))
        if before <= start:
            return whole
        part = self._once((name, start, before), lambda: year_to_date(start, before))
        return {key: value - part[key] for key, value in whole.items()}

    def _operations(self, start: date, day: date) -> Values:
        exact = self.exact.flow(OPERATIONS, start, day)
        fixed = self._unmoved(start, day, exact)
        before, after = (self.exact.balance_sheet(SHEET, each)[NCI] for each in (start, day))
        fixed[NONCONTROLLING_LOSS] = self.rounded(exact[NONCONTROLLING_LOSS])
        if before - after == exact[NONCONTROLLING_LOSS]:
            before, after = (self.balance_sheet(each)[NCI] for each in (start, day))
            fixed[NONCONTROLLING_LOSS] = before - after
        return self._apportioned(OPERATIONS, exact, [("Net income", ATTRIBUTABLE)], fixed)

    def _unmoved(self, start: date, day: date, exact: Values) -> Values:
        """Lines that stand as they did at the close before: their movement is printed as none."""
        closes = map(last_of_month, self.exact.books.ledger.periods())
        before = max((each for each in closes if start < each < day), default=None)
        if before is None:
            return {}
        then = self.exact.flow(OPERATIONS, start, before)
        made = self._once((OPERATIONS, start, before), lambda: self._operations(start, before))
        return {
            line.key: made[line.key]
            for line in self.lines(OPERATIONS)
            if not line.is_total and exact[line.key] == then[line.key]
        }

    def _translation(self, start: date, day: date) -> Values:
        return self._leaves(COMPREHENSIVE, self.exact.flow(COMPREHENSIVE, start, day))

    def _cash(self, start: date, day: date) -> Values:
        exact = self.exact.cash_flows(start, day)
        lines = (cash.OPERATING, cash.INVESTING, cash.FINANCING, cash.EFFECT)
        flows = {line: self.rounded(exact[line]) for line in lines}
        residue = self._cash_held(day) - self._cash_held(start) - sum(flows.values())
        flows[max(lines, key=lambda line: abs(exact[line]))] += residue
        return {(line, cash.CHANGE): value for line, value in flows.items()}

    def _cash_held(self, day: date) -> int:
        return sum(self.balance_sheet(day)[line, "Total current assets"] for line in CASH_LINES)

    def _first_column(self, day: date) -> Values:
        """The balance sheet itself, with equity by line."""
        statement, sheet = f"{SHEET_MATRIX}:us_gaap", self.balance_sheet(day)
        lines, exact = self.lines(statement), self.exact.balance_sheet(statement, day)
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
        retained, asset = _key(lines, RETAINED), _key(lines, DEFERRED_TAX_ASSETS)
        made = self._balanced(statement, day, retained)
        wrong = self._tax_gap(statement, day, made)
        if not wrong:
            return made
        liability = _key(lines, DEFERRED_TAX_LIABILITIES)
        fixed = (
            {asset: made[asset] + wrong} if made[asset] else {liability: made[liability] - wrong}
        )
        return self._balanced(statement, day, retained, fixed)

    def _tax_gap(self, statement: str, day: date, made: Values) -> int:
        """The steps by which tax misses the rate on printed income; 0 if by more than rounding.

        The books round it loan by loan, and the sum of that is not the rate on the sum.
        """
        start, rate = year_start(day), self.profile.rounding.adjustment_tax_rate
        column = statement.partition(":")[2]
        if not column.endswith("net_of_tax") or day <= self._begins:
            return 0
        before = self.balance_sheet_matrix(column, start)
        tax = self._deferred_tax(statement, made) - self._deferred_tax(statement, before)
        moved = self._income(statement, made) - self._income(statement, before)
        want = int(round_to(-rate * (moved - tax), Fraction(1), self.profile.rounding.method))
        room = max(1, abs(moved) // TAX_ROUNDING, TAX_UNITS * self.currency_unit // self.step_minor)
        return want - tax if abs(want - tax) <= room else 0

    @cached_property
    def currency_unit(self) -> int:
        """Minor units in one unit of the currency."""
        return int(10**self.exact.currency.exponent)

    @cached_property
    def _begins(self) -> date:
        periods = self.exact.books.ledger.periods()
        return self.exact.books.span(periods[0])[0] if periods else date.max

    def _deferred_tax(self, statement: str, made: Values) -> int:
        lines = self.lines(statement)
        return made[_key(lines, DEFERRED_TAX_ASSETS)] - made[_key(lines, DEFERRED_TAX_LIABILITIES)]

    def _retained_earnings(self, statement: str, made: Values) -> int:
        return made[_key(self.lines(statement), RETAINED)]

    def _income(self, statement: str, made: Values) -> int:
        return self._retained_earnings(statement, made) + made[NCI]

    def _adjusted_income(self, column: str, day: date) -> Values:
        statement, sheet = f"{OPERATIONS_MATRIX}:{column}", f"{SHEET_MATRIX}:{column}"
        lines, days = self.lines(statement), (year_start(day), day)
        exact = self.exact.flow(statement, *days)
        leaves = self._leaves(statement, exact)
        exact_change = self._change(
            sheet, *(self.exact.balance_sheet(sheet, each) for each in days)
        )
        change = self._change(sheet, *(self.balance_sheet_matrix(column, each) for each in days))
        tax = next(line.key for line in lines if line.parent == "Net income" and not line.is_total)
        if exact_change.deferred_tax == exact[tax]:
            leaves[tax] = change.deferred_tax
        if exact_change.noncontrolling == -exact[NONCONTROLLING_LOSS]:
            leaves[NONCONTROLLING_LOSS] = -change.noncontrolling
        made = self.footed(lines, leaves)
        if exact_change.retained_earnings == exact[ATTRIBUTABLE, ""]:
            residue = change.retained_earnings - made[ATTRIBUTABLE, ""]
            self._add_residue(lines, leaves, exact, residue)
        return self.footed(lines, leaves)

    def _change(self, sheet: str, then: Values, now: Values) -> BalanceChange:
        return BalanceChange(
            self._deferred_tax(sheet, now) - self._deferred_tax(sheet, then),
            now[NCI] - then[NCI],
            self._retained_earnings(sheet, now) - self._retained_earnings(sheet, then),
        )

    def _add_residue(
        self, lines: Iterable[Line], leaves: Values, exact: Values, residue: int
    ) -> None:
        """Add the residue of income to its largest line above tax."""
        after = ("Net income", ATTRIBUTABLE)
        own = [line for line in lines if not line.is_total and line.parent not in after]
        largest = max(own, key=lambda line: abs(exact[line.key]))
        weight = next((line.weight for line in lines if line.line == largest.parent), 1)
        leaves[largest.key] += weight * residue


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
