"""Accounting policies of one close: dated parameters, expectations and loss rates as arrays.

The numbers come from parameters in force at the close (`Policies.at`); what is estimated from the
portfolio, the share of fee instalments lost to prepayment and the loss rates of each pool, is added
by the close (`usance.books.losses`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from usance.base.parameters import Parameters
from usance.books.effective_interest.expected_lives import ExpectedLives
from usance.books.kernel.arithmetic import PPM
from usance.books.kernel.policy_layout import RATE_COUNT, VAT

_NUMBERS = (
    "accounting.facilitation_share_heavy", "accounting.facilitation_share_light", "tax.vat",
    "tax.ifrs_adjustment", "accounting.stage_2_backstop", "accounting.stage_3",
)  # fmt: skip


def _no_rates() -> NDArray[np.int64]:
    return np.zeros((1, RATE_COUNT), np.int64)


@dataclass(frozen=True, slots=True)
class Policies:
    """Everything the policy kernels need to know about one close."""

    numbers: NDArray[np.int64]
    non_accrual_days: int
    lost_ppm: NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 1), np.int64))
    """By segment and month, the share of fee instalments not yet due expected to be lost."""
    first_month: int = 0
    """The month of the first column of `lost_ppm`."""
    rates_ppb: NDArray[np.int64] = field(default_factory=_no_rates)
    """By pool, loss rates on exposure in the places of `usance.books.kernel.policy_layout`."""
    lives: ExpectedLives | None = None
    """How long own loans are expected to live (IFRS)."""

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> Policies:
        """The policies of a day, without estimates."""
        known = parameters or Parameters.load()
        numbers = np.array([known.at(name, day).integer for name in _NUMBERS], np.int64)
        surcharge = known.at("tax.vat_surcharge", day).integer
        numbers[VAT] = _with_surcharge(int(numbers[VAT]), surcharge)
        return cls(numbers, known.at("accounting.non_accrual", day).integer)


def _with_surcharge(vat_ppm: int, surcharge_ppm: int) -> int:
    """The rate whose tax in a gross amount is that of `vat_ppm` and the surcharge on it."""
    part = Fraction(vat_ppm, PPM + vat_ppm) * (1 + Fraction(surcharge_ppm, PPM))
    return round(PPM * part / (1 - part))
