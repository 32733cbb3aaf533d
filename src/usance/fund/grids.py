"""Grids: one result of a class over two axes, whatever they are.

>>> from usance.fund.sample import sample_deal
>>> down, across = Axis("default", (100, 800)), Axis("recovery", (0, 100))
>>> grid_of(sample_deal(), "B", "short", down, across)
[[0, 0], [302246855, 128737742]]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from usance.base.errors import unknown
from usance.base.fields import whole_of
from usance.base.rates import PPM
from usance.fund.deal import Deal, Scenario
from usance.fund.deal_file import MAX_MULTIPLE, MAX_PRICE_PPM
from usance.fund.errors import DealError
from usance.fund.projection import Projection, Stratum, project
from usance.fund.results import average_life_ppm, class_yield_ppb

MULTIPLES = {
    "default": "default_hundredths",
    "prepayment": "prepayment_hundredths",
    "recovery": "recovery_hundredths",
}
PRICE = "price"
"""The price of the class, in parts per million of par: the yield alone looks at it."""
AXES = (*MULTIPLES, PRICE)
MAX_CELLS = 2_500

RESULTS: Mapping[str, Callable[[Projection, str, int], int | None]] = {
    "short": lambda run, name, _: run.short_minor(name),
    "life": lambda run, name, _: average_life_ppm(run, name),
    "yield": class_yield_ppb,
    "interest": lambda run, name, _: sum(
        paid.interest_minor + paid.residual_minor for paid in _payments(run, name)
    ),
    "principal": lambda run, name, _: sum(paid.principal_minor for paid in _payments(run, name)),
    "collected": lambda run, _, __: run.collected_minor,
    "paid": lambda run, _, __: run.paid_minor,
    "defaulted": lambda run, _, __: run.state.names["defaulted_to_date"],
    "bought": lambda run, _, __: run.state.names["bought_to_date"],
}
"""Every result a grid can show, by name; amounts in minor units, lives in ppm, yields in ppb."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One side of a grid: multiples in hundredths, or prices."""

    name: str
    values: tuple[int, ...]

    @property
    def unit(self) -> str:
        """The name of its values in JSON."""
        return "price_ppm" if self.name == PRICE else f"{self.name}_hundredths"


def read_axis(given: str, where: str) -> Axis:
    """An axis as people write it.

    >>> read_axis("price=990000,1000000", "--down").values
    (990000, 1000000)
    """
    name, _, values = given.partition("=")
    least, most = (1, MAX_PRICE_PPM) if name.strip() == PRICE else (0, MAX_MULTIPLE)
    number = whole_of(least, most)
    return Axis(name.strip(), tuple(number(each.strip(), where) for each in values.split(",")))


def grid_of(
    deal: Deal, of_class: str, result: str, down: Axis, across: Axis,
    strata: Sequence[Stratum] = (),
) -> list[list[int | None]]:  # fmt: skip
    """The result in every cell, by the exact form."""
    for axis in (down, across):
        if axis.name not in AXES:
            raise unknown("axis", axis.name, AXES, where="grid")
    if down.name == across.name:
        raise DealError(f"{down.name} is on both axes", where="grid", fix="Give two axes")
    if result not in RESULTS:
        raise unknown("result", result, RESULTS, where="grid")
    if of_class not in [each.name for each in deal.classes]:
        raise unknown("class", of_class, [each.name for each in deal.classes], where="grid")
    if len(down.values) * len(across.values) > MAX_CELLS:
        what = f"{len(down.values) * len(across.values)} cells"
        raise DealError(what, where="grid", fix=f"Give at most {MAX_CELLS}")
    of_run = RESULTS[result]
    runs: dict[Scenario, Projection] = {}

    def cell(values: Mapping[str, int]) -> int | None:
        changes: dict[str, Any] = {
            MULTIPLES[name]: value for name, value in values.items() if name in MULTIPLES
        }
        scenario = replace(Scenario(0), **changes)
        if scenario not in runs:
            runs[scenario] = project(deal, scenario, strata=strata)
        return of_run(runs[scenario], of_class, values.get(PRICE, PPM))

    return [[cell({down.name: d, across.name: a}) for a in across.values] for d in down.values]


def _payments(run: Projection, name: str) -> list[Any]:
    return [row.classes[name] for row in run.distributions]
