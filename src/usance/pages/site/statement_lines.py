"""A page for every line of a statement: its total, its parts, and the accounts it is the sum of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any

import numpy as np
from markupsafe import Markup

from usance.base.codes import IfrsAdjustment
from usance.books.statements import cash
from usance.books.statements.ifrs_reconciliation import COLUMN_NAMES, COLUMNS
from usance.books.statements.layout import title_of
from usance.disclose.release import exact_amounts as e
from usance.disclose.release.exact_amounts import Term, cash_rules, statement_lines
from usance.pages.charts import Figure, columns
from usance.pages.components import Row, cell, number, table, table_row
from usance.pages.numbers import grouped, words
from usance.pages.site.book_view import BookView, Period
from usance.pages.site.journals import journal_path
from usance.pages.site.page import Page
from usance.pages.site.statements import (
    MATRICES,
    Line,
    amounts_of,
    covered_statements,
    heading,
    lines_in,
    periods_of,
)

Amount = Callable[[str, IfrsAdjustment, Period], int]


def statement_line_pages(view: BookView) -> Iterator[Page]:
    """Every line of every statement."""
    for statement in covered_statements(view):
        everything = lines_in(view, statement)
        make = _matrix_line if statement in MATRICES else _line
        for line in everything:
            yield make(view, line, everything)


def _line(view: BookView, line: Line, everything: Sequence[Line]) -> Page:
    periods = periods_of(view, line.statement)
    amounts = [amounts_of(view, line.statement, each).get(line.key, 0) for each in periods]
    title = f"{title_of(line.statement)}, US GAAP, in {view.currency.label}."
    values = {
        "figures": [_chart(view, line, periods, amounts)],
        **_family(line, everything), "accounts": _accounts(view, line, periods, amounts),
    }  # fmt: skip
    crumbs = (("Statements", "/statements.html"),
              (title_of(line.statement), f"/statements.html#{line.statement}"))  # fmt: skip
    return Page(line.path.lstrip("/"), line.line, "statement_line", values, crumbs, lead=title)


def _chart(
    view: BookView, line: Line, periods: Sequence[Period], values: Sequence[int]
) -> Figure | None:
    if not any(values) or len(values) < 2:  # one column says nothing
        return None
    labels = [heading(line.statement, each) for each in periods]
    series = {line.line: [value / view.unit.minor for value in values]}
    return columns(labels, series, format_y=lambda y: grouped(round(y)), caption="Over time",
                   note=view.unit_name)  # fmt: skip


def _family(line: Line, everything: Sequence[Line]) -> dict[str, list[tuple[str, str]]]:
    """The total it belongs to, and the lines it totals."""
    above = [each for each in everything if each.line == line.parent]
    parts = [each for each in everything if each.parent == line.line and line.is_total]
    return {"part_of": [(each.line, each.path) for each in above],
            "made_of": [(each.line, each.path) for each in parts]}  # fmt: skip


def _accounts(
    view: BookView, line: Line, periods: Sequence[Period], values: Sequence[int]
) -> Markup:
    if line.statement == e.CASH_FLOWS:
        return _cash(view, line, periods, values)
    is_sheet = line.statement == e.SHEET
    terms = next(each.terms for each in statement_lines(line.statement, view.exact.books.entities)
                 if each.key == line.key)  # fmt: skip
    amount = _held(view) if is_sheet else _moved(view)
    rows = _term_rows(view, terms, periods, amount)
    heads = ["account", "", *(heading(line.statement, each) for each in periods)]
    return table(heads, [*rows, _total(view, line.line, values)], numbers=2)


def _term_rows(
    view: BookView, terms: Sequence[Term], periods: Sequence[Period], amount: Amount
) -> Iterator[Row]:
    for name, which, sign in terms:
        values = [sign * amount(name, which, each) for each in periods]
        if any(values):
            account = view.chart[name]
            cells = [
                number(view.money(value), to=f"/accounts/{name}.html#{_anchor(which)}",
                       minor=value)
                for value in values
            ]  # fmt: skip
            to = f"/accounts/{name}.html"
            yield table_row([cell(f"{account.number} {words(name)}", to=to),
                      cell(tag_words(which), kind="quiet"), *cells])  # fmt: skip


def _total(view: BookView, name: str, values: Sequence[int], blank: int = 1) -> Row:
    cells = [number(view.money(value), minor=value) for value in values]
    return table_row([cell(name), *[cell("")] * blank, *cells], total=True)


def _at(view: BookView, name: str, which: IfrsAdjustment, day: date) -> int:
    return view.exact.books.at(max(day, view.exact.begins)).amount(name, which)


def _held(view: BookView) -> Amount:
    return lambda name, which, period: _at(view, name, which, period.day)


def _moved(view: BookView) -> Amount:
    return lambda name, which, period: (
        _at(view, name, which, period.day) - _at(view, name, which, period.before)
    )


def _cash(view: BookView, line: Line, periods: Sequence[Period], values: Sequence[int]) -> Markup:
    """Cash by the rules that moved it; opening and closing cash by account."""
    if line.line in (cash.OPENING_CASH, cash.CLOSING_CASH, cash.CHANGE, cash.EFFECT):
        return _cash_accounts(view, line, periods, values)
    wanted = np.isin(view.postings["rule"], cash_rules(line.line))
    numbers = [account.number for account in view.chart if account.is_cash]
    wanted &= np.isin(view.postings["account"], numbers) & (view.postings["tag"] == 0)
    rows, explained = [], [0] * len(periods)
    for rule in np.unique(view.postings["rule"][wanted]).tolist():
        cells = []
        for place, period in enumerate(periods):
            own = wanted & (view.postings["rule"] == rule)
            own &= view.postings["period"] == period.close.month
            minor = int(view.postings["amount_minor"][own].sum())
            explained[place] += minor
            to = journal_path(period.close, rule) if own.any() else None
            cells.append(number(view.money(minor), to=to, minor=minor))
        name = words(view.amount_of_rule.get(rule, ""))
        rows.append(table_row([cell(f"rule {rule}"), cell(name), *cells]))
    rest = [value - known for value, known in zip(values, explained, strict=True)]
    if any(rest):
        cells = [number(view.money(each), minor=each) for each in rest]
        rows.append(table_row([cell("translation"), cell("what rates of exchange add"), *cells]))
    heads = ["", "what moved", *(each.label for each in periods)]
    return table(heads, [*rows, _total(view, line.line, values)], numbers=2)


def _cash_accounts(
    view: BookView, line: Line, periods: Sequence[Period], values: Sequence[int]
) -> Markup:
    amounts: dict[str, Amount] = {
        cash.OPENING_CASH: lambda name, which, each: _at(view, name, which, each.before),
        cash.CLOSING_CASH: _held(view),
        cash.CHANGE: _moved(view),
        cash.EFFECT: lambda *_: 0,
    }
    terms = [(account.name, IfrsAdjustment.NONE, 1) for account in view.chart if account.is_cash]
    rows = _term_rows(view, terms, periods, amounts[line.line])
    heads = ["account", "", *(each.label for each in periods)]
    return table(heads, [*rows, _total(view, line.line, values)], numbers=2)


def _matrix_line(view: BookView, line: Line, everything: Sequence[Line]) -> Page:
    """A line under both frameworks: accounts down, reasons of adjustment across."""
    period = view.flow_periods[-1]
    is_sheet = line.statement == e.SHEET_MATRIX
    amount = _held(view) if is_sheet else _moved(view)
    found: dict[str, list[int]] = {}
    for place, column in enumerate(COLUMNS):
        each_line = next(each for each in
                         statement_lines(f"{line.statement}:{column}", view.exact.books.entities)
                         if each.key == line.key)  # fmt: skip
        for name, which, sign in each_line.terms:
            cells = found.setdefault(name, [0] * len(COLUMNS))
            cells[place] += sign * amount(name, which, period)
    totals = [amounts_of(view, f"{line.statement}:{column}", period).get(line.key, 0)
              for column in COLUMNS]  # fmt: skip
    rows = [
        table_row([cell(f"{view.chart[name].number} {words(name)}", to=f"/accounts/{name}.html"),
            *(number(view.money(value), minor=value, to=_account_at(name, column))
              for value, column in zip(values, COLUMNS, strict=True))])
        for name, values in found.items()
        if any(values)
    ]  # fmt: skip
    at = period.day.isoformat() if is_sheet else period.label
    made = table(["account", *(COLUMN_NAMES[each] for each in COLUMNS)],
                 [*rows, _total(view, line.line, totals, blank=0)], numbers=1)  # fmt: skip
    lead = f"{title_of(line.statement)} under both frameworks, {at}, in {view.currency.label}."
    family: dict[str, Any] = {"figures": [], **_family(line, everything), "accounts": made}
    crumbs = (("IFRS", "/ifrs.html"),)
    return Page(line.path.lstrip("/"), line.line, "statement_line", family, crumbs, lead=lead)


def _account_at(name: str, column: str) -> str:
    tags = COLUMNS[column]
    anchor = f"#{_anchor(tags[0])}" if len(tags) == 1 else ""
    return f"/accounts/{name}.html{anchor}"


def _anchor(which: IfrsAdjustment) -> str:
    return f"tag-{which.label}"


def tag_words(which: IfrsAdjustment) -> str:
    """Under which heading of the matrix entries of a tag stand."""
    column = next(name for name, tags in COLUMNS.items() if tags == (which,))
    return COLUMN_NAMES[column]
