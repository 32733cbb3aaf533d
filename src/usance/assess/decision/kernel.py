"""The main reasons of every row of a batch, as `explain.told` finds them for one decision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import kernel

INSTEAD, BESIDE = 1, 2


@kernel
def told_kernel(  # noqa: C901 -- the four ways a reason is told, in one pass
    spoken: NDArray[np.int64], declined: NDArray[np.int8], lost: NDArray[np.float64],
    codes: NDArray[np.int64], treat: NDArray[np.int8], taken: NDArray[np.bool_],
    found: NDArray[np.int16],
) -> None:  # fmt: skip
    """Write up to four codes a row: of rules first, then of what the score lost, most first."""
    stages, most = spoken.shape[0], found.shape[0]
    for row in range(spoken.shape[1]):
        # A decline is told by the stage that declined alone.
        first, last = 0, stages
        if declined[row] >= 0:
            first, last = declined[row], declined[row] + 1
        size, explained = 0, False
        for stage in range(first, last):
            code = spoken[stage, row]
            explained = explained or treat[code] != 0
            speaks = code != 0 and treat[code] != INSTEAD and size < most
            if speaks and not _told(found, row, size, code):
                found[size, row] = code
                size += 1
        if explained:
            for at in range(len(codes)):
                taken[at] = False
            for _ in range(len(codes)):
                best = -1
                for at in range(len(codes)):
                    if not taken[at] and (best < 0 or lost[at, row] > lost[best, row]):
                        best = at
                if size == most or lost[best, row] <= 0:
                    break
                taken[best] = True
                if not _told(found, row, size, codes[best]):
                    found[size, row] = codes[best]
                    size += 1
        if size == 0:
            for stage in range(first, last):
                if spoken[stage, row] != 0 and size < most:
                    found[size, row] = spoken[stage, row]
                    size += 1


@kernel(inline=True)
def _told(found: NDArray[np.int16], row: int, size: int, code: int) -> bool:
    again = False
    for at in range(size):
        again |= found[at, row] == code
    return again
