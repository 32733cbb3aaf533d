"""Every line of the statements before rounding, with the accounts it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.dates import to_month
from usance.books.chart import load_chart
from usance.books.group.entities import Entities
from usance.books.group.rules import activities, group_rules_of
from usance.books.rules import Activity
from usance.books.statements import cash, layout
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.ifrs_reconciliation import COLUMNS
from usance.books.statements.layout import Side, StatementLine, load_layout

Key = tuple[str, str]
"""Line and parent."""
Term = tuple[str, IfrsAdjustment, int]
"""An account, the tag of its entries, and the sign they have in a line; debit positive."""

SHEET, OPERATIONS, COMPREHENSIVE = layout.SHEET, layout.OPERATIONS, layout.COMPREHENSIVE
SHEET_MATRIX, OPERATIONS_MATRIX = layout.SHEET_MATRIX, layout.OPERATIONS_MATRIX
CASH_FLOWS, ADJUSTED = "cash_flows", "non_gaap_reconciliation"
ACTIVITIES = {
    cash.OPERATING: Activity.OPERATING,
    cash.INVESTING: Activity.INVESTING,
    cash.FINANCING: Activity.FINANCING,
}
SHARE_BASED_COMPENSATION = "share_based_compensation"
ACCRUED = "Accrued expenses and other current liabilities"
CONTRACT = "Contract liabilities"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a statement: its key, whether it is a total, and its accounts."""

    line: str
    parent: str
    is_total: bool
    weight: int
    """Its sign in its total."""
    terms: tuple[Term, ...]

    @property
    def key(self) -> Key:
        """Line and parent."""
        return self.line, self.parent


def statement_lines(statement: str, entities: Entities) -> tuple[Line, ...]:
    """The lines of a statement, or of a column of a matrix, in print order."""
    return _lines(statement, entities.parent.name)


@cache
def _lines(statement: str, company: str) -> tuple[Line, ...]:
    lines = load_layout().lines(statement.partition(":")[0], company)
    tags = tags_of(statement)
    return tuple(
        Line(
            line.line, line.parent, line.is_total, line.weight, tuple(_terms(line, statement, tags))
        )
        for line in lines
    )


def _terms(line: StatementLine, statement: str, tags: tuple[IfrsAdjustment, ...]) -> Iterator[Term]:
    for tag in tags:
        signs = dict(line.signs)
        # Under US GAAP alone, contract liabilities are part of accrued expenses.
        if statement.startswith(SHEET_MATRIX) and tag is IfrsAdjustment.NONE:
            if line.line == CONTRACT:
                signs = {}
            elif line.line == ACCRUED:
                signs["contract_liabilities"] = Side.CREDIT
        yield from ((name, tag, sign) for name, sign in signs.items())


@dataclass(frozen=True)
class ExactAmounts:
    """The group's amounts in minor units, on any day its books stand at.

    Before the day they begin they hold what they begin with: no rate of exchange is asked for.
    """

    books: GroupBooks
    begins: date = date.min

    def _at(self, day: date) -> Consolidated:
        return self.books.at(max(day, self.begins))

    def balance_sheet(self, statement: str, day: date) -> dict[Key, int]:
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
            for line in statement_lines(statement, self.books.entities)
        }

    def cash_flows(self, before: date, day: date) -> dict[str, int]:
        """The cash-flow statement by line."""
        rows = cash.cash_flows(self.books, max(before, self.begins), day).rows("")
        return {row.line: row.amount_minor for row in rows}

    def share_based_compensation(self, before: date, day: date) -> int:
        """The cost of share-based compensation over some days."""
        until, since = map(self._compensation_until, (day, max(before, self.begins)))
        return until - since

    def _compensation_until(self, day: date) -> int:
        ledger = self.books.ledger.through(to_month(day))
        rules = share_based_compensation_rules()
        chart = load_chart()
        return sum(
            minor
            for (_, tag, rule), name, minor in self.books.translated(ledger, day)
            if rule in rules
            and tag is IfrsAdjustment.NONE
            and not chart[name].kind.on_balance_sheet
        )

    @cached_property
    def currency(self) -> Currency:
        """The currency the group reports in."""
        return self.books.entities.currency


@cache
def share_based_compensation_rules() -> frozenset[int]:
    """The rules that post share-based compensation."""
    return frozenset(rule.number for rule in group_rules_of(SHARE_BASED_COMPENSATION))


def tags_of(statement: str) -> tuple[IfrsAdjustment, ...]:
    """The tags whose entries a statement holds."""
    column = statement.partition(":")[2]
    return COLUMNS[column] if column else (IfrsAdjustment.NONE,)


def cash_rules(line: str) -> list[int]:
    """The rules whose cash stands in a line of the cash-flow statement."""
    wanted = ACTIVITIES[line]
    return [rule for rule, activity in activities().items() if activity is wanted]
