"""Payment behaviour of borrowers, month by month: a scenario's behaviour as kernel parameters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.compiled import in_threads
from usance.base.draws import CERTAIN
from usance.base.rates import PPM
from usance.world import behaviour_kernel as k
from usance.world.debtors import ARM_STREAM, NO_EFFECT, ArmEffects, CollectionEffect
from usance.world.distributions import threshold_ppm
from usance.world.draw_kernel import BLOCK, stream_prefix
from usance.world.population import month_days
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import ShockKind, factor_ppm
from usance.world.streams import Stream

Whole = NDArray[Any]
PIECE = 1 << 17
"""Loans of one piece of work, some half a millisecond of it."""
LATEST = 30
"""The last day a due is still paid late; later is arrears."""
HALF_LIFE_DAYS = 5
"""Of those who pay late, half pay within so many days."""


def days_late() -> NDArray[np.int16]:
    """Days late by inverse table: 1 to 30, fewer and fewer."""
    weights = [2 ** (-day / HALF_LIFE_DAYS) for day in range(1, LATEST + 1)]
    ends = np.cumsum(weights) / sum(weights)
    return (np.searchsorted(ends, (np.arange(k.DAYS) + 0.5) / k.DAYS) + 1).astype(np.int16)


Effect = Callable[[int], CollectionEffect]
"""Effect of collections on a month."""


def no_effect(_month: int) -> CollectionEffect:
    """The effect of the reference: none."""
    return NO_EFFECT


def behaviour_inputs(
    scenario: Scenario, month: int, effect: Effect = no_effect
) -> k.BehaviourInputs:
    """Everything that decides how borrowers pay in a month."""
    streams = (Stream.PAYMENT, Stream.CURE, Stream.RECOVERY, Stream.NOTICE)
    prefix = k.StreamPrefixes(*stream_prefix(scenario.seed, *streams))
    span = k.MonthSpan(month, *(int(day) for day in month_days(month)))
    return k.BehaviourInputs(span, prefix, behaviour_params(scenario, month, effect),
                             days_late(), _arm_draw(effect(month).arms))  # fmt: skip


def _arm_draw(arms: ArmEffects | None) -> k.ArmDraw:
    """The draw of arms; without any, everybody has the first one."""
    if arms is None:
        return k.ArmDraw(np.uint64(0), (CERTAIN,) * 3)
    ends = list(accumulate(share * CERTAIN // PPM for share in arms.shares_ppm))[:-1]
    ends += [CERTAIN] * (k.MAX_ARMS - 1 - len(ends))
    one, two, three = ends
    return k.ArmDraw(stream_prefix(arms.seed, ARM_STREAM)[0], (one, two, three))


def behaviour_params(
    scenario: Scenario, month: int, effect: Effect = no_effect
) -> k.BehaviourParams:
    """Parameters of a month; of dues also those of the two before, which may be paid in it."""
    own, providers = scenario.behaviour, scenario.providers
    collection = factor_ppm(scenario, ShockKind.COLLECTION, month)
    one, two, three = (
        _due_chances(scenario, each, effect(each)) for each in (month - 2, month - 1, month)
    )
    pressed = effect(month).cure_ppm or (PPM,) * len(own.cure_ppm)
    a, b, c, d, e = (
        threshold_ppm(_more_of(cure * collection // PPM, more, PPM - own.partial_ppm))
        for cure, more in zip(own.cure_ppm, pressed, strict=True)
    )
    return k.BehaviourParams(
        dues=(one, two, three),
        cure=(a, b, c, d, e),
        partial=threshold_ppm(own.partial_ppm * collection // PPM),
        recovery=threshold_ppm(own.recovery_ppm * collection // PPM),
        late_notice=threshold_ppm(providers.late_notice_ppm),
        recovered_share_ppm=own.recovered_share_ppm,
        late_notice_days=providers.late_notice_days,
        providers=max(providers.providers, 1),
        early_ppm=own.early_ppm,
    )


def _more_of(chance_ppm: int, factor: int, highest_ppm: int) -> int:
    """A chance times a factor, never beyond what leaves room for partial payments."""
    if factor == PPM:
        return chance_ppm
    return min(chance_ppm * factor // PPM, highest_ppm)


def _due_chances(scenario: Scenario, month: int, effect: CollectionEffect) -> k.DueChances:
    own = scenario.behaviour
    hazard = factor_ppm(scenario, ShockKind.HAZARD, month)
    collection = factor_ppm(scenario, ShockKind.COLLECTION, month)
    late = CERTAIN * own.late_ppm * hazard * own.season_ppm[month % 12] // PPM**3
    late = late * effect.late_ppm // PPM
    debits_failed = threshold_ppm(scenario.providers.failed_ppm)
    # Debits that fail are unpaid at the end of their day as well: they are part of those late.
    # So are they of those collected, all of them the next day.
    rest, failed = max(0, late - debits_failed), min(late, debits_failed)
    wanted = late * (own.collected30_ppm * collection // PPM) // PPM

    def collected(factor: int) -> int:
        of_rest = wanted * factor // PPM - failed
        return min(CERTAIN, CERTAIN * max(0, of_rest) // max(rest, 1))

    factors = effect.arms.collected30_ppm if effect.arms else (effect.collected30_ppm,)
    one, two, three, four = map(collected, (*factors, *factors[-1:] * (k.MAX_ARMS - len(factors))))
    return k.DueChances(
        threshold_ppm(own.prepay_ppm), debits_failed, rest, (one, two, three, four)
    )  # fmt: skip


def payments(
    scenario: Scenario, month: int, loan: I64, hazard: Whole, oldest: Whole, due: Whole,
    flags: Whole, *, effect: Effect = no_effect, workers: int | None = None,
) -> NDArray[np.int32]:  # fmt: skip
    """First payments of a column of loans in a month, and their second ones; 0 for none.

    A payment is its day times `STEP` plus its intention. `flags` is 1 for a loan in recovery, 2
    for one charged off, 3 for both.
    """
    paid = np.empty((k.MAX_PAYMENTS, len(loan)), np.int32)
    world = behaviour_inputs(scenario, month, effect)
    hazards, oldest_on, due_on = (np.ascontiguousarray(x, np.int32) for x in (hazard, oldest, due))
    marks = np.ascontiguousarray(flags, np.int8)
    loans = k.DueColumns(loan, hazards, oldest_on, due_on, marks)

    def rows(start: int, stop: int) -> None:
        drawn, others = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
        out = np.zeros((k.MAX_PAYMENTS, 2), np.int64)
        k.decide_rows(start, stop, loans, world, drawn, others, out, paid)

    in_threads(rows, len(loan), workers, PIECE)
    return paid
