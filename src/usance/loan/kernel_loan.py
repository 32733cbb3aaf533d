"""Replay of one `Loan` in the kernel: the loan, or the named refusal."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from usance.base.codes import Status
from usance.base.dates import from_day, to_day
from usance.base.errors import UsanceError
from usance.loan.columns import FactColumns, TermColumns, convention_code
from usance.loan.errors import FactNotInKernel, KernelRange
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.kernel.refusals import BAD_AMOUNT
from usance.loan.terms import Terms
from usance.loan.views import VIEW_FIELDS, ComponentAmounts, InstalmentState, LoanView

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STATUSES = tuple(Status)
_new = tuple.__new__  # a named tuple's own is written in Python and takes three times as long


class KernelLoan:
    """A loan as the kernel left it: its state, and its view as one row of integers."""

    __slots__ = ("_as_of", "_row", "_state", "_terms")
    form = "kernel"

    def __init__(self, terms: Terms, as_of: date, state: NDArray[np.int64], row: list[int]) -> None:
        self._terms, self._as_of, self._state, self._row = terms, as_of, state, row

    def view(self) -> LoanView:
        """Balances and arrears of the loan on its day."""
        r = self._row
        due, past_due = _new(ComponentAmounts, (*r[4:8], 0)), _new(ComponentAmounts, r[8:13])
        paid, waived = _new(ComponentAmounts, r[13:18]), _new(ComponentAmounts, r[18:23])
        next_due_on = from_day(r[31]) if r[31] >= 0 else None
        return _new(
            LoanView,
            (self._as_of, _STATUSES[r[0]], *r[1:4], due, past_due, paid, waived, *r[23:31],
             next_due_on, r[32]),
        )  # fmt: skip

    def rows(self) -> list[InstalmentState]:
        """Every instalment with what is due, paid (or waived) and outstanding; none before that."""
        if not self.view().disbursed:
            return []
        from usance.loan.batch import States, instalment_columns
        from usance.loan.kernel.state import SLOTS

        columns = TermColumns.of([self._terms])
        through = np.array([to_day(self._as_of)], np.int32)
        cover = instalment_columns(States(columns, self._state[:SLOTS].reshape(1, SLOTS), through))
        rows = zip(cover.due_on.tolist(), cover.due.tolist(), cover.covered.tolist(), strict=True)
        return [
            InstalmentState(number, from_day(day), ComponentAmounts(*asked), ComponentAmounts(*met),
                            ComponentAmounts(*(a - m for a, m in zip(asked, met, strict=True))))
            for number, (day, asked, met) in enumerate(rows, start=1)
        ]  # fmt: skip


def replay_in_kernel(
    terms: Terms, facts: list[Fact], as_of: date, known_at: datetime
) -> KernelLoan | UsanceError:
    """The kernel's answer, or why only the exact form has one.

    Facts mostly come known, unreversed and in order, so the kernel is first tried on them as they
    are; only if it refuses, or if some are not known yet, `visible` sorts them out.
    """
    if known_at is END_OF_TIME:
        loan = _try_kernel(terms, facts, as_of)
        if isinstance(loan, KernelLoan):
            return loan
    seen = visible(facts, as_of=as_of, known_at=known_at)
    loan = _try_kernel(terms, seen, as_of)
    if isinstance(loan, KernelLoan):
        return loan
    from usance.base.refusals import unpack_refusal
    from usance.loan.refusals import named_refusal

    code, position = unpack_refusal(loan)
    refusal = named_refusal(code, 0, 1, FactColumns.of([seen]), position)
    if isinstance(refusal, (KernelRange, FactNotInKernel)):
        return refusal
    raise refusal


def _try_kernel(terms: Terms, facts: list[Fact], as_of: date) -> KernelLoan | int:
    """The loan, or the kernel's refusal of its facts."""
    replay_loan, loan_workspace = _kernel()
    given = _fact_array(facts) if facts else np.empty(0, np.int64)
    if given is None:
        return BAD_AMOUNT
    room, out = loan_workspace(), np.empty((1, len(VIEW_FIELDS)), np.int64)
    refusal = replay_loan(_scalars(terms), given, as_of.toordinal(), room, out)
    return refusal or KernelLoan(terms, as_of, room, out.tolist()[0])


@cache
def _kernel() -> tuple[Callable[..., int], Callable[[], NDArray[np.int64]]]:
    """The compiled functions, imported when first needed: Numba takes a second to load."""
    from usance.loan.kernel.single import loan_workspace, replay_loan

    return replay_loan, loan_workspace


def _scalars(terms: Terms) -> tuple[int, ...]:
    return (
        terms.principal_minor, terms.rate_ppm, terms.coupon_ppm, terms.instalments,
        terms.disbursed_on.toordinal(), terms.first_due_on.toordinal(), terms.flat_fee_minor,
        terms.guarantee_fee_minor, convention_code(terms.convention) or 0,
    )  # fmt: skip


def _fact_array(facts: list[Fact]) -> NDArray[np.int64] | None:
    """Days, kinds, amounts, args and refs, or None where `visible` has to look at the facts first.

    That is if a value is no 64-bit integer or a ref comes twice.
    """
    kinds, dates, amounts, refs, args, _ = zip(*facts, strict=False)  # strict takes twice as long
    n = len(facts)
    if len(set(refs)) != n:
        return None
    given, days = np.empty(5 * n, np.int64), map(date.toordinal, dates)
    try:
        struct.pack_into(f"{5 * n}q", given.data, 0, *days, *kinds, *amounts, *args, *refs)
    except struct.error:
        return None
    return given
