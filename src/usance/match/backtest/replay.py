"""A stream replayed by this engine and four baseline policies, compared with the hindsight bound.

A lender replays its own requests with it, to see what each policy would have earned. Each meets
the same requests, mandates, events and answers, and keeps every hard limit; they differ in the
order in which they ask.

The bound is the most any policy could have earned, had it known every request. It knows all
requests, every change of a mandate, the principal released and the approval rates, not the draws:
over few requests luck can be better. It is the dual at the best prices found, summed over every
request, so no solver needs to be trusted: evaluated again at the same prices it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import F64, I64
from usance.base.rates import PPM
from usance.match.mandates.columns import SourceColumns
from usance.match.mandates.events import approval_rates, max_total_budget, open_columns
from usance.match.mandates.file import read_mandates
from usance.match.mandates.limits import Limit, LimitKind, list_limits
from usance.match.mandates.mandate import Mandates
from usance.match.plan.demand_file import Demand, demand_file_of, read_demand
from usance.match.plan.demand_from_history import demand_of_requests
from usance.match.plan.dual_bound import DualPoint, LimitProblem, descend, evaluate
from usance.match.plan.limit_weights import LimitWeights, add_limit
from usance.match.plan.linear_program import PricePair, solve
from usance.match.router.audit import audit
from usance.match.router.releases import NO_RELEASES, Releases, read_releases, released_by_day
from usance.match.router.request_rows import RequestRows, aggregate
from usance.match.router.requests import Requests, check_order, read_requests
from usance.match.router.router import ATTEMPTS, Router, RoutingResult, route
from usance.match.router.state import POLICIES, Policy

# Rows of the linear programmes that the prices begin with: all candidates of few, few of many.
PLAN_ROWS = (1_500, 6_000)
# Steps of the descent after that, in parts per billion of the amount.
STEPS, FIRST_STEP, LAST_STEP = 16, 100_000.0, 10_000.0


@dataclass(frozen=True)
class HindsightBound:
    """The bound, and the prices that prove it."""

    bound_minor: int
    point: DualPoint
    problem: LimitProblem
    numbers: tuple[int, ...]
    """The number of each limit that has a price."""


def hindsight_bound(
    rows: RequestRows, moments: I64, mandates: Mandates, columns: SourceColumns, *,
    releases: Releases = NO_RELEASES, steps: int = STEPS,
) -> HindsightBound:  # fmt: skip
    """The most that these requests could have earned."""
    problem, numbers = whole_problem(rows, moments, mandates, columns, releases)
    prices, concentration = _starting_prices(rows, moments, mandates, columns, releases, numbers)
    best = evaluate(problem, prices, concentration)
    if steps:
        found, mean, concentration_mean = descend(
            problem, prices, concentration, steps=steps, first=FIRST_STEP, last=LAST_STEP
        )
        average = evaluate(problem, mean, concentration_mean)
        best = min(best, found, average, key=lambda point: point.bound)
    return HindsightBound(int(np.ceil(best.bound)), best, problem, numbers)


def whole_problem(
    rows: RequestRows, moments: I64, mandates: Mandates, columns: SourceColumns,
    releases: Releases, *, by_day: bool = True,
) -> tuple[LimitProblem, tuple[int, ...]]:  # fmt: skip
    """All requests and every limit of the file, in slots of time.

    A slot is one day between two events; not `by_day`, it is all days with the same mandates in
    force, and daily and monthly budgets are limits on their sum.
    """
    changes = np.array([event.moment for event in mandates.events], np.int64)
    epoch = np.searchsorted(changes, moments, side="right")
    slots, slot = np.unique(np.stack([rows.day, epoch]), axis=1, return_inverse=True)
    day, epochs = slots
    open_sets = np.stack(
        [open_columns(mandates, int(d), int(e)) for d, e in zip(day, epochs, strict=True)]
    )
    approval = np.stack([approval_rates(mandates, columns, int(e)) for e in epochs])
    slot = slot.ravel()
    if not by_day:
        alike = np.column_stack([open_sets.astype(np.int64), approval])
        _, first, group = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        slot, open_sets, approval = group.ravel()[slot], open_sets[first], approval[first]
    ramp = mandates.platform.ramp_minor
    weights = LimitWeights(columns, len(open_sets))
    released = released_by_day(releases, mandates, int(day.max(initial=0)))
    for limit in list_limits(mandates):
        if limit.kind is LimitKind.TOTAL:
            _add_total(weights, limit, mandates, day if by_day else None, released[limit.column])
        else:
            add_limit(weights, limit, mandates, day, ramp, by_day=by_day)
    return LimitProblem(
        columns, rows, slot.astype(np.int64), open_sets, approval, *weights.arrays(),
        concentration_bound=_ramps(mandates),
    ), tuple(weights.number)  # fmt: skip


def _ramps(mandates: Mandates) -> F64:
    """By concentration limit: what its ramp lets through, the only excess there can be."""
    rows = [each.ramp_minor for each in mandates.mandates for _ in each.concentration_limits]
    return np.array(rows, np.float64)


def _add_total(
    weights: LimitWeights, limit: Limit, mandates: Mandates, day: I64 | None,
    released: dict[int, int],
) -> None:  # fmt: skip
    """Add a total budget with all releases; and, until the day of each, without the later ones."""
    every, bound = np.arange(weights.slots), float(max_total_budget(mandates, limit))
    for each in sorted(released):
        if day is not None and (day < each).any():
            weights.of_column(0, limit.column, np.flatnonzero(day < each), bound)
        bound += released[each]
    weights.of_column(limit.number, limit.column, every, bound)


def _starting_prices(
    rows: RequestRows, moments: I64, mandates: Mandates, columns: SourceColumns,
    releases: Releases, numbers: tuple[int, ...],
) -> PricePair:  # fmt: skip
    """Prices from a linear programme over the whole stream, aggregated to few rows."""
    coarse, short = whole_problem(rows, moments, mandates, columns, releases, by_day=False)
    prices: PricePair | None = None
    for max_rows in PLAN_ROWS:
        few, slot = aggregate(rows, coarse.slot, columns, max_rows)
        solved = solve(replace(coarse, rows=few, slot=slot), prices)
        prices = solved.prices, solved.concentration_prices
        if len(few.amount) < max_rows:
            break
    assert prices is not None
    # A bound that holds only until principal is released has no number and starts at zero.
    by_number = {**dict(zip(short, prices[0], strict=True)), 0: 0.0}
    return np.array([by_number[number] for number in numbers]), prices[1]


Clock = Callable[[], int]


@dataclass(frozen=True)
class Run:
    """Result of one policy."""

    result: RoutingResult
    margin_minor: int
    """Margin of everything placed, less fees for minimum takes that were missed."""
    shortfall_minor: int
    violations: int
    concentration_breaches: int
    """Concentration limits and model shares that a loan beyond the ramp broke."""
    nanoseconds: int
    """Spent on decisions in the kernel, 0 if no clock was given."""


@dataclass(frozen=True)
class Replay:
    """Results of every policy, and the bound."""

    requests: int
    sources: int
    bound: HindsightBound
    runs: tuple[Run, ...]
    forecast: str
    seed: int
    mandates: Mandates
    foreseen_minor: int | None = None
    """Margin of the first policy with a forecast that knew the stream, if it had none."""

    @property
    def currency(self) -> str:
        """Currency of every amount."""
        return self.mandates.currency

    def as_dict(self) -> dict[str, Any]:
        """The answer of `match replay --json`."""
        return {
            "requests": self.requests,
            "sources": self.sources,
            "currency": self.currency,
            "seed": self.seed,
            "forecast": self.forecast,
            "hindsight_minor": self.bound.bound_minor,
            "with_perfect_forecast_minor": self.foreseen_minor,
            "policies": [self.row(run) for run in self.runs],
        }

    def row(self, run: Run) -> dict[str, Any]:
        """One policy as plain values."""
        decisions, count = run.result.decisions, max(self.requests, 1)
        bound = self.bound.bound_minor
        placed = int((decisions.outcome > 0).sum())
        return {
            "policy": run.result.policy.name,
            "title": run.result.policy.title,
            "margin_minor": run.margin_minor,
            "captured_ppm": run.margin_minor * PPM // bound if bound > 0 else 0,
            "regret_minor": bound - run.margin_minor,
            "regret_per_loan_minor": (bound - run.margin_minor) // count,
            "placed": placed,
            "no_source": self.requests - placed,
            "fallbacks": int((decisions.outcome > 1).sum()),
            "declined": int(np.abs(decisions.outcome).sum()) - placed,
            "violations": run.violations,
            "concentration_limits_broken": run.concentration_breaches,
            "minimum_take_shortfall_minor": run.shortfall_minor,
            "plans": len(run.result.plans),
            "nanoseconds_per_decision": run.nanoseconds // count,
        }


def replay_files(
    stream: Path, mandates_file: Path, demand_file: Path | None = None, *, seed: int = 1,
    attempts: int = ATTEMPTS, clock: Clock | None = None, releases_file: Path | None = None,
) -> Replay:  # fmt: skip
    """Replay a stream file; the forecast is `DEMAND.csv` in its folder unless another is named."""
    mandates = read_mandates(mandates_file)
    requests = read_requests(stream, mandates)
    chosen = demand_file_of(stream, demand_file)
    demand = read_demand(chosen, mandates) if chosen else None
    releases = read_releases(releases_file, mandates) if releases_file else NO_RELEASES
    done = replay(
        requests, mandates, demand, seed=seed, attempts=attempts, clock=clock,
        forecast=str(chosen or "none"), releases=releases,
    )  # fmt: skip
    if demand is not None:
        return done
    known = demand_of_requests(requests, mandates.time_zone)
    result = route(
        requests, mandates, POLICIES[0], demand=known, seed=seed, attempts=attempts,
        releases=releases,
    )  # fmt: skip
    return replace(done, foreseen_minor=margin_of_run(result, mandates))


def replay(
    requests: Requests, mandates: Mandates, demand: Demand | None = None, *, seed: int = 1,
    attempts: int = ATTEMPTS, clock: Clock | None = None, policies: Sequence[Policy] = POLICIES,
    forecast: str = "given", releases: Releases = NO_RELEASES,
) -> Replay:  # fmt: skip
    """Route the stream by each policy and compare."""
    check_order(requests)
    runs = []
    for policy in policies:
        router = Router(
            requests, mandates, policy, demand=demand, seed=seed, attempts=attempts, clock=clock,
            releases=releases,
        )  # fmt: skip
        runs.append(_run(router.run(), mandates, router.nanoseconds))
    first = runs[0].result
    bound = hindsight_bound(
        first.rows, requests.requested_at, mandates, first.columns, releases=releases
    )
    return Replay(
        len(requests), len(mandates.mandates), bound, tuple(runs), forecast, seed, mandates
    )


def margin_of_run(result: RoutingResult, mandates: Mandates) -> int:
    """Margin of everything placed, less fees for minimum takes that were missed."""
    return _run(result, mandates, 0).margin_minor


def _run(result: RoutingResult, mandates: Mandates, nanoseconds: int) -> Run:
    found = audit(result, mandates)
    fees = sum(short * take.shortfall_fee_ppm // PPM for short, take in found.shortfalls)
    return Run(
        result, result.margin_minor - fees, sum(short for short, _ in found.shortfalls),
        len(found.violations), len(found.concentration_breaches), nanoseconds,
    )  # fmt: skip
