"""The statements of the group over its latest periods, and their reconciliation to IFRS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from usance.books.statements import cash
from usance.books.statements.ifrs_reconciliation import COLUMN_NAMES, COLUMNS
from usance.books.statements.layout import title_of
from usance.disclose.release import exact_amounts as e
from usance.disclose.release.exact_amounts import Key, statement_lines
from usance.disclose.release.figure import slug
from usance.pages.charts import Figure, columns, lines
from usance.pages.components import Row, cell, missing, number, table, table_row
from usance.pages.numbers import grouped
from usance.pages.site.book_view import BookView, Period
from usance.pages.site.page import Page, Part

PRIMARY_STATEMENTS = (e.OPERATIONS, e.SHEET, e.COMPREHENSIVE, e.CASH_FLOWS)
MATRICES = (e.OPERATIONS_MATRIX, e.SHEET_MATRIX)
NO_BOOKS = "This book has no closed period, so it has no statements. Close one: usance close."


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a statement as a page shows it."""

    statement: str
    line: str
    parent: str
    is_total: bool

    @property
    def key(self) -> Key:
        """Line and parent."""
        return self.line, self.parent

    @property
    def path(self) -> str:
        """The page of this line."""
        return f"/lines/{slug(self.statement)}-{slug(self.line)}{self._apart}.html"

    @property
    def _apart(self) -> str:
        """Two lines may share a name; their totals tell them apart."""
        return f"~{slug(self.parent)}" if self.parent else ""


def lines_in(view: BookView, statement: str) -> list[Line]:
    """The lines of a statement, or of a matrix, in print order."""
    if statement == e.CASH_FLOWS:
        period = view.periods[-1]
        rows = cash.cash_flows(view.exact.books, period.before, period.day).rows("")
        return [Line(statement, row.line, row.parent, row.is_total) for row in rows]
    first = f"{statement}:us_gaap" if statement in MATRICES else statement
    found = statement_lines(first, view.exact.books.entities)
    return [Line(statement, each.line, each.parent, each.is_total) for each in found]


def amounts_of(view: BookView, statement: str, period: Period) -> Mapping[Key, int]:
    """Every line of a statement in one period, to the minor unit."""
    place = statement, period
    if place not in view.amounts:
        view.amounts[place] = _amounts(view, statement, period)
    return view.amounts[place]


def _amounts(view: BookView, statement: str, period: Period) -> Mapping[Key, int]:
    exact = view.exact
    if statement.partition(":")[0] in (e.SHEET, e.SHEET_MATRIX):
        return exact.balance_sheet(statement, period.day)
    if statement == e.CASH_FLOWS:
        rows = cash.cash_flows(exact.books, max(period.before, exact.begins), period.day).rows("")
        return {(row.line, row.parent): row.amount_minor for row in rows}
    return exact.flow(statement, period.before, period.day)


def periods_of(view: BookView, statement: str) -> Sequence[Period]:
    """The periods a statement is shown for; balances also for an opening."""
    return view.periods if statement == e.SHEET else view.flow_periods


def covered_statements(view: BookView) -> list[str]:
    """The statements and matrices that a book has a period for."""
    if view.closed is None:
        return []
    there = [each for each in PRIMARY_STATEMENTS if periods_of(view, each)]
    return [*there, *(MATRICES if view.flow_periods else ())]


def heading(statement: str, period: Period) -> str:
    """The heading of a column: a day for balances, else a period."""
    return period.day.isoformat() if statement == e.SHEET else period.label


def statement_pages(view: BookView) -> Iterator[Page]:
    """The page of each framework."""
    if view.closed is None:
        yield Page.without("statements.html", "Statements", NO_BOOKS)
        yield Page.without("ifrs.html", "From US GAAP to IFRS", NO_BOOKS)
        return
    lead = f"US GAAP, in {view.unit_name}. Every figure leads to its accounts and journals."
    contents = [(title_of(each), f"/statements.html#{each}") for each in PRIMARY_STATEMENTS]
    parts = [_statement(view, each) for each in PRIMARY_STATEMENTS]
    values = {"contents": contents, "parts": parts}
    yield Page("statements.html", "Statements", "sections", values, lead=lead)
    yield _ifrs(view)


def _statement(view: BookView, statement: str) -> Part:
    periods = periods_of(view, statement)
    if not periods:
        text = "The book has no period in which anything moved."
        return Part(title_of(statement), missing(text), statement)
    amounts = [amounts_of(view, statement, each) for each in periods]
    rows = _rows(view, statement, amounts)
    heads = ["", *(heading(statement, each) for each in periods)]
    return Part(title_of(statement), table(heads, rows, numbers=1), statement)


def _rows(
    view: BookView, statement: str, amounts: Sequence[Mapping[Key, int]]
) -> Iterator[Row]:  # fmt: skip
    """The lines that hold anything, and every total."""
    for line in lines_in(view, statement):
        values = [each.get(line.key, 0) for each in amounts]
        if line.is_total or any(values):
            yield _row(view, line, values)


def _row(view: BookView, line: Line, values: Sequence[int]) -> Row:
    cells = [
        number(view.unit.format(value), to=line.path, minor=value, title=view.money(value))
        for value in values
    ]
    name = cell(line.line, to=line.path, depth=0 if line.is_total else 1)
    return table_row([name, *cells], total=line.is_total)


def _ifrs(view: BookView) -> Page:
    periods = view.flow_periods
    if not periods:
        return Page.without("ifrs.html", "From US GAAP to IFRS", "Nothing has moved yet.")
    period = periods[-1]
    lead = (
        f"{period.label}, in {view.unit_name}. Both frameworks are the same journals; an "
        "adjustment is what its tag posted."
    )
    values = {
        "figures": [profit_chart(view)],
        "parts": [_matrix(view, each, period) for each in MATRICES],
    }
    return Page("ifrs.html", "From US GAAP to IFRS", "sections", values, lead=lead)


def profit_chart(view: BookView) -> Figure | None:
    """Net income under both frameworks, period by period."""
    periods = view.flow_periods
    curves: dict[str, list[tuple[float, float]]] = {"US GAAP": [], "IFRS": []}
    for at, period in enumerate(periods):
        for name, column in (("US GAAP", "us_gaap"), ("IFRS", "ifrs")):
            found = amounts_of(view, f"{e.OPERATIONS_MATRIX}:{column}", period)
            minor = next(value for (line, _), value in found.items() if line == "Net income")
            curves[name].append((at, minor / view.unit.minor))
    labels = [each.label for each in periods]
    if len(periods) < 2:  # a line needs two points
        return None
    return lines(curves, format_y=lambda y: grouped(round(y)), format_x=lambda x: labels[round(x)],
                 caption="Net income under both frameworks", note=view.unit_name)  # fmt: skip


def _matrix(view: BookView, statement: str, period: Period) -> Part:
    amounts = [amounts_of(view, f"{statement}:{column}", period) for column in COLUMNS]
    rows = _rows(view, statement, amounts)
    at = period.day.isoformat() if statement == e.SHEET_MATRIX else period.label
    made = table(["", *(COLUMN_NAMES[each] for each in COLUMNS)], rows, numbers=1)
    return Part(f"{title_of(statement)}, {at}", made, statement)


def revenue_chart(view: BookView) -> Figure | None:
    """Revenue by line over the latest periods."""
    periods = view.flow_periods
    parts = ("Credit driven services", "Platform services")
    found = [amounts_of(view, e.OPERATIONS, each) for each in periods]
    series = {
        line.line + (" (platform)" if line.parent == parts[1] else ""): [
            each[line.key] / view.unit.minor for each in found
        ]
        for line in lines_in(view, e.OPERATIONS)
        if line.parent in parts and any(each[line.key] for each in found)
    }
    labels = [each.label for each in periods]
    return columns(labels, series, format_y=lambda y: grouped(round(y)), caption="Revenue",
                   note=view.unit_name)  # fmt: skip
