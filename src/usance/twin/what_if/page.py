"""The answer of a what-if as one page: curves of both sides, then every figure of the last quarter.

The page needs no other file and no network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from usance.base.dates import format_month
from usance.base.publish import replace
from usance.pages.charts import lines
from usance.pages.components import cell, number, table, tr
from usance.pages.markup import Html, joined, link, tag
from usance.pages.numbers import words
from usance.pages.site.page import STYLE
from usance.pages.site.statements import MATRICES, TITLES
from usance.twin.what_if.figures import IFRS, METRICS, PARTS, Place
from usance.twin.what_if.noise import CONFIDENCE, Difference
from usance.twin.what_if.pairs import Answer, WhatIfError
from usance.twin.what_if.table import as_csv, as_dict, cells, main_rows, shown

NAME = "what_if"
CURVES = (
    "origination_volume", "outstanding_balance", "day_1_delinquency", "collection_30",
    "delinquency_90", "first_payment_default_30",
)  # fmt: skip
HEADS = ("difference", "relative", "standard error", "")
_TITLES = {
    METRICS: "Metrics", **TITLES,
    **{f"{name}:{IFRS}": f"{title} under IFRS" for name, title in MATRICES.items()},
}  # fmt: skip


def write_files(answer: Answer, folder: Path) -> dict[str, Path]:
    """The answer as a table, as JSON and as a page, each whole or not at all."""
    told = json.dumps(as_dict(answer), indent=1) + "\n"
    content = {"csv": as_csv(answer), "json": told, "html": page_of(answer, f"{NAME}.csv")}
    files = {kind: folder / f"{NAME}.{kind}" for kind in content}
    for kind, path in files.items():
        try:
            replace(path, content[kind].encode())
        except OSError as error:
            fix = "Make it writable, and run the same command again: the runs stand"
            what = f"cannot be written: {error.strerror}"
            raise WhatIfError(what, where=str(path), fix=fix) from error
    return files


def page_of(answer: Answer, table_name: str) -> str:
    """The whole file; `table_name` is the table beside it that holds everything."""
    asked = answer.asked
    title = f"{asked.other.name} instead of {asked.base.name}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(STYLE.read_text(encoding="utf-8"))),
    )
    body = tag(
        "body",
        tag("header", tag("span", "What if", class_="name"), class_="site"),
        tag("main", tag("h1", title), *_opening(answer, table_name), _curves(answer),
            *_tables(answer)),
        tag("footer", f"{asked.base.name}: {asked.base.text} {asked.other.name}: "
            f"{asked.other.text}"),
    )  # fmt: skip
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _opening(answer: Answer, table_name: str) -> Iterator[Html]:
    asked = answer.asked
    moved = sum(each.is_beyond is True for _, each in answer.rows)
    months = f"{format_month(asked.first)} to {format_month(asked.last)}"
    lead = (
        f"{asked.pairs} pairs of runs at scale {float(asked.scale):g}, {months}. {moved:,} of "
        f"{len(answer.rows):,} figures differ beyond noise."
    )
    yield tag("p", lead, class_="lead")
    yield tag(
        "p", "Both runs of a pair share their random numbers. The standard error is that of the "
        "mean difference, from what differs between pairs; a difference is beyond noise where "
        f"the {CONFIDENCE:.0%} interval around it leaves out zero. Of figures that nothing moves, "
        f"{1 - CONFIDENCE:.0%} look moved. Differences of rates are in points. ",
        link("Every figure of every quarter", table_name), " is in the table.", class_="note",
    )  # fmt: skip


def _curves(answer: Answer) -> Html:
    """Both sides of some metrics over the quarters."""
    made = []
    for name in CURVES:
        rows = [(place, each) for place, each in answer.rows
                if (place.part, place.line, place.within) == (METRICS, name, "")]  # fmt: skip
        if len(rows) > 1:
            made.append(_curve(answer, name, rows))
    return tag("div", joined(made), class_="pair")


def _curve(answer: Answer, name: str, rows: list[tuple[Place, Difference]]) -> Html:
    labels = [place.period for place, _ in rows]
    unit = rows[0][0].unit
    series = {
        answer.asked.base.name: [(n, float(each.base)) for n, (_, each) in enumerate(rows)],
        answer.asked.other.name: [(n, float(each.other)) for n, (_, each) in enumerate(rows)],
    }
    return lines(
        series, format_y=lambda y: shown(y, unit), format_x=lambda x: labels[round(x)],
        caption=words(name).capitalize(),
    )  # fmt: skip


def _tables(answer: Answer) -> Iterator[Html]:
    """The last quarter, part by part."""
    for part in PARTS:
        rows = main_rows(answer, part)
        if rows:
            name = f"{_TITLES[part]}, {rows[-1][0].period}"
            yield tag("h2", name, id=part.replace(":", "-"))
            heads = ["", answer.asked.base.name, answer.asked.other.name, *HEADS]
            yield table(heads, (_row(*row) for row in rows), numbers=range(1, 6))


def _row(place: Place, each: Difference) -> Html:
    *figures, mark = cells(place, each)
    name = words(place.line).capitalize() if place.part == METRICS else place.line
    quiet = None if each.is_beyond else "quiet"
    return tr([cell(name), *(number(text) for text in figures), cell(mark, class_=quiet)],
              total=each.is_beyond is True)  # fmt: skip
