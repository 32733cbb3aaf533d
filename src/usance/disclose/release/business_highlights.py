"""Business highlights: metrics of the book, with those of a year ago, and its vintage curves.

To print a metric, add a line to `data/highlights.yaml`. A curve has a column for each
origination quarter and a row for each month on book; the column stands in the statement after a
colon, as those of a matrix do: `vintage_30:2024Q1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.documents import read_document
from usance.disclose.facts import NO_CURRENCY, UNITS
from usance.disclose.periods import Period
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.metrics import BookMetrics, Measurement, Segments, parse_segments
from usance.disclose.ties import round_to

if TYPE_CHECKING:
    from usance.disclose.profile import Profile
    from usance.disclose.release.release import Release
    from usance.measure.metrics import Result

BUSINESS_HIGHLIGHTS = "business_highlights"
INCOMPLETE = " (incomplete)"
"""Ends the line of a figure that can still change."""
NO_DATA = "no data"
MAX_QUARTERS = 12
"""Quarters that can be told apart in one chart and stand side by side on one page."""
MONTH = "Month on book {}"
TEN_MILLION = 10_000_000
"""From here on counts, and amounts of dividends and repurchases, are printed in millions."""
_FILE = Path(__file__).resolve().parents[1] / "data" / "highlights.yaml"


@dataclass(frozen=True, slots=True)
class Highlight:
    """A line of the highlights and its metric."""

    line: str
    metric: str
    unit: str
    parent: str = ""
    where: Segments = ()
    decimals: int = 0
    share: bool = False
    change: bool = False


@cache
def load_highlights() -> tuple[Highlight, ...]:
    """The lines in print order.

    >>> [each.metric for each in load_highlights()][:2]
    ['institutions', 'registered_users']
    """
    rows: list[dict[str, Any]] = read_document(_FILE)["highlights"]
    return tuple(
        Highlight(**{**row, "where": parse_segments(row.get("where", {}))}) for row in rows
    )


@cache
def load_vintages() -> Mapping[str, str]:
    """Statements of vintage curves, each with its metric."""
    found: dict[str, str] = read_document(_FILE)["vintages"]
    return found


def wanted_metrics() -> tuple[tuple[str, str], ...]:
    """Every metric a release asks for, with the dimension it is divided by."""
    listed = [(each.metric, each.where[0][0] if each.where else "") for each in load_highlights()]
    return tuple(dict.fromkeys((*listed, *((name, "") for name in load_vintages().values()))))


class BusinessHighlights:
    """The highlights of one release."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.metrics = release.metrics
        self.periods = (release.periods.current, release.periods.year_ago)

    def figures(self) -> Iterator[Figure]:
        """Every line: this period, its share and change, and a year ago."""
        for each in load_highlights():
            yield from self._line(each)

    def definitions(self) -> dict[str, str]:
        """The sentence that defines each line, where a metric is printed whole."""
        now = self.periods[0]
        return {
            each.line: self.metrics.at(each.metric, now).results[0].definition.sentence
            for each in load_highlights()
            if not each.where
        }

    def at(self, line: str, parent: str, period: Period) -> Measurement | None:
        """The measurement behind a printed line."""
        name = line.removesuffix(INCOMPLETE)
        for each in load_highlights():
            if (each.line, each.parent) == (name, parent):
                return self.metrics.at(each.metric, period, each.where)
        return None

    def _line(self, each: Highlight) -> Iterator[Figure]:
        now, then = (self.metrics.at(each.metric, period, each.where) for period in self.periods)
        names = [self._period(each, period) for period in self.periods]
        whole = self.metrics.at(each.metric, self.periods[0])
        if whole.value is None:
            if not each.where:
                place = each.line, each.parent, names[0]
                yield Figure(BUSINESS_HIGHLIGHTS, *place, NO_CURRENCY, "text", NO_DATA)
            return
        # What can still change is not set beside what cannot.
        is_comparable = now.is_complete and self._is_seen(each, self.periods[1])
        before = then.value if is_comparable else None
        values = [now.value or Fraction(0), *([before] if before is not None else [])]
        unit = self._unit(each, [value for one in _tree_of(each) for value in self._values(one)])
        line = each.line if now.is_complete else f"{each.line}{INCOMPLETE}"
        yield self._figure(each, line, names[0], values[0], unit)
        yield from self._share(each, names[0], values[0])
        if len(values) > 1:
            if each.change and values[1]:
                change = 100 * (values[0] / values[1] - 1)
                yield self._percent(f"{each.line} - change vs {names[1]}", each.line, names[0],
                                    change)  # fmt: skip
            yield self._figure(each, each.line, names[1], values[1], unit)

    def _share(self, each: Highlight, period: str, value: Fraction) -> Iterator[Figure]:
        whole = self.metrics.at(each.metric, self.periods[0]).value
        if each.share and whole:
            line = f"{each.line} - share of total"
            yield self._percent(line, each.parent, period, 100 * value / whole)

    def _percent(self, line: str, parent: str, period: str, value: Fraction) -> Figure:
        shown = format_steps(self._steps(value, 1), 1)
        return Figure(BUSINESS_HIGHLIGHTS, line, parent, period, NO_CURRENCY, "percent", shown)

    def _figure(
        self, each: Highlight, line: str, period: str, value: Fraction, unit: tuple[str, int]
    ) -> Figure:
        name, decimals = unit
        base = value * 100 if each.unit == "percent" else value / self._minor(each)
        shown = format_steps(self._steps(base / UNITS[name], decimals), decimals)
        currency = self.release.profile.reporting if each.unit == "money" else NO_CURRENCY
        return Figure(BUSINESS_HIGHLIGHTS, line, each.parent, period, currency, name, shown)

    def _values(self, each: Highlight) -> list[Fraction]:
        """The figures of a line in both periods, as far as they are told."""
        seen = (period for period in self.periods if self._is_seen(each, period))
        found = (self.metrics.at(each.metric, period, each.where) for period in seen)
        return [measured.value for measured in found if measured.value]

    def _is_seen(self, each: Highlight, period: Period) -> bool:
        """False of what was before the opening of books: only what was left of it is known."""
        closed = self.release.closed
        if not closed.has_opening_balances:
            return True
        (result, *_) = self.metrics.at(each.metric, period, each.where).results
        is_flow = result.definition.numerator.window == "period"
        return period.start > closed.opening if is_flow else period.end >= closed.opening

    def _unit(self, each: Highlight, values: list[Fraction]) -> tuple[str, int]:
        """The unit of a line and those it is summed with: by the sum, and nothing becomes zero."""
        if each.unit == "money":
            return self._unit_of_money([value / self._minor(each) for value in values])
        if each.unit == "persons":
            large = max(values, default=Fraction(0)) >= TEN_MILLION
            return ("million_persons", 1) if large else ("persons", 0)
        return each.unit, each.decimals

    def _unit_of_money(self, amounts: list[Fraction]) -> tuple[str, int]:
        """The largest unit in which a change can be seen: no amount has less than three digits.

        Beside amounts of thousands of it a small one may have fewer, but not none.
        """
        least, largest = min(amounts, default=Fraction(0)), max(amounts, default=Fraction(0))
        for name in ("million", "thousand"):
            decimals = self.release.profile.rounding.text_decimals.get(name, 1)
            is_seen = least * 2 * 10**decimals >= UNITS[name]
            if least >= 10 * UNITS[name] or (largest >= 1000 * UNITS[name] and is_seen):
                return name, decimals
        return "unit", self.release.closed.books.entities.currency.exponent

    def _minor(self, each: Highlight) -> int:
        """Smallest units in one unit of a line."""
        return 10**self.release.closed.books.entities.currency.exponent if (
            each.unit == "money"
        ) else 1  # fmt: skip

    def _steps(self, value: Fraction, decimals: int) -> int:
        step = Fraction(1, 10**decimals)
        return int(round_to(value, step, self.release.profile.rounding.method) / step)

    def _period(self, each: Highlight, period: Period) -> str:
        """Figures of a period carry its name, balances and totals to date their day."""
        (result, *_) = self.metrics.at(each.metric, period, each.where).results
        is_flow = result.definition.numerator.window == "period"
        return period.written if is_flow else period.end.isoformat()


@cache
def _tree_of(each: Highlight) -> tuple[Highlight, ...]:
    """A line with those that it is summed with: they are told in one unit."""
    parents = {one.line: one.parent for one in load_highlights()}

    def top(line: str) -> str:
        while parents.get(line):
            line = parents[line]
        return line

    return tuple(one for one in load_highlights() if top(one.line) == top(each.line))


def vintage_figures(measured: BookMetrics, profile: Profile, period: Period) -> Iterator[Figure]:
    """The curves of the youngest quarters, as far as each is known in full."""
    for statement, metric in load_vintages().items():
        known = [each for each in measured.curves(metric, period) if _is_known(each)]
        quarters = list(dict.fromkeys(dict(each.dimensions)["cohort"] for each in known))
        for each in known:
            keys = dict(each.dimensions)
            if keys["cohort"] in quarters[-MAX_QUARTERS:]:
                share = Fraction(100 * each.numerator, each.denominator)
                steps = int(round_to(share, Fraction(1, 100), profile.rounding.method) * 100)
                yield Figure(
                    f"{statement}:{keys['cohort']}", MONTH.format(keys["mob"]), "",
                    period.end.isoformat(), NO_CURRENCY, "percent", format_steps(steps, 2),
                )  # fmt: skip


def vintage_at(measured: BookMetrics, statement: str, line: str, period: Period) -> Result | None:
    """The result behind a printed point of a curve."""
    name, _, quarter = statement.partition(":")
    for each in measured.curves(load_vintages().get(name, name), period):
        keys = dict(each.dimensions)
        if keys.get("cohort") == quarter and MONTH.format(keys.get("mob")) == line:
            return each
    return None


def _is_known(result: Result) -> bool:
    return result.complete and result.value is not None and "cohort" in dict(result.dimensions)
