"""Use that a new version of a mandate takes over from the version before.

Versions that count from the same day are one budget: a later one changes the ceilings and keeps the
use, in the router as in the names of `reservation.limit_names`. A share whose bound has changed is
judged by the new bound over everything placed; one that is new begins with what comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from usance.base.arrays import I64
from usance.match.mandates.concentration import AVERAGES
from usance.match.mandates.mandate import ConcentrationLimit, Mandate, Mandates
from usance.match.router.rank_kernel import PER_BORROWER, restore_borrowers
from usance.match.router.state import or_unlimited

if TYPE_CHECKING:
    from usance.match.router.router import Router


def predecessors(mandates: Mandates) -> list[int]:
    """By mandate the version before it that counts from the same day, -1 if there is none."""
    rows = mandates.mandates
    found = []
    for own in rows:
        before = [
            (each.valid_from, column)
            for column, each in enumerate(rows)
            if _is_same_budget(each, own) and each.valid_from < own.valid_from
        ]
        found.append(max(before)[1] if before else -1)
    return found


def _is_same_budget(one: Mandate, other: Mandate) -> bool:
    return (one.source, one.since, one.model) == (other.source, other.since, other.model)


def hand_over(router: Router, before: int, after: int) -> None:
    """Let a version begin with the use of the one before it."""
    state, rows = router.state, router.mandates.mandates
    state.total[after] -= state.initial_total[before] - state.total[before]
    month = or_unlimited([each.budgets.month_minor for each in rows])
    state.month[after] -= month[before] - state.month[before]
    limits, start = state.limits, router.columns.concentration_start
    old, new = rows[before].concentration_limits, rows[after].concentration_limits
    excess = limits.concentration_excess[start[before] : start[before + 1]].tolist()
    limits.concentration_excess[start[after] : start[after + 1]] = carried_excess(
        old, new, excess, int(state.placed[before])
    )
    state.placed[after] += state.placed[before]
    state.placed[before] = 0
    taken = np.flatnonzero((limits.borrower_keys - 1) % PER_BORROWER == before)
    taken = taken[limits.borrowed[taken] > 0]
    users: I64 = (limits.borrower_keys[taken] - 1) // PER_BORROWER
    amounts = limits.borrowed[taken].copy()
    limits.borrowed[taken] = 0
    restore_borrowers(
        limits.borrower_keys, limits.borrowed, users, np.full_like(users, after), amounts
    )


def carried_excess(
    old: Sequence[ConcentrationLimit], new: Sequence[ConcentrationLimit], excess: Sequence[int],
    placed: int,
) -> list[int]:  # fmt: skip
    """Excess of each new limit over what was placed under the old ones.

    >>> from usance.match.mandates.mandate import Measure
    >>> was = [ConcentrationLimit(Measure.REGION, 200_000, 4)]
    >>> now = [ConcentrationLimit(Measure.REGION, 300_000, 4), ConcentrationLimit(Measure.GRADE, 1)]
    >>> carried_excess(was, now, [-50_000_000], placed=1_000)
    [-150000000, 0]
    """
    known = {
        (each.measure, each.member): (each.bound_ppm, over)
        for each, over in zip(old, excess, strict=True)
    }
    carried = []
    for each in new:
        bound, over = known.get((each.measure, each.member), (each.bound_ppm, 0))
        average = AVERAGES.get(each.measure)
        sign = -1 if average and average.at_least else 1
        carried.append(over + sign * (bound - each.bound_ppm) * placed)
    return carried
