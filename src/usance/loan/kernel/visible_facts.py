"""Facts of a table that a replay sees: known, and not reversed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I8, I32, I64
from usance.base.codes import FactKind
from usance.base.compiled import kernel

VALID, OUT_OF_ORDER, BAD_REVERSAL = 0, 1, 2

_REVERSED = int(FactKind.REVERSED)


@kernel
def mark_visible(
    start: int, stop: int, offsets: I64, day: I32, kind: I8, ref: I64, arg: I64, booked: I64,
    known_at: int, keep: NDArray[np.bool_], verdict: I32,
) -> None:  # fmt: skip
    """Mark the facts of each loan that are known and not reversed."""
    for loan in range(start, stop):
        first, last = offsets[loan], offsets[loan + 1]
        any_reversal = False
        for at in range(first, last):
            keep[at] = booked[at] <= known_at
            any_reversal = any_reversal or (keep[at] and kind[at] == _REVERSED)
            if at > first and not (
                day[at - 1] < day[at]
                or (day[at - 1] == day[at] and kind[at - 1] < kind[at])
                or (day[at - 1] == day[at] and kind[at - 1] == kind[at] and ref[at - 1] < ref[at])
            ):
                verdict[loan] = OUT_OF_ORDER
        if any_reversal and verdict[loan] == VALID:
            verdict[loan] = unmark_reversed(first, last, kind, ref, arg, booked, known_at, keep)


@kernel
def unmark_reversed(
    first: int, last: int, kind: I8, ref: I64, arg: I64, booked: I64, known_at: int,
    keep: NDArray[np.bool_],
) -> int:  # fmt: skip
    """Unmark known reversals and the facts they name; a loan has few, so a scan will do."""
    for at in range(first, last):
        if kind[at] != _REVERSED or booked[at] > known_at:
            continue
        found = False
        for other in range(first, last):
            if ref[other] == arg[at] and keep[other] and kind[other] != _REVERSED:
                keep[other] = False
                found = True
        if not found:
            return BAD_REVERSAL
        keep[at] = False
    return VALID
