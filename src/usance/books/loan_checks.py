"""What must hold for every single loan at a close; a loan that fails is named.

These checks look at a loan from its replay, and at the amounts the policies made of it, and
compare the two on ways that the policies do not take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import Model
from usance.books import amounts as a
from usance.books import positions as p

I64 = NDArray[np.int64]
Column = Callable[[int], I64]

KEPT = 20
"""Loans named per check; all are counted."""


@dataclass(slots=True)
class Finding:
    """Loans for which a check does not hold."""

    count: int = 0
    loans: list[int] = field(default_factory=list)


@dataclass(slots=True)
class LoanFindings:
    """The checks that failed, by name."""

    by_check: dict[str, Finding] = field(default_factory=dict)

    def look(self, ids: I64, at: I64, found: I64) -> None:
        """Check a piece of loans."""
        if len(ids) == 0:
            return
        for name, check in CHECKS.items():
            bad = np.flatnonzero(~check(at, found))
            if len(bad):
                finding = self.by_check.setdefault(name, Finding())
                finding.count += len(bad)
                finding.loans += ids[bad[: max(0, KEPT - len(finding.loans))]].tolist()

    def add(self, other: LoanFindings) -> None:
        """What was found in another piece."""
        for name, found in other.by_check.items():
            finding = self.by_check.setdefault(name, Finding())
            finding.count += found.count
            finding.loans += found.loans[: max(0, KEPT - len(finding.loans))]


def _is(at: I64, *models: Model) -> NDArray[np.bool_]:
    return np.isin(at[:, p.MODEL], [int(model) for model in models]) & (at[:, p.PRINCIPAL] > 0)


def _ended(at: I64) -> NDArray[np.bool_]:
    return np.asarray((at[:, p.EVENT] != p.NO_EVENT) | (at[:, p.IS_SETTLED] == 1))


def principal_ties(at: I64, found: I64) -> NDArray[np.bool_]:
    """Our own loans: what the books hold is what the borrower owes, or nothing once ended."""
    held = (
        found[:, a.DISBURSED] - found[:, a.PRINCIPAL_RECEIVED] - found[:, a.PRINCIPAL_WRITTEN_OFF]
    )
    owed = np.where(_ended(at), 0, at[:, p.OUTSTANDING])
    return np.asarray(~_is(at, Model.ON_BALANCE_SHEET) | (held == owed))


def cash_is_posted(at: I64, found: I64) -> NDArray[np.bool_]:
    """Every unit the borrower paid is posted once."""
    posted = sum(found[:, place] for place in (
        a.TO_INSTITUTION, a.PRINCIPAL_RECEIVED, a.INTEREST_RECEIVED, a.SLICES_RECEIVED,
        a.GUARANTEE_RECEIVED, a.SERVICE_RECEIVED, a.PENALTY_RECEIVED, a.OVERPAID,
        a.RECOVERED_CLAIM, a.RECOVERED_GUARANTEE, a.RECOVERED_SERVICE, a.RECOVERED_LOAN,
        a.RECOVERED_OTHER,
    ))  # fmt: skip
    paid = at[:, p.PAID : p.PAID + 5].sum(axis=1) + at[:, p.OVERPAID]
    ours = _is(at, Model.CAPITAL_HEAVY, Model.ON_BALANCE_SHEET, Model.CAPITAL_LIGHT)
    return np.asarray(~ours | (posted == paid))


def cleared_is_posted(at: I64, found: I64) -> NDArray[np.bool_]:
    """Every unit the providers handed over is posted once."""
    posted = sum(found[:, place] for place in (
        a.CLEARED_INSTITUTION, a.CLEARED_PRINCIPAL, a.CLEARED_INTEREST, a.CLEARED_FEES,
        a.CLEARED_RECOVERY,
    ))  # fmt: skip
    cleared = at[:, p.CLEARED : p.CLEARED + 5].sum(axis=1) + at[:, p.CLEARED_OVERPAID]
    ours = _is(at, Model.CAPITAL_HEAVY, Model.ON_BALANCE_SHEET, Model.CAPITAL_LIGHT)
    return np.asarray(~ours | (posted == cleared))


def nothing_is_left(at: I64, found: I64) -> NDArray[np.bool_]:
    """A loan that has ended holds no guarantee, no receivable, no contract asset, no fee."""
    stand_ready = (
        found[:, a.GUARANTEE_ISSUED] - found[:, a.GUARANTEE_CANCELLED]
        - found[:, a.GUARANTEE_RELEASED]
    )  # fmt: skip
    receivable = (
        found[:, a.GUARANTEE_ISSUED] - found[:, a.GUARANTEE_CANCELLED]
        - found[:, a.GUARANTEE_RECEIVED] - found[:, a.RECEIVABLE_WRITTEN_OFF]
    )  # fmt: skip
    contract = (
        found[:, a.FACILITATION_EARNED] + found[:, a.SERVICING_EARNED]
        - found[:, a.SERVICE_RECEIVED] - found[:, a.CONTRACT_WRITTEN_OFF]
    )  # fmt: skip
    fee = (
        found[:, a.UPFRONT_FEE] + found[:, a.SLICES_RECEIVED] - found[:, a.FEE_EARNED]
        - found[:, a.FEE_WRITTEN_OFF]
    )  # fmt: skip
    interest = (
        found[:, a.INTEREST_EARNED] - found[:, a.INTEREST_RECEIVED]
        - found[:, a.INTEREST_WRITTEN_OFF]
    )  # fmt: skip
    left = (stand_ready != 0) | (receivable != 0) | (contract != 0) | (fee != 0) | (interest != 0)
    return np.asarray(~_ended(at) | ~left)


def guarantee_is_whole(at: I64, found: I64) -> NDArray[np.bool_]:
    """What stands ready is never below zero, and never more than was issued."""
    left = (
        found[:, a.GUARANTEE_ISSUED] - found[:, a.GUARANTEE_CANCELLED]
        - found[:, a.GUARANTEE_RELEASED]
    )  # fmt: skip
    return np.asarray((left >= 0) & (left <= at[:, p.GUARANTEE]))


CHECKS: dict[str, Callable[[I64, I64], NDArray[np.bool_]]] = {
    "own principal is what borrowers owe": principal_ties,
    "cash received is posted once": cash_is_posted,
    "cash cleared is posted once": cleared_is_posted,
    "ended loans hold nothing": nothing_is_left,
    "guarantees stand between nothing and what was issued": guarantee_is_whole,
}
