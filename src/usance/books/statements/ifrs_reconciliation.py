"""The reconciliation of both frameworks: every line from US GAAP through each adjustment to IFRS.

A column holds the entries of one adjustment, so the matrix is a query; each column is a small set
of books of its own, and rolls forward by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from usance.base.codes import IfrsAdjustment
from usance.base.errors import UsanceError
from usance.books.errors import ControlFailed
from usance.books.statements.consolidation import Consolidated, GroupBooks
from usance.books.statements.layout import CLAIMS, OPERATIONS_MATRIX, SHEET_MATRIX
from usance.books.statements.primary import Row, balance, balance_sheet, movement, statement_rows
from usance.books.statements.roll_forwards import equity_roll_forwards

COLUMNS: dict[str, tuple[IfrsAdjustment, ...]] = {
    "us_gaap": (IfrsAdjustment.NONE,),
    "ecl_net_of_tax": (IfrsAdjustment.ECL,),
    "effective_interest_net_of_tax": (IfrsAdjustment.EIR,),
    "share_based_compensation": (IfrsAdjustment.SBC,),
    "financial_guarantee_net_of_tax": (IfrsAdjustment.GUARANTEE,),
    "ifrs": tuple(IfrsAdjustment),
}
"""The columns in print order; the last is the sum of all."""
COLUMN_NAMES = {
    "us_gaap": "US GAAP",
    "ecl_net_of_tax": "Expected losses",
    "effective_interest_net_of_tax": "Effective interest",
    "share_based_compensation": "Share-based pay",
    "financial_guarantee_net_of_tax": "Guarantees",
    "ifrs": "IFRS",
}
"""Columns as people read them."""


def operations_matrix(start: Consolidated | None, end: Consolidated, period: str) -> list[Row]:
    """The statement of operations under both frameworks."""
    return [
        row
        for column, tags in COLUMNS.items()
        for row in statement_rows(
            OPERATIONS_MATRIX, movement(start, end, *tags), period,
            statement=f"{OPERATIONS_MATRIX}:{column}",
        )
    ]  # fmt: skip


def balance_sheet_matrix(group: Consolidated) -> list[Row]:
    """The balance sheet under both frameworks, with contract liabilities and equity by line."""
    return [
        row
        for column, tags in COLUMNS.items()
        for row in statement_rows(
            SHEET_MATRIX, balance(group, *tags), group.day.isoformat(),
            company=group.entities.parent.name, statement=f"{SHEET_MATRIX}:{column}",
        )
    ]  # fmt: skip


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
