"""The answer of a what-if as a table, as JSON, and in words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from usance.base.dates import format_month
from usance.pages.numbers import MINUS
from usance.twin.what_if.figures import METRICS, FigureKey
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
