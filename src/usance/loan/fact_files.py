"""The facts of some loans out of many files, each loan's together and in canonical order.

Files are in order of loan and come month by month, so a loan's facts lie scattered over them. They
are counted per loan, then copied to their places: nothing is sorted as a whole, and facts of loans
that are not wanted are never copied. `usance.loan.visible_facts` drops the reversed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64, Bools
from usance.base.codes import FactKind
from usance.base.compiled import in_threads
from usance.base.concurrency import parallel_map
from usance.loan.columns import FactColumns
from usance.loan.errors import OrphanFacts
from usance.loan.facts import END_OF_TIME
from usance.loan.kernel.fact_files import FactFile, FactRows, WantedLoans, count_facts, place_facts
from usance.loan.kernel.visible_facts import OUT_OF_ORDER
from usance.loan.visible_facts import invalid_facts, known_at_bound, visible_rows

NO_BOOKING_TIMES = np.empty(0, np.int64)
_THREADS, _PIECE = 2, 1 << 15
"""Loans collected at a time: their facts stay in the processor's cache meanwhile."""


@dataclass(frozen=True, slots=True)
class FactsByLoan:
    """The known facts of some loans, reversed ones too, each loan's in canonical order."""

    offsets: I64
    facts: FactRows

    def select(self, rows: Bools) -> FactsByLoan:
        """The facts of some of the loans."""
        if rows.all():
            return self
        counts = np.diff(self.offsets)
        places = np.flatnonzero(np.repeat(rows, counts))
        return FactsByLoan(np.append(0, np.cumsum(counts[rows])), _select(self.facts, places))

    def unreversed(self, ids: I64) -> FactColumns:
        """The facts that are not reversed, as the kernel reads them."""
        facts = self.facts
        columns = FactColumns(self.offsets, facts.day, facts.kind, facts.amount, facts.arg)
        if not (facts.kind == FactKind.REVERSED).any():
            return columns
        return visible_rows(columns, facts.ref, ids)

    def as_file(self, ids: I64) -> FactFile:
        """The facts as one file."""
        return FactFile(np.repeat(ids, np.diff(self.offsets)), self.facts, NO_BOOKING_TIMES)


def collect_facts(
    files: Sequence[FactFile], ids: I64, wanted: Bools | None = None,
    known_at: datetime = END_OF_TIME,
) -> FactsByLoan:  # fmt: skip
    """The known facts of these loans (ascending ids), or of the `wanted` ones among them."""
    loans = WantedLoans(ids, _target_rows(ids, wanted), known_at_bound(known_at))
    size = int(loans.target.max(initial=-1)) + 1
    counts, filled = np.zeros(size, np.int64), np.zeros(size, np.int64)
    bounds = [np.searchsorted(file.loan_id, ids[::_PIECE]) for file in files]

    def count(start: int, _stop: int) -> list[int]:
        return [
            count_facts(*_span(file, bound, start), file, loans, start, counts)
            for file, bound in zip(files, bounds, strict=True)
        ]

    found = in_threads(count, len(ids), chunk=_PIECE)
    if not found or any(at >= 0 for places in found for at in places):
        _refuse_orphans(files, ids)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    size = int(offsets[-1])
    ref, amount, arg = (np.empty(size, np.int64) for _ in range(3))
    collected = FactRows(np.empty(size, np.int32), np.empty(size, np.int8), ref, amount, arg)

    def place(start: int, _stop: int) -> list[int]:
        return [
            place_facts(*_span(file, bound, start), file, loans, start, offsets, filled, collected)
            for file, bound in zip(files, bounds, strict=True)
        ]

    _refuse_repeats(files, in_threads(place, len(ids), chunk=_PIECE))
    return FactsByLoan(offsets, collected)


def booked_after(file: FactFile, moment: int) -> FactFile:
    """The facts of a file that were booked after a moment."""
    rows = file.booked > moment
    return FactFile(file.loan_id[rows], _select(file.facts, rows), file.booked[rows])


def _select(facts: FactRows, places: NDArray[Any]) -> FactRows:
    """Some of the facts."""
    columns: Sequence[Any] = facts
    return FactRows(*parallel_map(lambda values: values[places], columns, _THREADS))


def _target_rows(ids: I64, wanted: Bools | None) -> I64:
    """The row of each loan's facts in the result; -1 if the loan is not wanted."""
    if wanted is None:
        return np.arange(len(ids), dtype=np.int64)
    return np.where(wanted, np.cumsum(wanted) - 1, -1).astype(np.int64)


def _span(file: FactFile, bound: NDArray[np.intp], start: int) -> tuple[int, int]:
    """The facts of a file that belong to the loans of a piece."""
    piece = start // _PIECE
    # Facts before the first loan belong to none; they are checked with the first piece.
    first = int(bound[piece]) if piece else 0
    last = int(bound[piece + 1]) if piece + 1 < len(bound) else len(file.loan_id)
    return first, last


def _refuse_orphans(files: Sequence[FactFile], ids: I64) -> None:
    """Refuse facts of loans that are not given."""
    owners = [np.empty(0, np.int64), *(file.loan_id for file in files)]
    orphans = np.setdiff1d(np.concatenate(owners), ids)
    if len(orphans):
        raise OrphanFacts(
            f"{len(orphans)} loans have facts and no terms, the first {orphans[0]}",
            where="loan_id",
            fix="Give the terms of every loan with facts",
        )


def _refuse_repeats(files: Sequence[FactFile], found: Sequence[Sequence[int]]) -> None:
    """Refuse a fact that occurs twice."""
    twice = {
        int(file.loan_id[at])
        for places in found
        for file, at in zip(files, places, strict=True)
        if at >= 0
    }
    if twice:
        raise invalid_facts(min(twice), OUT_OF_ORDER, len(twice))
