"""The facts of some loans out of many files, each loan's together and in canonical order.

Files are in order of loan and come month by month, so a loan's facts lie scattered over them. They
are counted, given room and put in place: no sort of everything, and nothing of loans that are not
asked for is ever copied. What stands of them is the same as `usance.loan.visible_facts` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import FactKind
from usance.base.compiled import in_threads
from usance.base.concurrency import parallel_map
from usance.loan.columns import FactColumns
from usance.loan.errors import Strangers
from usance.loan.facts import END_OF_TIME
from usance.loan.kernel.fact_files import FactRows, count_facts, place_facts
from usance.loan.kernel.visible_facts import OUT_OF_ORDER
from usance.loan.visible_facts import microseconds, refusal, standing_rows

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
NO_MOMENTS = np.empty(0, np.int64)
_THREADS, _PIECE = 2, 1 << 15
"""Loans gathered at a time: their facts stay in the processor's cache meanwhile."""


@dataclass(frozen=True, slots=True)
class FactFile:
    """The facts of one file, in key order."""

    loan_id: I64
    told: FactRows
    booked: I64
    """When each was booked; empty where all of them are known anyway."""

    @property
    def kind(self) -> NDArray[np.int8]:
        """What each of them is."""
        return self.told[1]

    def after(self, moment: int) -> FactFile:
        """Those that were booked after a moment."""
        rows = self.booked > moment
        return FactFile(self.loan_id[rows], _taken(self.told, rows), self.booked[rows])


@dataclass(frozen=True, slots=True)
class Gathered:
    """The known facts of some loans, reversed ones too, each loan's in canonical order."""

    offsets: I64
    told: FactRows

    def of(self, rows: Mask) -> Gathered:
        """The facts of some of the loans."""
        if rows.all():
            return self
        counts = np.diff(self.offsets)
        places = np.flatnonzero(np.repeat(rows, counts))
        return Gathered(np.append(0, np.cumsum(counts[rows])), _taken(self.told, places))

    def standing(self, ids: I64) -> FactColumns:
        """Those that are not reversed."""
        day, kind, ref, amount, arg = self.told
        made = FactColumns(self.offsets, day, kind, amount, arg)
        return standing_rows(made, ref, ids) if (kind == FactKind.REVERSED).any() else made

    def as_file(self, ids: I64) -> FactFile:
        """As if they stood in one file."""
        return FactFile(np.repeat(ids, np.diff(self.offsets)), self.told, NO_MOMENTS)


def gathered(
    files: Sequence[FactFile], ids: I64, wanted: Mask | None = None,
    known_at: datetime = END_OF_TIME,
) -> Gathered:  # fmt: skip
    """The facts of the wanted ones of these loans (rising ids) that are known."""
    target = _targets(ids, wanted)
    size = int(target.max(initial=-1)) + 1
    counts, moment = np.zeros(size, np.int64), microseconds(known_at)
    bounds = [np.searchsorted(file.loan_id, ids[::_PIECE]) for file in files]

    def count(start: int, _stop: int) -> list[int]:
        return [
            count_facts(
                *_span(file, bound, start), file.loan_id, ids, start, target, file.booked, moment,
                counts,
            )
            for file, bound in zip(files, bounds, strict=True)
        ]  # fmt: skip

    found = in_threads(count, len(ids), chunk=_PIECE)
    if not found or any(at >= 0 for places in found for at in places):
        _refuse_strangers(files, ids)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    filled = np.zeros(size, np.int64)
    size = int(offsets[-1])
    ref, amount, arg = (np.empty(size, np.int64) for _ in range(3))
    room = np.empty(size, np.int32), np.empty(size, np.int8), ref, amount, arg

    def place(start: int, _stop: int) -> list[int]:
        return [
            place_facts(
                *_span(file, bound, start), file.loan_id, ids, start, target, file.booked, moment,
                file.told, offsets, filled, room,
            )
            for file, bound in zip(files, bounds, strict=True)
        ]  # fmt: skip

    _refuse_repeats(files, in_threads(place, len(ids), chunk=_PIECE))
    return Gathered(offsets, room)


def _taken(told: FactRows, places: NDArray[Any]) -> FactRows:
    """Some of the facts."""
    columns: Sequence[Any] = told
    taken = parallel_map(lambda values: values[places], columns, _THREADS)
    day, kind, ref, amount, arg = taken
    return day, kind, ref, amount, arg


def _targets(ids: I64, wanted: Mask | None) -> I64:
    """The row each loan's facts go to; below 0 if they are not asked for."""
    if wanted is None:
        return np.arange(len(ids), dtype=np.int64)
    return np.where(wanted, np.cumsum(wanted) - 1, -1).astype(np.int64)


def _span(file: FactFile, bound: NDArray[np.intp], start: int) -> tuple[int, int]:
    """The facts of a file that belong to the loans of a piece."""
    piece = start // _PIECE
    # What lies before the first loan is nobody's, and is found with its piece.
    first = int(bound[piece]) if piece else 0
    last = int(bound[piece + 1]) if piece + 1 < len(bound) else len(file.loan_id)
    return first, last


def _refuse_strangers(files: Sequence[FactFile], ids: I64) -> None:
    """Every fact belongs to one of the loans."""
    owners = [np.empty(0, np.int64), *(file.loan_id for file in files)]
    strangers = np.setdiff1d(np.concatenate(owners), ids)
    if len(strangers):
        raise Strangers(
            f"{len(strangers)} loans have facts and no terms, the first {strangers[0]}",
            where="loan_id",
            fix="Give the terms of every loan with facts",
        )


def _refuse_repeats(files: Sequence[FactFile], found: Sequence[Sequence[int]]) -> None:
    """No fact is there twice."""
    twice = {
        int(file.loan_id[at])
        for places in found
        for file, at in zip(files, places, strict=True)
        if at >= 0
    }
    if twice:
        raise refusal(min(twice), OUT_OF_ORDER, len(twice))
