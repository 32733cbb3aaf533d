"""One feature over the records that each decision may see, for one decision or millions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import kernel

LATEST, FIRST, COUNT, SUM, HIGHEST, LOWEST, DISTINCT, DAYS_SINCE = range(8)


@kernel
def take_kernel(  # noqa: C901 -- one case for each thing to take
    what: int, days: int, starts: NDArray[np.int64], stops: NDArray[np.int64],
    day: NDArray[np.int32], known_at: NDArray[np.int64], effective_on: NDArray[np.int32],
    booked_at: NDArray[np.int64], keep: NDArray[np.bool_], value: NDArray[np.int64],
    out: NDArray[np.int64], found: NDArray[np.int64],
) -> None:  # fmt: skip
    """Take over rows `starts … stops` of each decision; `found` counts the rows that were seen."""
    for row in range(len(starts)):
        result = 0
        seen = 0
        best_day, best_booked = 0, 0
        for at in range(starts[row], stops[row]):
            on = effective_on[at]
            # Known is what was booked by then; a fact that was true and not yet booked is not.
            if not keep[at] or booked_at[at] > known_at[row] or on > day[row]:
                continue
            if day[row] - on >= days:
                continue
            seen += 1
            if what == SUM:
                result += value[at]
            elif what == HIGHEST:
                result = value[at] if seen == 1 else max(result, value[at])
            elif what == LOWEST:
                result = value[at] if seen == 1 else min(result, value[at])
            elif what in (LATEST, DAYS_SINCE):
                # Of two rows of one day the later booking is the correction.
                newer = on > best_day or (on == best_day and booked_at[at] >= best_booked)
                if seen == 1 or newer:
                    best_day, best_booked, result = on, booked_at[at], value[at]
            elif what == FIRST:
                older = on < best_day or (on == best_day and booked_at[at] >= best_booked)
                if seen == 1 or older:
                    best_day, best_booked, result = on, booked_at[at], value[at]
            elif what == DISTINCT:
                fresh = 1
                for other in range(starts[row], at):
                    visible = keep[other] and booked_at[other] <= known_at[row]
                    inside = effective_on[other] <= day[row]
                    recent = day[row] - effective_on[other] < days
                    if visible and inside and recent and value[other] == value[at]:
                        fresh = 0
                        break
                result += fresh
        if what == COUNT:
            result = seen
        elif what == DAYS_SINCE:
            result = day[row] - best_day
        out[row] = result
        found[row] = seen
