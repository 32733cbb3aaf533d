"""Users who request a loan in a month, compiled."""

from __future__ import annotations

from usance.base.arrays import I8, I16, I64, U64
from usance.base.compiled import kernel
from usance.world.draw_kernel import chance, draw_from

NEVER_BORROWED, BORROWED, JUST_REPAID = range(3)
"""The places of the chances to ask."""


@kernel(inline=True)
def place_of(borrowed: int, repaid: int, before: int) -> int:
    """The place of a user's chance, by the month before."""
    if borrowed == 0:
        return NEVER_BORROWED
    return JUST_REPAID if repaid == before else BORROWED


@kernel
def ask_rows(
    start: int, stop: int, prefix: U64, first_user: int, month: int, line: I64, borrowed: I16,
    overdue: I8, repaid: I16, chances: I64, out: I8,
) -> None:  # fmt: skip
    """1 for each user with a line and nothing overdue who asks in the month."""
    for row in range(start, stop):
        if line[row] == 0 or overdue[row] != 0:
            continue
        place = place_of(borrowed[row], repaid[row], month - 1)
        u = chance(draw_from(prefix[0], first_user + row, month * 256))
        if u < chances[place]:
            out[row] = 1


@kernel
def count_rows(
    start: int, stop: int, line: I64, borrowed: I16, overdue: I8, repaid: I16, month: int,
    counts: I64,
) -> None:  # fmt: skip
    """Count users with a line and nothing overdue at the end of a month, by place."""
    for row in range(start, stop):
        if line[row] > 0 and overdue[row] == 0:
            counts[place_of(borrowed[row], repaid[row], month)] += 1
