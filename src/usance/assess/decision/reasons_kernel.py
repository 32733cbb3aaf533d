"""The main reasons of every row of a batch, as `reasons.main_reasons` finds them for one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import kernel

REPLACED, FOLLOWED = 1, 2


@kernel
def main_reasons_kernel(  # noqa: C901 -- the four origins of a reason, in one pass
    rule_reasons: NDArray[np.int64], declined: NDArray[np.int8], lost: NDArray[np.float64],
    codes: NDArray[np.int64], treatment: NDArray[np.int8], taken: NDArray[np.bool_],
    found: NDArray[np.int16],
) -> None:  # fmt: skip
    """Write up to four codes a row: of rules first, then of what the score lost, most first."""
    stages, most = rule_reasons.shape[0], found.shape[0]
    for row in range(rule_reasons.shape[1]):
        # The reasons of a decline are those of the stage that declined alone.
        first, last = 0, stages
        if declined[row] >= 0:
            first, last = declined[row], declined[row] + 1
        size, explained = 0, False
        for stage in range(first, last):
            code = rule_reasons[stage, row]
            explained = explained or treatment[code] != 0
            speaks = code != 0 and treatment[code] != REPLACED and size < most
            if speaks and not _is_listed(found, row, size, code):
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
                if not _is_listed(found, row, size, codes[best]):
                    found[size, row] = codes[best]
                    size += 1
        if size == 0:
            for stage in range(first, last):
                if rule_reasons[stage, row] != 0 and size < most:
                    found[size, row] = rule_reasons[stage, row]
                    size += 1


@kernel(inline=True)
def _is_listed(found: NDArray[np.int16], row: int, size: int, code: int) -> bool:
    again = False
    for at in range(size):
        again |= found[at, row] == code
    return again
