"""Figures of closed periods, read from the lake: statements, metrics, and what is behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from usance.base.book import Book
from usance.base.errors import UsanceError
from usance.base.periods import MetricPeriod
from usance.books.close.closes import known_at_of
from usance.books.closed_books import ClosedBooks
from usance.books.errors import PeriodError
from usance.books.periods import ClosePeriod, parse_close_period
from usance.disclose.drill.drill import drill, release_period
from usance.disclose.errors import AddressError
from usance.measure.errors import DimensionError
from usance.measure.inputs import Inputs
from usance.measure.metrics import measure
from usance.platform.closing.month_end import LAKE, release_of_lake
from usance.platform.errors import InvalidField, NotFound
from usance.platform.reads.shapes import moment_text

US_GAAP, IFRS = "us_gaap", "ifrs"
_IFRS_STATEMENTS = "ifrs_"
"""Beginning of the names of statements that lead from one framework to the other."""


def _closed(home: Path | None, label: str) -> ClosedBooks:
    """The books of a closed period; what is not closed is not there."""
    if home is None or not (home / LAKE / "manifest.json").exists():
        raise _unknown(label)
    try:
        return ClosedBooks.of(Book.open(home / LAKE), parse_close_period(label))
    except (PeriodError, UsanceError) as error:
        raise _unknown(label) from error


def _unknown(label: str) -> NotFound:
    return NotFound(f"{label} is not closed", where="period", fix="Close it: POST /v1/closes")


def statements(home: Path | None, label: str, framework: str = US_GAAP) -> dict[str, Any]:
    """All statements of a closed period under one framework."""
    closed = _closed(home, label)
    wanted = framework == IFRS
    rows = [
        {"statement": row.statement, "line": row.line, "parent": row.parent or None,
         "period": row.period, "amount_minor": row.amount_minor, "is_total": row.is_total}
        for row in closed.statements()
        if row.statement.startswith(_IFRS_STATEMENTS) is wanted
    ]  # fmt: skip
    close = closed.closes[-1]
    return {
        "period": label, "framework": framework, "close": close.name,
        "known_at": moment_text(known_at_of(closed.book, close)), "currency": closed.currency,
        "rows": rows,
    }  # fmt: skip


def metrics(home: Path | None, label: str, name: str = "", by: str = "") -> list[dict[str, Any]]:
    """Metrics of a closed period: one or all, in all or by a dimension."""
    closed = _closed(home, label)
    period: ClosePeriod = closed.period
    try:
        found = measure(
            Inputs.of_book(closed.book), [name] if name else (), as_of=period.last_day,
            period=MetricPeriod.of(label), by=[by] if by else (),
        )  # fmt: skip
    except DimensionError as error:
        raise InvalidField(error.what, where="query.by", fix=error.fix) from error
    except UsanceError as error:
        raise InvalidField(error.what, where="query.name", fix=error.fix) from error
    return [
        {"name": each.definition.name, "version": each.definition.version, "series": each.series,
         "period": each.period, "by": dict(each.dimensions), "numerator": each.numerator,
         "denominator": each.denominator, "unit": str(each.definition.unit.value),
         "value": each.value, "snapshot": each.snapshot, "is_complete": each.complete}
        for each in found
    ]  # fmt: skip


def drilled(home: Path | None, address: str) -> dict[str, Any]:
    """Everything behind one figure of a release: accounts, journals, loans and facts."""
    try:
        period = release_period(address)
    except AddressError as error:
        raise InvalidField(error.what, where="query.address", fix=error.fix) from error
    closed = _closed(home, period.label)
    try:
        return drill(release_of_lake(closed.book, period), address).as_dict()
    except AddressError as error:
        raise NotFound(error.what, where="query.address", fix=error.fix) from error
