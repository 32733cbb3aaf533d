"""Rows and facts put together in a given order, and states made narrow for keeping, compiled."""

from __future__ import annotations

from usance.base.arrays import I8, I16, I32, I64, i64, u64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.loan.kernel.fold import FEES, LOW_32, SLOTS

Paid = tuple[I8, I32, I64, I16]
"""By loan how many facts it has, or `CALM`; and of those that are calm the one payment: its day,
amount and arg."""
CALM = -1
Told = tuple[I32, I8, I64, I64, I64, I32, I64]
"""Facts as they are told: effective day, kind, amount, arg, reference, day of booking, loan."""
_PAID = int(FactKind.PAID)

NARROW = SLOTS + 1
"""Columns of a narrow state: its slots, and last the upper half of `FEES`."""
_MAX = 2**31


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


@kernel(inline=True)
def copy_fact(facts: Told, at: int, to: Told, place: int) -> None:
    """One fact from place to place."""
    to[0][place], to[1][place], to[2][place] = facts[0][at], facts[1][at], facts[2][at]
    to[3][place], to[4][place], to[5][place] = facts[3][at], facts[4][at], facts[5][at]
    to[6][place] = facts[6][at]


@kernel(inline=True)
def write_fact(
    facts: Told, at: int, loan: int, day: int, kind: int, amount: int, arg: int, ref: int,
    booked: int,
) -> int:  # fmt: skip
    """One fact; the place after it."""
    facts[0][at], facts[1][at], facts[2][at] = day, kind, amount
    facts[3][at], facts[4][at], facts[5][at] = arg, ref, booked
    facts[6][at] = loan
    return at + 1


@kernel
def weave_facts(
    start: int, stop: int, loan: I64, ref: int, paid: Paid, others: Told, at: int, out: Told
) -> None:
    """The facts of some loans from a place on: calm ones have one, the others theirs in order."""
    told = 0
    for row in range(start, stop):
        found = paid[0][u64(row)]
        if found == CALM:
            place = u64(at)
            day = paid[1][u64(row)]
            out[0][place], out[1][place], out[2][place] = day, _PAID, paid[2][u64(row)]
            out[3][place], out[4][place] = paid[3][u64(row)], ref
            out[5][place], out[6][place] = day, loan[u64(row)]
            at += 1
            continue
        for _ in range(found):
            copy_fact(others, told, out, at)
            told += 1
            at += 1


@kernel
def narrow_rows(start: int, stop: int, states: I64, out: I32) -> bool:
    """States as columns of half the width; whether all of them fit."""
    fits = True
    for row in range(start, stop):
        for slot in range(SLOTS):
            value = states[row, slot]
            if slot == FEES:
                out[SLOTS, row] = value >> 32
                value &= LOW_32
            fits = fits and -_MAX <= value < _MAX
            out[slot, row] = value
    return fits


@kernel
def widen_rows(start: int, stop: int, narrow: I32, states: I64) -> None:
    """The states that were made narrow."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            states[row, slot] = narrow[slot, row]
        states[row, FEES] += i64(narrow[SLOTS, row]) << 32
