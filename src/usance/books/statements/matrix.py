"""The reconciliation of both frameworks: every line from US GAAP through each tag to IFRS.

A column is what one tag posted, so the matrix is a query; each column is a small set of books of
its own, and rolls forward by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from usance.base.codes import IfrsAdjustment
from usance.base.errors import UsanceError
from usance.books.errors import ControlFailed
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.equity import equity_roll_forwards
from usance.books.statements.layout import OUTSIDE_LINE
from usance.books.statements.primary import (
    CLAIMS,
    Row,
    balance,
    balance_sheet,
    equity,
    movement,
    operations,
)

COLUMNS: dict[str, tuple[IfrsAdjustment, ...]] = {
    "us_gaap": (IfrsAdjustment.NONE,),
    "ecl_net_of_tax": (IfrsAdjustment.ECL,),
    "effective_interest_net_of_tax": (IfrsAdjustment.EIR,),
    "share_based_compensation": (IfrsAdjustment.SBC,),
    "financial_guarantee_net_of_tax": (IfrsAdjustment.GUARANTEE,),
    "ifrs": tuple(IfrsAdjustment),
}
"""The columns in print order; the last is the sum of all."""
_SHEET, _OPERATIONS = "ifrs_reconciliation_balance_sheet", "ifrs_reconciliation_operations"
_ACCRUED = "Accrued expenses and other current liabilities"
_CONTRACT = "Contract liabilities"
_EQUITY = {
    "Paid-in capital": "Additional paid-in capital",
    "Treasury shares": "Treasury shares",
    "Retained earnings": "Retained earnings",
    "Other comprehensive income": "Other comprehensive income",
}


def operations_matrix(start: Consolidated | None, end: Consolidated, period: str) -> list[Row]:
    """The statement of operations under both frameworks."""
    rows = []
    for column, tags in COLUMNS.items():
        statement = f"{_OPERATIONS}:{column}"
        for row in operations(movement(start, end, *tags), period, statement=statement):
            tax = row.line == "Income taxes expense"
            rows.append(replace(row, line="Income tax expense") if tax else row)
    return rows


def balance_sheet_matrix(group: Consolidated) -> list[Row]:
    """The balance sheet under both frameworks, with contract liabilities and equity by line."""
    return [row for column in COLUMNS for row in _sheet(group, column)]


def _sheet(group: Consolidated, column: str) -> Iterator[Row]:
    tags, statement = COLUMNS[column], f"{_SHEET}:{column}"
    name = f"TOTAL {group.entities.parent.name.replace(',', '').upper()} EQUITY"
    amounts = balance(group, *tags)
    contract, parts = -amounts("contract_liabilities"), equity(amounts)
    for row in balance_sheet(group, *tags, statement=statement):
        if row.line == _ACCRUED:
            yield replace(row, amount_minor=row.amount_minor - contract)
            yield replace(row, line=_CONTRACT, amount_minor=contract)
        elif row.parent == "TOTAL EQUITY" and row.line != OUTSIDE_LINE:
            for line, printed in _EQUITY.items():
                yield replace(row, line=printed, parent=name, amount_minor=parts[line])
            yield replace(row, line=name, is_total=True)
        else:
            yield row


def matrix_problems(books: GroupBooks, start: date, end: date) -> Iterator[UsanceError]:
    """Every column that does not balance or does not roll forward."""
    group = books.at(end)
    for column, tags in COLUMNS.items():
        sheet = {(row.line, row.parent): row.amount_minor for row in balance_sheet(group, *tags)}
        gap = sheet["TOTAL ASSETS", ""] - sheet[CLAIMS, ""]
        if gap:
            what = f"assets exceed liabilities and equity by {gap}"
            where = f"IFRS matrix, {column}"
            yield ControlFailed(what, where=where, fix="Find the entry behind it")
        for roll in equity_roll_forwards(books, start, end, *tags).values():
            yield from roll.problems()
