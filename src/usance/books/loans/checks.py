"""Checks of every single loan at a close; a loan that fails is named.

The checks (`kernel.checks`) look at a loan from its replay, and at the amounts the policies made of
it, and compare the two on ways that the policies do not take.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from usance.base.arrays import I64
from usance.books.kernel.checks import (
    CASH_IS_POSTED,
    CLEARED_IS_POSTED,
    GUARANTEE_IS_WHOLE,
    NOTHING_IS_LEFT,
    PRINCIPAL_TIES,
    check_rows,
)

CHECKS = {
    "own principal is what borrowers owe": PRINCIPAL_TIES,
    "cash received is posted once": CASH_IS_POSTED,
    "cash cleared is posted once": CLEARED_IS_POSTED,
    "ended loans hold nothing": NOTHING_IS_LEFT,
    "guarantees stand between nothing and what was issued": GUARANTEE_IS_WHOLE,
}
"""The checks and their bits."""

MAX_NAMED = 20
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

    def check(self, ids: I64, at: I64, found: I64) -> None:
        """Check a piece of loans."""
        failed = np.zeros(len(ids), np.uint8)
        check_rows(at, found, failed)
        if not failed.any():
            return
        for name, bit in CHECKS.items():
            bad = np.flatnonzero(failed & bit)
            if len(bad):
                finding = self.by_check.setdefault(name, Finding())
                finding.count += len(bad)
                finding.loans += ids[bad[: max(0, MAX_NAMED - len(finding.loans))]].tolist()

    def add(self, other: LoanFindings) -> None:
        """Add the findings of another piece."""
        for name, found in other.by_check.items():
            finding = self.by_check.setdefault(name, Finding())
            finding.count += found.count
            finding.loans += found.loans[: max(0, MAX_NAMED - len(finding.loans))]
