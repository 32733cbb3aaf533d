"""The first pass of a close over its loans: what is at risk by pool, and how cohorts have done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from usance.base.arrays import I64
from usance.base.compiled import available_cores, in_threads
from usance.base.concurrency import parallel_map
from usance.books.close.carry_forward import Over
from usance.books.close.scope import Pools, Progress, Scope, no_progress
from usance.books.kernel.sums import add_exposures, add_slices
from usance.books.loans.measurement import Room, positions
from usance.books.loans.shards import Shard
from usance.books.losses.stages import STAGES
from usance.books.policies import Policies
from usance.measure.triangles import Triangle


@dataclass(slots=True)
class Exposure:
    """What the first pass finds: the cohort triangle, and sums in its pools."""

    triangle: Triangle
    pools: Pools
    minor: I64
    """Outstanding principal [stage, pool]."""
    slices: I64
    """Of settled loans by segment: count, service slices, and those collected."""

    def taken_back(self) -> Exposure:
        """The same, to be subtracted."""
        return Exposure(self.triangle.taken_back(), self.pools, -self.minor, -self.slices)


def exposure_of(scope: Scope, policies: Policies, progress: Progress = no_progress) -> Exposure:
    """The first pass: the triangle, exposures and slices of all shards."""
    numbers = scope.shards()

    def found(number: int) -> tuple[Shard, list[Exposure]]:
        shard = scope.read(number)
        own = [_exposure_of_shard(scope, shard, policies)]
        if shard.then is not None:
            own.append(_exposure_of_shard(scope, shard.then, policies).taken_back())
        return shard, own

    parts = []
    for done, (shard, own) in enumerate(parallel_map(found, numbers, available_cores())):
        progress("exposures", done, len(numbers))
        parts += own
        scope.keep(numbers[done], shard)
    if scope.carried is not None:
        parts.append(_exposure_over(scope.carried.over, scope.day))
    whole = Triangle.together([part.triangle for part in parts]) if parts else _NO_TRIANGLE
    pools = Pools.of(whole)
    made = _no_exposure(whole, pools)
    for part in parts:
        rows = pools.segment(part.pools.segments)
        cohorts = np.tile(part.pools.cohorts, len(rows))
        places = pools.pool(np.repeat(rows, len(part.pools.cohorts)), cohorts)
        np.add.at(made.minor.T, places, part.minor.T)
        np.add.at(made.slices, rows, part.slices)
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


def _exposure_over(over: Over, day: date) -> Exposure:
    """What loans that are over add: nothing at risk, but the history of their cohorts."""
    found = over.told.triangle(day)
    made = _no_exposure(found, Pools.of(found))
    for segment, held in over.slices.items():
        made.slices[np.searchsorted(made.pools.segments, segment)] += held
    return made


def _exposure_of_shard(scope: Scope, shard: Shard, policies: Policies) -> Exposure:
    found = scope.triangle(shard)
    made = _no_exposure(found, Pools.of(found))
    loans = made.pools.placed(shard.loans, shard.cohort)
    room = Room()

    def piece(start: int, stop: int) -> tuple[I64, I64]:
        at = room.positions[: stop - start]
        positions(loans, policies, shard.day, shard.cutoffs, start, stop, whole=False, out=at)
        exposure, slices = np.zeros_like(made.minor), np.zeros_like(made.slices)
        add_exposures(at, policies.numbers, loans.pool[start:stop], exposure)
        add_slices(at, loans.segment[start:stop], slices)
        return exposure, slices

    for exposure, slices in in_threads(piece, len(loans)):
        made.minor += exposure
        made.slices += slices
    exact = scope.exact(shard, policies, made.pools)
    if len(exact):
        segment = made.pools.segment(exact.segment_no)
        pool = made.pools.pool(segment, exact.cohort)
        add_exposures(exact.positions, policies.numbers, pool, made.minor)
        add_slices(exact.positions, segment, made.slices)
    return made
