"""Specialisations of institutions: the tenors and grades each takes, and its part of the budget.

Without them a plan gives the long loans to institutions that earn by the year and the bad grades to
those that bear no risk, the more finely the larger a run is. With them every model takes of each
kind its share of demand, or as much more of a tenor as it prefers it. A segment is one group of
tenors with one of grades.

>>> from usance.world.scenario.file import read_scenario
>>> segments = Segments(read_scenario("2024"))
>>> heavy = read_scenario("2024").funding[0]
>>> [sorted(each) for each in segments.takes(1)], sum(segments.shares_ppm(636, heavy))
([[1, 3], [3]], 1000000)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from usance.base.arrays import I64
from usance.base.rates import PPM
from usance.world.demand import mean_ticket_minor
from usance.world.scenario.scenario import Funding, Scenario, Specialisations

NO_SEGMENT = -1


def preference(funding: Funding, months: int) -> int:
    """Share of a tenor in a model's loans against that in demand, in parts per million."""
    return funding.tenor_ppm.get(months, PPM)


@dataclass(frozen=True)
class Segments:
    """Segments of a scenario, numbered from 0: grades change fastest."""

    scenario: Scenario

    @property
    def _groups(self) -> Specialisations:
        return self.scenario.specialisations

    def __len__(self) -> int:
        return len(self._groups.months) * len(self._groups.grades)

    def of_source(self, funding: Funding, place: int) -> int:
        """Segment of a source by its place among those of its model, or none."""
        return place % len(self) if len(self) and funding.eligible_ppm < PPM else NO_SEGMENT

    def takes(self, segment: int) -> tuple[frozenset[int], frozenset[int]]:
        """Tenors and grades of a segment."""
        tenor, grade = divmod(segment, len(self._groups.grades))
        return frozenset(self._groups.months[tenor]), frozenset(self._groups.grades[grade])

    def of_loans(self, months: I64, grade: I64) -> I64:
        """Segment of each loan."""
        found = np.full(len(months), NO_SEGMENT)
        for segment in range(len(self)):
            tenors, grades = self.takes(segment)
            found[np.isin(months, list(tenors)) & np.isin(grade, list(grades))] = segment
        return found

    def shares_ppm(self, month: int, funding: Funding) -> list[int]:
        """Share of each segment in a model's budget: that in demand, by the tenors it prefers."""
        weights = [
            self._volume(tenors, month) * share * preference(funding, tenors[0])
            for tenors in self._groups.months
            for share in self._groups.grade_ppm
        ]
        ends = [0, *accumulate(weights)]
        return [b * PPM // ends[-1] - a * PPM // ends[-1] for a, b in pairwise(ends)]

    def _volume(self, tenors: tuple[int, ...], month: int) -> int:
        return sum(
            mix.request_ppm * mix.months_ppm.get(each, 0) * mean_ticket_minor(mix, PPM)
            for mix in self.scenario.demand.mix(month)
            for each in tenors
        )
