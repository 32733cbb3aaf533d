"""The plan: how much of each segment goes to which source, and the price of every limit.

A plan that cannot be met explains itself: which limits conflict, by how much each would have to
give way at least, and the nearest plan that can be met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.dates import to_day
from usance.base.rates import PPB, PPM
from usance.match.errors import DemandError
from usance.match.mandates.columns import SourceColumns, bit_set, source_columns
from usance.match.mandates.file import read_mandates
from usance.match.mandates.limits import Limit, LimitKind, list_limits
from usance.match.mandates.mandate import Mandates
from usance.match.plan.aggregate import aggregate
from usance.match.plan.certificate import add_limit
from usance.match.plan.demand import Demand, read_demand
from usance.match.plan.limit_weights import NO_MAX, LimitWeights, model_weights
from usance.match.plan.linear import Solved, solve
from usance.match.plan.prices import Problem
from usance.match.router.rows import make_rows

# A limit counts as broken when it is off by more than this part of its own size: the large
# solver stops at 1e-4.
TOLERANCE = 1e-3
# Rows of a plan that is made again.
ROWS_AGAIN = 3_000


@dataclass(frozen=True)
class Conflict:
    """A limit that cannot be met together with the others it conflicts with."""

    limit: Limit
    relaxed_minor: int
    """The least it has to give way, in minor units; 0 for one that only stands in the way."""


@dataclass(frozen=True)
class Plan:
    """An allocation with the price of every limit."""

    mandates: Mandates
    demand: Demand
    problem: Problem
    solved: Solved
    limits: tuple[Limit, ...]
    """The limits that have a price, in the order of the problem, then those of the mix."""
    prices_ppb: I64
    conflicts: tuple[Conflict, ...]

    @property
    def feasible(self) -> bool:
        """Whether every limit could be met as it is written."""
        return not self.conflicts

    def price_ppb(self, number: int) -> int:
        """The price of a limit by its number: what one more unit of it would earn."""
        for limit, price in zip(self.limits, self.prices_ppb, strict=True):
            if limit.number == number:
                return int(price)
        return 0

    def by_source(self) -> list[dict[str, Any]]:
        """What each source is to take."""
        columns = len(self.mandates.mandates)
        placed = np.bincount(self.solved.column, self.solved.placed, columns)
        rows = []
        for mandate, amount in zip(self.mandates.mandates, placed, strict=True):
            budget = mandate.budgets.total_minor
            whole = int(np.rint(amount))
            used = None if budget <= 0 else mandate.takes_minor(whole) * PPM // budget
            rows.append(
                {
                    "source": mandate.source, "version": mandate.version,
                    "planned_minor": whole, "total_budget_used_ppm": used,
                }
            )  # fmt: skip
        return rows

    def as_dict(self) -> dict[str, Any]:
        """The answer of `match plan --json`."""
        offered = self.problem.rows.weight * self.problem.rows.amount
        return {
            "feasible": self.feasible,
            "solver": self.solved.solver,
            "optimal": self.solved.optimal,
            "segments": len(offered),
            "demand_minor": int(offered.sum()),
            "placed_minor": int(np.rint(self.solved.placed.sum())),
            "margin_minor": int(np.rint(self.worth)),
            "sources": self.by_source(),
            "limits": [
                {"limit": limit.number, "what": limit.text, "price_ppb": int(price)}
                for limit, price in zip(self.limits, self.prices_ppb, strict=True)
            ],
            "conflicts": [
                {"limit": each.limit.number, "what": each.limit.text,
                 "relaxed_minor": each.relaxed_minor}
                for each in self.conflicts
            ],
        }  # fmt: skip

    @property
    def worth(self) -> float:
        """Expected margin of what is placed, minor units."""
        from usance.match.plan.linear import margins_of

        margin = margins_of(
            self.problem.rows, self.problem.columns, self.solved.row, self.solved.column
        )
        return float((self.solved.placed * margin).sum() / PPB)


def plan_files(demand_file: Path, mandates_file: Path) -> Plan:
    """The plan for a demand file and a file of mandates."""
    mandates = read_mandates(mandates_file)
    return plan(read_demand(demand_file, mandates), mandates)


def plan(demand: Demand, mandates: Mandates, near: Plan | None = None) -> Plan:
    """The best plan, or the nearest one that can be met.

    `near` is one made before: then only candidates near its prices are looked at, and segments
    that mandates treat alike are put together where there are many.
    """
    columns = source_columns(mandates)
    problem, limits = plan_problem(demand, mandates, columns)
    start = None
    if near is not None:
        start = near.solved.prices, near.solved.mix_prices
        few, slot = aggregate(problem.rows, problem.slot, columns, ROWS_AGAIN)
        if len(problem.rows.amount) > ROWS_AGAIN:
            problem = replace(problem, rows=few, slot=slot)
    firm = replace(problem, most_price=np.full(len(problem.bound), NO_MAX))
    solved = solve(firm, start)
    conflicts: tuple[Conflict, ...] = ()
    if _broken(problem, solved).any():
        relaxed = solve(problem, elastic=True)
        conflicts = _conflicts(problem, relaxed, limits)
        problem = replace(
            problem,
            bound=problem.bound + relaxed.broken,
            mix_bound=problem.mix_bound + relaxed.mix_broken,
        )
        solved = solve(replace(problem, most_price=firm.most_price), start)
    prices = np.rint(np.concatenate([solved.prices, solved.mix_prices])).astype(np.int64)
    return Plan(mandates, demand, problem, solved, limits, prices, conflicts)


def plan_problem(
    demand: Demand, mandates: Mandates, columns: SourceColumns
) -> tuple[Problem, tuple[Limit, ...]]:
    """Demand over the whole period against every limit; daily budgets count for all its days."""
    whole = demand.whole()
    if not whole.total_requests:
        raise DemandError("no requests are expected", fix="Give rows with requests above zero")
    rows = make_rows(whole.segments, columns, mandates.time_zone)
    noon = np.full(len(rows.amount), 12 * 3600, np.int64)
    rows = rows._replace(weight=whole.requests.astype(np.float64), second=noon)
    days = period_days(demand, mandates)
    limits = list_limits(mandates)
    weights = LimitWeights(columns, 1)
    for limit in limits:
        add_limit(weights, limit, mandates, days, None, 0.0)
        if limit.kind is LimitKind.MODEL_MIN:
            weights.of_all(limit.number, -model_weights(columns, limit.member, limit.bound), 0.0)
    rows_in_force = [
        column
        for column, each in enumerate(mandates.mandates)
        if to_day(each.valid_from) <= days[-1] and to_day(each.valid_to) >= days[0]
    ]
    problem = Problem(
        columns, rows, np.zeros(len(rows.amount), np.int64),
        bit_set(rows_in_force, len(mandates.mandates))[None, :], columns.approval[None, :].copy(),
        *weights.arrays(), mix_bound=np.zeros(len(columns.mix_bound)),
    )  # fmt: skip
    by_number = {limit.number: limit for limit in limits}
    priced = [by_number[number] for number in weights.number]
    mix = [limit for limit in limits if limit.kind is LimitKind.MIX]
    return problem, (*priced, *mix)


def period_days(demand: Demand, mandates: Mandates) -> I64:
    """The days a plan is for: the file's period, else the days of the demand, else 30."""
    if mandates.period is not None:
        first, last = (to_day(each) for each in mandates.period)
        return np.arange(first, last + 1)
    if demand.by_day:
        return np.unique(demand.day)
    first = max(to_day(each.valid_from) for each in mandates.mandates)
    return np.arange(first, first + 30)


def _conflicts(
    problem: Problem, relaxed: Solved, limits: tuple[Limit, ...]
) -> tuple[Conflict, ...]:
    """Limits that had to give way, and those whose price says that they stand in the way."""
    amounts = np.concatenate([relaxed.broken, relaxed.mix_broken])
    price = np.concatenate([relaxed.prices, relaxed.mix_prices])
    return tuple(
        Conflict(limit, int(np.ceil(off)) if broken else 0)
        for limit, off, cost, broken in zip(
            limits, amounts, price, _broken(problem, relaxed), strict=True
        )
        if broken or cost > 0
    )


def _broken(problem: Problem, solved: Solved) -> NDArray[np.bool_]:
    """Which limits an allocation does not meet."""
    amounts = np.concatenate([solved.broken, solved.mix_broken])
    size = np.maximum(np.abs(np.concatenate([problem.bound, problem.mix_bound])), 1.0)
    off: NDArray[np.bool_] = amounts > TOLERANCE * size
    return off
