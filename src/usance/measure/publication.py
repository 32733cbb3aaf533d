"""Results written as the `metrics` table: to a file, or to the book they were measured on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pyarrow as pa

from usance.base.book import Book
from usance.base.columns import sort
from usance.base.dates import to_month
from usance.base.parquet import write_parquet
from usance.base.tables import table
from usance.measure.metrics import Result, metrics_table


def write_metrics(results: Sequence[Result], path: Path) -> None:
    """Write results as a Parquet file of the `metrics` table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(metrics_table(results), table("metrics"), path)


def publish_metrics(results: Sequence[Result], folder: Path, as_of: date) -> None:
    """Publish results in a book under the month of their day, beside the others there."""
    book, spec, month = Book.open(folder), table("metrics"), to_month(as_of)
    new = metrics_table(results)
    with book.writing() as step:
        old = book.read(spec, month=month)
        kept = old.filter(pa.array(_others(old, new), pa.bool_()))
        step.add(spec, sort(pa.concat_tables([kept, new]), spec), month=month, instead=True)


def _others(old: pa.Table, new: pa.Table) -> list[bool]:
    """True for rows of a table whose key the other has not."""
    key = list(table("metrics").key)
    again = {tuple(row.values()) for row in new.select(key).to_pylist()}
    return [tuple(row.values()) not in again for row in old.select(key).to_pylist()]
