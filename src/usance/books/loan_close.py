"""The loans' part of a close: two passes over the shards, in pieces that fit in memory.

The first pass sums exposures by pool, which the estimates need; the second makes every loan's
amounts, writes them as the subledger and sums them by cell. Nothing depends on the order of shards
or on threads: all sums are of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.columns import arrays
from usance.base.compiled import in_threads
from usance.books.amounts import AMOUNTS, SUBLEDGER
from usance.books.exact_loans import ExactLoans, exact_loans
from usance.books.kernel.sums import add_amounts, add_exposures, add_slices
from usance.books.loan_books import CellIndex, Shard, Sources, read_shard, shards_of
from usance.books.loan_checks import LoanFindings
from usance.books.losses.stages import STAGES
from usance.books.measurement import LoanColumns, amounts_of_positions, positions
from usance.books.policies import Policies
from usance.match.split import split_columns
from usance.measure.triangles import Triangle, triangle

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

PIECE = 1 << 17
"""Loans whose amounts are held at a time."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


def no_progress(_what: str, _done: int, _whole: int) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which loans a close sees, and how it groups them."""

    book: Book
    day: date
    known_at: datetime
    new_months: tuple[int, ...]
    index: CellIndex
    sources: Sources
    lag_days: int
    shares: Mapping[int, dict[int, int]]
    """Of co-funded loans: principal by row of the share's cell."""

    def shard(self, number: int) -> Shard:
        """One shard's loans."""
        return read_shard(
            self.book, number, self.index, self.sources, self.day, self.known_at, self.lag_days
        )

    def exact(self, shard: Shard, policies: Policies) -> ExactLoans:
        """Its loans for the exact form."""
        return exact_loans(
            shard.exact, shard.exact_facts, self.index, self.sources, policies, self.day,
            self.known_at, self.lag_days,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pools:
    """Where each loan finds its expectations and loss rates: segments × cohorts."""

    segments: I64
    cohorts: I64

    @classmethod
    def of(cls, found: Triangle) -> Pools:
        """The pools of a triangle, or one where there is none yet."""
        if len(found.segments) == 0:
            return cls(np.zeros(1, np.int64), np.zeros(1, np.int64))
        return cls(found.segments.astype(np.int64), found.cohorts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.segments) * len(self.cohorts)

    def segment(self, number: NDArray[Any]) -> I32:
        """The row of each loan's segment."""
        place = np.searchsorted(self.segments, number).clip(0, len(self.segments) - 1)
        return np.asarray(place, np.int32)

    def pool(self, segment: I32, cohort: NDArray[Any]) -> I32:
        """The row of each loan's pool."""
        age = (cohort - self.cohorts[0]).clip(0, len(self.cohorts) - 1)
        return np.asarray(segment * len(self.cohorts) + age, np.int32)

    def placed(self, loans: LoanColumns, cohort: I32) -> LoanColumns:
        """Loans with their rows instead of their segment numbers."""
        segment = self.segment(loans.segment)
        return replace(loans, segment=segment, pool=self.pool(segment, cohort))


@dataclass(slots=True)
class Exposure:
    """What the first pass sums."""

    pools: Pools
    minor: I64
    """Outstanding principal [stage, pool]."""
    slices: I64
    """Of settled loans by segment: count, service slices, and those collected."""


def triangle_of(scope: Scope, progress: Progress = no_progress) -> Triangle:
    """The cohort triangle of all shards."""
    numbers = shards_of(scope.book)
    parts = []
    for done, number in enumerate(numbers):
        progress("triangle", done, len(numbers))
        loans = scope.book.read("loans", shard=number)
        facts = scope.book.read("facts", shard=number)
        parts.append(triangle(loans, facts, as_of=scope.day, known_at=scope.known_at))
    if parts:
        return Triangle.together(parts)
    none, cube = np.empty(0, np.int16), np.empty((0, 0, 0), np.int64)
    return Triangle(none, none, none, cube, cube, cube, cube)


def exposure_of(
    scope: Scope, pools: Pools, policies: Policies, progress: Progress = no_progress
) -> Exposure:
    """The first pass: exposures and slices over all shards."""
    made = Exposure(
        pools,
        np.zeros((STAGES, len(pools)), np.int64),
        np.zeros((len(pools.segments), 3), np.int64),
    )
    numbers = shards_of(scope.book)
    for done, number in enumerate(numbers):
        progress("exposures", done, len(numbers))
        shard = scope.shard(number)
        loans = pools.placed(shard.loans, shard.cohort)

        def piece(start: int, stop: int, loans: LoanColumns = loans, shard: Shard = shard) -> Any:
            at = positions(loans, policies, scope.day, shard.cutoffs, start, stop, fees=False)
            exposure, slices = np.zeros_like(made.minor), np.zeros_like(made.slices)
            add_exposures(at, policies.numbers, loans.pool[start:stop], exposure)
            add_slices(at, loans.segment[start:stop], slices)
            return exposure, slices

        for exposure, slices in in_threads(piece, len(loans)):
            made.minor += exposure
            made.slices += slices
        _add_exact(scope, shard, policies, made)
    return made


def _add_exact(scope: Scope, shard: Shard, policies: Policies, made: Exposure) -> None:
    exact = scope.exact(shard, policies)
    if len(exact):
        segment = made.pools.segment(exact.segment_no)
        pool = made.pools.pool(segment, exact.cohort)
        add_exposures(exact.positions, policies.numbers, pool, made.minor)
        add_slices(exact.positions, segment, made.slices)


@dataclass(slots=True)
class Sums:
    """What the second pass sums: amounts by cell and by whether the loan is of this period."""

    cells: I64
    """[cell × 2 + is_new, amount]"""
    findings: LoanFindings = field(default_factory=LoanFindings)
    loans: int = 0


def subledger_parts(
    scope: Scope, number: int, close_no: int, pools: Pools, policies: Policies, sums: Sums,
    progress: Progress = no_progress,
) -> Iterator[pa.Table]:  # fmt: skip
    """The second pass over one shard: its subledger, piece by piece; sums grow with it."""
    shard = scope.shard(number)
    loans, exact = pools.placed(shard.loans, shard.cohort), scope.exact(shard, policies)
    for first in range(0, max(len(loans), 1), PIECE):
        last = min(first + PIECE, len(loans))
        progress("amounts", first, len(loans))
        at, found, groups = _kernel_piece(scope, shard, loans, policies, first, last)
        ids = loans.loan_id[first:last]
        exact_rows = _between(exact, ids, is_first=first == 0, is_last=last == len(loans))
        if len(exact_rows):
            more_at, more, more_groups = _exact_piece(scope, exact, exact_rows, pools, policies)
            ids = np.concatenate([ids, exact.loan_id[exact_rows]])
            order = np.argsort(ids, kind="stable")
            ids = ids[order]
            at, found = np.vstack([at, more_at])[order], np.vstack([found, more])[order]
            groups = np.concatenate([groups, more_groups])[order]
        sums.findings.look(ids, at, found)
        sums.loans += len(ids)
        _add(scope, ids, found, groups, sums)
        yield _part(ids, found, close_no)


def _kernel_piece(
    scope: Scope, shard: Shard, loans: LoanColumns, policies: Policies, first: int, last: int
) -> tuple[I64, I64, I32]:
    size = last - first
    found = np.empty((size, len(AMOUNTS)), np.int64)

    def piece(start: int, stop: int) -> I64:
        a, b = first + start, first + stop
        at = positions(loans, policies, scope.day, shard.cutoffs, a, b)
        amounts_of_positions(
            at, policies, loans.segment[a:b], loans.pool[a:b], found[start:stop]
        )  # fmt: skip
        return at

    parts = in_threads(piece, size)
    at = np.vstack(parts) if parts else np.empty((0, 0), np.int64)
    is_new = np.isin(shard.cohort[first:last], scope.new_months)
    return at, found, (loans.cell[first:last] * 2 + is_new).astype(np.int32)


def _exact_piece(
    scope: Scope, exact: ExactLoans, rows: NDArray[np.intp], pools: Pools, policies: Policies
) -> tuple[I64, I64, I32]:
    at = np.ascontiguousarray(exact.positions[rows])
    segment = pools.segment(exact.segment_no[rows])
    found = amounts_of_positions(at, policies, segment, pools.pool(segment, exact.cohort[rows]))
    is_new = np.isin(exact.cohort[rows], scope.new_months)
    return at, found, (exact.cell[rows] * 2 + is_new).astype(np.int32)


def _between(exact: ExactLoans, ids: I64, *, is_first: bool, is_last: bool) -> NDArray[np.intp]:
    """The exact loans that belong among these ids, so that all rows rise."""
    if len(exact) == 0:
        return np.empty(0, np.intp)
    low = 0 if is_first else np.searchsorted(exact.loan_id, ids[0])
    high = len(exact) if is_last else np.searchsorted(exact.loan_id, ids[-1], side="right")
    return np.arange(low, high)


def _add(scope: Scope, ids: I64, found: I64, groups: I32, sums: Sums) -> None:
    """Add amounts to their cells; co-funded ones to the cells of all their sources."""
    add_amounts(found, groups, sums.cells)
    shared = np.flatnonzero(np.isin(ids, np.fromiter(scope.shares, np.int64, len(scope.shares))))
    for row in shared.tolist():
        shares = scope.shares[int(ids[row])]
        is_new = int(groups[row]) & 1
        cells = np.array(list(shares), np.int64)
        for amount in np.flatnonzero(found[row]).tolist():
            total = int(found[row, amount])
            parts = split_columns(
                np.array([abs(total)]), np.zeros(len(cells), np.int64), cells,
                np.array(list(shares.values()), np.int64),
            )  # fmt: skip
            sums.cells[groups[row], amount] -= total
            sums.cells[cells * 2 + is_new, amount] += parts if total > 0 else -parts


def _part(ids: I64, found: I64, close_no: int) -> pa.Table:
    columns = {"close_no": pa.array(np.full(len(ids), close_no, np.int32)), "loan_id": ids}
    flipped = np.ascontiguousarray(found.T)
    columns |= {name: flipped[place] for place, name in enumerate(AMOUNTS)}
    return pa.table(columns).select(list(SUBLEDGER.names))


def shares_of(book: Book, index: CellIndex) -> dict[int, dict[int, int]]:
    """Of every co-funded loan, the principal of each share by the row of its cell."""
    rows = arrays(book.read("shares"))
    if len(rows["loan_id"]) == 0:
        return {}
    heads = arrays(book.read("loans", ["loan_id", "model", "product"]))
    at = np.searchsorted(heads["loan_id"], rows["loan_id"])
    cells = index.of({**rows, "model": heads["model"][at], "product": heads["product"][at]})
    found: dict[int, dict[int, int]] = {}
    for loan_id, cell, principal in zip(
        rows["loan_id"].tolist(), cells.tolist(), rows["principal_minor"].tolist(), strict=True
    ):
        found.setdefault(loan_id, {})[cell] = principal
    return found
