"""The policies that are compared, and the state each begins with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usance.base.rates import PPM
from usance.match.mandates.columns import (
    MODELS,
    NO_ROOM_LIMIT,
    SourceColumns,
    bit_set,
    thresholds,
)
from usance.match.mandates.mandate import Mandates
from usance.match.router.rank_kernel import BORROWERS, PRICES, PRIORITY
from usance.match.router.route_kernel import PHI_STEPS, Live


@dataclass(frozen=True)
class Policy:
    """A way to choose among candidates."""

    name: str
    title: str
    rule: int = PRICES
    plans: bool = False
    """Makes prices from what is to come, again and again."""
    follows: bool = False
    """Lets prices follow use."""
    by_use: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    """What the use of a total budget, from 0 to 1, makes of its margin (or of its priority)."""
    step: int = 0
    """Parts per billion a price moves per request when use is off by the pace itself, times the
    square root of all requests."""
    every_hours: int = 24
    trust: float = 0.3
    """How far prices move to those of a plan made on schedule; after a shock they move all."""
    learn_until: int = 0
    """Up to this request prices are made again each time experience has doubled."""
    segments: int = 3_000
    """Kinds of demand in a plan made on the way, at most: it takes a fraction of a second."""


def _discount(use: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 - np.exp(use - 1)


def _remaining(use: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 - use


ENGINE = Policy(
    "engine", "this engine", plans=True, follows=True, step=300_000, learn_until=10_000,
)  # fmt: skip
GREEDY = Policy("greedy", "greedy by margin")
CAPACITY = Policy(
    "priority", "priority and remaining capacity", rule=PRIORITY, by_use=_remaining
)  # fmt: skip
PRIMAL_DUAL = Policy("primal_dual", "primal-dual, 1 - 1/e", by_use=_discount)
MIRROR = Policy("mirror_descent", "mirror descent alone", follows=True, step=1_000_000)
POLICIES = (ENGINE, GREEDY, CAPACITY, PRIMAL_DUAL, MIRROR)


def start_live(mandates: Mandates, columns: SourceColumns, policy: Policy, requests: int) -> Live:
    """Untouched budgets, no prices."""
    rows, count = mandates.mandates, len(mandates.mandates)
    totals = [_or_endless(each.budgets.total_minor) for each in rows]

    def zeros(size: int = count) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.zeros(size, np.int64)

    steps = np.arange(PHI_STEPS + 1) / PHI_STEPS
    phi = np.rint(policy.by_use(steps) * PPM).astype(np.int64) if policy.by_use else zeros(0)
    places = 2
    while columns.flags[BORROWERS] and places < 4 * requests:
        places *= 2
    scale = np.full(count, PPM, np.int64) if not len(phi) else np.full(count, phi[0], np.int64)
    return Live(
        open_set=bit_set(range(count), count),
        total=np.array(totals, np.int64),
        month=np.full(count, NO_ROOM_LIMIT, np.int64),
        day=np.full(count, NO_ROOM_LIMIT, np.int64),
        room=np.full(count, NO_ROOM_LIMIT, np.int64),
        first_total=np.array(totals, np.int64),
        platform_room=start_rooms(mandates),
        model_state=zeros(MODELS),
        mix_state=zeros(len(columns.mix_bound)),
        borrowed_keys=zeros(places),
        borrowed=zeros(places),
        asked=zeros(),
        approved=zeros(),
        placed=zeros(),
        own_price=zeros(),
        fixed_price=zeros(),
        price=zeros(),
        scale=scale,
        mix_price=zeros(len(columns.mix_bound)),
        pace=np.full(count, -1, np.int64),
        step=zeros(),
        spent=zeros(),
        threshold=thresholds(columns.approval),
        phi=phi,
        tight=zeros(),
        fixed_limit=zeros(),
    )


def start_rooms(mandates: Mandates) -> NDArray[np.int64]:
    """The platform's rooms before anything was placed."""
    platform = mandates.platform
    rooms = (platform.guarantee_minor, platform.microcredit_minor, platform.liquidity_minor)
    return np.array([_or_endless(each) for each in rooms], np.int64)


def _or_endless(budget_minor: int) -> int:
    return budget_minor if budget_minor >= 0 else NO_ROOM_LIMIT
