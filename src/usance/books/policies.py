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
from usance.books.kernel.policy_layout import RATE_COUNT, LossRates, PolicyArrays, PolicyNumbers


def _no_rates() -> NDArray[np.int64]:
    return np.zeros((1, RATE_COUNT), np.int64)


@dataclass(frozen=True, slots=True)
class Policies:
    """Accounting policies of one close."""

    numbers: PolicyNumbers
    non_accrual_days: int
    lost_ppm: NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 1), np.int64))
    """By segment and month, the share of fee instalments not yet due expected to be lost."""
    first_month: int = 0
    """The month of the first column of `lost_ppm`."""
    rates_ppb: NDArray[np.int64] = field(default_factory=_no_rates)
    """By pool, loss rates on exposure in the places of `usance.books.kernel.policy_layout`."""
    lives: ExpectedLives | None = None
    """Expected lives of loans on the balance sheet (IFRS)."""

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> Policies:
        """The policies of a day, without estimates."""
        known = parameters or Parameters.load()

        def value(name: str) -> int:
            return known.at(name, day).integer

        numbers = PolicyNumbers(
            facilitation_share_heavy=value("accounting.facilitation_share_heavy"),
            facilitation_share_light=value("accounting.facilitation_share_light"),
            vat=_with_surcharge(value("tax.vat"), value("tax.vat_surcharge")),
            ifrs_tax=value("tax.ifrs_adjustment"),
            stage_2_days=value("accounting.stage_2_backstop"),
            stage_3_days=value("accounting.stage_3"),
        )
        return cls(numbers, value("accounting.non_accrual"))

    @property
    def arrays(self) -> PolicyArrays:
        """The policies as kernels read them."""
        rates = LossRates.of(self.rates_ppb)
        return PolicyArrays(self.numbers, rates, self.lost_ppm, self.first_month)


def _with_surcharge(vat_ppm: int, surcharge_ppm: int) -> int:
    """The rate whose tax in a gross amount is that of `vat_ppm` and the surcharge on it."""
    part = Fraction(vat_ppm, PPM + vat_ppm) * (1 + Fraction(surcharge_ppm, PPM))
    return round(PPM * part / (1 - part))
