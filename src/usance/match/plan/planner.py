"""The plan: the amount of each segment that goes to each source, and the price of every limit.

A plan that cannot be met names the limits in conflict, the least amount by which each would have
to give way, and the nearest plan that can be met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import I64, Bools
from usance.base.dates import from_day, to_day, to_month
from usance.base.rates import PPB, PPM
from usance.match.errors import DemandError
from usance.match.mandates.columns import SourceColumns, bit_set, source_columns
from usance.match.mandates.file import read_mandates
from usance.match.mandates.limits import Limit, LimitKind, list_limits
from usance.match.mandates.mandate import Mandates
from usance.match.plan.demand_file import Demand, read_demand
from usance.match.plan.dual_bound import LimitProblem
from usance.match.plan.limit_weights import MAX_PRICE, LimitWeights, add_limit, model_weights
from usance.match.plan.linear_program import LinearSolution, margins_of, solve
from usance.match.router.request_rows import aggregate, make_request_rows

# A limit counts as broken when it is off by more than this part of its own size: the large
# solver stops at 1e-4.
TOLERANCE = 1e-3
# Rows of a plan with a warm start.
WARM_START_ROWS = 3_000


@dataclass(frozen=True)
class Conflict:
    """A limit that cannot be met together with the others it conflicts with."""

    limit: Limit
    relaxed_minor: int
    """Least amount by which it has to give way, minor units; 0 if the others give way."""


@dataclass(frozen=True)
class Plan:
    """An allocation with the price of every limit."""

    mandates: Mandates
    demand: Demand
    problem: LimitProblem
    solved: LinearSolution
    limits: tuple[Limit, ...]
    """The limits that have a price, in the order of the problem, then concentration limits."""
    prices_ppb: I64
    conflicts: tuple[Conflict, ...]

    @property
    def feasible(self) -> bool:
        """True if every limit can be met as it is written."""
        return not self.conflicts

    def price_ppb(self, number: int) -> int:
        """The price of a limit by its number: the margin that one more unit of it would earn."""
        for limit, price in zip(self.limits, self.prices_ppb, strict=True):
            if limit.number == number:
                return int(price)
        return 0

    def by_source(self) -> list[dict[str, Any]]:
        """The amount that each source is to take, and its part of each budget over the period."""
        columns = len(self.mandates.mandates)
        placed = np.bincount(self.solved.column, self.solved.placed, columns)
        days = period_days(self.demand, self.mandates)
        rows = []
        for mandate, amount in zip(self.mandates.mandates, placed, strict=True):
            open_days = [
                each
                for each in days.tolist()
                if to_day(mandate.valid_from) <= each <= to_day(mandate.valid_to)
            ]
            months = len({to_month(from_day(each)) for each in open_days})
            whole, budgets = int(np.rint(amount)), mandate.budgets
            lent = mandate.source_part_minor(whole)
            rows.append(
                {
                    "source": mandate.source, "version": mandate.version,
                    "name": self.mandates.label_of(mandate), "planned_minor": whole,
                    "total_budget_used_ppm": _used(lent, budgets.total_minor),
                    "month_budget_used_ppm": _used(lent, budgets.month_minor * months),
                    "day_budget_used_ppm": _used(lent, budgets.day_minor * len(open_days)),
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
            "margin_minor": int(np.rint(self.expected_margin)),
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
    def expected_margin(self) -> float:
        """Expected margin of what is placed, minor units."""
        margin = margins_of(
            self.problem.rows, self.problem.columns, self.solved.row, self.solved.column
        )
        return float((self.solved.placed * margin).sum() / PPB)


def _used(lent_minor: int, budget_minor: int) -> int | None:
    return None if budget_minor <= 0 else lent_minor * PPM // budget_minor


def plan_files(demand_file: Path, mandates_file: Path) -> Plan:
    """The plan for a demand file and a file of mandates."""
    mandates = read_mandates(mandates_file)
    return make_plan(read_demand(demand_file, mandates), mandates)


def make_plan(demand: Demand, mandates: Mandates, warm_start: Plan | None = None) -> Plan:
    """The best plan, or the nearest one that can be met.

    With an earlier plan as warm start only candidates near its prices are looked at, and segments
    that mandates treat alike are merged where there are many.
    """
    columns = source_columns(mandates)
    problem, limits = plan_problem(demand, mandates, columns)
    start = None
    if warm_start is not None:
        solved = warm_start.solved
        start = solved.prices, solved.concentration_prices
        few, slot = aggregate(problem.rows, problem.slot, columns, WARM_START_ROWS)
        if len(problem.rows.amount) > WARM_START_ROWS:
            problem = replace(problem, rows=few, slot=slot)
    firm = replace(problem, max_price=np.full(len(problem.bound), MAX_PRICE))
    solved = solve(firm, start)
    conflicts: tuple[Conflict, ...] = ()
    if _broken(problem, solved).any():
        relaxed = solve(problem, elastic=True)
        conflicts = _conflicts(problem, relaxed, limits)
        problem = replace(
            problem,
            bound=problem.bound + relaxed.broken,
            concentration_bound=problem.concentration_bound + relaxed.concentration_broken,
        )
        solved = solve(replace(problem, max_price=firm.max_price), start)
    prices = np.rint(np.concatenate([solved.prices, solved.concentration_prices])).astype(np.int64)
    return Plan(mandates, demand, problem, solved, limits, prices, conflicts)


def plan_problem(
    demand: Demand, mandates: Mandates, columns: SourceColumns
) -> tuple[LimitProblem, tuple[Limit, ...]]:
    """Demand over the whole period against every limit; daily budgets count for all its days."""
    whole = demand.over_period()
    if not whole.total_requests:
        raise DemandError("no requests are expected", fix="Give rows with requests above zero")
    rows = make_request_rows(whole.segments, columns, mandates.time_zone)
    noon = np.full(len(rows.amount), 12 * 3600, np.int64)
    rows = rows._replace(weight=whole.requests.astype(np.float64), second=noon)
    days = period_days(demand, mandates)
    limits = list_limits(mandates)
    weights = LimitWeights(columns, 1)
    for limit in limits:
        add_limit(weights, limit, mandates, days, 0.0, by_day=False)
        if limit.kind is LimitKind.MODEL_MIN:
            weights.of_all(limit.number, -model_weights(columns, limit.member, limit.bound), 0.0)
    rows_in_force = [
        column
        for column, each in enumerate(mandates.mandates)
        if to_day(each.valid_from) <= days[-1] and to_day(each.valid_to) >= days[0]
    ]
    problem = LimitProblem(
        columns, rows, np.zeros(len(rows.amount), np.int64),
        bit_set(rows_in_force, len(mandates.mandates))[None, :], columns.approval[None, :].copy(),
        *weights.arrays(), concentration_bound=np.zeros(len(columns.concentration_bound)),
    )  # fmt: skip
    by_number = {limit.number: limit for limit in limits}
    priced = [by_number[number] for number in weights.number]
    concentration = [limit for limit in limits if limit.kind is LimitKind.CONCENTRATION]
    return problem, (*priced, *concentration)


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
    problem: LimitProblem, relaxed: LinearSolution, limits: tuple[Limit, ...]
) -> tuple[Conflict, ...]:
    """Limits that had to give way, and those whose price says that they stand in the way."""
    amounts = np.concatenate([relaxed.broken, relaxed.concentration_broken])
    price = np.concatenate([relaxed.prices, relaxed.concentration_prices])
    return tuple(
        Conflict(limit, int(np.ceil(off)) if broken else 0)
        for limit, off, cost, broken in zip(
            limits, amounts, price, _broken(problem, relaxed), strict=True
        )
        if broken or cost > 0
    )


def _broken(problem: LimitProblem, solved: LinearSolution) -> Bools:
    """The limits that an allocation does not meet."""
    amounts = np.concatenate([solved.broken, solved.concentration_broken])
    size = np.maximum(np.abs(np.concatenate([problem.bound, problem.concentration_bound])), 1.0)
    off: Bools = amounts > TOLERANCE * size
    return off
