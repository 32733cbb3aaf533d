"""Rows of numbers put together in a given order, and states made narrow for keeping, compiled."""

from __future__ import annotations

from usance.base.compiled import kernel
from usance.loan.kernel.arrays import I32, I64, i64
from usance.loan.kernel.fold import FEES, LOW, SLOTS

NARROW = SLOTS + 1
"""Columns of a narrow state: its slots, and last the upper half of `FEES`."""
_MOST = 2**31


@kernel
def weave_rows(start: int, stop: int, places: I64, one: I64, other: I64, out: I64) -> None:
    """Each row of the result from its place: in the first table, or behind it in the second."""
    first = len(one)
    for row in range(start, stop):
        place = places[row]
        if place < first:
            for column in range(one.shape[1]):
                out[row, column] = one[place, column]
        else:
            for column in range(one.shape[1]):
                out[row, column] = other[place - first, column]


@kernel
def narrow_rows(start: int, stop: int, states: I64, out: I32) -> bool:
    """States as columns of half the width; whether all of them fit."""
    fits = True
    for row in range(start, stop):
        for slot in range(SLOTS):
            value = states[row, slot]
            if slot == FEES:
                out[SLOTS, row] = value >> 32
                value &= LOW
            fits = fits and -_MOST <= value < _MOST
            out[slot, row] = value
    return fits


@kernel
def widen_rows(start: int, stop: int, narrow: I32, states: I64) -> None:
    """The states that were made narrow."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            states[row, slot] = narrow[slot, row]
        states[row, FEES] += i64(narrow[SLOTS, row]) << 32
