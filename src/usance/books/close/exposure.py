"""Exposure of a close, its first pass over the loans: principal by pool, outcomes of cohorts.

The fee instalments of ended loans give the share expected to be lost to prepayment, by segment. It
is re-set at each close from the loans that ended without a default: their fees less the part
collected. A loan that has stopped earning keeps the share of the close it stopped in.

>>> fees = np.array([[500, 10_000, 9_200], [3, 100, 10]])
>>> lost_shares(fees, assumed_ppm=100_000).tolist()
[80000, 100000]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I64
from usance.base.columns import arrays
from usance.base.compiled import available_cores, in_threads
from usance.base.concurrency import parallel_map
from usance.base.rates import PPM
from usance.books.close.carry_forward import SettledSums
from usance.books.close.closes import CloseRef
from usance.books.close.scope import Pools, Progress, Scope, no_progress
from usance.books.kernel.sums import add_exposures, add_fee_instalments
from usance.books.loans.measurement import Workspace, positions
from usance.books.loans.shards import Shard
from usance.books.losses.stages import STAGES
from usance.books.policies import Policies
from usance.measure.triangles import Triangle

FEE_INSTALMENTS_LOST = "fee_instalments_lost"
MIN_ENDED_LOANS = 100
"""Ended loans from which a share is taken; fewer say too little."""


@dataclass(slots=True)
class Exposure:
    """The cohort triangle, and sums in its pools."""

    triangle: Triangle
    pools: Pools
    minor: I64
    """Outstanding principal [stage, pool]."""
    fee_instalments: I64
    """Of settled loans by segment: count, service fees, and the part collected."""

    def negated(self) -> Exposure:
        """The same, to be subtracted."""
        return Exposure(self.triangle.negated(), self.pools, -self.minor, -self.fee_instalments)


def exposure_of(scope: Scope, policies: Policies, progress: Progress = no_progress) -> Exposure:
    """The first pass: the triangle, exposures and fee instalments of all shards."""
    numbers = scope.shards()

    def found(number: int) -> tuple[Shard, list[Exposure]]:
        shard = scope.read(number)
        own = [_exposure_of_shard(scope, shard, policies)]
        if shard.reopened is not None:
            own.append(_exposure_of_shard(scope, shard.reopened, policies).negated())
        return shard, own

    parts = []
    for done, (shard, own) in enumerate(parallel_map(found, numbers, available_cores())):
        progress("exposures", done, len(numbers))
        parts += own
        scope.cache(numbers[done], shard)
    if scope.carry_forward is not None:
        parts.append(_exposure_of_settled(scope.carry_forward.settled, scope.day))
    whole = Triangle.sum_of([part.triangle for part in parts]) if parts else _NO_TRIANGLE
    pools = Pools.of(whole)
    made = _no_exposure(whole, pools)
    for part in parts:
        rows = pools.segment(part.pools.segments)
        cohorts = np.tile(part.pools.cohorts, len(rows))
        places = pools.pool(np.repeat(rows, len(part.pools.cohorts)), cohorts)
        np.add.at(made.minor.T, places, part.minor.T)
        np.add.at(made.fee_instalments, rows, part.fee_instalments)
    return made


_NO_COHORTS, _NO_CUBE = np.empty(0, np.int16), np.empty((0, 0, 0), np.int64)
_NO_TRIANGLE = Triangle(_NO_COHORTS, _NO_COHORTS, _NO_COHORTS, *[_NO_CUBE] * 4)


def _no_exposure(found: Triangle, pools: Pools) -> Exposure:
    return Exposure(
        found,
        pools,
        np.zeros((STAGES, len(pools)), np.int64),
        np.zeros((len(pools.segments), 3), np.int64),
    )


def _exposure_of_settled(settled: SettledSums, day: date) -> Exposure:
    """Exposure of settled loans: nothing at risk, but the history of their cohorts."""
    found = settled.outcomes.triangle(day)
    made = _no_exposure(found, Pools.of(found))
    for segment, held in settled.fee_instalments.items():
        made.fee_instalments[np.searchsorted(made.pools.segments, segment)] += held
    return made


def _exposure_of_shard(scope: Scope, shard: Shard, policies: Policies) -> Exposure:
    found = scope.triangle(shard)
    made = _no_exposure(found, Pools.of(found))
    loans = made.pools.with_pools(shard.loans, shard.cohort)
    workspace = Workspace()

    def piece(start: int, stop: int) -> tuple[I64, I64]:
        at = workspace.positions[: stop - start]
        positions(loans, policies, shard.day, shard.cutoffs, start, stop, whole=False, out=at)
        exposure, fees = np.zeros_like(made.minor), np.zeros_like(made.fee_instalments)
        add_exposures(at, policies.numbers, loans.pool[start:stop], exposure)
        add_fee_instalments(at, loans.segment[start:stop], fees)
        return exposure, fees

    for exposure, fees in in_threads(piece, len(loans)):
        made.minor += exposure
        made.fee_instalments += fees
    exact = scope.exact(shard, policies, made.pools)
    if len(exact):
        segment = made.pools.segment(exact.segment_no)
        pool = made.pools.pool(segment, exact.cohort)
        add_exposures(exact.positions, policies.numbers, pool, made.minor)
        add_fee_instalments(exact.positions, segment, made.fee_instalments)
    return made


def lost_shares(fees: I64, assumed_ppm: int) -> I64:
    """The share of each segment in ppm; `fees` has count, scheduled and collected by segment."""
    count, scheduled, collected = fees.T
    shares = np.full(len(fees), assumed_ppm, np.int64)
    known = (count >= MIN_ENDED_LOANS) & (scheduled > 0)
    lost = (scheduled - collected)[known].tolist()
    whole = scheduled[known].tolist()
    shares[known] = [
        min(PPM, max(0, (2 * PPM * part + all_) // (2 * all_)))
        for part, all_ in zip(lost, whole, strict=True)
    ]
    return shares


def lost_shares_by_month(
    now: I64, segments: I64, period_months: Sequence[int],
    earlier: Sequence[tuple[CloseRef, pa.Table]],
) -> tuple[I64, int]:  # fmt: skip
    """Shares [segment, month] and the first month: each month has that of the close it fell in."""
    first = min([*period_months, *(close.month for close, _ in earlier)])
    shares = np.tile(now[:, None], (1, period_months[-1] - first + 1))
    for close, rows in sorted(earlier, key=lambda pair: pair[0].month, reverse=True):
        found = arrays(rows.filter(pc.equal(rows["name"], FEE_INSTALMENTS_LOST)))
        place = np.searchsorted(segments, found["segment"]).clip(0, len(segments) - 1)
        known = segments[place] == found["segment"]
        shares[place[known], : close.month - first + 1] = found["value"][known, None]
    return shares, first
