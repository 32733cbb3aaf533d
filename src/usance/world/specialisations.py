"""Desks of institutions: the tenors and grades each takes, and its part of its model's budget.

Without desks a plan gives the long loans to whoever earns by the year and the bad grades to whoever
bears no risk, the more finely the larger a run is. With them every model takes of each kind what
is asked for of it.

>>> from usance.world.scenario.file import read_scenario
>>> division = Division(read_scenario("2024"))
>>> [sorted(each) for each in division.takes(1)], sum(division.shares_ppm(636))
([[1, 3], [3]], 1000000)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from usance.base.arrays import I64
from usance.base.rates import PPM
from usance.world.demand import mean_ticket_minor
from usance.world.scenario.scenario import Desks, Funding, Scenario

NO_DESK = -1


@dataclass(frozen=True)
class Division:
    """The desks of a scenario, numbered from 0: grades change fastest."""

    scenario: Scenario

    @property
    def _desks(self) -> Desks:
        return self.scenario.desks

    def __len__(self) -> int:
        return len(self._desks.months) * len(self._desks.grades)

    def of_source(self, funding: Funding, place: int) -> int:
        """The desk of a source by its place among those of its model, or none."""
        return place % len(self) if len(self) and funding.eligible_ppm < PPM else NO_DESK

    def takes(self, desk: int) -> tuple[frozenset[int], frozenset[int]]:
        """The tenors and the grades of a desk."""
        tenor, grade = divmod(desk, len(self._desks.grades))
        return frozenset(self._desks.months[tenor]), frozenset(self._desks.grades[grade])

    def of_loans(self, months: I64, grade: I64) -> I64:
        """The desk of each loan."""
        found = np.full(len(months), NO_DESK)
        for desk in range(len(self)):
            tenors, grades = self.takes(desk)
            found[np.isin(months, list(tenors)) & np.isin(grade, list(grades))] = desk
        return found

    def shares_ppm(self, month: int) -> list[int]:
        """The part of each desk in its model's budget: what is asked for of its kind."""
        weights = [
            self._volume(tenors, month) * share
            for tenors in self._desks.months
            for share in self._desks.grade_ppm
        ]
        ends = [0, *accumulate(weights)]
        return [b * PPM // ends[-1] - a * PPM // ends[-1] for a, b in pairwise(ends)]

    def _volume(self, tenors: tuple[int, ...], month: int) -> int:
        return sum(
            mix.request_ppm * mix.months_ppm.get(each, 0) * mean_ticket_minor(mix, PPM)
            for mix in self.scenario.demand.mix(month)
            for each in tenors
        )
