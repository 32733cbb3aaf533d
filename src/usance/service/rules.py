"""The rules of service on a day: late fees and charge-off, from dated parameters.

>>> from datetime import date
>>> Rules.at(date(2024, 6, 30))
Rules(grace_days=3, late_fee_ppm=10000, charge_off_days=180)
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from usance.base.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Rules:
    """What an unpaid instalment leads to, and when."""

    grace_days: int
    late_fee_ppm: int
    """Of what is unpaid of the instalment."""
    charge_off_days: int

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> Rules:
        """The rules in force on a day."""
        known = parameters or Parameters.load()
        names = ("servicing.late_fee_grace", "servicing.late_fee", "accounting.charge_off")
        return cls(*(known.at(name, day).integer for name in names))

    @property
    def array(self) -> NDArray[np.int64]:
        """The rules in the order the kernel takes them."""
        return np.array([self.grace_days, self.late_fee_ppm, self.charge_off_days], np.int64)
