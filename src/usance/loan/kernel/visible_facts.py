"""Facts of a table that a replay sees: known, and not reversed."""

from __future__ import annotations

from usance.base.arrays import I32, I64, Bools
from usance.base.codes import FactKind
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import FactArrays

VALID, OUT_OF_ORDER, BAD_REVERSAL = 0, 1, 2

_REVERSED = int(FactKind.REVERSED)


@kernel
def mark_visible(
    start: int, stop: int, facts: FactArrays, ref: I64, booked: I64, known_at: int, keep: Bools,
    verdict: I32,
) -> None:  # fmt: skip
    """Mark the facts of each loan that are known and not reversed."""
    day, kind = facts.day, facts.kind
    for loan in range(start, stop):
        first, last = facts.offsets[loan], facts.offsets[loan + 1]
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
            verdict[loan] = unmark_reversed(first, last, facts, ref, booked, known_at, keep)


@kernel
def unmark_reversed(
    first: int, last: int, facts: FactArrays, ref: I64, booked: I64, known_at: int, keep: Bools
) -> int:
    """Unmark known reversals and the facts they name; a loan has few, so a scan will do."""
    kind, arg = facts.kind, facts.arg
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
