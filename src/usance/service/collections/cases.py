"""Cases of an evening: all loans of a borrower together, opened, moved and closed by one fold.

A case is a borrower with something past due. Its days past due are those of the worst loan, its
amounts the sums over all. The fold is one sort and three reductions, so that a million loans take
a second.

>>> from datetime import date
>>> from usance.base.dates import to_day
>>> loans = LoanArrears.of(
...     loan_id=[16385, 16386, 32769, 49153], days_past_due=[2, 33, 0, 5],
...     past_due_minor=[500_00, 300_00, 0, 90_00], principal_minor=[4_000_00, 2_000_00, 10, 900_00],
... )  # fmt: skip
>>> stages = Stages.at(date(2024, 7, 1))
>>> first = end_of_day(loans, Cases.none(), to_day(date(2024, 7, 1)), stages)
>>> first.cases.user_id.tolist(), first.cases.past_due_minor.tolist(), first.opened.tolist()
([1, 3], [80000, 9000], [1, 3])
>>> paid = loans._replace(
...     past_due_minor=np.array([500_00, 0, 0, 0]), days_past_due=np.array([3, 0, 0, 0])
... )
>>> second = end_of_day(paid, first.cases, to_day(date(2024, 7, 2)), stages)
>>> second.closed.tolist(), second.moved.tolist(), second.cases.opened_on.tolist()
([3], [1], [19905])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I8, I64
from usance.base.ids import USER_SHIFT
from usance.service.collections.stages import Stage, Stages
from usance.service.errors import CaseError

BOOLS = NDArray[np.bool_]


class LoanArrears(NamedTuple):
    """Arrears of each loan on an evening; below zero, days past due are days to the next due."""

    loan_id: I64
    days_past_due: I64
    past_due_minor: I64
    principal_minor: I64

    @classmethod
    def of(
        cls, loan_id: Sequence[int] | I64, days_past_due: Sequence[int] | I64,
        past_due_minor: Sequence[int] | I64, principal_minor: Sequence[int] | I64,
    ) -> LoanArrears:  # fmt: skip
        """From sequences of equal length, each loan once."""
        loans = cls(*(np.asarray(each, np.int64) for each in (
            loan_id, days_past_due, past_due_minor, principal_minor)))  # fmt: skip
        if len({len(each) for each in loans}) != 1:
            fix = "Give each loan an id, its days past due and its two amounts"
            raise CaseError("columns differ in length", where="loans", fix=fix)
        if len(np.unique(loans.loan_id)) != len(loans.loan_id):
            raise CaseError("a loan is there twice", where="loans", fix="Give each loan once")
        if (loans.past_due_minor < 0).any() or (loans.principal_minor < 0).any():
            fix = "Give what is owed, zero or more"
            raise CaseError("an amount is below zero", where="loans", fix=fix)
        return loans


class Cases(NamedTuple):
    """Cases of an evening, by borrower."""

    user_id: I64
    days_past_due: I64
    past_due_minor: I64
    principal_minor: I64
    loans: I64
    stage: I8
    opened_on: I64

    @classmethod
    def none(cls) -> Cases:
        """No cases, as before the first evening."""
        none = np.zeros(0, np.int64)
        return cls(none, none, none, none, none, none.astype(np.int8), none)

    @property
    def size(self) -> int:
        """The number of cases."""
        return len(self.user_id)

    def where(self, rows: BOOLS) -> Cases:
        """The cases of a mask."""
        return Cases(
            self.user_id[rows], self.days_past_due[rows], self.past_due_minor[rows],
            self.principal_minor[rows], self.loans[rows], self.stage[rows], self.opened_on[rows],
        )  # fmt: skip


class CaseRun(NamedTuple):
    """Outcome of an evening: cases as they are now, and the borrowers whose case changed."""

    cases: Cases
    opened: I64
    closed: I64
    moved: I64
    """Cases that are in another stage than the evening before."""
    reminders: Cases
    """Borrowers with nothing past due and an instalment about to fall due."""


def end_of_day(loans: LoanArrears, before: Cases, day: int, stages: Stages) -> CaseRun:
    """Open, move and close cases from what every loan owes at the end of a day."""
    folded = _fold(loans, stages, day)
    is_case = folded.past_due_minor > 0
    cases = folded.where(is_case)
    before_stage, is_known, opened_on = _looked_up(before, cases.user_id, day)
    cases = cases._replace(opened_on=opened_on)
    closed = np.setdiff1d(before.user_id, cases.user_id, assume_unique=True)
    is_soon = ~is_case & (folded.days_past_due >= min(stages.first_days))
    return CaseRun(
        cases, cases.user_id[~is_known], closed,
        cases.user_id[is_known & (before_stage != cases.stage)],
        folded.where(is_soon & (folded.stage == Stage.REMINDER)),
    )  # fmt: skip


def _fold(loans: LoanArrears, stages: Stages, day: int) -> Cases:
    users = loans.loan_id >> USER_SHIFT
    order = np.argsort(users, kind="stable")
    users = users[order]
    if not len(users):
        return Cases.none()
    starts = np.flatnonzero(np.concatenate(([True], users[1:] != users[:-1])))
    is_late = loans.past_due_minor[order] > 0
    # A loan that owes nothing has no days past due of its own; its next due may still be near.
    given = loans.days_past_due[order]
    days = np.where(is_late, np.maximum(given, 1), np.minimum(given, 0))
    worst = np.maximum.reduceat(days, starts)
    past_due, principal, late = (
        np.add.reduceat(column, starts)
        for column in (loans.past_due_minor[order], loans.principal_minor[order],
                       is_late.astype(np.int64))
    )  # fmt: skip
    return Cases(
        users[starts], worst, past_due, principal, late, stages.column(worst),
        np.full(len(starts), day, np.int64),
    )  # fmt: skip


def _looked_up(before: Cases, users: I64, day: int) -> tuple[I8, BOOLS, I64]:
    """Stage, presence and opening day that each borrower had the evening before."""
    if not before.size:
        absent = np.zeros(len(users), bool)
        return np.full(len(users), -1, np.int8), absent, np.full(len(users), day, np.int64)
    place = np.minimum(np.searchsorted(before.user_id, users), before.size - 1)
    is_known = before.user_id[place] == users
    return before.stage[place], is_known, np.where(is_known, before.opened_on[place], day)
