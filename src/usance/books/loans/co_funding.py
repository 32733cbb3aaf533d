"""Amounts of co-funded loans by share: parts that sum to the whole and close every account.

Each cumulative amount goes by largest remainder of the principal each source gave. Rounded apart,
parts of amounts that cancel need not cancel; where an account of the whole loan is empty, a share's
last unit goes to the amount that closes the account, so that it is empty for every share too.

>>> found = np.zeros((1, len(AMOUNTS)), np.int64)
>>> names = ("guarantee_issued", "guarantee_received", "guarantee_released", "guarantee_cancelled")
>>> places = [AMOUNTS.index(name) for name in names]
>>> found[0, places] = 10, 5, 5, 5
>>> parts_of(found, np.array([0, 0]), np.array([1, 2]), np.array([7, 3]))[:, places].tolist()
[[7, 4, 4, 3], [3, 1, 1, 2]]
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64
from usance.books.loans.amounts import AMOUNTS
from usance.match.reservation.split import split_columns

CLOSINGS: dict[str, tuple[str, ...]] = {
    "to_institution - cleared_institution": ("cleared_institution",),
    "principal_received - cleared_principal": ("cleared_principal",),
    "interest_received - cleared_interest": ("cleared_interest",),
    "recovered_claim + recovered_loan - cleared_recovery": ("cleared_recovery",),
    "guarantee_received + recovered_guarantee + service_received + recovered_service"
    " + fee_instalments_received + penalty_received + overpaid + recovered_other - cleared_fees": (
        "cleared_fees",
    ),
    "disbursed - principal_received - principal_written_off": ("principal_written_off",),
    "interest_earned - interest_received - interest_written_off": ("interest_earned",),
    "fee_earned + fee_written_off - upfront_fee - fee_instalments_received": ("fee_earned",),
    "principal_written_off + interest_written_off - fee_written_off - recovered_loan"
    " - loan_provision": ("loan_provision",),
    "guarantee_issued - guarantee_cancelled - guarantee_received - receivable_written_off": (
        "receivable_written_off", "guarantee_cancelled",
    ),
    "guarantee_issued - guarantee_cancelled - guarantee_released": ("guarantee_released",),
    "receivable_written_off - recovered_guarantee - receivable_provision": (
        "receivable_provision",
    ),
    "facilitation_earned + servicing_earned - service_received - contract_written_off": (
        "servicing_earned",
    ),
    "contract_written_off - recovered_service - contract_provision": ("contract_provision",),
    "paid_out - recovered_claim - contingent_provision": ("contingent_provision",),
}  # fmt: skip
"""Balance of an account, and the amount that closes it: the first that is not zero, else the last.
 The other side of that amount is closed further down, or is income, cost or cash."""


def parts_of(found: I64, loans: I64, cells: I64, weights: I64) -> I64:
    """The amounts of every share: `loans` has the row of its loan in `found`."""
    parts = np.zeros((len(loans), len(AMOUNTS)), np.int64)
    for amount in np.flatnonzero(found.any(axis=0)).tolist():
        total = found[:, amount]
        split = split_columns(np.abs(total), loans, cells, weights)
        parts[:, amount] = np.where(total[loans] < 0, -split, split)
    for formula, closing in CLOSINGS.items():
        signs = signs_of(formula)
        is_empty = (found @ signs == 0)[loans]
        left = np.where(is_empty, parts @ signs, 0)
        for name in closing:
            place = AMOUNTS.index(name)
            is_last = name == closing[-1]
            moved = left if is_last else np.where(found[loans, place] != 0, left, 0)
            parts[:, place] -= signs[place] * moved
            left = left - moved
    return parts


def signs_of(formula: str) -> I64:
    """The sign of every amount in a formula such as `disbursed - principal_received`."""
    signs, sign = np.zeros(len(AMOUNTS), np.int64), 1
    for word in formula.split():
        if word in ("+", "-"):
            sign = 1 if word == "+" else -1
        else:
            signs[AMOUNTS.index(word)] = sign
    return signs
