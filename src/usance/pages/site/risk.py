"""Risk of the book: rolls from bucket to bucket, lateness by segment, early indicators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from markupsafe import Markup

from usance.base.arrays import I64
from usance.base.codes import FundingModel, Product
from usance.base.columns import arrays
from usance.base.dates import format_month
from usance.pages.charts import Figure, heat_map, spark
from usance.pages.components import cell, missing, number, table, table_row
from usance.pages.numbers import grouped, percent, words
from usance.pages.site.book_view import BookView
from usance.pages.site.metrics import Measured, format_value, vintage_charts
from usance.pages.site.page import Page, Part

NO_TAPE = "This book has no tape, so it does not say how loans rolled from month to month."
EARLY = ("day_1_delinquency", "first_payment_default_7", "first_payment_default_30",
         "collection_30", "c_m2", "score_stability", "mean_score", "approval_rate")  # fmt: skip
"""Metrics that move before losses do."""
BUCKETS = ("current", "1-30", "31-60", "61-90", "91-120", "121-150", "151-180", "over 180")
_LATE, _LATE_90 = 1, 4
"""First buckets of loans that are late at all, and by more than 90 days."""
_CLOSED = "closed"


class Tape:
    """The last month of a book's tape as columns, with the dimensions of each row's cell."""

    def __init__(self, view: BookView, month: int) -> None:
        self.view, self.month = view, month

    @cached_property
    def rows(self) -> Mapping[str, I64]:
        """Rows of the month."""
        names = ["cell", "bucket", "bucket_prev", "principal_minor"]
        found = arrays(self.view.book.read("tape", names, month=self.month))
        return {name: values.astype(np.int64) for name, values in found.items()}

    @cached_property
    def cells(self) -> Mapping[int, Mapping[str, str]]:
        """Names of a cell's dimensions."""
        return {
            row["cell"]: {"funding model": words(FundingModel(row["model"]).label),
                          "product": words(Product(row["product"]).label),
                          "source": f"source {row['source']}"}
            for row in self.view.book.read("cells").to_pylist()
        }  # fmt: skip

    def rolls(self) -> Figure | None:
        """Share of the loans of each bucket that stood in each other a month later."""
        before, after = self.rows["bucket_prev"], self.rows["bucket"]
        values: dict[tuple[str, str], float] = {}
        for start, name in enumerate(BUCKETS[:-1]):
            there = before == start
            whole = int(there.sum())
            for end, other in enumerate((*BUCKETS, _CLOSED)):
                stands = after == (end if other != _CLOSED else -1)
                count = int((there & stands).sum())
                if whole and count:
                    values[name, other] = count / whole
        across = [each for each in (*BUCKETS, _CLOSED) if any(b == each for _, b in values)]
        down = [each for each in BUCKETS[:-1] if any(a == each for a, _ in values)]
        note = f"share of loans, over {format_month(self.month)}, days past due"
        return heat_map(down, across, values, format_value=lambda share: percent(share, 1),
                        caption="Rolls from bucket to bucket", note=note)  # fmt: skip

    def segments(self) -> Iterator[Part]:
        """Unpaid principal and its late part, by each dimension of cells."""
        rows, cells = self.rows, self.cells
        there = (rows["bucket"] >= 0) & (rows["principal_minor"] > 0) & (rows["bucket"] < 7)
        owed, bucket, number_of = (rows[name][there] for name in
                                   ("principal_minor", "bucket", "cell"))  # fmt: skip
        for dimension in ("product", "funding model", "source"):
            sums: dict[str, list[int]] = {}
            for each in np.unique(number_of).tolist():
                named, own = cells.get(each), number_of == each
                if named is None:
                    continue
                held = sums.setdefault(named[dimension], [0, 0, 0, 0])
                held[0] += int(own.sum())
                held[1] += int(owed[own].sum())
                held[2] += int(owed[own & (bucket >= _LATE)].sum())
                held[3] += int(owed[own & (bucket >= _LATE_90)].sum())
            if sums:
                yield Part(f"Late by {dimension}", self._segments(dimension, sums))

    def _segments(self, dimension: str, sums: Mapping[str, list[int]]) -> Markup:
        money = self.view.money
        made = [
            table_row([cell(name), number(grouped(loans)), number(money(owed), minor=owed),
                       number(percent(late / owed)), number(percent(later / owed))])
            for name, (loans, owed, late, later) in sorted(sums.items(), key=lambda e: -e[1][1])
        ]  # fmt: skip
        return table([dimension, "loans", "unpaid principal", "late", "late by more than 90 days"],
                     made, numbers=1)  # fmt: skip


def risk_page(view: BookView, measured: Measured) -> Page:
    """The page of risk."""
    months = [file.month for file in view.book.files("tape") if file.month is not None]
    parts = [Part("Early indicators", _early(view, measured))]
    figures: list[Figure | None] = list(vintage_charts(measured)) if measured.rows else []
    if months:
        tape = Tape(view, max(months))
        figures.append(tape.rolls())
        parts += tape.segments()
    else:
        parts.append(Part("Rolls", missing(NO_TAPE)))
    lead = "Curves of each quarter's loans, rolls of the last month, and what moves before losses."
    return Page("risk.html", "Risk", "sections", {"figures": figures, "parts": parts}, lead=lead)


def _early(view: BookView, measured: Measured) -> Markup:
    """Early indicators with their latest figure, the one before, and their history."""
    rows = []
    for name in EARLY:
        history = measured.history(name)
        if history:
            before = format_value(view, history[-2]) if len(history) > 1 else ""
            rows.append(table_row([
                cell(words(name), to=f"/metrics/{name}.html"), cell(history[-1]["period"]),
                number(format_value(view, history[-1])), number(before),
                cell(spark([each["value"] for each in history])),
            ]))  # fmt: skip
    if not rows:
        return missing("No early indicator is measured yet.")
    return table(["indicator", "period", "now", "before", ""], rows, numbers=[2, 3])
