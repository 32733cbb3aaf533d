"""How borrowers pay, month by month: a scenario's behaviour as the knobs of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64, U64
from usance.base.compiled import in_threads
from usance.base.draws import CERTAIN
from usance.base.rates import PPM
from usance.world import behaviour_kernel as k
from usance.world.distributions import threshold_ppm
from usance.world.draw_kernel import AHEAD, prefix
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import factor_ppm
from usance.world.streams import Stream

Whole = NDArray[Any]
PIECE = 1 << 17
"""Loans of one piece of work, some half a millisecond of it."""
LATEST = 30
"""The last day a due is still paid late; later is arrears."""
HALF_LIFE_DAYS = 5
"""Of those who pay late, half pay within so many days."""


def prefixes(seed: int) -> U64:
    """The prefixes of the streams, in the places of the kernel."""
    return prefix(seed, Stream.PAYMENT, Stream.CURE, Stream.RECOVERY, Stream.NOTICE)


def days_late() -> NDArray[np.int16]:
    """Days late by inverse table: 1 to 30, fewer and fewer."""
    weights = [2 ** (-day / HALF_LIFE_DAYS) for day in range(1, LATEST + 1)]
    ends = np.cumsum(weights) / sum(weights)
    return (np.searchsorted(ends, (np.arange(k.DAYS) + 0.5) / k.DAYS) + 1).astype(np.int16)


def knobs(scenario: Scenario, month: int) -> I64:
    """The knobs of a month and of the two before it, whose dues may still be paid in it."""
    return np.array([_month_knobs(scenario, each) for each in (month - 2, month - 1, month)])


def _month_knobs(scenario: Scenario, month: int) -> I64:
    own, providers = scenario.behaviour, scenario.providers
    found = np.zeros(k.KNOBS, np.int64)
    collection = factor_ppm(scenario, "collection", month)
    hazard = factor_ppm(scenario, "hazard", month)
    late = CERTAIN * own.late_ppm * hazard * own.season_ppm[month % 12] // PPM**3
    found[k.PREPAY] = threshold_ppm(own.prepay_ppm)
    found[k.FAILED] = threshold_ppm(providers.failed_ppm)
    # Debits that fail are unpaid at the end of their day as well: they are part of those late.
    # So are they of those collected, all of them the next day.
    rest, failed = max(0, late - int(found[k.FAILED])), min(late, int(found[k.FAILED]))
    found[k.LATE] = rest
    wanted = late * (own.collected30_ppm * collection // PPM) // PPM
    found[k.COLLECTED] = min(CERTAIN, CERTAIN * max(0, wanted - failed) // max(rest, 1))
    for place, cure in enumerate(own.cure_ppm):
        found[k.CURE + place] = threshold_ppm(cure * collection // PPM)
    found[k.PARTIAL] = threshold_ppm(own.partial_ppm * collection // PPM)
    found[k.RECOVERY] = threshold_ppm(own.recovery_ppm * collection // PPM)
    found[k.SHARE_PPM] = own.recovered_share_ppm
    found[k.NOTICE] = threshold_ppm(providers.late_notice_ppm)
    found[k.NOTICE_DAYS] = providers.late_notice_days
    found[k.PROVIDERS] = max(providers.providers, 1)
    found[k.EARLY_PPM] = own.early_ppm
    return found


def payments(
    scenario: Scenario, month: int, first: int, last: int, loan: I64, hazard: Whole, oldest: Whole,
    due: Whole, flags: Whole, *, workers: int | None = None,
) -> NDArray[np.int32]:  # fmt: skip
    """How a column of loans pays in a month: the first payments, and the second ones; 0 for none.

    A payment is its day times `STEP` and what it means. `flags` is 1 for a loan in recovery, 2 for
    one charged off, 3 for both.
    """
    paid = np.empty((k.MAX_PAYMENTS, len(loan)), np.int32)
    begun, own, late = prefixes(scenario.seed), knobs(scenario, month), days_late()
    hazards, oldest_on, due_on = (np.ascontiguousarray(x, np.int32) for x in (hazard, oldest, due))
    marks = np.ascontiguousarray(flags, np.int8)

    def rows(start: int, stop: int) -> None:
        drawn, others = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.int64)
        out = np.zeros((k.MAX_PAYMENTS, 2), np.int64)
        k.decide_rows(
            start, stop, begun, loan, hazards, oldest_on, due_on, marks, month, first, last, own,
            late, drawn, others, out, paid,
        )  # fmt: skip

    in_threads(rows, len(loan), workers, PIECE)
    return paid
