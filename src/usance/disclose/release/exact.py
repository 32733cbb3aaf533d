"""Every line of the statements before rounding, with the accounts it is made of.

A line is a sum of accounts with signs. The signs are found by asking the statements themselves:
each is made once from accounts that hold powers of one base, so that its digits tell them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import to_month
from usance.books.chart import load_chart
from usance.books.group.entities import Entities, Entity, Role
from usance.books.group.rules import activities, group_rules_of
from usance.books.rules import Activity
from usance.books.statements import cash
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.layout import is_profit
from usance.books.statements.matrix import COLUMNS, balance_sheet_matrix, operations_matrix
from usance.books.statements.primary import (
    Row,
    balance_sheet,
    comprehensive_income,
    movement,
    operations,
)

Key = tuple[str, str]
"""Line and parent."""
Term = tuple[str, IfrsAdjustment, int]
"""An account, the tag of its entries, and the sign they have in a line; debit positive."""

SHEET, OPERATIONS, COMPREHENSIVE = "balance_sheet", "operations", "comprehensive_income"
CASH_FLOWS, ADJUSTED = "cash_flows", "non_gaap_reconciliation"
SHEET_MATRIX, OPERATIONS_MATRIX = (
    "ifrs_reconciliation_balance_sheet",
    "ifrs_reconciliation_operations",
)
ACTIVITIES = {
    cash.OPERATING: Activity.OPERATING,
    cash.INVESTING: Activity.INVESTING,
    cash.FINANCING: Activity.FINANCING,
}
PAY = "pay_in_shares"
ACCRUED = "Accrued expenses and other current liabilities"
CONTRACT = "Contract liabilities"
BASE = 64
"""Wider than any sign a statement gives an account, twice over."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a statement: its key, whether it is a total, and its accounts."""

    line: str
    parent: str
    is_total: bool
    terms: tuple[Term, ...]

    @property
    def key(self) -> Key:
        """Line and parent."""
        return self.line, self.parent


def lines_of(statement: str, entities: Entities) -> tuple[Line, ...]:
    """The lines of a statement, or of a column of a matrix, in print order."""
    return _lines(statement, entities.parent.name)


@cache
def _lines(statement: str, company: str) -> tuple[Line, ...]:
    """A statement in which account n holds BASE^n: the digits of each line are its signs."""
    names = [account.name for account in load_chart() if not account.within_group]
    held = {name: BASE**place for place, name in enumerate(names)}
    return tuple(
        Line(row.line, row.parent, row.is_total, _terms(statement, row, names))
        for row in _rows(statement, held, company)
    )


def _terms(statement: str, row: Row, names: list[str]) -> tuple[Term, ...]:
    """Accounts by tag; under US GAAP alone, contract liabilities are part of accrued expenses."""
    signs = _signs(row.amount_minor, names)
    found = [(name, tag, sign) for tag in tags_of(statement) for name, sign in signs.items()]
    if statement.startswith(SHEET_MATRIX) and row.line in (ACCRUED, CONTRACT):
        found = [
            term for term in found if term[:2] != ("contract_liabilities", IfrsAdjustment.NONE)
        ]
        if row.line == ACCRUED and IfrsAdjustment.NONE in tags_of(statement):
            found.append(("contract_liabilities", IfrsAdjustment.NONE, -1))
    return tuple(found)


def _signs(packed: int, names: list[str]) -> dict[str, int]:
    """The accounts of a line from its digits, which may be below zero."""
    found = {}
    for name in names:
        digit = (packed + BASE // 2) % BASE - BASE // 2
        packed = (packed - digit) // BASE
        if digit:
            found[name] = digit
    return found


def _rows(statement: str, held: dict[str, int], company: str) -> list[Row]:
    parent = Entity(1, company, Role.PARENT, Currency.CNY)
    entities = Entities(Currency.CNY, {1: parent})
    group = Consolidated(date.min, entities, {(1, IfrsAdjustment.NONE): held}, load_chart())
    base, _, column = statement.partition(":")
    if column:
        made = (
            balance_sheet_matrix(group)
            if base == SHEET_MATRIX
            else operations_matrix(None, group, "")
        )
        return [row for row in made if row.statement == f"{base}:us_gaap"]
    if base == SHEET:
        return balance_sheet(group)
    make = operations if base == OPERATIONS else comprehensive_income
    return make(movement(None, group), "")


@dataclass(frozen=True)
class Exact:
    """The group's amounts in minor units, on any day its books stand at.

    Before the day they begin they hold what they begin with: no rate of exchange is asked for.
    """

    books: GroupBooks
    begins: date = date.min

    def _at(self, day: date) -> Consolidated:
        return self.books.at(max(day, self.begins))

    def sheet(self, statement: str, day: date) -> dict[Key, int]:
        """Every line of a balance sheet, or of a column of its matrix."""
        return self._sums(statement, self._at(day).amount)

    def flow(self, statement: str, before: date, day: date) -> dict[Key, int]:
        """Every line of a statement over the days after one up to another."""
        start, end = self._at(before), self._at(day)
        return self._sums(
            statement, lambda name, tag: end.amount(name, tag) - start.amount(name, tag)
        )

    def _sums(self, statement: str, amount: Callable[[str, IfrsAdjustment], int]) -> dict[Key, int]:
        return {
            line.key: sum(sign * amount(name, tag) for name, tag, sign in line.terms)
            for line in lines_of(statement, self.books.entities)
        }

    def cash(self, before: date, day: date) -> dict[str, int]:
        """The cash-flow statement by line."""
        rows = cash.cash_flows(self.books, max(before, self.begins), day).rows("")
        return {row.line: row.amount_minor for row in rows}

    def pay(self, before: date, day: date) -> int:
        """The cost of pay in shares over some days."""
        return self._pay(day) - self._pay(max(before, self.begins))

    def _pay(self, day: date) -> int:
        ledger = self.books.ledger.through(to_month(day))
        rules = pay_rules()
        chart = load_chart()
        return sum(
            minor
            for (_, tag, rule), name, minor in self.books.translated(ledger, day)
            if rule in rules and tag is IfrsAdjustment.NONE and is_profit(chart[name])
        )

    @cached_property
    def currency(self) -> Currency:
        """The currency the group reports in."""
        return self.books.entities.currency


@cache
def pay_rules() -> frozenset[int]:
    """The rules that post pay in shares."""
    return frozenset(rule.number for rule in group_rules_of(PAY))


def tags_of(statement: str) -> tuple[IfrsAdjustment, ...]:
    """The tags whose entries a statement holds."""
    column = statement.partition(":")[2]
    return COLUMNS[column] if column else (IfrsAdjustment.NONE,)


def cash_rules(line: str) -> list[int]:
    """The rules whose cash stands in a line of the cash-flow statement."""
    wanted = ACTIVITIES[line]
    return [rule for rule, activity in activities().items() if activity is wanted]
