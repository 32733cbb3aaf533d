"""What a reader of statements would stop at, found from printed lines alone.

An oracle beside the controls of a close: it knows the names of lines and nothing of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from usance.books.closed_books import ClosedBooks
from usance.books.statements.notes import ShareRow
from usance.books.statements.primary import Row

Lines = Mapping[tuple[str, str], int]
"""Amounts by line and the line above it."""
MAY_BE_BELOW = (
    "TOTAL EQUITY",
    "EQUITY",
    "Noncontrolling interests",
    "Retained",
    "Treasury",
    "comprehensive income",
)
"""Of the balance sheet: owners can lose more than they put in."""
COSTS = ("Facilitation, origination and servicing", "Funding costs", "Sales and marketing",
         "General and administrative")  # fmt: skip
UNUSED = "Losses carried forward without an asset"
HIGHEST_RATE = 0.45
"""Of income before tax; what is above would have to be explained by losses elsewhere."""


def faults(closed: ClosedBooks) -> list[str]:
    """Everything a reader would stop at in the statements of a closed period."""
    found = [*faults_of([*closed.statements(), *closed.notes()]), *_overdrawn(closed)]
    return [f"{closed.period.label}: {fault}" for fault in found]


def faults_of(rows: list[Row | ShareRow]) -> list[str]:
    """The same from the rows of the statements and notes alone."""
    return _of_statements([row for row in rows if isinstance(row, Row)])


def _of_statements(rows: list[Row]) -> list[str]:
    return [*_sheet(rows), *_operations(rows), *_cash(rows), *_matrix(rows)]


def lines_of(rows: list[Row], statement: str) -> Lines:
    return {(row.line, row.parent): row.amount_minor for row in rows if row.statement == statement}


def one(lines: Lines, name: str) -> int:
    return sum(minor for (line, _), minor in lines.items() if line == name)


def _below(lines: Lines) -> Iterator[str]:
    for (line, _), minor in lines.items():
        if minor < 0 and not any(word in line for word in MAY_BE_BELOW):
            yield f"{line} is {minor}"


def _sheet(rows: list[Row]) -> Iterator[str]:
    sheet = lines_of(rows, "balance_sheet")
    yield from _below(sheet)
    if one(sheet, "TOTAL ASSETS") != one(sheet, "TOTAL LIABILITIES") + one(sheet, "TOTAL EQUITY"):
        yield "assets are not liabilities and equity"


def _overdrawn(closed: ClosedBooks) -> Iterator[str]:
    for entity in closed.books.entities:
        cash = sum(
            minor for (owner, _), held in closed.books.at(closed.period.last_day).columns.items()
            if owner == entity.number
            for name, minor in held.items() if name in ("cash", "restricted_cash")
        )  # fmt: skip
        if cash < 0:
            yield f"cash of {entity.name} is {cash}"


def _operations(rows: list[Row]) -> Iterator[str]:
    made = lines_of(rows, "operations")
    for (line, parent), minor in made.items():
        is_revenue = parent in ("Credit driven services", "Platform services")
        if minor < 0 and (is_revenue or line in COSTS or line == "Interest income, net"):
            yield f"{line} is {minor}"
    before, tax = one(made, "Income before income tax expense"), one(made, "Income taxes expense")
    if one(made, "Net income") != before + tax:
        yield "net income is not income less tax"
    tax -= one(lines_of(rows, "tax_reconciliation"), UNUSED)  # a charge of its own, and explained
    if before > 0 and not 0 <= -tax <= HIGHEST_RATE * before:
        yield f"tax of {-tax} on a profit of {before}"
    if before < 0 and not 0 <= tax <= HIGHEST_RATE * -before:
        yield f"a benefit of {tax} from a loss of {-before}"


def _cash(rows: list[Row]) -> Iterator[str]:
    flows = lines_of(rows, "cash_flows")
    named = {line: minor for (line, _), minor in flows.items()}
    change = next(v for k, v in named.items() if k.startswith("Net (decrease) increase"))
    parts = [v for k, v in named.items() if k.startswith(("Net cash", "Effect of foreign"))]
    if sum(parts) != change:
        yield "flows are not the change in cash"
    sheet = lines_of(rows, "balance_sheet")
    held = one(sheet, "Cash and cash equivalents") + one(sheet, "Restricted cash")
    if held != next(v for k, v in named.items() if k.endswith("end of period")):
        yield "cash of the balance sheet is not that of the flows"


def _matrix(rows: list[Row]) -> Iterator[str]:
    """The IFRS column: nothing below zero, and the same cash."""
    ifrs = lines_of(rows, "ifrs_reconciliation_balance_sheet:ifrs")
    yield from (f"IFRS: {fault}" for fault in _below(ifrs))
    for line in ("Cash and cash equivalents", "Short term loans"):
        if one(ifrs, line) != one(lines_of(rows, "balance_sheet"), line):
            yield f"IFRS: {line} differs"
