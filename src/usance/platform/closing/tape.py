"""The lake's tape and dues: what metrics are measured on, made by replay for the months of a close.

A twin writes both as it goes; live they are written when a period is closed, from the facts that
the close knows of.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.book import Book
from usance.base.columns import arrays, sort
from usance.base.dates import first_of_month, last_of_month, to_month
from usance.base.tables import table
from usance.measure.book_tape import dues_between, tape_month
from usance.measure.positions import Portfolio

LOOK_BACK = 2
"""Months whose dues are written again: of what fell due on the 31st of January it shows on the 2nd
of March whether it was collected in 30 days."""


def write_tape(book: Book, closed: Sequence[int], known_at: datetime) -> list[int]:
    """Write tape and dues of closed months, and of those before that lack them; the months."""
    loans = sort(book.read("loans"), table("loans"))
    if not loans.num_rows:
        return []
    facts, cells = sort(book.read("facts"), table("facts")), book.read("cells")
    portfolio = Portfolio.of(loans, facts, known_at)
    there = [file.month for file in book.files("tape") if file.month is not None]
    first = _first_month(facts, ZoneInfo(book.manifest.time_zone))
    last = closed[-1]
    months = list(range(max(first, min(max(there, default=first - 1) + 1, closed[0])), last + 1))
    since = max(first, min([last, *months]) - LOOK_BACK)
    with book.writing() as step:
        for month in months:
            rows = tape_month(portfolio, month, cells)
            if rows.num_rows:
                step.add("tape", rows, month=month, instead=True)
        for month in range(since, last + 1):
            days = first_of_month(month), last_of_month(month)
            dues = _counted(dues_between(portfolio, *days, cells, last_of_month(last)))
            if dues.num_rows:
                step.add("dues", dues, month=month, instead=True)
    return months


def _counted(dues: pa.Table) -> pa.Table:
    """Rows of dues that add something."""
    amounts = [name for name in dues.column_names if name.endswith("_minor")]
    columns = arrays(dues)
    return dues.filter(pa.array(np.any([columns[name] != 0 for name in amounts], axis=0)))


def _first_month(facts: pa.Table, zone: ZoneInfo) -> int:
    """The month in which the first fact was booked: months before it were lived elsewhere."""
    return to_month(pc.min(facts["booked_at"]).as_py().astimezone(zone).date())
