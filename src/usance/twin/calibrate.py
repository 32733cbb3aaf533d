"""Fits how borrowers behave to published figures: least squares over the expected book.

The objective is the sum of squared misses, each against its tolerance. The expected book is smooth
in the values fitted, so the answer does not depend on where the search begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.documents import parse_yaml, read_text
from usance.base.errors import DocumentError, InputError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, document_places, rate, rate_of
from usance.base.rates import PPM, Rate
from usance.books.periods import ClosePeriod, parse_close_period
from usance.twin.calibrate_model import Expected, ExpectedBook, Fitted
from usance.world.scenario import Behaviour, Scenario
from usance.world.scenario_file import scenario_path
from usance.world.scenario_file_values import amount_in, by_period, flow, with_texts

F64 = NDArray[np.float64]
STEPS = 200
ENOUGH = 1e-13
NUDGE = 1e-5
LATER_CURES = (0.75, 0.5, 0.5)
"""Cures of the last three buckets against that of 61–90 days: no figure tells them apart."""

Figure = Callable[[Mapping[int, Expected], ClosePeriod], float]


@dataclass(frozen=True, slots=True)
class Target:
    """A published figure, and how far from it one tolerance reaches."""

    figure: str
    period: ClosePeriod
    value: float
    tolerance: float
    is_share: bool

    def miss(self, months: Mapping[int, Expected]) -> float:
        """How many tolerances the expected figure lies above the published one."""
        return (FIGURES[self.figure](months, self.period) / self.value - 1) / self.tolerance


@dataclass(frozen=True, slots=True)
class Targets:
    """What a scenario is fitted to, and what was lent in the months of the targets."""

    targets: tuple[Target, ...]
    volume_minor: Mapping[int, int]


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


def calibrate(scenario: Scenario, targets: Targets) -> Fit:
    """The behaviour whose expected book misses the targets least."""
    book = ExpectedBook(scenario, targets.volume_minor)

    def misses(place: F64) -> F64:
        months = book.months(fitted_at(place))
        return np.array([each.miss(months) for each in targets.targets])

    place, steps = least_squares(misses, place_of(scenario.behaviour))
    fitted = rounded(fitted_at(place))
    months = book.months(fitted)
    rows = tuple((each, FIGURES[each.figure](months, each.period)) for each in targets.targets)
    objective = sum(each.miss(months) ** 2 for each in targets.targets)
    return Fit(fitted, objective, steps, rows)


def least_squares(misses: Callable[[F64], F64], start: F64) -> tuple[F64, int]:
    """Levenberg and Marquardt's way down to where the sum of squares is least."""
    place, damping = start, 1e-2
    found = misses(place)
    for step in range(1, STEPS + 1):
        slope = _slope(misses, place)
        square, down = slope.T @ slope, slope.T @ found
        while True:
            move = -np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-12), down)
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


def _slope(misses: Callable[[F64], F64], place: F64) -> F64:
    columns = []
    for n in range(len(place)):
        nudge = np.zeros(len(place))
        nudge[n] = NUDGE
        columns.append((misses(place + nudge) - misses(place - nudge)) / (2 * NUDGE))
    return np.stack(columns, axis=1)


def place_of(behaviour: Behaviour) -> F64:
    """Where the search begins: the values to be fitted as numbers without bounds."""
    own = Fitted.of(behaviour)
    shares = [own.late, own.collected30, own.prepay, *own.cure[:2]]
    inside = [min(max(each, 1e-4), 1 - 1e-4) for each in shares]
    return np.array([log(each / (1 - each)) for each in inside])


def fitted_at(place: F64) -> Fitted:
    """The values of a place."""
    late, collected, prepay, *cure = (float(each) for each in 1 / (1 + np.exp(-place)))
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


def _stock(read: Callable[[Expected], float]) -> Figure:
    return lambda months, period: read(months[period.last_month])


def _flow(above: Callable[[Expected], float], below: Callable[[Expected], float]) -> Figure:
    return lambda months, period: (
        sum(above(months[each]) for each in period.months)
        / sum(below(months[each]) for each in period.months)
    )


def _roll(behind: int) -> Figure:
    return lambda months, period: (
        sum(months[each].behind[behind] for each in period.months)
        / sum(months[each - 1].behind[behind - 1] for each in period.months)
    )


FIGURES: Mapping[str, Figure] = {
    "balance": _stock(lambda month: month.balance),
    "delinquency_90": _stock(lambda month: month.late_90 / month.balance_in_scope),
    "day_1": _flow(lambda month: month.overdue, lambda month: month.due),
    "collection_30": _flow(lambda month: month.collected, lambda month: month.overdue),
    "roll_31_60": _roll(2),
    "roll_61_90": _roll(3),
}
"""Figures of a period that the expected book tells."""


def read_targets(path: Path, scenario: Scenario) -> Targets:
    """The targets of a YAML file, or everything that is wrong with them."""
    content = read_text(path)
    problems: list[UsanceError] = []
    document = with_texts(parse_yaml(content, where=str(path)))
    given = Fields(document, document_places(str(path), lambda: content), problems)
    money = amount_in(scenario.currency)
    lent = by_period(given, "volume", flow(money)) or {}
    found = [_target(each, money, scenario) for each in given.each("targets")]
    given.close()
    if not found and given.is_mapping:
        given.wrong("no target is listed", "List figures under 'targets:'", "targets")
    raise_all(problems, where=str(path))
    targets = tuple(each for each in found if each is not None)
    return Targets(targets, lent)


def targets_of(name_or_path: str | Path) -> Path:
    """The file of a scenario's targets: `targets.yaml` in the folder of its name."""
    path = scenario_path(name_or_path)
    found = path.with_suffix("") / "targets.yaml"
    if not found.exists():
        fix = "Name a file with --targets"
        raise InputError("has no targets to be fitted to", where=str(path), fix=fix)
    return found


def _target(given: Fields, money: Callable[[Any, str], int], scenario: Scenario) -> Target | None:
    figure = given.need("figure", _figure)
    period = given.need("period", lambda value, where: parse_close_period(str(value), where=where))
    read: Callable[[Any, str], int] = money if figure == "balance" else rate
    value = given.need("value", read)
    tolerance = given.need("tolerance", rate_of(1, PPM))
    given.close()
    if figure is None or period is None or not value or tolerance is None:
        return None
    first = scenario.first_month + (figure.startswith("roll"))
    if not first <= period.months[0] <= period.last_month <= scenario.last_month:
        given.wrong(f"{period.label} is outside the scenario", "Name a later period", "period")
        return None
    unit = 1 if figure == "balance" else PPM
    return Target(figure, period, value / unit, tolerance / PPM, figure != "balance")


def _figure(given: Any, where: str) -> str:
    if given in FIGURES:
        return str(given)
    raise unknown("figure", str(given), FIGURES, where=where)


def with_fitted(content: str, fit: Fit, *, where: str = "scenario") -> str:
    """A scenario's text with its block of fitted values written anew, all else as it was."""
    lines = content.splitlines()
    block = [f"  {key}: {_written(value)}" for key, value in fitted_values(fit.fitted).items()]
    start = next((n for n, line in enumerate(lines) if line.startswith("fitted:")), None)
    if start is None:
        fix = "Move late, collected30, cure and prepay from behaviour into 'fitted:'"
        raise DocumentError("has no fitted values", where=where, fix=fix)
    end = start + 1
    while end < len(lines) and (not lines[end] or lines[end][0] in " #"):
        end += 1
    return "\n".join([*lines[: start + 1], *block, *lines[end:]]) + "\n"


def _written(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else f"[{', '.join(value)}]"
