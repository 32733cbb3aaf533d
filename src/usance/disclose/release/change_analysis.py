"""Reasons for changes on the year before: volume, price and mix, estimates, each with its figure.

`data/change_drivers.yaml` names the highlight that drives each line. The volume effect is what the
line would have moved by had it followed its driver; price and mix is the rest. A provision is
divided further, into loans of the period and estimates of earlier ones, as the close has told them
apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.dates import to_month
from usance.base.documents import read_document
from usance.base.errors import UsanceError
from usance.books.closed_books import ClosedBooks
from usance.books.periods import ClosePeriod
from usance.disclose.periods import Period
from usance.disclose.release.business_highlights import load_highlights
from usance.disclose.release.figure import Figure
from usance.disclose.ties import round_to

if TYPE_CHECKING:
    from usance.disclose.release.release import Release

CHANGE_ANALYSIS = "change_analysis"
VOLUME, PRICE, ESTIMATES = "Volume", "Price and mix", "Estimates of earlier business"
_FILE = Path(__file__).resolve().parents[1] / "data" / "change_drivers.yaml"


@dataclass(frozen=True, slots=True)
class Driver:
    """A line of operations, the highlight that drives it, and its provision in the close."""

    line: str
    driver: str
    parent: str = ""
    provision: str = ""


@cache
def load_drivers() -> tuple[Driver, ...]:
    """The drivers in print order.

    >>> load_drivers()[2]
    Driver(line='Financing income', driver='On-balance-sheet loan balance', parent='', provision='')
    """
    rows: list[dict[str, Any]] = read_document(_FILE)["drivers"]
    return tuple(Driver(**row) for row in rows)


def change_in(line: str, parent: str) -> str:
    """The name of a line's change; of two lines of one name with the heading of each.

    >>> change_in("Net income", ""), change_in("Fees", "Platform")
    ('Change in Net income', 'Change in Fees (Platform)')
    """
    return f"Change in {line} ({parent})" if parent else f"Change in {line}"


@dataclass(frozen=True)
class ChangeAnalysis:
    """The changes of one release on the year before, where the books tell both."""

    release: Release

    def figures(self) -> Iterator[Figure]:
        """For each line its change and the effects it is the sum of."""
        now, then = self.release.periods.current, self.release.periods.year_ago
        if not self.release.closed.covers(then.start, then.end):
            return
        for each in load_drivers():
            yield from self._line(each, now, then)

    def _line(self, each: Driver, now: Period, then: Period) -> Iterator[Figure]:
        printed = [self._printed(each, period) for period in (now, then)]
        driver = [self._driver(each, period) for period in (now, then)]
        if None in printed or not all(driver) or not printed[1] or printed[0] == printed[1]:
            return
        after, before = (value or 0 for value in printed)
        growth = (driver[0] or Fraction(0)) / (driver[1] or Fraction(1)) - 1
        effects = self._effects(each, after - before, before, growth)
        name = change_in(each.line, each.parent)
        period = now.written
        money = self.release.statements.money
        yield money(CHANGE_ANALYSIS, (name, ""), period, after - before, is_total=True)
        for effect, steps in effects.items():
            yield money(CHANGE_ANALYSIS, (effect, name), period, steps, is_total=False)

    def _effects(
        self, each: Driver, change: int, before: int, growth: Fraction
    ) -> dict[str, int]:  # fmt: skip
        splits = [made.get(each.provision) for made in self._provisions]
        if each.provision and all(splits):
            new = [self.release.statements.rounded.rounded(split["new_volume_minor"])
                   for split in splits if split]  # fmt: skip
            volume = self._rounded(new[1] * growth)
            price = new[0] - new[1] - volume
            return {VOLUME: volume, PRICE: price, ESTIMATES: change - volume - price}
        volume = self._rounded(before * growth)
        return {VOLUME: volume, PRICE: change - volume}

    def _rounded(self, steps: Fraction) -> int:
        return int(round_to(steps, Fraction(1), self.release.profile.rounding.method))

    def _printed(self, each: Driver, period: Period) -> int | None:
        made = self.release.statements.rounded.operations(period.opens_on, period.end)
        found = [value for (line, parent), value in made.items()
                 if line == each.line and each.parent in ("", parent)]  # fmt: skip
        return found[0] if len(found) == 1 else None

    def _driver(self, each: Driver, period: Period) -> Fraction | None:
        named = next(item for item in load_highlights() if item.line == each.driver)
        return self.release.metrics.at(named.metric, period, named.where).value

    @cached_property
    def _provisions(self) -> list[Mapping[str, Mapping[str, int]]]:
        """The provisions of both periods, where each was closed by itself."""
        periods = (self.release.periods.current, self.release.periods.year_ago)
        return [self._split(period) for period in periods]

    def _split(self, period: Period) -> Mapping[str, Mapping[str, int]]:
        months = tuple(range(to_month(period.start), to_month(period.end) + 1))
        try:
            closed = ClosedBooks.of(self.release.closed.book, ClosePeriod(period.written, months))
        except UsanceError:
            return {}  # the months were closed one by one: no split of the whole was made
        found: Mapping[str, Mapping[str, int]] = closed.losses().get("provisions", {})
        return found
