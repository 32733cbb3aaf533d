"""IFRS 9 staging: the stage of a loan, significant increase in credit risk, loss rates by stage.

Stage 1 is performing, stage 2 has a significant increase in credit risk (SICR), stage 3 is
credit-impaired. Arrays by stage hold stage 1 first.

>>> policy = PolicyNumbers(0, 0, 0, 0, stage_2_days=30, stage_3_days=90)
>>> [stage_of(days, policy) for days in (0, 30, 31, 90, 91)]
[1, 1, 2, 2, 3]
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from usance.base.compiled import kernel
from usance.books.kernel.policy_layout import PolicyNumbers

STAGES = 3


@kernel(inline=True)
def stage_of(days_past_due: int, policy: PolicyNumbers) -> int:
    """Stage of a loan by its days past due: 1, 2 (the backstop of SICR) or 3.

    SICR beyond the backstop is found for a pool as a whole (`has_sicr`).
    """
    if days_past_due > policy.stage_3_days:
        return 3
    return 2 if days_past_due > policy.stage_2_days else 1


def has_sicr(lifetime_rate: Fraction, initial_rate: int | Fraction, factor: Decimal) -> bool:
    """True if a lifetime default rate is at least `factor` times that at origination."""
    return lifetime_rate > 0 and lifetime_rate >= initial_rate * Fraction(factor)


def stage_rates(
    target: Fraction, exposure: Sequence[int], weights: Sequence[Decimal], max_rate: Fraction
) -> list[Fraction]:
    """A pool's lifetime target as a rate for each stage, in proportion to the stages' weights.

    The rates times the exposures give the target again. No stage takes more than `max_rate`; what
    it cannot take falls to the stages of lower weight.

    >>> one, ten = Decimal(1), Decimal(10)
    >>> [str(r) for r in stage_rates(Fraction(30), [100, 10, 10], [one, ten, ten], Fraction(1))]
    ['1/10', '1', '1']
    """
    rates = [Fraction(0)] * STAGES
    rest, order = target, sorted(range(STAGES), key=lambda stage: (weights[stage], stage))
    while order:
        base = sum(Fraction(weights[stage]) * exposure[stage] for stage in order)
        stage = order.pop()
        if base:
            rates[stage] = min(rest * Fraction(weights[stage]) / base, max_rate)
        rest -= rates[stage] * exposure[stage]
    return rates
