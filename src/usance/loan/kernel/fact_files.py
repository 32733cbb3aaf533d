"""Facts of some loans, gathered from files that are each in order of their loans."""

from __future__ import annotations

from typing import TypeAlias

from usance.base.compiled import kernel
from usance.loan.kernel.arrays import I8, I32, I64

FactRows: TypeAlias = tuple[I32, I8, I64, I64, I64]
"""Days, kinds, refs, amounts and arguments of facts."""


@kernel
def is_known(booked: I64, at: int, moment: int) -> bool:
    """Whether a fact was booked by a moment; a file without `booked` is known as a whole."""
    return len(booked) == 0 or booked[at] <= moment


@kernel
def count_facts(
    start: int, stop: int, owner: I64, ids: I64, first: int, target: I64, booked: I64, moment: int,
    counts: I64,
) -> int:  # fmt: skip
    """Count the known facts `start … stop` of each target; a fact of no loan's place, or -1.

    `ids` are all loans from `first` on; a target below 0 says that a loan is not asked for.
    """
    row = first
    for at in range(start, stop):
        while row < len(ids) and ids[row] < owner[at]:
            row += 1
        if row == len(ids) or ids[row] != owner[at]:
            return at
        to = target[row]
        if to >= 0 and is_known(booked, at, moment):
            counts[to] += 1
    return -1


@kernel
def place_facts(
    start: int, stop: int, owner: I64, ids: I64, first: int, target: I64, booked: I64, moment: int,
    told: FactRows, offsets: I64, filled: I64, room: FactRows,
) -> int:  # fmt: skip
    """Put those facts in their loans' places, in canonical order; a repeated one's place, or -1."""
    day, kind, ref, amount, arg = told
    to_day, to_kind, to_ref, to_amount, to_arg = room
    row = first
    for at in range(start, stop):
        while ids[row] < owner[at]:
            row += 1
        to = target[row]
        if to < 0 or not is_known(booked, at, moment):
            continue
        place = offsets[to] + filled[to]
        filled[to] += 1
        # Files come in order of booking, so most facts belong behind all others.
        while place > offsets[to]:
            before = place - 1
            if to_day[before] < day[at]:
                break
            if to_day[before] == day[at]:
                if to_kind[before] < kind[at]:
                    break
                if to_kind[before] == kind[at]:
                    if to_ref[before] == ref[at]:
                        return at
                    if to_ref[before] < ref[at]:
                        break
            to_day[place], to_kind[place], to_ref[place] = (
                to_day[before], to_kind[before], to_ref[before],
            )  # fmt: skip
            to_amount[place], to_arg[place] = to_amount[before], to_arg[before]
            place = before
        to_day[place], to_kind[place], to_ref[place] = day[at], kind[at], ref[at]
        to_amount[place], to_arg[place] = amount[at], arg[at]
    return -1
