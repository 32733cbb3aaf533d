"""Servicing rules in force on a day: late fees and charge-off, from dated parameters.

>>> from datetime import date
>>> ServicingRules.at(date(2024, 6, 30))
ServicingRules(grace_days=3, late_fee_ppm=10000, charge_off_days=180)
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from usance.base.compiled import kernel
from usance.base.parameters import Parameters
from usance.loan.kernel.plan import divide_half_up


class ServicingRules(NamedTuple):
    """Consequences of an unpaid instalment and their days; kernels take it as it is."""

    grace_days: int
    late_fee_ppm: int
    """Of the unpaid part of the instalment."""
    charge_off_days: int

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> ServicingRules:
        """Rules in force on a day."""
        known = parameters or Parameters.load()
        names = ("servicing.late_fee_grace", "servicing.late_fee", "accounting.charge_off")
        return cls(*(known.at(name, day).integer for name in names))


@kernel(inline=True)
def late_fee(due_on: int, unpaid_minor: int, rules: ServicingRules) -> tuple[int, int]:
    """Day on which an instalment that is still unpaid is charged a late fee, and the amount.

    The one late-fee rule of the platform, called for one loan, for columns and by the twin's short
    path. It stands in `service`, because `loan` only folds fees that were charged; the `LateRule`
    of its exact form is a term of other systems' loans.

    >>> late_fee(19_753, 1_526_00, ServicingRules(3, 10_000, 180))
    (19757, 1526)
    """
    fee = divide_half_up(unpaid_minor * rules.late_fee_ppm, 1_000_000)
    return due_on + rules.grace_days + 1, fee
