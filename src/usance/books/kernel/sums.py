"""Sums over a column of loans: amounts by cell, exposures by pool, slices by segment."""

from __future__ import annotations

from usance.base.arrays import I32, I64
from usance.base.compiled import kernel
from usance.books.kernel.policy_layout import ICE, SERVICE
from usance.books.loans import positions as p
from usance.books.losses.stages import stage_of


@kernel
def add_amounts(amounts: I64, groups: I32, sums: I64) -> None:
    """Each row of amounts added to the sums of its group."""
    width = amounts.shape[1]
    for row in range(len(amounts)):
        group = groups[row]
        for amount in range(width):
            sums[group, amount] += amounts[row, amount]


@kernel
def add_exposures(at: I64, policy: I64, pools: I32, exposure: I64) -> None:
    """Outstanding principal of live loans by stage and pool."""
    for row in range(len(at)):
        alive = at[row, p.EVENT] == p.NO_EVENT and not at[row, p.IS_SETTLED]
        if alive and at[row, p.MODEL] < ICE:
            stage = stage_of(at[row, p.DAYS_PAST_DUE], policy)
            exposure[stage - 1, pools[row]] += at[row, p.OUTSTANDING]


@kernel
def add_slices(at: I64, segments: I32, slices: I64) -> None:
    """Of settled loans by segment: how many, their service slices, and those collected."""
    for row in range(len(at)):
        if at[row, p.EVENT] == p.NO_EVENT and at[row, p.IS_SETTLED] and at[row, p.SERVICE] > 0:
            segment = segments[row]
            slices[segment, 0] += 1
            slices[segment, 1] += at[row, p.SERVICE]
            slices[segment, 2] += at[row, p.PAID + SERVICE]
