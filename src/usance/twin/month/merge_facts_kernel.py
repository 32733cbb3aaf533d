"""Rows and facts merged in a given order, and states narrowed for storage, compiled."""

from __future__ import annotations

from usance.base.arrays import I32, I64, i64, u64
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.loan.kernel.state import FEES, LOW_32, SLOTS
from usance.twin.month.month_arrays import FactBuffer, Payments

ONE_PAYMENT = -1
"""Count of facts of a loan whose one fact is a payment on schedule, kept in `Payments`."""
_PAID = int(FactKind.PAID)

NARROW = SLOTS + 1
"""Columns of a narrow state: its slots, and last the upper half of `FEES`."""
_MAX = 2**31


@kernel
def merge_rows(start: int, stop: int, places: I64, one: I64, other: I64, out: I64) -> None:
    """Write each row of the result from its place in the first table, or after it in the second."""
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
def copy_fact(facts: FactBuffer, at: int, to: FactBuffer, place: int) -> None:
    """Copy one fact from place to place."""
    to.day[place], to.kind[place], to.amount[place] = (
        facts.day[at],
        facts.kind[at],
        facts.amount[at],
    )
    to.arg[place], to.ref[place], to.booked[place] = facts.arg[at], facts.ref[at], facts.booked[at]
    to.loan[place] = facts.loan[at]


@kernel(inline=True)
def write_fact(
    facts: FactBuffer, at: int, loan: int, day: int, kind: int, amount: int, arg: int, ref: int,
    booked: int,
) -> int:  # fmt: skip
    """Write one fact; the place after it."""
    facts.day[at], facts.kind[at], facts.amount[at] = day, kind, amount
    facts.arg[at], facts.ref[at], facts.booked[at] = arg, ref, booked
    facts.loan[at] = loan
    return at + 1


@kernel
def merge_facts(
    start: int, stop: int, loan: I64, ref: int, payments: Payments, others: FactBuffer, at: int,
    out: FactBuffer,
) -> None:  # fmt: skip
    """Write the facts of some loans from a place on: the one payment, or those of `others`."""
    next_other = 0
    for row in range(start, stop):
        count = payments.facts[u64(row)]
        if count == ONE_PAYMENT:
            place = u64(at)
            day = payments.day[u64(row)]
            out.day[place], out.kind[place], out.amount[place] = (
                day, _PAID, payments.amount[u64(row)],
            )  # fmt: skip
            out.arg[place], out.ref[place] = payments.arg[u64(row)], ref
            out.booked[place], out.loan[place] = day, loan[u64(row)]
            at += 1
            continue
        for _ in range(count):
            copy_fact(others, next_other, out, at)
            next_other += 1
            at += 1


@kernel
def narrow_rows(start: int, stop: int, states: I64, out: I32) -> bool:
    """Write states as columns of half the width; true if all of them fit."""
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
    """Write the states that were narrowed."""
    for row in range(start, stop):
        for slot in range(SLOTS):
            states[row, slot] = narrow[slot, row]
        states[row, FEES] += i64(narrow[SLOTS, row]) << 32
