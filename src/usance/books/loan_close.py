"""The loans' part of a close: two passes over the shards, in pieces that fit in memory.

The first pass sums exposures by pool, which the estimates need; the second makes every loan's
amounts, writes them as the subledger and sums them by cell. Nothing depends on the order of shards
or on threads: all sums are of integers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.codes import Kind
from usance.base.columns import arrays, as_numpy
from usance.base.compiled import CHUNK, in_threads
from usance.books.amounts import AMOUNTS, SUBLEDGER
from usance.books.co_funding import parts_of
from usance.books.controls import Control
from usance.books.exact_loans import ExactLoans, exact_loans
from usance.books.kernel.sums import add_amounts, add_exposures, add_slices
from usance.books.loan_books import CellIndex, Shard, Sources, read_shard, shards_of
from usance.books.loan_checks import LoanFindings
from usance.books.losses.stages import STAGES
from usance.books.measurement import LoanColumns, amounts_of_positions, positions
from usance.books.policies import Policies
from usance.books.positions import FIELDS
from usance.books.recomputed import implausible_guarantees, recomputed
from usance.measure.triangles import Triangle, triangle

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

PIECE = 1 << 17
"""Loans whose amounts are held at a time."""
KEPT_FACTS = 30_000_000
"""Facts, with their loans, that stay in memory between the passes: some 1.2 GB."""

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
    kept: dict[int, Shard] = field(default_factory=dict)
    """Shards that the first pass has left in memory for the second."""

    @property
    def shared_ids(self) -> I64:
        """The co-funded loans."""
        return np.array(sorted(self.shares), np.int64)

    def shards(self) -> list[int]:
        """The shards that have loans."""
        return shards_of(self.book)

    def read(self, number: int) -> Shard:
        """One shard's loans."""
        return read_shard(
            self.book, number, self.index, self.sources, self.day, self.known_at, self.lag_days
        )

    def shard(self, number: int) -> Shard:
        """The same without the tables it was read from; what was kept is given away."""
        return self.kept.pop(number) if number in self.kept else self.read(number)

    def keep(self, number: int, shard: Shard) -> None:
        """Keep a shard in memory if there is room: reading it costs as much as its amounts."""
        held = sum(each.size for each in self.kept.values())
        if held + shard.size <= KEPT_FACTS:
            self.kept[number] = shard.without_rows()

    def triangle(self, shard: Shard) -> Triangle:
        """What became of its loans by cohort and age."""
        return triangle(shard.rows, _telling(shard), as_of=self.day, known_at=self.known_at)

    def exact(self, shard: Shard, policies: Policies, pools: Pools) -> ExactLoans:
        """Its loans for the exact form."""
        return exact_loans(
            shard.exact, shard.exact_facts, self.index, self.sources, policies, self.day,
            self.known_at, self.lag_days, pools.segments,
        )  # fmt: skip


def _telling(shard: Shard) -> pa.Table:
    """Its facts without most payments: a triangle asks for none, unless one is reversed."""
    owner, kind = (as_numpy(shard.fact_rows[name]) for name in ("loan_id", "kind"))
    told = kind != Kind.PAID
    reversing = np.unique(owner[kind == Kind.REVERSED])
    if len(reversing):
        told |= np.isin(owner, reversing)
    return shard.fact_rows.filter(pa.array(told))


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
    """What the first pass finds: the cohort triangle, and sums in its pools."""

    triangle: Triangle
    pools: Pools
    minor: I64
    """Outstanding principal [stage, pool]."""
    slices: I64
    """Of settled loans by segment: count, service slices, and those collected."""


def exposure_of(scope: Scope, policies: Policies, progress: Progress = no_progress) -> Exposure:
    """The first pass: the triangle, exposures and slices of all shards."""
    numbers = scope.shards()
    parts = []
    for done, number in enumerate(numbers):
        progress("exposures", done, len(numbers))
        shard = scope.read(number)
        parts.append(_exposure_of_shard(scope, shard, policies))
        scope.keep(number, shard)
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


def _exposure_of_shard(scope: Scope, shard: Shard, policies: Policies) -> Exposure:
    found = scope.triangle(shard)
    made = _no_exposure(found, Pools.of(found))
    loans = made.pools.placed(shard.loans, shard.cohort)
    room = Room()

    def piece(start: int, stop: int) -> tuple[I64, I64]:
        at = room.positions[: stop - start]
        positions(loans, policies, scope.day, shard.cutoffs, start, stop, whole=False, out=at)
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


class Room(threading.local):
    """Memory each thread uses again for every chunk: fresh pages cost more than the arithmetic."""

    def __init__(self) -> None:
        self.positions = np.empty((CHUNK, len(FIELDS)), np.int64)
        self.amounts = np.empty((CHUNK, len(AMOUNTS)), np.int64)


@dataclass(slots=True)
class Sums:
    """What the second pass sums: amounts by cell and by whether the loan is of this period."""

    cells: I64
    """[cell × 2 + is_new, amount]"""
    findings: LoanFindings = field(default_factory=LoanFindings)
    loans: int = 0
    sampled: list[list[Control]] = field(default_factory=list)
    """Of each shard, what an auditor would recompute."""
    implausible: list[int] = field(default_factory=list)
    """Sampled loans whose guarantee is stated above what it can be worth."""


def subledger_parts(
    scope: Scope, number: int, close_no: int, pools: Pools, policies: Policies, sums: Sums,
    progress: Progress = no_progress,
) -> Iterator[pa.Table]:  # fmt: skip
    """The second pass over one shard: its subledger, piece by piece; sums grow with it."""
    shard = scope.shard(number)
    loans, exact = pools.placed(shard.loans, shard.cohort), scope.exact(shard, policies, pools)
    room = Room()
    for kernel_rows, rows in _pieces(loans, exact):
        progress("amounts", kernel_rows.start, len(loans))
        columns = _kernel_piece(scope, shard, loans, policies, kernel_rows, room, sums)
        ids = loans.loan_id[kernel_rows.start : kernel_rows.stop]
        if len(rows):
            more = _exact_piece(scope, exact, rows, pools, policies, sums)
            ids = np.concatenate([ids, exact.loan_id[rows]])
            order = np.argsort(ids, kind="stable")
            ids, columns = ids[order], np.hstack([columns, more])[:, order]
        sums.loans += len(ids)
        yield _part(ids, columns, close_no)


def _pieces(loans: LoanColumns, exact: ExactLoans) -> Iterator[tuple[range, NDArray[np.intp]]]:
    """Rows for the kernel and rows of the exact form, so that all loans rise."""
    if len(loans) == 0:
        for first in range(0, max(len(exact), 1), PIECE):
            yield range(0), np.arange(first, min(first + PIECE, len(exact)))
    for first in range(0, len(loans), PIECE):
        last = min(first + PIECE, len(loans))
        ids = loans.loan_id[first:last]
        yield (
            range(first, last),
            _between(exact, ids, is_first=first == 0, is_last=last == len(loans)),
        )


def _kernel_piece(
    scope: Scope, shard: Shard, loans: LoanColumns, policies: Policies, rows: range, room: Room,
    sums: Sums,
) -> I64:  # fmt: skip
    """The amounts of a piece by column; what it sums is added in order of its chunks."""
    columns = np.empty((len(AMOUNTS), len(rows)), np.int64)
    shared = scope.shared_ids

    def piece(start: int, stop: int) -> tuple[I64, LoanFindings]:
        a, b = rows.start + start, rows.start + stop
        at, found = room.positions[: stop - start], room.amounts[: stop - start]
        positions(loans, policies, scope.day, shard.cutoffs, a, b, out=at)
        amounts_of_positions(at, policies, loans.segment[a:b], loans.pool[a:b], found)
        columns[:, start:stop] = found.T
        local = np.zeros_like(sums.cells)
        groups = _groups(loans.cell[a:b], shard.cohort[a:b], scope)
        _add(scope, loans.loan_id[a:b], found, groups, local, shared)
        findings = LoanFindings()
        findings.look(loans.loan_id[a:b], at, found)
        if a == 0:
            sums.sampled.append(recomputed(loans, at, found, 0, policies))
            sums.implausible += implausible_guarantees(loans, at, 0)
        return local, findings

    for local, findings in in_threads(piece, len(rows)):
        sums.cells += local
        sums.findings.add(findings)
    return columns


def _groups(cell: I32, cohort: I32, scope: Scope) -> I32:
    months = scope.new_months
    is_new = (cohort >= months[0]) & (cohort <= months[-1])
    return np.asarray(cell * 2 + is_new, np.int32)


def _exact_piece(
    scope: Scope, exact: ExactLoans, rows: NDArray[np.intp], pools: Pools, policies: Policies,
    sums: Sums,
) -> I64:  # fmt: skip
    at = np.ascontiguousarray(exact.positions[rows])
    segment = pools.segment(exact.segment_no[rows])
    found = amounts_of_positions(at, policies, segment, pools.pool(segment, exact.cohort[rows]))
    groups = _groups(exact.cell[rows], exact.cohort[rows], scope)
    _add(scope, exact.loan_id[rows], found, groups, sums.cells, scope.shared_ids)
    sums.findings.look(exact.loan_id[rows], at, found)
    return np.ascontiguousarray(found.T)


def _between(exact: ExactLoans, ids: I64, *, is_first: bool, is_last: bool) -> NDArray[np.intp]:
    """The exact loans that belong among these ids, so that all rows rise."""
    if len(exact) == 0:
        return np.empty(0, np.intp)
    low = 0 if is_first else np.searchsorted(exact.loan_id, ids[0])
    high = len(exact) if is_last else np.searchsorted(exact.loan_id, ids[-1], side="right")
    return np.arange(low, high)


def _add(scope: Scope, ids: I64, found: I64, groups: I32, sums: I64, shared_ids: I64) -> None:
    """Add amounts to their cells; co-funded ones to the cells of all their sources."""
    add_amounts(found, groups, sums)
    shared = np.flatnonzero(np.isin(ids, shared_ids)) if len(shared_ids) else shared_ids
    if len(shared) == 0:
        return
    shares = [scope.shares[loan_id] for loan_id in ids[shared].tolist()]
    loans = np.repeat(np.arange(len(shared)), [len(each) for each in shares])
    cells = np.array([cell for each in shares for cell in each], np.int64)
    weights = np.array([minor for each in shares for minor in each.values()], np.int64)
    whole = np.ascontiguousarray(found[shared])
    add_amounts(-whole, groups[shared], sums)
    own_groups = (cells * 2 + (groups[shared] & 1)[loans]).astype(np.int32)
    add_amounts(parts_of(whole, loans, cells, weights), own_groups, sums)


def _part(ids: I64, columns: I64, close_no: int) -> pa.Table:
    made = {"close_no": pa.array(np.full(len(ids), close_no, np.int32)), "loan_id": ids}
    made |= {name: columns[place] for place, name in enumerate(AMOUNTS)}
    return pa.table(made).select(list(SUBLEDGER.names))


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
