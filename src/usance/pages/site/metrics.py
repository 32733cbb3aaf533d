"""The metric pack: every metric with its definition, its figures over time and its curves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

from markupsafe import Markup

from usance.base.codes import Status
from usance.base.dates import format_month, to_month
from usance.base.ids import print_id
from usance.base.periods import MetricPeriod
from usance.measure.definitions import Definition, load_definitions
from usance.measure.inputs import Inputs
from usance.measure.metrics import RESTATED, measure, metrics_table
from usance.measure.metrics import dimension_label as cohort_name
from usance.pages.charts import Figure, columns, heat, lines, spark
from usance.pages.components import (
    Cell,
    cell,
    code,
    definitions,
    number,
    section,
    table,
    table_row,
)
from usance.pages.components import (
    Row as TableRow,
)
from usance.pages.numbers import MINUS, grouped, money, percent, words
from usance.pages.site.book_view import BookView
from usance.pages.site.page import Page, Part

Row = dict[str, Any]
TABLES = {
    "loans": "Loans", "tape": "The tape, month by month", "dues": "What fell due",
    "users": "Users", "decisions": "Decisions", "requests": "Requests", "routing": "Routing",
    "postings": "Journals", "facts": "Facts", "sources": "Sources", "lines": "Lines",
}  # fmt: skip
DIVIDED = ("loans_originated", "origination_volume", "outstanding_balance")
"""Metrics that are also shown by funding model."""
_MAX_CURVES = 10


class Measured:
    """The metrics of a book, newest definition; what is not stored is measured now."""

    def __init__(self, view: BookView) -> None:
        self.view = view

    @cached_property
    def rows(self) -> list[Row]:
        """Every figure of the newest definitions."""
        stored = [row for row in self.view.book.read("metrics").to_pylist()
                  if row["series"] == RESTATED]  # fmt: skip
        periods = self.view.flow_periods
        if not periods or any(row["period"] == periods[-1].label for row in stored):
            return stored
        return [*stored, *self._measure()]

    @cached_property
    def by_model(self) -> list[Row]:
        """Some figures of the last period for each funding model."""
        return self._measure(DIVIDED, ("model",)) if self.view.flow_periods else []

    def _measure(self, names: Sequence[str] = (), by: Sequence[str] = ()) -> list[Row]:
        """Metrics of the last period, measured on the book as it is."""
        last = self.view.flow_periods[-1]
        first = last.before + timedelta(days=1)
        if last.label.startswith("until"):
            first = MetricPeriod.containing(last.day, "quarter").start
        found = measure(
            Inputs.of_book(self.view.book), names, as_of=last.day, by=by,
            period=MetricPeriod(first, last.day),
        )  # fmt: skip
        rows = metrics_table(found).to_pylist()
        return [row for row in rows if row["series"] == RESTATED]

    @cached_property
    def names(self) -> list[str]:
        """Metrics that have a figure or at least a definition, in order of the definitions."""
        there = {row["metric"] for row in self.rows}
        return [name for name in load_definitions() if name in there]

    def of(self, name: str) -> list[Row]:
        """The rows of a metric, oldest first."""
        return [row for row in self.rows if row["metric"] == name]

    def history(self, name: str) -> list[Row]:
        """Undivided figures over time, as far as there are data."""
        return [row for row in self.of(name) if not row["dimensions"] and row["denominator"]]

    def latest(self, name: str) -> Row | None:
        """The youngest undivided figure."""
        history = self.history(name)
        return history[-1] if history else None


def format_value(view: BookView, row: Row) -> str:
    """A figure as people read it."""
    if not row["denominator"]:
        return "no data"
    value, unit = row["value"], row["unit"]
    if unit == "money":
        return money(round(value), view.currency.exponent)
    if unit == "ratio":
        return percent(value)
    if row["denominator"] == 1:
        return grouped(round(value))
    return f"{value:,.2f}".replace("-", MINUS)


def metric_pages(view: BookView, measured: Measured) -> Iterator[Page]:
    """The list of the pack and a page for every metric."""
    if not measured.rows:
        text = "This book has no metrics. Close a period, or measure it: usance measure."
        yield Page.without("metrics.html", "Metrics", text)
        return
    yield _pack(view, measured)
    for name in measured.names:
        yield _metric(view, measured, name)


def _pack(view: BookView, measured: Measured) -> Page:
    known = load_definitions()
    groups: dict[str, list[str]] = {}
    for name in measured.names:
        groups.setdefault(known[name][-1].numerator.table, []).append(name)
    rows = []
    for group, names in groups.items():
        rows.append(section(TABLES.get(group, words(group).capitalize())))
        rows += [_entry(view, measured, name, known[name][-1]) for name in names]
    lead = "Every metric is a definition with a version, two whole sums, and a way to the rows."
    parts = [Part("", table(["metric", "", "", "what it is"], rows, numbers=[1]))]
    values = {"figures": vintage_charts(measured), "parts": parts}
    return Page("metrics.html", "Metrics", "sections", values, lead=lead)


def _entry(view: BookView, measured: Measured, name: str, one: Definition) -> TableRow:
    row, history = measured.latest(name), measured.history(name)
    to = f"/metrics/{name}.html"
    divided = "divided" if one.along else "no data"
    value = number(format_value(view, row) if row else divided, to=to,
                   title=f"{row['numerator']} / {row['denominator']}" if row else None)  # fmt: skip
    drawn = spark([each["value"] for each in history])
    return table_row([cell(words(name), to=to), value, cell(drawn),
               cell(one.sentence, kind="quiet")])  # fmt: skip


def vintage_charts(measured: Measured) -> list[Figure | None]:
    """Both vintage curves, as far as there are any."""
    return [_vintage(measured, name) for name in ("vintage_30", "vintage_180")]


def _vintage(measured: Measured, name: str) -> Figure | None:
    curves: dict[str, list[tuple[float, float]]] = {}
    months = [file.month for file in measured.view.book.files("tape") if file.month is not None]
    first = cohort_name("cohort", min(months, default=0) + 2)
    for row in _last(measured.of(name)):
        keys = _keys(row)
        if row["denominator"] and "cohort" in keys:
            curves.setdefault(keys["cohort"], []).append((float(keys["mob"]), row["value"]))
    # A curve goes as far as all of its quarter has come: the last two months are of a part only.
    whole = {quarter: sorted(points)[:-2] for quarter, points in sorted(curves.items())}
    there = {quarter: points for quarter, points in whole.items() if len(points) > 1}
    # Nor is one whole that began before the tape: who was late then is not known.
    known = {quarter: points for quarter, points in there.items() if quarter >= first}
    chosen = dict(list((known or there).items())[-_MAX_CURVES:])
    days = name.partition("_")[2]
    return lines(chosen, format_y=lambda y: percent(y, 1), format_x=lambda x: f"{x:.0f}",
                 caption=f"More than {days} days past due, by quarter of origination",
                 note="share of principal lent, by month on book")  # fmt: skip


def _last(rows: Sequence[Row]) -> list[Row]:
    """The rows of the youngest period."""
    latest = max((row["period"] for row in rows), default="")
    return [row for row in rows if row["period"] == latest]


def _keys(row: Row) -> dict[str, str]:
    return dict(part.split("=", 1) for part in row["dimensions"].split(",") if part)


def _metric(view: BookView, measured: Measured, name: str) -> Page:
    one = load_definitions()[name][-1]
    rows = measured.of(name)
    plain = [row for row in rows if not row["dimensions"]]
    parts = []
    if plain:
        listed = [
            table_row([cell(row["period"]), number(format_value(view, row)),
                number(grouped(row["numerator"]), minor=row["numerator"]),
                number(grouped(row["denominator"]))])
            for row in plain
        ]  # fmt: skip
        heads = ["period", "value", "numerator", "denominator"]
        parts.append(Part("", table(heads, listed, numbers=1, kind="narrow")))
    divided = _last([row for row in rows if row["dimensions"]])
    curves = _vintage(measured, name) if one.along == ("cohort", "mob") else None
    if curves:
        parts.append(Part("", curves))
    if divided:
        by = " and ".join(_keys(divided[0]))
        parts.append(Part(f"By {by}, {divided[0]['period']}", _divided(view, divided)))
    models = [row for row in measured.by_model if row["metric"] == name and row["denominator"]]
    if models:
        title = f"By funding model, {models[0]['period']}"
        parts.append(Part(title, _divided(view, models)))
    parts.append(Part("Definition", _definition(one, rows[-1])))
    if one.numerator.table in ("tape", "loans") and view.has("tape") and view.periods:
        parts.append(_sample(view))
    crumbs = (("Metrics", "/metrics.html"),)
    values = {"figures": [_trend(view, measured, name)], "parts": parts}
    path, title = f"metrics/{name}.html", words(name).capitalize()
    return Page(path, title, "sections", values, crumbs, lead=one.sentence)


def _trend(view: BookView, measured: Measured, name: str) -> Figure | None:
    history = measured.history(name)
    if len(history) < 2:  # one column says nothing
        return None
    unit = history[-1]["unit"]
    scale = 10**view.currency.exponent if unit == "money" else 1
    values = [row["value"] / scale for row in history]
    form = (lambda y: percent(y, 1)) if unit == "ratio" else _plain
    labels, note = [row["period"] for row in history], ""
    if unit == "money":
        note = view.currency.label
    return columns(labels, {words(name): values}, format_y=form, caption="Over time", note=note)


def _plain(value: float) -> str:
    return grouped(round(value)) if abs(value) >= 10 else f"{value:.2f}"


def _divided(view: BookView, rows: Sequence[Row]) -> Markup:
    """One dimension as a list, two as a grid."""
    keys = list(_keys(rows[0]))
    if len(keys) == 1:
        listed = [
            table_row([cell(words(_keys(row)[keys[0]])), number(format_value(view, row)),
                number(grouped(row["numerator"])), number(grouped(row["denominator"]))])
            for row in sorted(rows, key=lambda row: _order(_keys(row)[keys[0]]))
        ]  # fmt: skip
        return table([words(keys[0]), "value", "numerator", "denominator"], listed, numbers=1,
                     kind="narrow")  # fmt: skip
    down, across = keys[:2]
    grid = {(_keys(row)[down], _keys(row)[across]): row for row in rows}
    over = sorted({place[1] for place in grid}, key=_order)
    highest = max((row["value"] for row in rows if row["denominator"]), default=0) or 1
    listed = [
        table_row([cell(each), *(_heat(view, grid.get((each, other)), highest) for other in over)])
        for each in sorted({place[0] for place in grid}, key=_order)
    ]
    return table([f"{words(down)} \\ {words(across)}", *over], listed, numbers=1)


def _heat(view: BookView, row: Row | None, highest: float) -> Cell:
    if row is None or not row["denominator"] or math.isnan(row["value"]):
        return number("")
    return Cell(format_value(view, row), f"n {heat(row['value'] / highest)}")


def _order(text: str) -> tuple[int, float, str]:
    """Numbers by size before words by letter."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _definition(one: Definition, row: Row) -> Markup:
    over = one.denominator
    command = f"usance measure rows BOOK --metric {one.name}"
    return definitions([
        ("version", f"{one.version}, valid from {one.valid_from}"), ("unit", one.unit),
        ("numerator", f"{_part(one.numerator)}"),
        ("denominator", _part(over) if over else "none"),
        ("complete", f"{one.complete_after_days} days after its period"
         if one.complete_after_days else "at the end of its period"),
        ("snapshot", code(row["snapshot"])),
        ("rows behind it", code(command)),
    ])  # fmt: skip


def _sample(view: BookView) -> Part:
    """State of the loans of the sample at the last month end."""
    month = to_month(view.periods[-1].day)
    rows = [row for each in view.tape.values() for row in each if row["month"] == month]
    listed = []
    for row in rows:
        name = print_id("ln", row["loan_id"])
        listed.append(table_row([
            cell(name, to=f"/loans/{name}.html#tape"), number(grouped(row["dpd"])),
            number(grouped(row["bucket"])), cell(words(Status(row["status"]).label)),
            *(number(view.money(row[each]), minor=row[each])
              for each in ("principal_minor", "past_due_minor", "net30_minor")),
        ]))  # fmt: skip
    heads = ["loan", "days past due", "bucket", "status", "principal", "past due", "over 30 days"]
    note = f"Their rows of the tape at the end of {format_month(month)}."
    made = table(heads, listed, numbers=[1, 2, 4, 5, 6])
    return Part("Loans of the sample", made, note=note)


def _part(part: Any) -> str:
    amount = " + ".join(
        f"{'' if times == 1 else f'{times} × '}{' × '.join(map(str, names))}"
        for times, names in part.amount
    )
    counted = f"distinct {part.distinct}" if part.distinct else amount or "rows"
    window = {
        "to_date": "to date", "period": "of the period", "end": "at its end",
        "year_before": "of the same period a year before",
    }[part.window]  # fmt: skip
    return f"{counted} of {part.table}, {window}"
