"""A stream replayed by this engine and four baseline policies, compared with the hindsight bound.

A lender replays its own requests with it, to see what each policy would have earned. Each meets
the same requests, mandates, events and answers, and keeps every hard limit; they differ in the
order in which they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.rates import PPM
from usance.match.mandates.file import read_mandates
from usance.match.mandates.mandate import Mandates
from usance.match.plan.demand import Demand, demand_file_of, read_demand
from usance.match.plan.hindsight import HindsightBound, hindsight_bound
from usance.match.router.audit import audit
from usance.match.router.releases import NO_RELEASES, Releases, read_releases
from usance.match.router.requests import Requests, check_order, read_requests
from usance.match.router.router import ATTEMPTS, Router, RoutingResult
from usance.match.router.state import POLICIES, Policy

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
    """Concentration limits and model shares exceeded by more than one loan at the end."""
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
            "captured_ppm": run.margin_minor * PPM // max(bound, 1),
            "regret_minor": bound - run.margin_minor,
            "regret_per_loan_minor": (bound - run.margin_minor) // count,
            "placed": placed,
            "no_source": self.requests - placed,
            "fallbacks": int((decisions.outcome > 1).sum()),
            "declined": int(np.abs(decisions.outcome).sum()) - placed,
            "violations": run.violations,
            "mix_limits_broken": run.concentration_breaches,
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
    return replay(
        requests, mandates, demand, seed=seed, attempts=attempts, clock=clock,
        forecast=str(chosen or "none"),
        releases=read_releases(releases_file, mandates) if releases_file else NO_RELEASES,
    )  # fmt: skip


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


def _run(result: RoutingResult, mandates: Mandates, nanoseconds: int) -> Run:
    found = audit(result, mandates)
    fees = sum(short * take.shortfall_fee_ppm // PPM for short, take in found.shortfalls)
    return Run(
        result, result.margin_minor - fees, sum(short for short, _ in found.shortfalls),
        len(found.violations), len(found.concentration_breaches), nanoseconds,
    )  # fmt: skip
