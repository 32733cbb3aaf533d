"""Changes of a period: the lines that moved most, and how the business behind them moved.

A line's driver is the one that the release explains it by; the driver's own change stands beside
the line's, so that a reader sees how much of it is volume.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from usance.disclose.release import exact_amounts as e
from usance.disclose.release.business_highlights import load_highlights
from usance.disclose.release.change_analysis import load_drivers
from usance.pages.components import Cell, Row, cell, number, table, table_row
from usance.pages.numbers import percent
from usance.pages.site.book_view import BookView, Period
from usance.pages.site.metrics import Measured
from usance.pages.site.statements import amounts_of, lines_in

MAX_LINES = 8
YEAR = 4
"""Quarters back to the same quarter of the year before."""
DIFFERING_DAYS = 4
"""Days by which periods of as many months differ at most: a February against a March, and leap."""
ALWAYS = ("Total net revenue", "Net income")


def changes_table(view: BookView, measured: Measured) -> Markup | None:
    """The lines of operations that moved most since the period before, the largest first."""
    periods = view.flow_periods
    if not view.closed or len(periods) < 2 or not is_like_before(periods):
        return None
    rows = sorted(_rows(view, measured), key=lambda each: (not each[0], -each[1]))
    heads = ["line", periods[-1].label, periods[-2].label, "change"]
    if len(periods) > YEAR:
        heads += [periods[-1 - YEAR].label, "change"]
    heads.append("its driver moved by")
    kept = [row for _, size, row in rows if size][:MAX_LINES]
    return table(heads, kept, numbers=range(1, len(heads) - 1)) if kept else None


def is_like_before(periods: Sequence[Period]) -> bool:
    """True if the last period is about as long as the one before: a month is no quarter's equal."""
    days = [(each.day - each.before).days for each in periods[-2:]]
    return len(days) > 1 and abs(days[0] - days[1]) <= DIFFERING_DAYS


def _rows(view: BookView, measured: Measured) -> Iterator[tuple[bool, int, Row]]:
    """Each line with the size of its change; totals come first."""
    periods, drivers = view.flow_periods, {(each.line, each.parent): each.driver
                                           for each in load_drivers()}  # fmt: skip
    wanted = {*drivers, *((name, "") for name in ALWAYS)}
    found = [amounts_of(view, e.OPERATIONS, each) for each in periods]
    for line in lines_in(view, e.OPERATIONS):
        known = line.key if line.key in wanted else (line.line, "")
        if known not in wanted:
            continue
        values = [each.get(line.key, 0) for each in found]
        cells = [cell(line.line, to=line.path), _amount(view, values[-1]),
                 _amount(view, values[-2]), number(growth(values[-1], values[-2]))]  # fmt: skip
        if len(periods) > YEAR:
            before = values[-1 - YEAR]
            cells += [_amount(view, before), number(growth(values[-1], before))]
        cells.append(cell(_driver(measured, drivers.get(known, ""))))
        yield line.line in ALWAYS, abs(values[-1] - values[-2]), table_row(cells)


def _amount(view: BookView, minor: int) -> Cell:
    return number(view.unit.format(minor), minor=minor)


def _driver(measured: Measured, name: str) -> str:
    """The change of a driver that is measured whole; nothing for a part of a metric."""
    highlight = next((each for each in load_highlights() if each.line == name), None)
    if highlight is None or highlight.where:
        return ""
    values = [row["value"] for row in measured.history(highlight.metric)]
    if len(values) < 2 or not values[-2]:
        return ""
    return f"{name}: {growth(values[-1], values[-2])}"


def growth(now: float, before: float) -> str:
    """A change as a share of what was before, with its sign; nothing to compare with is nothing.

    >>> growth(120, 100), growth(75, 100), growth(5, 0)
    ('+20.0 %', '−25.0 %', '')
    """
    if not before:
        return ""
    share = (now - before) / abs(before)
    return ("+" if share > 0 else "") + percent(share, 1)
