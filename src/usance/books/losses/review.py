"""Looking back and around: new volume against true-up, the standing sensitivity, the back-test.

>>> provision = provisions(
...     opening=[[500, 0]], closing=[[300, 400]], charged=[[150, 10]], recovered=[[20, 0]]
... )
>>> split(provision, np.array([651, 653]), first_month=651 + 1)
Split(new_volume_minor=410, true_up_minor=-70)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from usance.base.columns import arrays
from usance.base.rates import to_ppb
from usance.books.losses.assumptions import Assumptions, Claim
from usance.books.losses.curves import at
from usance.books.losses.estimate import estimate
from usance.books.losses.estimates import Estimates
from usance.books.losses.expectation import loss_rate
from usance.books.losses.exposures import Exposures
from usance.books.losses.overlays import Overlay
from usance.measure.triangles import Triangle


@dataclass(frozen=True, slots=True)
class Split:
    """A period's provision: for loans made in it, and for a changed view of those before."""

    new_volume_minor: int
    true_up_minor: int


def provisions(
    opening: ArrayLike, closing: ArrayLike, charged: ArrayLike, recovered: ArrayLike
) -> NDArray[np.int64]:
    """The provision of each pool [segment, cohort]: what leads from one balance to the other."""
    parts = [np.asarray(each, np.int64) for each in (opening, closing, charged, recovered)]
    return parts[1] - parts[0] + parts[2] - parts[3]


def split(provisions_minor: NDArray[np.int64], cohorts: NDArray[Any], *, first_month: int) -> Split:
    """New volume is every vintage from the period's first month on; all else is true-up."""
    new = np.asarray(cohorts) >= first_month
    return Split(int(provisions_minor[:, new].sum()), int(provisions_minor[:, ~new].sum()))


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """An estimate's target, and its change when default rates are lower or higher."""

    estimate: str
    target_minor: int
    lower_minor: int
    higher_minor: int


def sensitivity(
    triangle: Triangle,
    exposures: Exposures,
    assumptions: Assumptions,
    overlays: Sequence[Overlay] = (),
    *,
    as_of: date,
    close_no: int,
    base: Estimates | None = None,
) -> list[Sensitivity]:
    """Each target with lifetime default rates lower and higher by the standing shift.

    `base` is the estimate itself, where it is there already.
    """

    def shifted(sign: int) -> Estimates:
        return estimate(
            triangle, exposures, assumptions, overlays, as_of=as_of, close_no=close_no,
            shift=sign * assumptions.sensitivity,
        )  # fmt: skip

    lower, base, higher = shifted(-1), base or shifted(0), shifted(1)
    found = []
    for name in base.targets:
        sums = [int(each.target_minor(name).sum()) for each in (lower, base, higher)]
        found.append(Sensitivity(name, sums[1], sums[0] - sums[1], sums[2] - sums[1]))
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an earlier close expected a vintage to have defaulted by now, and what has."""

    close_no: int
    claim: Claim
    segment: int
    cohort: int
    age: int
    expected_ppb: int
    actual_ppb: int

    @property
    def missed_ppb(self) -> int:
        """Actual less expected; above zero the estimate was too low."""
        return self.actual_ppb - self.expected_ppb


def back_test(
    rows: pa.Table, closes: Mapping[int, int], triangle: Triangle, claims: Mapping[int, Claim]
) -> list[Outcome]:
    """Earlier estimates against a later triangle.

    `closes` has the month of each close, `claims` what a default of each segment is. Between the
    rate to date and the lifetime rate a vintage is expected to move as its segment's curve does.
    """
    given = arrays(rows)
    found = []
    for close_no, month in sorted(closes.items()):
        for place, number in enumerate(map(int, triangle.segments)):
            claim = claims[number]
            mine = (given["close_no"] == close_no) & (given["segment"] == number)
            named = {
                name: _values(given, mine & (given["name"] == f"{claim.label}_{name}"))
                for name in ("curve", "to_date", "ultimate")
            }
            for cohort, age, rate in _vintages(triangle, place, claim):
                then = month - cohort
                if then in named["ultimate"] and age > then:
                    expected = to_ppb(_expected(named, then, age) / 10**9)
                    outcome = Outcome(close_no, claim, number, cohort, age, expected, to_ppb(rate))
                    found.append(outcome)
    return found


def _vintages(triangle: Triangle, place: int, claim: Claim) -> Iterator[tuple[int, int, Fraction]]:
    """Each vintage with something originated: its month, its age now, its default rate."""
    defaulted = (triangle.compensated_minor, triangle.charged_off_minor)[claim][place]
    for position, (cohort, age) in enumerate(zip(triangle.cohorts, triangle.limits, strict=True)):
        originated = int(triangle.originated_minor[place, position, age])
        if originated:
            yield int(cohort), int(age), loss_rate(int(defaulted[position, age]), originated)


def _expected(named: Mapping[str, Mapping[int, int]], then: int, now: int) -> Fraction:
    curve = tuple(named["curve"][age] for age in sorted(named["curve"]))
    start, end = named["to_date"][then], named["ultimate"][then]
    part = loss_rate(at(curve, now) - at(curve, then), curve[-1] - at(curve, then))
    return start + (end - start) * part


def _values(given: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_]) -> dict[int, int]:
    ages, values = given["age"][chosen], given["value"][chosen]
    return dict(zip(map(int, ages), map(int, values), strict=True))
