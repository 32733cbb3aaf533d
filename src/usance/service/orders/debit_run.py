"""The debit run of a day on columns: one order per borrower and provider, with its split by loan.

A loan with an open order is left out, so no due has two; a loan whose debits are stopped (hardship,
dispute, no mandate) likewise. Never more is asked for than is owed.

>>> from usance.service.orders.debit_policy import DebitAmount
>>> owed = DebitColumns.of(
...     loan_id=[16385, 16386, 32769], provider=[2, 2, 2], due_minor=[900, 300, 500],
...     penalty_minor=[20, 0, 0], is_open=[False, False, True],
... )
>>> run = debit_run(owed, DebitAttempt(8, DebitAmount.FULL), minimum_minor=10_000)
>>> run.user_id.tolist(), run.amount_minor.tolist()
([1], [1220])
>>> run.loan_id.tolist(), run.split_minor.tolist()
([16385, 16386], [920, 300])
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I16, I64, Bools
from usance.base.ids import USER_SHIFT
from usance.loan.batch import Views
from usance.service.errors import DebitError
from usance.service.orders.debit_policy import DebitAmount, DebitAttempt
from usance.service.orders.payment_order import PaymentOrder, Purpose, Split

_DUE = ("past_due_principal", "past_due_interest", "past_due_guarantee_fee", "past_due_service_fee")


class DebitColumns(NamedTuple):
    """A column of loans on a day: what is owed of each, through which provider, and what stops it.

    A view of the due day counts that day's instalment as due.
    """

    loan_id: I64
    provider: I16
    due_minor: I64
    """Unpaid instalments, without penalties."""
    penalty_minor: I64
    is_open: Bools
    """True while a debit of this loan has not ended."""

    @classmethod
    def of(
        cls, loan_id: Sequence[int], provider: Sequence[int], due_minor: Sequence[int],
        penalty_minor: Sequence[int], is_open: Sequence[bool],
    ) -> DebitColumns:  # fmt: skip
        """Columns from plain values."""
        return cls(
            np.array(loan_id, np.int64), np.array(provider, np.int16),
            np.array(due_minor, np.int64), np.array(penalty_minor, np.int64),
            np.array(is_open, np.bool_),
        )  # fmt: skip

    @classmethod
    def of_views(cls, loan_id: I64, provider: I16, views: Views, is_open: Bools) -> DebitColumns:
        """Columns from views of the loans at the moment of sending."""
        due = np.zeros(len(loan_id), np.int64)
        for name in _DUE:
            due += views.column(name)
        return cls(loan_id, provider, due, views.column("past_due_penalty"), is_open)


class DebitOrders(NamedTuple):
    """Orders of a run, by borrower and provider; the split of row k lies at offsets k to k + 1."""

    user_id: I64
    provider: I16
    amount_minor: I64
    offsets: I64
    loan_id: I64
    split_minor: I64

    def orders(
        self, day: date, hour: int, currency: str, first_id: int, at: datetime, until: datetime
    ) -> Iterator[PaymentOrder]:
        """Payment orders; a run made again gives the same references."""
        for row in range(len(self.user_id)):
            parts = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
            user, provider = int(self.user_id[row]), int(self.provider[row])
            yield PaymentOrder(
                order_id=first_id + row, purpose=Purpose.DEBIT,
                reference=f"D{day:%Y%m%d}{hour:02d}-{user}-{provider}", provider=provider,
                party=user, currency=currency, amount_minor=int(self.amount_minor[row]),
                created_at=at, expires_at=until,
                splits=tuple(
                    Split(int(loan), int(amount))
                    for loan, amount in zip(
                        self.loan_id[parts], self.split_minor[parts], strict=True
                    )
                ),
            )  # fmt: skip


def debit_run(owed: DebitColumns, attempt: DebitAttempt, minimum_minor: int) -> DebitOrders:
    """One order per borrower and provider over all loans that owe something and have none open."""
    _check(owed)
    wanted = owed.due_minor.copy()
    if attempt.amount is not DebitAmount.DUE:
        wanted += owed.penalty_minor
    rows = np.flatnonzero((wanted > 0) & ~owed.is_open)
    user = owed.loan_id[rows] >> USER_SHIFT
    order = np.lexsort((owed.loan_id[rows], owed.provider[rows], user))
    rows, user = rows[order], user[order]
    amount, provider, loan = wanted[rows], owed.provider[rows], owed.loan_id[rows]
    starts = _group_starts(user, provider)
    if attempt.amount is DebitAmount.MINIMUM:
        amount = _oldest_first(amount, starts, minimum_minor)
        kept = amount > 0  # younger loans of a borrower whose minimum is used up
        user, provider, loan, amount = user[kept], provider[kept], loan[kept], amount[kept]
        starts = _group_starts(user, provider)
    total = np.add.reduceat(amount, starts) if len(starts) else amount
    offsets = np.concatenate((starts, [len(loan)])).astype(np.int64)
    return DebitOrders(user[starts], provider[starts], total, offsets, loan, amount)


def capped(order: PaymentOrder, owed_minor: Mapping[int, int]) -> PaymentOrder | None:
    """The order with no part above what its loan owes now; None if nothing is owed any more.

    Between the run and the wire a borrower may have paid: this is looked at in the transaction that
    books `sending`.
    """
    parts = [
        Split(loan_id, min(amount_minor, owed_minor.get(loan_id, 0)))
        for loan_id, amount_minor in order.splits
    ]
    left = tuple(each for each in parts if each.amount_minor > 0)
    if not left:
        return None
    return replace(order, splits=left, amount_minor=sum(each.amount_minor for each in left))


def _check(owed: DebitColumns) -> None:
    if len({len(column) for column in owed}) > 1:
        lengths = [len(column) for column in owed]
        raise DebitError(f"columns of lengths {lengths}", where="debit run", fix="Align them")
    negative = np.flatnonzero((owed.due_minor < 0) | (owed.penalty_minor < 0))
    if len(negative):
        loan = int(owed.loan_id[negative[0]])
        raise DebitError("owes less than nothing", where=f"loan {loan}", fix="View the loan again")


def _group_starts(user: I64, provider: I16) -> I64:
    """The first row of each borrower and provider."""
    new = np.ones(len(user), np.bool_)
    new[1:] = (user[1:] != user[:-1]) | (provider[1:] != provider[:-1])
    return np.flatnonzero(new)


def _oldest_first(amount: I64, starts: I64, limit_minor: int) -> I64:
    """Amounts of each group up to a limit for the group, its oldest loan first."""
    before = np.cumsum(amount) - amount
    lengths = np.diff(np.concatenate((starts, [len(amount)])))
    within = before - np.repeat(before[starts], lengths)
    part: I64 = np.minimum(np.maximum(limit_minor - within, 0), amount)
    return part
