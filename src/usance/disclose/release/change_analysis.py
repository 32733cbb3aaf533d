"""Reasons for changes on the year before: volume, mix, price, estimates, each with its figure.

`data/change_drivers.yaml` names the highlight that drives each line. The volume effect is what the
line would have moved by had it followed its driver; the rest is called what it is for the line:
price and mix of a fee, the unit cost of a cost, the loss rate of a provision. Of total revenue the
mix of services is told apart: what its lines, each with its own driver, moved by beyond the driver
of the whole. A provision is divided further, into loans of the period and estimates of earlier
ones, as the close has told them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.dates import to_month
from usance.base.documents import read_document
from usance.books.close.closes import controls_of
from usance.disclose.periods import Period
from usance.disclose.release.business_highlights import load_highlights
from usance.disclose.release.figure import Figure, format_steps
from usance.disclose.release.narrative_figures import NarrativeFigures

if TYPE_CHECKING:
    from usance.disclose.release.release import Release

CHANGE_ANALYSIS = "change_analysis"
VOLUME, PRICE, ESTIMATES = "Volume", "Price and mix", "Estimates of earlier business"
MIX, PRICE_WITHIN = "Mix of services", "Price and mix within services"
Effects = tuple[tuple[str, Fraction], ...]
"""Effects by name; the last is what the others leave."""
_FILE = Path(__file__).resolve().parents[1] / "data" / "change_drivers.yaml"


@dataclass(frozen=True, slots=True)
class Driver:
    """A line of operations, the highlight that drives it, and its provision in the close."""

    line: str
    driver: str
    parent: str = ""
    provision: str = ""
    rest: str = PRICE
    """The name of what the driver does not explain."""
    has_mix: bool = False

    @property
    def is_revenue(self) -> bool:
        """True of a line that total revenue is the sum of."""
        return self.rest == PRICE and not self.has_mix


@cache
def load_drivers() -> tuple[Driver, ...]:
    """The drivers in print order.

    >>> load_drivers()[2]
    Driver(line='Financing income', driver='On-balance-sheet loan balance', parent='',
           provision='', rest='Price and mix', has_mix=False)
    """
    rows: list[dict[str, Any]] = read_document(_FILE)["drivers"]
    return tuple(Driver(**row) for row in rows)


def change_in(line: str, parent: str) -> str:
    """The name of a line's change; of two lines of one name with the heading of each.

    >>> change_in("Net income", ""), change_in("Fees", "Platform")
    ('Change in Net income', 'Change in Fees (Platform)')
    """
    return f"Change in {line} ({parent})" if parent else f"Change in {line}"


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a line on the year before, exact, in printed steps of the tables."""

    period: str
    change: Fraction
    effects: Effects


@dataclass(frozen=True)
class ChangeAnalysis:
    """The changes of one release on the year before, where the books tell both.

    A quarter's and, beside it, those of the half-year or year that ends with it. All amounts of a
    line are in the unit its text is in, and the last effect takes what rounding leaves.
    """

    release: Release

    def figures(self) -> Iterator[Figure]:
        """For each line its change and the effects it is the sum of."""
        listed, told = self.release.periods, self._narrative.so_far[:1]
        pairs = [(listed.current, listed.year_ago)]
        pairs += [(listed.year_to_date, listed.prior_year_to_date)] if told else []
        known = [pair for pair in pairs if self.release.closed.covers(pair[1].start, pair[1].end)]
        for each in load_drivers():
            yield from self._line(each, known)

    @cached_property
    def _narrative(self) -> NarrativeFigures:
        return NarrativeFigures(self.release)

    def _line(self, each: Driver, pairs: Sequence[tuple[Period, Period]]) -> Iterator[Figure]:
        made = [found for now, then in pairs if (found := self._change(each, now, then))]
        if not made:
            return
        least = min((found.change for found in made), key=abs)
        unit, decimals = self._narrative.result_unit(each.line, each.parent, least)
        name = change_in(each.line, each.parent)
        for found in made:
            steps = [self._narrative.in_unit(found.change, unit, decimals)]
            *parts, rest = found.effects
            steps += [self._narrative.in_unit(value, unit, decimals) for _, value in parts]
            steps.append(2 * steps[0] - sum(steps))  # the last takes what rounding leaves
            lines = [(name, ""), *((part, name) for part, _ in (*parts, rest))]
            for (line, parent), value in zip(lines, steps, strict=True):
                if value or not parent:
                    yield Figure(CHANGE_ANALYSIS, line, parent, found.period,
                                 self.release.profile.reporting, unit,
                                 format_steps(value, decimals), is_total=not parent)  # fmt: skip

    def _change(self, each: Driver, now: Period, then: Period) -> Change | None:
        """A line's change and its effects; None where it or its driver is not told for both."""
        printed = [self._printed(each, period) for period in (now, then)]
        driver = [self._driver(each, period) for period in (now, then)]
        if None in printed or not all(driver) or not printed[1] or printed[0] == printed[1]:
            return None
        after, before = (value or 0 for value in printed)
        growth = (driver[0] or Fraction(0)) / (driver[1] or Fraction(1)) - 1
        volume = before * growth
        if each.has_mix and (moved := self._moved_by_drivers(now, then)) is not None:
            effects: Effects = (VOLUME, volume), (MIX, moved - volume), (PRICE_WITHIN, Fraction(0))
        else:
            splits = [self._split(period).get(each.provision) for period in (now, then)]
            effects = _effects(before, growth, splits, each.rest)
        return Change(now.written, Fraction(after - before), effects)

    def _moved_by_drivers(self, now: Period, then: Period) -> Fraction | None:
        """The change in revenue had each line followed its own driver.

        None where a line that moved has no driver told for both periods: a new service has no
        price of the year before.
        """
        moved = Fraction(0)
        for each in (driver for driver in load_drivers() if driver.is_revenue):
            after, before = (self._printed(each, period) or 0 for period in (now, then))
            driven = [self._driver(each, period) for period in (now, then)]
            if driven[0] and driven[1]:
                moved += before * (driven[0] / driven[1] - 1)
            elif after or before:
                return None
        return moved

    def _printed(self, each: Driver, period: Period) -> int | None:
        made = self.release.statements.rounded.operations(period.opens_on, period.end)
        found = [value for (line, parent), value in made.items()
                 if line == each.line and each.parent in ("", parent)]  # fmt: skip
        return found[0] if len(found) == 1 else None

    def _driver(self, each: Driver, period: Period) -> Fraction | None:
        named = next(item for item in load_highlights() if item.line == each.driver)
        return self.release.metrics.at(named.metric, period, named.where).value

    def _split(self, period: Period) -> Mapping[str, Fraction]:
        """Provisions of a period's closes for loans of their own months, in printed steps."""
        closed, first, last = self.release.closed, to_month(period.start), to_month(period.end)
        found: dict[str, int] = {}
        for close in closed.closes:
            if first <= close.month <= last:
                made = controls_of(closed.book, close).get("losses", {}).get("provisions", {})
                for name, split in made.items():
                    found[name] = found.get(name, 0) + split["new_volume_minor"]
        minor = self.release.statements.rounded.step_minor
        return {name: Fraction(value, minor) for name, value in found.items()}


def _effects(
    before: int, growth: Fraction, new_volume: list[Fraction | None], rest: str
) -> Effects:  # fmt: skip
    """The effects of a change but for the last, which is what they leave of it."""
    now, then = new_volume
    if now is None or then is None:
        return (VOLUME, before * growth), (rest, Fraction(0))
    return (VOLUME, then * growth), (rest, now - then * (1 + growth)), (ESTIMATES, Fraction(0))
