"""Targets of calibration: figures of periods that the expected book has, read from a file.

A target is refused by its name, `day_1 of 2024Q1`, when nothing could come near it or tell it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from usance.base.dates import format_month
from usance.base.document_places import document_places
from usance.base.documents import parse_yaml, read_text
from usance.base.errors import AmountError, InputError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, Reader, rate_of
from usance.base.rates import PPM
from usance.books.periods import ClosePeriod, parse_close_period
from usance.twin.calibrate.expected_book import SEARCHED, Expected
from usance.world.scenario.file import scenario_path
from usance.world.scenario.scenario import Scenario
from usance.world.scenario.values import amount_in, by_period, flow, with_texts

Figure = Callable[[Mapping[int, Expected], ClosePeriod], float]


@dataclass(frozen=True, slots=True)
class Target:
    """A published figure, and how far from it one tolerance reaches."""

    figure: str
    period: ClosePeriod
    value: float
    tolerance: float
    is_share: bool

    @property
    def name(self) -> str:
        """As a person would say it."""
        return _name(self.figure, self.period)

    def expected(self, months: Mapping[int, Expected]) -> float:
        """The figure of the expected book; infinite where there is nothing to divide by."""
        try:
            return FIGURES[self.figure](months, self.period)
        except ZeroDivisionError:
            return inf

    def miss(self, months: Mapping[int, Expected]) -> float:
        """Tolerances by which the expected figure lies above the published one."""
        return (self.expected(months) / self.value - 1) / self.tolerance


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of a scenario, and the volume lent in their months."""

    targets: tuple[Target, ...]
    volume_minor: Mapping[int, int]
    where: str
    """The file they were read from, for a message."""


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
    lent = by_period(given, "volume", flow(amount_in(scenario.currency))) or {}
    _check_volume(given, lent, scenario)
    listed = given.each("targets")
    found = [_target(each, scenario) for each in listed]
    given.close()
    _check_twice(listed, found)
    _check_enough(given, len(listed))
    for each in problems:
        each.where = each.where or str(path)
    raise_all(problems, where=str(path))
    return Targets(tuple(each for each in found if each is not None), lent, str(path))


def targets_of(name_or_path: str | Path) -> Path:
    """The file of a scenario's targets: `targets.yaml` in the folder of its name."""
    path = scenario_path(name_or_path)
    found = path.with_suffix("") / "targets.yaml"
    if not found.exists():
        fix = "Name a file with --targets"
        raise InputError("has no targets to be fitted to", where=str(path), fix=fix)
    return found


def _target(given: Fields, scenario: Scenario) -> Target | None:
    figure = given.need_or_none("figure", _figure)
    period = given.need_or_none(
        "period", lambda value, where: parse_close_period(str(value), where=where)
    )
    value = given.need("value", _published(figure, period, scenario.currency))
    tolerance = given.need("tolerance", rate_of(1, PPM))
    given.close()
    if figure is None or period is None or not _is_inside(given, figure, period, scenario):
        return None
    if not given.has_needed:
        return None
    unit = 1 if figure == "balance" else PPM
    return Target(figure, period, value / unit, tolerance / PPM, figure != "balance")


def _figure(given: Any, where: str) -> str:
    if isinstance(given, str) and given in FIGURES:
        return given
    raise unknown("figure", str(given), FIGURES, where=where)


def _name(figure: str | None, period: ClosePeriod | None) -> str:
    return f"{figure or 'the figure'} of {period.label if period else 'its period'}"


def _published(figure: str | None, period: ClosePeriod | None, currency: str) -> Reader[int]:
    """A reader of a published value: a miss is a share of it, so it must be above zero."""
    is_share = figure != "balance"
    read = rate_of(1, PPM) if is_share else amount_in(currency)
    fix = "Give a share above 0% and up to 100%, such as 3.35%"
    if not is_share:
        fix = f"Give an amount above zero in {currency}, such as 169920 million"

    def above_zero(given: Any, where: str) -> int:
        try:
            value = read(given, where)
        except InputError as error:
            what = f"{_name(figure, period)}: {error.what}"
            raise type(error)(what, where=where, fix=fix) from None
        if value <= 0:
            what = f"{_name(figure, period)}: {given} is too small"
            raise AmountError(what, where=where, fix=fix)
        return value

    return above_zero


def _is_inside(given: Fields, figure: str, period: ClosePeriod, scenario: Scenario) -> bool:
    """True if the scenario has every month of the figure; a roll needs the one before, too."""
    is_roll = figure.startswith("roll")
    first, last = scenario.first_month + is_roll, scenario.last_month
    if first <= period.months[0] and period.last_month <= last:
        return True
    what = f"{_name(figure, period)} is outside the scenario, {_span(scenario)}"
    if is_roll:
        what += ", and a roll needs the month before its period"
    fix = f"Name a period from {format_month(first)} to {format_month(last)}, or drop the target"
    given.wrong(what, fix, "period")
    return False


def _span(scenario: Scenario) -> str:
    first, last = format_month(scenario.first_month), format_month(scenario.last_month)
    return f"which runs from {first} to {last}"


def _check_volume(given: Fields, lent: Mapping[int, int], scenario: Scenario) -> None:
    outside = [each for each in lent if not scenario.first_month <= each <= scenario.last_month]
    if outside:
        what = f"volume of {format_month(outside[0])} is outside the scenario, {_span(scenario)}"
        given.wrong(what, "Give what was lent in its months alone", "volume")


def _check_twice(listed: Sequence[Fields], found: Sequence[Target | None]) -> None:
    seen: set[str] = set()
    for given, target in zip(listed, found, strict=True):
        if target is not None and target.name in seen:
            given.wrong(f"{target.name} is listed twice", "Keep one of them")
        if target is not None:
            seen.add(target.name)


def _check_enough(given: Fields, listed: int) -> None:
    """Fewer targets than values are met by many behaviours, none better than the others."""
    if not listed and not given.problems:
        given.wrong("no target is listed", "List figures under 'targets:'", "targets")
    if 0 < listed < len(SEARCHED):
        shown = "1 target tells" if listed == 1 else f"{listed} targets tell"
        what = f"{shown} too little to fit {len(SEARCHED)} values: {', '.join(SEARCHED)}"
        fix = f"List {len(SEARCHED) - listed} more under 'targets:'"
        given.wrong(what, fix, "targets")
