"""Sums over a column of loans: amounts by cell, exposures by pool, fee instalments by segment."""

from __future__ import annotations

from usance.base.arrays import I32, I64, Bools
from usance.base.compiled import kernel
from usance.books.kernel.policy_layout import ICE, PolicyNumbers
from usance.books.loans.positions import NO_EVENT, PARTS
from usance.books.loans.positions import POSITION as P
from usance.books.losses.stages import stage_of

_PARTS = len(PARTS)


@kernel
def add_amounts(amounts: I64, groups: I32, sums: I64) -> None:
    """Each row of amounts added to the sums of its group."""
    width = amounts.shape[1]
    for row in range(len(amounts)):
        group = groups[row]
        for amount in range(width):
            sums[group, amount] += amounts[row, amount]


@kernel
def add_exposures(at: I64, policy: PolicyNumbers, pools: I32, exposure: I64) -> None:
    """Outstanding principal of live loans by stage and pool."""
    for row in range(len(at)):
        alive = at[row, P.event] == NO_EVENT and not at[row, P.is_settled]
        if alive and at[row, P.model] < ICE:
            stage = stage_of(at[row, P.days_past_due], policy)
            exposure[stage - 1, pools[row]] += at[row, P.outstanding]


@kernel
def add_fee_instalments(at: I64, segments: I32, fees: I64) -> None:
    """Of settled loans by segment: how many, their service fees, and the part collected."""
    for row in range(len(at)):
        if at[row, P.event] == NO_EVENT and at[row, P.is_settled] and at[row, P.service] > 0:
            segment = segments[row]
            fees[segment, 0] += 1
            fees[segment, 1] += at[row, P.service]
            fees[segment, 2] += at[row, P.paid_service]


@kernel
def mark_fully_settled(at: I64, settled: Bools) -> None:
    """Mark loans paid to the end, without payout or charge-off, all of whose cash is cleared.

    No later close finds them changed, unless a new fact comes.
    """
    for row in range(len(at)):
        settled[row] = (
            at[row, P.is_settled] == 1
            and at[row, P.event] == NO_EVENT
            and at[row, P.overpaid] == at[row, P.cleared_overpaid]
        )
        for part in range(_PARTS):
            if at[row, P.paid_principal + part] != at[row, P.cleared_principal + part]:
                settled[row] = False
