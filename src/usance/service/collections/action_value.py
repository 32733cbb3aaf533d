"""Expected value of an action: the probability it adds, times what is owed, less its cost.

>>> action_value([120_000, 120_000], [3_000_00, 20_00], [2_50, 2_50]).tolist()
[35750, -10]
>>> [added_ppm(each, 400_000) for each in (Channel.MESSAGE, Channel.VOICE)]
[14400, 59400]
>>> priority([35750, 35750], broken_promises=[0, 1], bonus_ppm=200_000).tolist()
[35750, 42900]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.service.collections.contact_rules import Channel

_PPM = 1_000_000
REACH_PPM = {
    Channel.PUSH: 500_000, Channel.MESSAGE: 800_000, Channel.EMAIL: 400_000,
    Channel.AI_VOICE: 350_000, Channel.VOICE: 450_000, Channel.LETTER: 900_000,
}  # fmt: skip
"""Probability that a contact reaches its debtor, until a C-score says it [assumption]."""
EFFECT_PPM = {
    Channel.PUSH: 15_000, Channel.MESSAGE: 30_000, Channel.EMAIL: 15_000,
    Channel.AI_VOICE: 80_000, Channel.VOICE: 220_000, Channel.LETTER: 40_000,
}  # fmt: skip
"""Probability that a contact which reached its debtor brings a payment that would not have come
within ten days, of those who would not have paid [assumption]; measured by the hold-out."""


def added_ppm(channel: Channel, pay_ppm: Any, reach_ppm: Any = None) -> Any:
    """Probability of payment that a contact adds to one that comes by itself."""
    reach = REACH_PPM[channel] if reach_ppm is None else reach_ppm
    effect = reach * EFFECT_PPM[channel] // _PPM
    return effect * (_PPM - pay_ppm) // _PPM


def action_value(added_ppm: Any, past_due_minor: Any, cost_minor: Any) -> I64:
    """Value of an action on each case, in minor units; below zero it costs more than it brings."""
    added, owed, cost = (
        np.asarray(each, np.int64) for each in (added_ppm, past_due_minor, cost_minor)
    )
    # Owed amounts are split, so that no product leaves 64 bits.
    millions, rest = np.divmod(owed, _PPM)
    value: I64 = millions * added + rest * added // _PPM - cost
    return value


def priority(value_minor: Any, broken_promises: Any, bonus_ppm: int) -> I64:
    """Value by which cases are ordered: raised once if the last promise was broken."""
    value = np.asarray(value_minor, np.int64)
    raised = np.maximum(value, 0) * bonus_ppm // _PPM
    result: I64 = value + np.where(np.asarray(broken_promises) > 0, raised, 0)
    return result
