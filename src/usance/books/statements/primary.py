"""The balance sheet, the statement of operations and that of comprehensive income, as rows.

Amounts are in minor units of the group's currency with signs as printed: costs are positive under
their total, everything else adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from usance.base.codes import IfrsAdjustment
from usance.books.chart import load_chart
from usance.books.statements.consolidation import Consolidated
from usance.books.statements.layout import COMPREHENSIVE, EQUITY, OPERATIONS, SHEET, load_layout

ATTRIBUTABLE = "Net income attributable to ordinary shareholders of the Company"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its statement, its line, the total it belongs to, and when."""

    statement: str
    line: str
    parent: str
    period: str
    amount_minor: int
    is_total: bool = False


Amounts = Callable[[str], int]
"""The balance or the movement of an account; debit positive."""


def balance(group: Consolidated, *tags: IfrsAdjustment) -> Amounts:
    """Balances of accounts at the end of a day."""
    return lambda name: group.amount(name, *tags)


def movement(start: Consolidated | None, end: Consolidated, *tags: IfrsAdjustment) -> Amounts:
    """Movements of accounts between two days; from the beginning if there is no first one."""

    def moved(name: str) -> int:
        return end.amount(name, *tags) - (start.amount(name, *tags) if start else 0)

    return moved


def statement_rows(
    layout: str, amounts: Amounts, period: str, *, company: str = "", statement: str = ""
) -> list[Row]:
    """The rows of a statement of the layout, each the sum of its accounts with their signs."""
    held = {account.name: amounts(account.name) for account in load_chart()}
    return [
        Row(
            statement or layout, line.line, line.parent, period,
            sum(sign * held[name] for name, sign in line.signs.items()), line.is_total,
        )
        for line in load_layout().lines(layout, company)
    ]  # fmt: skip


def balance_sheet(group: Consolidated, *tags: IfrsAdjustment) -> list[Row]:
    """The balance sheet at the end of a day."""
    company = group.entities.parent.name
    return statement_rows(SHEET, balance(group, *tags), group.day.isoformat(), company=company)


def equity(amounts: Amounts) -> dict[str, int]:
    """Equity by line; accumulated income is part of retained earnings."""
    return {row.line: row.amount_minor for row in statement_rows(EQUITY, amounts, "")}


def operations(amounts: Amounts, period: str) -> list[Row]:
    """The statement of operations of a period."""
    return statement_rows(OPERATIONS, amounts, period)


def comprehensive_income(amounts: Amounts, period: str) -> list[Row]:
    """The statement of comprehensive income of a period; translation belongs to the parent."""
    return statement_rows(COMPREHENSIVE, amounts, period)
