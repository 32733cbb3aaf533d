"""Source events: outages, departures and changes of institutions between two mandates.

A budget or an eligibility that changes is announced, as a new version of the mandate from its day
on. An outage, a departure or another rate of approval is not: the institution only begins to answer
otherwise, and the next month's mandate states the rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.dates import first_of_month, from_day, last_of_month, to_day
from usance.base.rates import PPM
from usance.world.scenario.scenario import Funding, Scenario, SourceEvent, SourceEventKind


class ChangeKind(StrEnum):
    """Unannounced change of a source at a moment."""

    LEAVES = "leaves"
    RETURNS = "returns"
    APPROVAL_RATE = "approval_rate"


class Change(NamedTuple):
    """A source that leaves, returns, or begins to answer otherwise."""

    at: datetime
    source: int
    kind: ChangeKind
    value_ppm: int = 0


class Span(NamedTuple):
    """Days of a month on which a mandate does not change."""

    first_day: int
    last_day: int
    budget_ppm: int
    eligible_ppm: int

    @property
    def days(self) -> int:
        """Number of days."""
        return self.last_day - self.first_day + 1


@dataclass(frozen=True)
class SourceEvents:
    """Source events of a scenario, by institution; sources are numbered from 1 over all models."""

    scenario: Scenario

    @cached_property
    def by_source(self) -> dict[int, tuple[SourceEvent, ...]]:
        """Events of each source that has any."""
        found: dict[int, tuple[SourceEvent, ...]] = {}
        before = 0
        for funding in self.scenario.funding:
            for place in range(1, funding.sources + 1):
                own = tuple(each for each in self.scenario.source_events
                            if each.model is funding.model
                            and (not each.numbers or place in each.numbers))  # fmt: skip
                if own:
                    found[before + place] = own
            before += funding.sources
        return found

    def value_ppm(self, source: int, kind: SourceEventKind, day: int) -> int | None:
        """Value of an event of a kind on a day, if there is one then."""
        for event in self.by_source.get(source, ()):
            if event.kind is kind and event.first_day <= day <= event.last_day:
                return event.value_ppm
        return None

    def spans(self, source: int, funding: Funding, month: int) -> list[Span]:
        """A month cut where a mandate changes."""
        first, last = to_day(first_of_month(month)), to_day(last_of_month(month))
        spans = [Span(first, last, *self._announced(source, funding, first))]
        for day in range(first + 1, last + 1) if source in self.by_source else ():
            announced = self._announced(source, funding, day)
            if announced != spans[-1][2:]:
                spans[-1] = spans[-1]._replace(last_day=day - 1)
                spans.append(Span(day, last, *announced))
        return spans

    def _announced(self, source: int, funding: Funding, day: int) -> tuple[int, int]:
        budget = self.value_ppm(source, SourceEventKind.BUDGET, day)
        eligible = self.value_ppm(source, SourceEventKind.ELIGIBLE, day)
        return (
            PPM if budget is None else budget,
            funding.eligible_ppm if eligible is None else eligible,
        )

    def first_version(self, source: int, funding: Funding, month: int) -> int:
        """The number of a month's first version: that of all time before the run is 1."""
        first = self.scenario.first_month
        if source not in self.by_source:
            return 2 + month - first
        return 2 + sum(len(self.spans(source, funding, each)) for each in range(first, month))

    def stated_ppm(self, source: int, funding: Funding, month: int) -> int:
        """The rate of approval that a month's mandate states."""
        return self.approval_ppm(source, funding, to_day(first_of_month(month)))

    def approval_ppm(self, source: int, funding: Funding, day: int) -> int:
        """Rate of approval of a source on a day, if it answers at all."""
        changed = self.value_ppm(source, SourceEventKind.APPROVAL, day)
        return funding.approval_ppm if changed is None else changed

    def changes(self, fundings: tuple[Funding, ...], month: int) -> tuple[Change, ...]:
        """Unannounced changes of a month, in order."""
        found = (each for source in self.by_source
                 for each in self._of_source(source, fundings[source - 1], month))  # fmt: skip
        return tuple(sorted(found, key=lambda each: (each.at, each.source)))

    def _of_source(self, source: int, funding: Funding, month: int) -> Iterator[Change]:
        rate, is_there = self.stated_ppm(source, funding, month), True
        zone = ZoneInfo(self.scenario.time_zone)
        for day in range(to_day(first_of_month(month)), to_day(last_of_month(month)) + 1):
            at = datetime.combine(from_day(day), time(), zone)
            is_gone = self.value_ppm(source, SourceEventKind.LEAVES, day) is not None
            if is_gone == is_there:
                is_there = not is_gone
                yield Change(at, source, ChangeKind.LEAVES if is_gone else ChangeKind.RETURNS)
            is_silent = self.value_ppm(source, SourceEventKind.OUTAGE, day) is not None
            answers = 0 if is_silent else self.approval_ppm(source, funding, day)
            if answers != rate:
                rate = answers
                yield Change(at, source, ChangeKind.APPROVAL_RATE, rate)

    def silent(self, source: I64, day: I64) -> NDArray[np.bool_]:
        """True for each source and day on which it gives no answer."""
        found = np.zeros(len(source), np.bool_)
        for number, events in self.by_source.items():
            for event in events:
                if event.kind is SourceEventKind.OUTAGE:
                    found |= (source == number) & (event.first_day <= day) & (day <= event.last_day)
        return found
