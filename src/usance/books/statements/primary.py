"""The balance sheet, the statement of operations and that of comprehensive income, as rows.

Amounts are in minor units of the group's currency with signs as printed: costs are positive under
their total, everything else adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from usance.base.codes import IfrsAdjustment
from usance.books.chart import AccountKind, Chart, load_chart
from usance.books.statements.consolidation import Consolidated
from usance.books.statements.layout import OUTSIDE_LINE, accounts_of, is_profit, load_layout

ATTRIBUTABLE = "Net income attributable to ordinary shareholders of the Company"
CLAIMS = "TOTAL LIABILITIES AND EQUITY"
_COSTS = "Total operating costs and expenses"
_BEFORE_TAX = "Income before income tax expense"


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
"""What an account holds, or what moved on it; debit positive."""


def balance(group: Consolidated, *tags: IfrsAdjustment) -> Amounts:
    """What accounts hold at the end of a day."""
    return lambda name: group.amount(name, *tags)


def movement(start: Consolidated | None, end: Consolidated, *tags: IfrsAdjustment) -> Amounts:
    """What moved on accounts between two days; from the beginning if there is no first one."""

    def moved(name: str) -> int:
        return end.amount(name, *tags) - (start.amount(name, *tags) if start else 0)

    return moved


def balance_sheet(
    group: Consolidated, *tags: IfrsAdjustment, statement: str = "balance_sheet"
) -> list[Row]:  # fmt: skip
    """The balance sheet at the end of a day."""
    sheet = _Sheet(statement, group.day.isoformat(), balance(group, *tags))
    own = equity_name(group.entities.parent.name)
    for total, lines in load_layout().balance_sheet.items():
        side = "TOTAL LIABILITIES" if "liabilities" in total else "TOTAL ASSETS"
        sheet.section(total, lines, side, 1 if side == "TOTAL ASSETS" else -1)
    sheet.total("TOTAL ASSETS", "")
    sheet.total("TOTAL LIABILITIES", CLAIMS)
    parts = equity(balance(group, *tags))
    sheet.row(own, "TOTAL EQUITY", sum(parts[line] for line in load_layout().equity))
    sheet.row(OUTSIDE_LINE, "TOTAL EQUITY", parts[OUTSIDE_LINE])
    sheet.total("TOTAL EQUITY", CLAIMS)
    sheet.total(CLAIMS, "")
    return sheet.rows


def equity(amounts: Amounts) -> dict[str, int]:
    """Equity by line; what was ever earned is part of retained earnings."""
    chart = load_chart()
    lines = (*load_layout().equity, OUTSIDE_LINE)
    found = dict.fromkeys(lines, 0)
    for account in chart:
        if account.kind is AccountKind.EQUITY and not account.within_group:
            found[account.line] -= amounts(account.name)
        elif is_profit(account):
            found["Retained earnings"] -= amounts(account.name)
    return found


def operations(amounts: Amounts, period: str, *, statement: str = "operations") -> list[Row]:
    """The statement of operations of a period."""
    layout, sheet = load_layout(), _Sheet(statement, period, amounts)
    for total in ("Credit driven services", "Platform services"):
        sheet.section(total, layout.operations[total], "Total net revenue", -1)
    sheet.total("Total net revenue", "Income from operations")
    sheet.section(_COSTS, layout.operations[_COSTS], "Income from operations", 1)
    sheet.sums["Income from operations"] -= 2 * sheet.sums[_COSTS]
    sheet.total("Income from operations", _BEFORE_TAX)
    steps = ((_BEFORE_TAX, "Net income"), ("Net income", ATTRIBUTABLE), (ATTRIBUTABLE, ""))
    for total, parent in steps:
        sheet.section(total, layout.operations[total], parent, -1)
    return sheet.rows


def comprehensive_income(amounts: Amounts, period: str) -> list[Row]:
    """The statement of comprehensive income of a period; translation belongs to the parent."""
    sheet = _Sheet("comprehensive_income", period, amounts)
    total, other = "Total comprehensive income", "Other comprehensive income (loss)"
    attributable = "Comprehensive income attributable to ordinary shareholders"
    result = {row.line: row.amount_minor for row in operations(amounts, period)}
    sheet.row("Net income", total, result["Net income"])
    translated = -amounts("other_comprehensive")
    sheet.row("Foreign currency translation adjustment", other, translated)
    sheet.total(other, total)
    sheet.total(total, attributable)
    outside = result["Net loss attributable to noncontrolling interests"]
    sheet.row(
        "Comprehensive loss attributable to noncontrolling interests", attributable, outside
    )  # fmt: skip
    sheet.total(attributable, "")
    return sheet.rows


def equity_name(name: str) -> str:
    """What the equity of the parent's shareholders is called on the balance sheet."""
    plain = name.replace(",", "").replace(".", "")
    return f"TOTAL {plain.upper()} EQUITY"


class _Sheet:
    """Rows in print order; each adds to the total it belongs to."""

    def __init__(self, statement: str, period: str, amounts: Amounts) -> None:
        self.statement, self.period, self.amounts = statement, period, amounts
        self.rows: list[Row] = []
        self.sums: dict[str, int] = {}
        self.chart: Chart = load_chart()

    def row(self, line: str, parent: str, minor: int, *, is_total: bool = False) -> None:
        self.rows.append(Row(self.statement, line, parent, self.period, minor, is_total))
        self.sums[parent] = self.sums.get(parent, 0) + minor

    def total(self, line: str, parent: str) -> None:
        self.row(line, parent, self.sums.get(line, 0), is_total=True)

    def section(self, total: str, lines: Iterable[str], parent: str, sign: int) -> None:
        for line in lines:
            accounts = accounts_of(self.chart, line, total)
            minor = sign * sum(self.amounts(account.name) for account in accounts)
            self.row(load_layout().name(line), total, minor)
        self.total(total, parent)
