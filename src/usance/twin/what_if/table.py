"""The answer of a what-if as a table, as JSON, in words, and as one page.

The page has curves of both sides, then every figure of the last quarter; it needs no other file and
no network.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from markupsafe import Markup

from usance.base.atomic_files import replace
from usance.base.dates import format_month
from usance.base.errors import FileRefused
from usance.books.statements.layout import title_of
from usance.pages.charts import Figure, lines
from usance.pages.components import Row, cell, number, table, table_row
from usance.pages.numbers import MINUS, words
from usance.pages.rendering import render
from usance.pages.site.statements import MATRICES, PRIMARY_STATEMENTS
from usance.twin.errors import WhatIfError
from usance.twin.what_if.figures import IFRS, METRICS, PARTS, FigureKey
from usance.twin.what_if.noise import CONFIDENCE, Difference
from usance.twin.what_if.pairs import WhatIfAnswer

COLUMNS = (
    "part", "line", "within", "period", "unit", "base", "other", "difference", "relative", "se",
    "reach", "pairs", "beyond_noise",
)  # fmt: skip
MARKS = {True: "beyond noise", False: "within noise", None: "one pair only"}
_LARGE = 1000


def as_dict(answer: WhatIfAnswer) -> dict[str, Any]:
    """For JSON: what was asked, how many figures moved, and every figure."""
    asked = answer.asked
    return {
        "base": asked.base.name, "other": asked.other.name, "scale": str(asked.scale),
        "from": format_month(asked.first), "to": format_month(asked.last),
        "seeds": list(asked.seeds), "confidence": CONFIDENCE, "figures": len(answer.rows),
        "beyond_noise": sum(each.is_beyond is True for _, each in answer.rows),
        "differences": [
            dict(zip(COLUMNS, row, strict=True)) for row in _values(answer)
        ],
    }  # fmt: skip


def as_csv(answer: WhatIfAnswer) -> str:
    """Every figure as a row of a table."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in _values(answer):
        writer.writerow(["" if each is None else each for each in row])
    return made.getvalue()


def main_rows(answer: WhatIfAnswer, part: str) -> list[tuple[FigureKey, Difference]]:
    """Figures of the last quarter worth a glance: undivided metrics, lines that hold anything."""
    last = answer.last_periods
    return [
        (place, each)
        for place, each in answer.rows
        if place.part == part and place.period in last
        and (not place.within if part == METRICS else each.base or each.other)
    ]  # fmt: skip


def shown(value: Fraction | float | None, unit: str, *, sign: bool = False) -> str:
    """A figure as people read it.

    >>> shown(Fraction(1, 80), "ratio"), shown(-0.002, "ratio", sign=True), shown(12345.6, "money")
    ('1.25 %', '−0.20', '12,346')
    """
    if value is None:
        return ""
    number = float(value) * (100 if unit == "ratio" else 1)
    digits = 0 if abs(number) >= _LARGE else 2
    text = f"{number:{'+' if sign else ''},.{digits}f}".replace("-", MINUS)
    return f"{text} %" if unit == "ratio" and not sign else text


def cells(place: FigureKey, each: Difference) -> list[str]:
    """Base, other, difference, relative, standard error and mark; of a ratio in points."""
    relative = "" if each.relative is None else f"{float(each.relative):+.1%}".replace("-", MINUS)
    error = shown(each.error, place.unit, sign=True).removeprefix("+")
    if not each.difference and not each.error:
        same = shown(each.base, place.unit)
        return [same, same, "0", "", "", "equal"]
    return [
        shown(each.base, place.unit), shown(each.other, place.unit),
        shown(each.difference, place.unit, sign=True), relative, error, MARKS[each.is_beyond],
    ]  # fmt: skip


def _values(answer: WhatIfAnswer) -> Iterator[list[Any]]:
    for place, each in answer.rows:
        relative = None if each.relative is None else float(each.relative)
        beyond = None if each.is_beyond is None else int(each.is_beyond)
        yield [
            *place, float(each.base), float(each.other), float(each.difference), relative,
            each.error, each.reach, each.pairs, beyond,
        ]  # fmt: skip


NAME = "what_if"
CURVES = (
    "origination_volume", "outstanding_balance", "day_1_delinquency", "collection_30",
    "delinquency_90", "first_payment_default_30",
)  # fmt: skip
HEADS = ("difference", "relative", "standard error", "")
_TITLES = {
    METRICS: "Metrics", **{name: title_of(name) for name in PRIMARY_STATEMENTS},
    **{f"{name}:{IFRS}": f"{title_of(name)} under IFRS" for name in MATRICES},
}  # fmt: skip


def write_files(answer: WhatIfAnswer, folder: Path) -> dict[str, Path]:
    """The answer as a table, as JSON and as a page, each whole or not at all."""
    told = json.dumps(as_dict(answer), indent=1) + "\n"
    content = {"csv": as_csv(answer), "json": told, "html": page_of(answer, f"{NAME}.csv")}
    files = {kind: folder / f"{NAME}.{kind}" for kind in content}
    for kind, path in files.items():
        try:
            replace(path, content[kind].encode())
        except (OSError, FileRefused) as error:
            fix = "Make it writable, and run the same command again: the runs stand"
            why = error.strerror if isinstance(error, OSError) else error.what
            what = f"cannot be written: {why}"
            raise WhatIfError(what, where=str(path), fix=fix) from error
    return files


def page_of(answer: WhatIfAnswer, table_name: str) -> str:
    """The whole file; `table_name` is the table beside it that holds everything."""
    asked = answer.asked
    return render(
        "reports/what_if.html.j2", title=f"{asked.other.name} instead of {asked.base.name}",
        asked=asked, months=f"{format_month(asked.first)} to {format_month(asked.last)}",
        scale=f"{float(asked.scale):g}", count=f"{len(answer.rows):,}",
        moved=f"{sum(each.is_beyond is True for _, each in answer.rows):,}",
        confidence=CONFIDENCE, table_name=table_name, figures=_curves(answer),
        parts=list(_tables(answer)),
    )  # fmt: skip


def _curves(answer: WhatIfAnswer) -> list[Figure | None]:
    """Both sides of some metrics over the quarters."""
    made = []
    for name in CURVES:
        rows = [(place, each) for place, each in answer.rows
                if (place.part, place.line, place.within) == (METRICS, name, "")]  # fmt: skip
        if len(rows) > 1:
            made.append(_curve(answer, name, rows))
    return made


def _curve(
    answer: WhatIfAnswer, name: str, rows: list[tuple[FigureKey, Difference]]
) -> Figure | None:
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


def _tables(answer: WhatIfAnswer) -> Iterator[tuple[str, str, Markup]]:
    """The last quarter, part by part."""
    for part in PARTS:
        rows = main_rows(answer, part)
        if rows:
            name = f"{_TITLES[part]}, {rows[-1][0].period}"
            heads = ["", answer.asked.base.name, answer.asked.other.name, *HEADS]
            made = table(heads, [_row(*row) for row in rows], numbers=range(1, 6))
            yield name, part.replace(":", "-"), made


def _row(place: FigureKey, each: Difference) -> Row:
    *figures, mark = cells(place, each)
    name = words(place.line).capitalize() if place.part == METRICS else place.line
    quiet = "" if each.is_beyond else "quiet"
    row = [cell(name), *(number(text) for text in figures), cell(mark, kind=quiet)]
    return table_row(row, total=each.is_beyond is True)
