"""IFRS 9 stages: which one a loan is in, and what a pool's expectation means for each.

Stages are counted from 0, as arrays are: 0 performing, 1 risen risk, 2 in default.

>>> stages(np.array([0, 30, 31, 90, 91]), backstop=30, impaired=90).tolist()
[0, 0, 1, 1, 2]
>>> stages(np.array([0, 0]), np.array([True, False]), backstop=30, impaired=90).tolist()
[1, 0]
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

STAGES = 3


def stages(
    days_past_due: NDArray[Any], raised: NDArray[np.bool_] | bool = False, *, backstop: int,
    impaired: int,
) -> NDArray[np.int8]:  # fmt: skip
    """The stage of each loan; `raised` marks a significant increase in credit risk by itself."""
    risen = raised | (days_past_due > backstop)
    return np.where(days_past_due > impaired, 2, risen).astype(np.int8)


def is_raised(now: Fraction, at_start: int | Fraction, factor: Decimal) -> bool:
    """Whether a lifetime default rate has grown by the factor since the loans were made."""
    return now > 0 and now >= at_start * Fraction(factor)


def stage_rates(
    target: Fraction, exposure: Sequence[int], weights: Sequence[Decimal], highest: Fraction
) -> list[Fraction]:
    """A pool's lifetime target as a rate for each stage, in proportion to the stages' weights.

    The rates times the exposures give the target again. No stage takes more than `highest`; what
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
            rates[stage] = min(rest * Fraction(weights[stage]) / base, highest)
        rest -= rates[stage] * exposure[stage]
    return rates
