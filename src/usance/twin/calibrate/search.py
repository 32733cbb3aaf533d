"""Fits how borrowers behave to published figures: least squares over the expected book.

The objective is the sum of squared misses, each against its tolerance. The expected book is smooth
in the values fitted, so the answer does not depend on where the search begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite, log
from typing import Any

import numpy as np

from usance.base.arrays import F64
from usance.base.errors import InputError
from usance.base.rates import PPM, Rate
from usance.twin.calibrate.expected_book import Expected, ExpectedBook, Fitted
from usance.twin.calibrate.targets import Target, Targets
from usance.world.scenario.checks import contradictions
from usance.world.scenario.scenario import Behaviour, Collections, Scenario

STEPS = 200
ROUNDS = 20
"""Searches of a scenario with collections, each from what the one before found."""
ENOUGH = 1e-13
NUDGE = 1e-5
LATER_CURES = (0.75, 0.5, 0.5)
"""Cures of the last three buckets against that of 61–90 days: no figure tells them apart."""
FARTHEST = 16.0
"""Bound of the search: the share is then less than a part per million from 0% or 100%."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted values, the objective, and what is left of each target."""

    fitted: Fitted
    objective: float
    steps: int
    rows: tuple[tuple[Target, float], ...]
    """Each target with the expected figure."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "objective": round(self.objective, 6), "steps": self.steps,
            "fitted": fitted_values(self.fitted),
            "residuals": [
                {"figure": each.figure, "period": each.period.label, "published": each.value,
                 "expected": found, "error": found / each.value - 1, "tolerance": each.tolerance}
                for each, found in self.rows
            ],
        }  # fmt: skip


def fit_scenario(scenario: Scenario, targets: Targets) -> Fit:
    """The behaviour whose expected book misses the targets least.

    What a scenario's collections bring depends on the behaviour they act on, so such a search
    begins again from what it found, until that stays as it is.
    """
    fit = _fit(scenario, targets)
    for _ in range(ROUNDS if scenario.collections != Collections() else 0):
        again = _fit(replace(scenario, behaviour=_behaviour(scenario, fit.fitted)), targets)
        is_same, fit = again.fitted == fit.fitted, again
        if is_same:
            break
    return fit


def _fit(scenario: Scenario, targets: Targets) -> Fit:
    """One search, with the effect of collections at the values it begins with."""
    book = ExpectedBook(scenario, targets.volume_minor)
    start = place_of(scenario.behaviour)
    _rows(targets, _first_months(book, fitted_at(start), targets), at="begins")

    def misses(place: F64) -> F64:
        months = book.months(fitted_at(place))
        return np.array([each.miss(months) for each in targets.targets])

    place, steps = least_squares(misses, start)
    fitted = rounded(fitted_at(place))
    months = book.months(fitted)
    rows = _rows(targets, months, at="ends")
    _check_possible(scenario, fitted, targets)
    objective = sum(each.miss(months) ** 2 for each in targets.targets)
    return Fit(fitted, objective, steps, rows)


def _first_months(book: ExpectedBook, fitted: Fitted, targets: Targets) -> Mapping[int, Expected]:
    """The expected book where the search begins, if there is any."""
    try:
        if book.cohorts(fitted.prepay):
            return book.months(fitted)
    except ZeroDivisionError:
        pass
    fix = "Give an opening balance, requests or a volume above zero"
    raise InputError("the scenario lends nothing to be measured", where=targets.where, fix=fix)


def _rows(
    targets: Targets, months: Mapping[int, Expected], *, at: str
) -> tuple[tuple[Target, float], ...]:
    """Each target with the expected figure, if all of them have one."""
    rows = tuple((each, each.expected(months)) for each in targets.targets)
    lost = [each.name for each, found in rows if not isfinite(found)]
    if lost:
        what = f"where the search {at}, the expected book has nothing to measure {lost[0]} by"
        fix = "Check the value of each target, or leave that one out"
        raise InputError(what, where=targets.where, fix=fix)
    return rows


def _check_possible(scenario: Scenario, fitted: Fitted, targets: Targets) -> None:
    """Refuse values that no scenario may have: nobody could read what is written."""
    behaviour = _behaviour(scenario, fitted)
    found = contradictions(replace(scenario, behaviour=behaviour), lambda _: scenario.name)
    if found:
        what = f"the values that come nearest are impossible: {found[0].what}"
        fix = "Check the value of each target, or widen the tolerance of doubtful ones"
        raise InputError(what, where=targets.where, fix=fix)


def _behaviour(scenario: Scenario, fitted: Fitted) -> Behaviour:
    """The behaviour of a scenario with the fitted values."""
    late, collected, prepay = (round(each * PPM) for each in fitted[:3])
    cure = tuple(round(each * PPM) for each in fitted.cure)
    return replace(
        scenario.behaviour, late_ppm=late, collected30_ppm=collected, prepay_ppm=prepay,
        cure_ppm=cure,
    )  # fmt: skip


def least_squares(misses: Callable[[F64], F64], start: F64) -> tuple[F64, int]:
    """Levenberg and Marquardt's way down to where the sum of squares is least."""
    place, damping = start, 1e-2
    found = misses(place)
    for step in range(1, STEPS + 1):
        slope = _slope(misses, place)
        while True:
            move = _move(slope, found, damping)
            there = misses(place + move)
            if there @ there <= found @ found:
                break
            damping *= 10
            if damping > 1e12:
                return place, step
        place, found, damping = place + move, there, max(damping / 10, 1e-14)
        if float(np.abs(move).max()) < ENOUGH:
            return place, step
    return place, STEPS


def _move(slope: F64, found: F64, damping: float) -> F64:
    """The step down of a damping; none where the slopes tell no direction."""
    square, down = slope.T @ slope, slope.T @ found
    try:
        held = square + damping * np.diag(np.diag(square) + 1e-12)
        return np.asarray(-np.linalg.solve(held, down), np.float64)
    except np.linalg.LinAlgError:
        return np.full(len(down), np.nan)


def _slope(misses: Callable[[F64], F64], place: F64) -> F64:
    columns = []
    for n in range(len(place)):
        nudge = np.zeros(len(place))
        nudge[n] = NUDGE
        columns.append((misses(place + nudge) - misses(place - nudge)) / (2 * NUDGE))
    return np.stack(columns, axis=1)


def place_of(behaviour: Behaviour) -> F64:
    """Start of the search: the values to be fitted as numbers without bounds."""
    own = Fitted.of(behaviour)
    shares = [own.late, own.collected30, own.prepay, *own.cure[:2]]
    inside = [min(max(each, 1e-4), 1 - 1e-4) for each in shares]
    return np.array([log(each / (1 - each)) for each in inside])


def fitted_at(place: F64) -> Fitted:
    """The values of a place."""
    near = np.clip(place, -FARTHEST, FARTHEST)
    late, collected, prepay, *cure = (float(each) for each in 1 / (1 + np.exp(-near)))
    return Fitted(late, collected, prepay, (*cure, *(cure[1] * each for each in LATER_CURES)))


def rounded(fitted: Fitted) -> Fitted:
    """The values in whole parts per million, as they are written."""

    def whole(share: float) -> float:
        return round(share * PPM) / PPM

    late, collected, prepay = map(whole, fitted[:3])
    return Fitted(late, collected, prepay, tuple(map(whole, fitted.cure)))


def fitted_values(fitted: Fitted) -> dict[str, Any]:
    """The values by their keys in a scenario, as they are written."""

    def shown(share: float) -> str:
        return str(Rate(round(share * PPM)))

    return {
        "late": shown(fitted.late),
        "collected30": shown(fitted.collected30),
        "cure": [shown(each) for each in fitted.cure],
        "prepay": shown(fitted.prepay),
    }
