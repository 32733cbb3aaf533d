"""Facts of some loans, collected from files that are each in order of loan."""

from __future__ import annotations

from typing import NamedTuple

from usance.base.arrays import I8, I32, I64
from usance.base.compiled import kernel


class FactRows(NamedTuple):
    """Facts as columns, with their references."""

    day: I32
    kind: I8
    ref: I64
    amount: I64
    arg: I64


class FactFile(NamedTuple):
    """The facts of one file, in key order."""

    loan_id: I64
    facts: FactRows
    booked: I64
    """Booking time of each in microseconds; empty where all of them are known anyway."""


class WantedLoans(NamedTuple):
    """Loans by ascending id, the row of each one's facts in the result, and the time of knowledge.

    The target of a loan that is not wanted is below 0.
    """

    ids: I64
    target: I64
    known_at: int


@kernel
def is_known(booked: I64, at: int, moment: int) -> bool:
    """True if a fact was booked by a moment; without booking times all are known."""
    return len(booked) == 0 or booked[at] <= moment


@kernel
def count_facts(
    start: int, stop: int, file: FactFile, loans: WantedLoans, first: int, counts: I64
) -> int:
    """Count the known facts `start … stop` of each target; the place of an orphan fact, or -1.

    The loans are those from row `first` on.
    """
    owner, ids, row = file.loan_id, loans.ids, first
    for at in range(start, stop):
        while row < len(ids) and ids[row] < owner[at]:
            row += 1
        if row == len(ids) or ids[row] != owner[at]:
            return at
        to = loans.target[row]
        if to >= 0 and is_known(file.booked, at, loans.known_at):
            counts[to] += 1
    return -1


@kernel
def place_facts(
    start: int, stop: int, file: FactFile, loans: WantedLoans, first: int, offsets: I64,
    filled: I64, out: FactRows,
) -> int:  # fmt: skip
    """Copy those facts to their loans' places in order; the place of a repeated one, or -1."""
    owner, ids = file.loan_id, loans.ids
    day, kind, ref, amount, arg = file.facts
    to_day, to_kind, to_ref, to_amount, to_arg = out
    row = first
    for at in range(start, stop):
        while ids[row] < owner[at]:
            row += 1
        to = loans.target[row]
        if to < 0 or not is_known(file.booked, at, loans.known_at):
            continue
        place = offsets[to] + filled[to]
        filled[to] += 1
        # Files come in order of booking, so most facts belong after all others.
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
