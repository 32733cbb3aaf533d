"""Every figure a run tells: its metrics, and the lines of its statements, close by close."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from typing import NamedTuple

from usance.base.book import Book
from usance.base.periods import MetricPeriod
from usance.disclose.release.exact_amounts import SHEET, SHEET_MATRIX
from usance.measure.inputs import Inputs
from usance.measure.metrics import RESTATED, measure, metrics_table
from usance.pages.site.book_view import BookView, Period
from usance.pages.site.metrics import DIVIDED, Row
from usance.pages.site.statements import MATRICES, PRIMARY_STATEMENTS, amounts_of, lines_in

METRICS, MONEY = "metrics", "money"
IFRS = "ifrs"
STATEMENTS = (*PRIMARY_STATEMENTS, *(f"{name}:{IFRS}" for name in MATRICES))
PARTS = (METRICS, *STATEMENTS)
"""Parts of the answer, in order."""


class FigureKey(NamedTuple):
    """Place of a figure; `within` is a metric's dimensions, or the total a line is part of."""

    part: str
    line: str
    within: str
    period: str
    unit: str
    """`ratio`, `money` (in units of the currency), `count` or what else a metric is read in."""


def figures_of(book: Book) -> dict[FigureKey, Fraction]:
    """Every figure of the closes of a book, by its place."""
    shown = BookView(book, 0)
    flows = [each for each in shown.all_periods if each.flows]
    stored = book.read("metrics").to_pylist()
    divided = (row for period in flows for row in _divided(book, period))
    return {**dict(_measured(shown, [*stored, *divided])), **dict(_stated(shown, flows))}


def _divided(book: Book, period: Period) -> list[Row]:
    """Some metrics of a period by funding model."""
    span = MetricPeriod(period.before + timedelta(days=1), period.day)
    inputs = Inputs.of_book(book)
    found = measure(inputs, DIVIDED, as_of=period.day, by=("model",), period=span)
    return list(metrics_table(found).to_pylist())


def _measured(shown: BookView, rows: list[Row]) -> Iterator[tuple[FigureKey, Fraction]]:
    """Figures of the newest definitions, as far as there are data."""
    for row in rows:
        if row["series"] == RESTATED and row["denominator"]:
            value, unit = Fraction(row["numerator"], row["denominator"]), row["unit"]
            if unit == MONEY:
                value /= 10**shown.currency.exponent
            yield FigureKey(METRICS, row["metric"], row["dimensions"], row["period"], unit), value


def _stated(shown: BookView, flows: list[Period]) -> Iterator[tuple[FigureKey, Fraction]]:
    for statement in STATEMENTS:
        name = statement.partition(":")[0]
        is_sheet = name in (SHEET, SHEET_MATRIX)
        for period in flows:
            label = period.day.isoformat() if is_sheet else period.label
            amounts = amounts_of(shown, statement, period)
            for line in lines_in(shown, name):
                value = Fraction(amounts.get(line.key, 0), 10**shown.currency.exponent)
                yield FigureKey(statement, line.line, line.parent, label, MONEY), value
