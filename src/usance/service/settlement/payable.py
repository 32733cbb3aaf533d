"""Amounts that receipts owe to each institution, by loan, day and kind, as known now.

A receipt is split by the *cumulative* amount of its loan over the principal each institution gave,
by largest remainder, so that parts never drift from their shares however a loan is paid, reversed
or corrected.

>>> receipts = Receipts.of([(16385, date(2024, 7, 1), LineKind.RECEIPT, 1)] * 3)
>>> owed = payable(receipts, Shares.of([(16385, 7, 700), (16385, 8, 300)]))
>>> list(zip(owed.institution.tolist(), owed.amount_minor.tolist()))
[(7, 2), (8, 1)]
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I16, I32, I64
from usance.base.dates import to_day
from usance.match.reservation.split import split_columns
from usance.service.errors import SettlementRefused


class LineKind(IntEnum):
    """Kinds of lines of a settlement; numbers never change."""

    DISBURSEMENT = 1
    """A new loan: what the institution provides."""
    RECEIPT = 2
    EARLY_SETTLEMENT = 3
    COMPENSATION = 4
    """Paid by a guarantor for a loan that was not."""
    RECOVERY = 5


class Receipts(NamedTuple):
    """Movements of loans that institutions have a part in; a reversal is negative."""

    loan_id: I64
    day: I32
    kind: I16
    amount_minor: I64

    @classmethod
    def of(cls, rows: Iterable[tuple[int, date, LineKind, int]]) -> Receipts:
        """Columns from plain rows."""
        found = [(loan, to_day(day), int(kind), amount) for loan, day, kind, amount in rows]
        loan, day, kind, amount = zip(*found, strict=True) if found else ((), (), (), ())
        return cls(
            np.array(loan, np.int64), np.array(day, np.int32), np.array(kind, np.int16),
            np.array(amount, np.int64),
        )  # fmt: skip


class Shares(NamedTuple):
    """Principal that each institution gave of a loan; a loan of one has one row."""

    loan_id: I64
    institution: I16
    principal_minor: I64

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int]]) -> Shares:
        """Columns from plain rows, in the order of loans."""
        found = sorted(rows)
        return cls(
            np.array([row[0] for row in found], np.int64),
            np.array([row[1] for row in found], np.int16),
            np.array([row[2] for row in found], np.int64),
        )


class Payable(NamedTuple):
    """Amounts by institution, loan, day and kind, in this order; none is zero."""

    institution: I16
    loan_id: I64
    day: I32
    kind: I16
    amount_minor: I64

    def rows(self, chosen: I64) -> Payable:
        """Some of the rows."""
        return Payable(
            self.institution[chosen], self.loan_id[chosen], self.day[chosen], self.kind[chosen],
            self.amount_minor[chosen],
        )  # fmt: skip


def payable(receipts: Receipts, shares: Shares) -> Payable:
    """Every receipt split over the institutions of its loan."""
    order = np.lexsort((receipts.kind, receipts.day, receipts.loan_id))
    loan, day, kind = receipts.loan_id[order], receipts.day[order], receipts.kind[order]
    amount = receipts.amount_minor[order]
    first, last = _share_rows(loan, shares)
    cumulative = _cumulative(loan, amount)
    row = np.repeat(np.arange(len(loan)), last - first)
    place = np.arange(len(row)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    share = np.repeat(first, last - first) + place
    parts = split_columns(np.abs(cumulative), row, shares.institution[share].astype(np.int64),
                          shares.principal_minor[share])  # fmt: skip
    parts = np.where(cumulative[row] < 0, -parts, parts)
    # Rows of a loan follow each other with the same shares, so the receipt before is that far back.
    back = np.arange(len(row)) - (last - first)[row]
    is_first = np.ones(len(loan), np.bool_)
    is_first[1:] = loan[1:] != loan[:-1]
    before = np.where(is_first[row], 0, parts[np.maximum(back, 0)])
    made = Payable(shares.institution[share], loan[row], day[row], kind[row], parts - before)
    return summed(made)


def summed(rows: Payable, signs: I64 | None = None) -> Payable:
    """Sums by institution, loan, day and kind; those of zero are left out."""
    amount = rows.amount_minor if signs is None else rows.amount_minor * signs
    order = np.lexsort((rows.kind, rows.day, rows.loan_id, rows.institution))
    if not len(order):
        return rows
    ordered = rows.rows(order)
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (
        (ordered.institution[1:] != ordered.institution[:-1])
        | (ordered.loan_id[1:] != ordered.loan_id[:-1])
        | (ordered.day[1:] != ordered.day[:-1])
        | (ordered.kind[1:] != ordered.kind[:-1])
    )
    places = np.flatnonzero(starts)
    total: I64 = np.add.reduceat(amount[order], places)
    kept = np.flatnonzero(total)
    return ordered.rows(places[kept])._replace(amount_minor=total[kept])


def _share_rows(loan: I64, shares: Shares) -> tuple[I64, I64]:
    """The rows of `shares` of each receipt's loan: first and one past the last."""
    first = np.searchsorted(shares.loan_id, loan, "left")
    last = np.searchsorted(shares.loan_id, loan, "right")
    unknown = np.flatnonzero(first == last)
    if len(unknown):
        raise SettlementRefused(
            f"{len(unknown)} receipts are for loans without an institution",
            where=f"loan {int(loan[unknown[0]])}", fix="Give the shares of every loan",
        )  # fmt: skip
    return first, last


def _cumulative(loan: I64, amount: I64) -> I64:
    """The amount of each loan so far, rows of a loan standing together."""
    whole = np.cumsum(amount)
    is_first = np.ones(len(loan), np.bool_)
    is_first[1:] = loan[1:] != loan[:-1]
    starts = np.flatnonzero(is_first)
    lengths = np.diff(np.append(starts, len(loan)))
    running: I64 = whole - np.repeat((whole - amount)[starts], lengths)
    return running
