"""First page of the site: the lender, its headline figures and its charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from usance.base.codes import FundingModel
from usance.base.columns import arrays
from usance.base.dates import format_month
from usance.disclose.release import exact_amounts as e
from usance.pages.charts import Figure, columns, spark
from usance.pages.numbers import grouped, percent, words
from usance.pages.site.book_view import BookView
from usance.pages.site.changes import changes_table, growth, is_like_before
from usance.pages.site.metrics import Measured, format_value, vintage_charts
from usance.pages.site.page import Page
from usance.pages.site.statements import (
    NO_BOOKS,
    amounts_of,
    lines_in,
    profit_chart,
    revenue_chart,
)

HEADLINES = ("Total net revenue", "Net income")
METRICS = (
    "origination_volume", "outstanding_balance", "registered_users", "delinquency_90",
    "day_1_delinquency", "match_rate",
)  # fmt: skip
_MONTHS = 24
_LATE = (
    ("1 to 30 days", (1, 1)),
    ("31 to 90 days", (2, 3)),
    ("91 to 180 days", (4, 6)),
)


class Card(NamedTuple):
    """A headline figure with its latest history."""

    what: str
    value: str
    unit: str
    to: str
    minor: int
    spark: Markup
    than: str = ""
    """The change since the period before."""


def overview_page(view: BookView, measured: Measured) -> Page:
    """The first page of the site."""
    values = {
        "cards": list(_cards(view, measured)), "no_books": "" if view.closed else NO_BOOKS,
        "figures": list(_charts(view)), "vintages": vintage_charts(measured),
        "changes": changes_table(view, measured),
        "loans": len(view.loans),
    }  # fmt: skip
    return Page("index.html", view.name, "overview", values, lead=_lead(view))


def _lead(view: BookView) -> str:
    book = view.book
    counts = [
        (book.rows("users"), "users"),
        (book.rows("loans") or book.rows("refs"), "loans"),
        (book.rows("facts") or book.rows("tape"), "facts" if book.rows("facts") else "tape rows"),
    ]
    counted = ", ".join(f"{grouped(count)} {name}" for count, name in counts if count)
    until = f" Closed up to {view.periods[-1].day}." if view.periods else ""
    run = view.run
    made = f" A run of the scenario {run['scenario']}, seed {run['seed']}." if run else ""
    return f"{counted or 'An empty book'}.{until}{made}"


def _cards(view: BookView, measured: Measured) -> Iterator[Card]:
    if view.closed and view.flow_periods:
        periods, unit = view.flow_periods, view.unit
        found = [amounts_of(view, e.OPERATIONS, each) for each in periods]
        sheets = [amounts_of(view, e.SHEET, each) for each in view.periods]
        for statement, name, amounts in (
            *((e.OPERATIONS, each, found) for each in HEADLINES),
            (e.SHEET, "TOTAL ASSETS", sheets), (e.SHEET, "TOTAL EQUITY", sheets),
        ):  # fmt: skip
            line = next(each for each in lines_in(view, statement) if each.line == name)
            values = [each.get(line.key, 0) for each in amounts]
            when = periods[-1].label if statement == e.OPERATIONS else str(periods[-1].day)
            title = f"{name.capitalize() if name.isupper() else name}, {when}"
            yield Card(
                title,
                unit.format(values[-1]),
                view.unit_name,
                line.path,
                values[-1],
                spark([value / unit.minor for value in values]),
                _than(values) if statement == e.SHEET or is_like_before(periods) else "",
            )
    for name in METRICS:
        row = measured.latest(name)
        if row is not None:
            history = [each["value"] for each in measured.history(name)]
            unit_name = view.currency.label if row["unit"] == "money" else ""
            value = format_value(view, row)
            short = value.rpartition(".")[0] if row["unit"] == "money" else value
            yield Card(f"{words(name).capitalize()}, {row['period']}", short or value, unit_name,
                       f"/metrics/{name}.html", row["numerator"], spark(history),
                       _than(history))  # fmt: skip


def _than(values: Sequence[float]) -> str:
    return f"{told} on the period before" if len(values) > 1 and (
        told := growth(values[-1], values[-2])) else ""  # fmt: skip


def _charts(view: BookView) -> Iterator[Figure | None]:
    if view.has("tape"):
        yield from _of_tape(view)
    if view.closed and view.flow_periods:
        yield revenue_chart(view)
        yield profit_chart(view)


def _of_tape(view: BookView) -> Iterator[Figure | None]:
    """Unpaid principal by model, and the part of it that is late, month by month."""
    months = sorted({file.month for file in view.book.files("tape") if file.month is not None})
    models = view.model_of_cell()
    held: dict[int, list[int]] = {}
    late: list[list[int]] = [[] for _ in _LATE]
    on_book: list[int] = []
    for month in months[-_MONTHS:]:
        rows = arrays(view.book.read("tape", ["cell", "bucket", "principal_minor"], month=month))
        own = np.array([models.get(each, -1) for each in rows["cell"].tolist()], np.int64)
        active = (rows["bucket"] >= 0) & (rows["bucket"] <= 6)  # not charged off
        for model in FundingModel:
            part = rows["principal_minor"][active & (own == int(model))]
            held.setdefault(int(model), []).append(int(part.sum()))
        on_book.append(int(rows["principal_minor"][active].sum()))
        for place, (_, (first, last)) in enumerate(_LATE):
            there = (rows["bucket"] >= first) & (rows["bucket"] <= last)
            late[place].append(int(rows["principal_minor"][there].sum()))
    labels = [format_month(each) for each in months[-_MONTHS:]]
    scale = view.unit.minor
    series = {words(FundingModel(model).label): [value / scale for value in values]
              for model, values in held.items() if any(values)}  # fmt: skip
    yield columns(labels, series, format_y=lambda y: grouped(round(y)),
                  caption="Unpaid principal by funding model", note=view.unit_name)  # fmt: skip
    shares = {
        name: [part / whole if whole else 0.0 for part, whole in zip(parts, on_book, strict=True)]
        for (name, _), parts in zip(_LATE, late, strict=True)
    }
    yield columns(labels, shares, format_y=lambda y: percent(y, 1),
                  caption="Past due, by days", note="share of unpaid principal")  # fmt: skip
