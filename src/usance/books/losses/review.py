"""Review of the loss estimates of a close: new volume and true-up, sensitivity, back-test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.columns import arrays
from usance.base.dates import format_month
from usance.base.money import half_up
from usance.base.rates import PPB, to_ppb
from usance.base.segments import segment_model
from usance.books.close.closes import CloseRef
from usance.books.loans.amounts import AMOUNTS
from usance.books.losses.assumptions import Assumptions, Claim
from usance.books.losses.curves import rate_at
from usance.books.losses.estimates import Estimates
from usance.books.losses.estimation import estimate
from usance.books.losses.expectation import loss_rate
from usance.books.losses.overlays import Overlay
from usance.books.losses.pools import Exposures
from usance.measure.triangles import Triangle

PROVISIONS = ("loan_provision", "receivable_provision", "contract_provision",
              "contingent_provision")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Split:
    """A period's provision: for loans originated in it, and the true-up of older ones."""

    new_volume_minor: int
    true_up_minor: int


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
    """Each target with lifetime default rates lower and higher by the sensitivity parameter.

    `base` is the unshifted estimate, if it was made already.
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
    """The default rate of a vintage as an earlier close expected it by now, and the actual one."""

    close_no: int
    claim: Claim
    segment: int
    cohort: int
    age: int
    expected_ppb: int
    actual_ppb: int
    originated_minor: int

    @property
    def missed_ppb(self) -> int:
        """Actual less expected; above zero the estimate was too low."""
        return self.actual_ppb - self.expected_ppb

    @property
    def missed_minor(self) -> int:
        """The same of what was originated."""
        return half_up(self.missed_ppb * self.originated_minor, PPB)


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
            for cohort, age, originated, rate in _vintages(triangle, place, claim):
                then = month - cohort
                if then in named["ultimate"] and age > then:
                    expected = to_ppb(_expected(named, then, age) / 10**9)
                    found.append(Outcome(
                        close_no, claim, number, cohort, age, expected, to_ppb(rate), originated
                    ))  # fmt: skip
    return found


def _vintages(
    triangle: Triangle, place: int, claim: Claim
) -> Iterator[tuple[int, int, int, Fraction]]:
    """Each vintage with something originated: its month, its age now, its size and default rate."""
    defaulted = (triangle.compensated_minor, triangle.charged_off_minor)[claim][place]
    for position, (cohort, age) in enumerate(zip(triangle.cohorts, triangle.limits, strict=True)):
        originated = int(triangle.originated_minor[place, position, age])
        if originated:
            rate = loss_rate(int(defaulted[position, age]), originated)
            yield int(cohort), int(age), originated, rate


def _expected(named: Mapping[str, Mapping[int, int]], then: int, now: int) -> Fraction:
    curve = tuple(named["curve"][age] for age in sorted(named["curve"]))
    start, end = named["to_date"][then], named["ultimate"][then]
    part = loss_rate(rate_at(curve, now) - rate_at(curve, then), curve[-1] - rate_at(curve, then))
    return start + (end - start) * part


def _values(given: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_]) -> dict[int, int]:
    ages, values = given["age"][chosen], given["value"][chosen]
    return dict(zip(map(int, ages), map(int, values), strict=True))


def provision_splits(cells: I64, before: I64) -> dict[str, Split]:
    """Each provision of a period, split into new volume and true-up.

    `cells` has the rows of old and new loans of each cell in turn, `before` what cells held.
    """
    found = {}
    for name in PROVISIONS:
        place = AMOUNTS.index(name)
        moved = int(cells[:, place].sum() - before[:, place].sum())
        new = int(cells[1::2, place].sum())
        found[name] = Split(new, moved - new)
    return found


def loss_review(
    made: Estimates, found: Triangle, exposures: Exposures, assumptions: Assumptions,
    overlays: Sequence[Overlay], ref: CloseRef,
    earlier: Sequence[tuple[CloseRef, pa.Table]],
) -> dict[str, Any]:  # fmt: skip
    """Sensitivity of the estimates of a close, and a back-test of earlier ones."""
    shifts = sensitivity(
        found, exposures, assumptions, overlays, as_of=ref.day, close_no=ref.close_no, base=made
    )
    claims = {
        int(number): Claim.PAYOUT
        if segment_model(int(number)) == FundingModel.CAPITAL_HEAVY
        else Claim.CHARGE_OFF
        for number in found.segments
    }
    outcomes = [
        outcome
        for close, rows in earlier
        for outcome in back_test(rows, {close.close_no: close.month}, found, claims)
    ]
    return {
        "sensitivity": [asdict(each) for each in shifts],
        "back_test": [
            {**asdict(each), "claim": each.claim.label, "cohort": format_month(each.cohort),
             "missed_ppb": each.missed_ppb, "missed_minor": each.missed_minor}
            for each in outcomes
        ],
    }  # fmt: skip


def splits_as_dict(splits: Mapping[str, Split]) -> dict[str, dict[str, int]]:
    """For the file of controls."""
    return {name: asdict(split) for name, split in splits.items()}
