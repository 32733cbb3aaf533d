"""State of a router, as the named tuples its kernels read, and the policies it may follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from usance.base.arrays import F64, I64, U64
from usance.base.rates import PPM
from usance.match.mandates.columns import (
    CHECK_BORROWERS,
    MODELS,
    UNLIMITED,
    SourceColumns,
    bit_set,
    thresholds,
)
from usance.match.mandates.limits import PLATFORM_LIMITS
from usance.match.mandates.mandate import Mandates

# Rules to rank candidates by: margin less prices, or the mandate's priority.
PRICES, PRIORITY = 0, 1
# Steps of the table that scales margins by the use of a budget.
SCALE_STEPS = 1000


class LimitState(NamedTuple):
    """Every limit and its price as the next request meets them; by mandate unless said."""

    open_set: U64
    """Mandates in force."""
    headroom: I64
    """The largest loan that still fits into all budgets, minor units."""
    platform_headroom: I64
    """By limit of the platform."""
    model_excess: I64
    """By model: Σ amount × (1 if of the model − its maximum share), parts per million."""
    concentration_excess: I64
    """By concentration limit: Σ amount × weight, above zero while it is broken."""
    placed: I64
    """Loan amounts placed, minor units; the same array as that of the router's state."""
    borrower_keys: I64
    """Hash table of borrower and mandate; `borrowed` has the amounts."""
    borrowed: I64
    price: I64
    """Of all limits but concentration, per unit of loan, parts per billion."""
    scale: I64
    """Factor of the margin, parts per million."""
    concentration_price: I64


class RouterState(NamedTuple):
    """Everything that changes while requests are routed; by mandate unless said."""

    limits: LimitState
    total: I64
    """Remaining budgets, minor units: of the whole period, the month, the day."""
    month: I64
    day: I64
    initial_total: I64
    """The total budget at the beginning, for policies that look at its use."""
    asked: I64
    approved: I64
    placed: I64
    """Loan amounts placed, minor units."""
    budget_price: I64
    """Price of the mandate's own budgets per unit it lends, parts per billion."""
    other_price: I64
    """Prices of platform limits less the reward for a minimum take, per unit of loan."""
    pace: I64
    """Amount to lend per request from now on, thousandths of a minor unit; -1 no limit."""
    step: I64
    """Change of a price per request when use is off by the pace itself."""
    spent: I64
    """Amount lent since prices were last updated."""
    threshold: I64
    """Bound below which the institution's draw means approval."""
    scale_by_use: I64
    """Factor of a margin in parts per million, by use in thousandths; empty if always one."""
    tightest_budget: I64
    """Number of the budget that the pace follows, 0 if none does."""
    other_limit: I64
    """Number of the limit that is the largest part of the other price."""


class Ranking(NamedTuple):
    """Candidates of one request, best first, as `rank` leaves them."""

    column: I64
    net_ppb: I64
    """Margin less prices."""
    blocked: I64
    """The best column that only a limit keeps out or -1, its margin, the number of the limit."""


def make_ranking(size: int) -> Ranking:
    """Space for so many candidates."""
    return Ranking(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(3, np.int64))


@dataclass(frozen=True)
class Policy:
    """A way to choose among candidates."""

    name: str
    title: str
    rule: int = PRICES
    plans: bool = False
    """Prices are planned from remaining demand, again and again."""
    follows_use: bool = False
    """Prices follow the use of budgets between plans."""
    margin_scale: Callable[[F64], F64] | None = None
    """Factor of a margin (or priority) by the use of the total budget, from 0 to 1."""
    step: int = 0
    """Parts per billion a price moves per request when use is off by the pace itself, times the
    square root of all requests."""
    every_hours: int = 24
    """Hours between two plans on schedule."""
    replan_weight: float = 0.3
    """Part of the way that prices move to those of a plan on schedule; after a shock they move
    all of it."""
    unforeseen_hours: int = 24
    """Hours between two plans on schedule without a forecast."""
    unforeseen_share: float = 1.0
    """Part of the requests expected without a forecast that plans count on. Where demand turns, a
    budget that was kept for more of the same is left over; where it does not, little is lost."""
    watches_change: bool = False
    """A plan is made at once when the mix of demand changes."""
    waits_for_experience: bool = False
    """Without a forecast a young stream is planned as it doubles, and not on schedule."""
    learn_until: int = 0
    """Up to this request prices are planned again each time the requests seen have doubled."""
    segments: int = 3_000
    """Maximum of demand rows in a plan on the way, which then takes a fraction of a second."""


def _discount(use: F64) -> F64:
    return 1 - np.exp(use - 1)


def _remaining(use: F64) -> F64:
    return 1 - use


ENGINE = Policy(
    "engine", "this engine", plans=True, follows_use=True, step=300_000, learn_until=10_000,
    unforeseen_hours=12, unforeseen_share=0.97, watches_change=True,
)  # fmt: skip
DAILY = Policy("daily", "re-solved every day", plans=True, replan_weight=1.0)
GREEDY = Policy("greedy", "greedy by margin")
CAPACITY = Policy(
    "priority", "priority and remaining capacity", rule=PRIORITY, margin_scale=_remaining
)
PRIMAL_DUAL = Policy("primal_dual", "primal-dual, 1 - 1/e", margin_scale=_discount)
MIRROR = Policy("mirror_descent", "mirror descent alone", follows_use=True, step=1_000_000)
POLICIES = (ENGINE, GREEDY, CAPACITY, PRIMAL_DUAL, MIRROR)


def start_state(
    mandates: Mandates, columns: SourceColumns, policy: Policy, requests: int
) -> RouterState:
    """The state before the first request: untouched budgets, no prices."""
    count = len(mandates.mandates)
    total = or_unlimited([each.budgets.total_minor for each in mandates.mandates])

    def zeros() -> I64:
        return np.zeros(count, np.int64)

    steps = np.arange(SCALE_STEPS + 1) / SCALE_STEPS
    scale_by_use = policy.margin_scale(steps) * PPM if policy.margin_scale else np.zeros(0)
    placed = zeros()
    limits = _start_limits(mandates, columns, requests, placed)
    if policy.margin_scale:
        limits.scale[:] = np.rint(scale_by_use[0])
    return RouterState(
        limits=limits,
        total=total,
        month=np.full(count, UNLIMITED, np.int64),
        day=np.full(count, UNLIMITED, np.int64),
        initial_total=total.copy(),
        asked=zeros(),
        approved=zeros(),
        placed=placed,
        budget_price=zeros(),
        other_price=zeros(),
        pace=np.full(count, -1, np.int64),
        step=zeros(),
        spent=zeros(),
        threshold=thresholds(columns.approval),
        scale_by_use=np.rint(scale_by_use).astype(np.int64),
        tightest_budget=zeros(),
        other_limit=zeros(),
    )


def _start_limits(
    mandates: Mandates, columns: SourceColumns, requests: int, placed: I64
) -> LimitState:
    count, concentration = len(mandates.mandates), len(columns.concentration_bound)
    slots = borrower_slots(columns, requests)
    return LimitState(
        open_set=bit_set(range(count), count),
        headroom=np.full(count, UNLIMITED, np.int64),
        platform_headroom=platform_headroom(mandates),
        model_excess=np.zeros(MODELS, np.int64),
        concentration_excess=np.zeros(concentration, np.int64),
        placed=placed,
        borrower_keys=np.zeros(slots, np.int64),
        borrowed=np.zeros(slots, np.int64),
        price=np.zeros(count, np.int64),
        scale=columns.unscaled.copy(),
        concentration_price=np.zeros(concentration, np.int64),
    )


def borrower_slots(columns: SourceColumns, requests: int) -> int:
    """Slots of a hash table for the borrowers of so many requests; few if none is limited."""
    slots = 2
    while columns.flags[CHECK_BORROWERS] and slots < 4 * requests:
        slots *= 2
    return slots


def unlimited_state(columns: SourceColumns, concentration_price: I64) -> LimitState:
    """Limits that keep nothing out, for plans and bounds, where prices stand for them."""
    count = len(columns.source)
    return LimitState(
        open_set=bit_set(range(count), count),
        headroom=np.full(count, UNLIMITED, np.int64),
        platform_headroom=np.full(len(PLATFORM_LIMITS), UNLIMITED, np.int64),
        model_excess=np.full(MODELS, -UNLIMITED, np.int64),
        concentration_excess=np.full(len(concentration_price), -UNLIMITED, np.int64),
        placed=np.zeros(count, np.int64),
        borrower_keys=np.zeros(1, np.int64),
        borrowed=np.zeros(1, np.int64),
        price=np.zeros(count, np.int64),
        scale=columns.unscaled,
        concentration_price=concentration_price,
    )


def platform_headroom(mandates: Mandates) -> I64:
    """Limits of the platform before anything was placed."""
    limits = PLATFORM_LIMITS.values()
    return or_unlimited([each.bound_minor(mandates.platform) for each in limits])


def or_unlimited(bounds_minor: list[int]) -> I64:
    """Bounds as kernels compare them: a very large one where there is no limit."""
    return np.array([each if each >= 0 else UNLIMITED for each in bounds_minor], np.int64)
