"""Settlement batches: the difference between what is owed as known now and what was settled.

A fact that is booked late, or reversed, changes what was owed on a day that is settled; the next
batch carries the difference as a correction. A batch that is closed never changes.

>>> from datetime import timedelta
>>> from usance.service.settlement.payable import LineKind, Receipts, Shares, payable
>>> day, shares = date(2024, 7, 1), Shares.of([(16385, 7, 100)])
>>> first = [(16385, day, LineKind.RECEIPT, 900)]
>>> [one] = next_batches(payable(Receipts.of(first), shares), [], day)
>>> one.total_minor, one.corrections_minor
(900, 0)
>>> late = [*first, (16385, day - timedelta(days=40), LineKind.RECEIPT, 50)]
>>> [two] = next_batches(payable(Receipts.of(late), shares), [one], day + timedelta(days=1))
>>> [(line.loan_id, line.is_correction, line.amount_minor) for line in two.lines()]
[(16385, True, 50)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from usance.base.dates import from_day, to_day
from usance.service.errors import SettlementRefused
from usance.service.settlement.payable import LineKind, Payable, summed


class SettlementLine(NamedTuple):
    """One line of a batch's file; a correction is one line a loan."""

    loan_id: int
    day: date
    kind: LineKind
    is_correction: bool
    amount_minor: int


@dataclass(frozen=True, slots=True)
class SettlementBatch:
    """Everything that an institution is owed at its cut-off and was not owed before."""

    institution: int
    day: date
    """Cut-off: what is effective up to it, as known when the batch is made."""
    settled_through: date | None
    """Cut-off of the batch before; what is effective up to it and is new here is a correction."""
    rows: Payable

    @property
    def total_minor(self) -> int:
        """Owed to the institution, or by it where negative; what it provided itself is no part."""
        return int(self.rows.amount_minor[self.rows.kind != LineKind.DISBURSEMENT].sum())

    @property
    def corrections_minor(self) -> int:
        """The part that belongs to days settled before."""
        return sum(each.amount_minor for each in self.lines()
                   if each.is_correction and each.kind is not LineKind.DISBURSEMENT)  # fmt: skip

    def lines(self) -> Iterator[SettlementLine]:
        """Lines by loan and day, the corrections of a loan together on the first day they touch."""
        last = to_day(self.settled_through) if self.settled_through else -1
        late: dict[tuple[int, bool], SettlementLine] = {}
        for loan, day, kind, amount in zip(
            self.rows.loan_id.tolist(), self.rows.day.tolist(), self.rows.kind.tolist(),
            self.rows.amount_minor.tolist(), strict=True,
        ):  # fmt: skip
            line = SettlementLine(loan, from_day(day), LineKind(kind), day <= last, amount)
            if not line.is_correction:
                yield line
            else:
                key = loan, line.kind is LineKind.DISBURSEMENT
                known = late.get(key)
                both = amount + known.amount_minor if known else amount
                late[key] = (known or line)._replace(amount_minor=both)
        yield from (each for each in late.values() if each.amount_minor)

    @property
    def digest(self) -> str:
        """Fingerprint of a closed batch."""
        head = f"{self.institution}/{self.day}/{self.settled_through}".encode()
        return sha256(head + b"".join(column.tobytes() for column in self.rows)).hexdigest()


def next_batches(
    owed: Payable, closed: Sequence[SettlementBatch], day: date
) -> list[SettlementBatch]:
    """The batches of a cut-off, one for each institution that anything has changed for."""
    through: dict[int, date] = {}
    for each in closed:
        through[each.institution] = max(each.day, through.get(each.institution, each.day))
    again = [number for number, last in through.items() if last >= day]
    if again:
        raise SettlementRefused(
            f"institution {again[0]} is settled through {through[again[0]]}", where=str(day),
            fix="Settle a later day: what is late goes into the next batch",
        )  # fmt: skip
    so_far = owed.rows(np.flatnonzero(owed.day <= to_day(day)))
    parts = [so_far, *(each.rows for each in closed)]
    signs = np.full(sum(len(part.day) for part in parts), -1, np.int64)
    signs[: len(so_far.day)] = 1
    whole = Payable(
        np.concatenate([part.institution for part in parts]),
        np.concatenate([part.loan_id for part in parts]),
        np.concatenate([part.day for part in parts]),
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.amount_minor for part in parts]),
    )
    moved = summed(whole, signs)
    numbers, starts = np.unique(moved.institution, return_index=True)
    edges = np.append(starts, len(moved.day)).tolist()
    return [
        SettlementBatch(number, day, through.get(number), moved.rows(np.arange(start, end)))
        for number, start, end in zip(numbers.tolist(), edges[:-1], edges[1:], strict=True)
    ]


class Difference(NamedTuple):
    """A line that an institution sees otherwise: theirs less ours."""

    loan_id: int
    day: date
    kind: LineKind
    difference_minor: int


def acknowledge(
    batch: SettlementBatch, institution: int, day: date, answered: Sequence[SettlementLine]
) -> list[Difference]:
    """Differences of an acknowledgement, line by line; none if the institution agrees."""
    if (institution, day) != (batch.institution, batch.day):
        raise SettlementRefused(
            f"is of institution {institution} for {day}",
            where=f"batch of institution {batch.institution} for {batch.day}",
            fix="Answer the batch that the file was made of",
        )  # fmt: skip
    gaps: dict[tuple[int, date, LineKind], int] = {}
    for sign, lines in ((-1, batch.lines()), (1, iter(answered))):
        for line in lines:
            key = line.loan_id, line.day, line.kind
            gaps[key] = gaps.get(key, 0) + sign * line.amount_minor
    return [Difference(*key, gap) for key, gap in sorted(gaps.items()) if gap]
