"""The loans' part of a close: two passes over the shards, in pieces that fit in memory.

The first pass sums exposures by pool, which the estimates need; the second makes every loan's
amounts, writes them as the subledger and sums them by cell. Both leave out loans that were over at
the close before and begin with its sums of them. Nothing depends on the order of shards or on
threads: all sums are of integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I32, I64
from usance.base.compiled import in_threads
from usance.books.close.carry_forward import Over
from usance.books.close.controls import Control
from usance.books.close.recomputation import implausible_guarantees, recomputed
from usance.books.close.scope import Pools, Progress, Scope, no_progress
from usance.books.kernel.settled import over_rows
from usance.books.kernel.sums import add_amounts, add_slices
from usance.books.loans.amounts import AMOUNTS, SUBLEDGER
from usance.books.loans.checks import LoanFindings
from usance.books.loans.co_funding import parts_of
from usance.books.loans.cohorts import Told, told_of
from usance.books.loans.exact import ExactLoans
from usance.books.loans.measurement import LoanColumns, Room, amounts_of_positions, positions
from usance.books.loans.shards import Shard
from usance.books.policies import Policies

PIECE = 1 << 17
"""Loans whose amounts are held at a time."""


@dataclass(slots=True)
class Sums:
    """What the second pass sums: amounts by cell and by whether the loan is of this period."""

    cells: I64
    """[cell × 2 + is_new, amount]"""
    over: I64
    """The same of loans that are over: none of them is new to a later close."""
    slices: I64
    """Of loans that are over, by segment: count, service slices, and those collected."""
    told: Told
    """What became of loans that are over."""
    findings: LoanFindings = field(default_factory=LoanFindings)
    loans: int = 0
    loans_over: int = 0
    sampled: list[list[Control]] = field(default_factory=list)
    """Of each shard, what an auditor would recompute."""
    implausible: list[int] = field(default_factory=list)
    """Sampled loans whose guarantee is stated above what it can be worth."""
    open_still: bytes = b""
    """Of one shard, the loans that are not over, as they are kept for the next close."""

    @classmethod
    def nothing(cls, scope: Scope, pools: Pools) -> Sums:
        """Of no loans."""
        cells = np.zeros((2 * len(scope.index.cells), len(AMOUNTS)), np.int64)
        return cls(
            cells, cells.copy(), np.zeros((len(pools.segments), 3), np.int64), Told.nothing()
        )

    @classmethod
    def of(cls, scope: Scope, pools: Pools) -> Sums:
        """Nothing yet but what is carried over."""
        made = cls.nothing(scope, pools)
        if scope.carried is None:
            return made
        over = scope.carried.over
        place = {int(cell): row for row, cell in enumerate(scope.index.cells.cell)}
        for cell, held in over.cells.items():
            made.over[2 * place[cell]] = held
        for segment, held in over.slices.items():
            made.slices[np.searchsorted(pools.segments, segment)] += held
        made.cells += made.over
        made.told, made.loans, made.loans_over = over.told, over.loans, over.loans
        return made

    def add(self, shard: Sums) -> None:
        """Add those of a shard."""
        self.cells += shard.cells
        self.over += shard.over
        self.slices += shard.slices
        self.told = self.told.joined(shard.told)
        self.findings.add(shard.findings)
        self.loans += shard.loans
        self.loans_over += shard.loans_over
        self.sampled += shard.sampled
        self.implausible += shard.implausible

    def left(self, scope: Scope, pools: Pools) -> Over:
        """What the next close may begin with."""
        cells = dict(zip(scope.index.cells.cell.tolist(), self.over[0::2], strict=True))
        slices = {
            segment: held
            for segment, held in zip(pools.segments.tolist(), self.slices, strict=True)
            if held.any()
        }
        return Over(self.loans_over, cells, self.told.summed(), slices)


def subledger_parts(
    scope: Scope, shard: Shard, close_no: int, pools: Pools, policies: Policies, sums: Sums,
    progress: Progress = no_progress,
) -> Iterator[pa.Table]:  # fmt: skip
    """The second pass over one shard: its subledger, piece by piece; sums grow with it."""
    if shard.then is not None:
        _take_back(scope, shard.then, pools, policies, sums)
    loans, exact = pools.placed(shard.loans, shard.cohort), scope.exact(shard, policies, pools)
    over = np.zeros(len(loans), np.bool_)
    room = Room()
    for kernel_rows, rows in _pieces(loans, exact):
        progress("amounts", kernel_rows.start, len(loans))
        columns = _kernel_piece(scope, shard, loans, policies, kernel_rows, room, over, sums)
        here = slice(kernel_rows.start, kernel_rows.stop)
        ids, ended = loans.loan_id[here], over[here]
        if len(rows):
            more = _exact_piece(scope, exact, rows, pools, policies, sums)
            ids = np.concatenate([ids, exact.loan_id[rows]])
            order = np.argsort(ids, kind="stable")
            ids, columns = ids[order], np.hstack([columns, more])[:, order]
            ended = np.concatenate([ended, np.zeros(len(rows), np.bool_)])[order]
        sums.loans += len(ids)
        yield _part(ids, columns, ended, close_no)
    _add_over(shard, over, sums)
    sums.open_still = shard.left_open(over)


def _add_over(shard: Shard, over: NDArray[np.bool_], sums: Sums, sign: int = 1) -> None:
    """Count loans that are over, and what became of them."""
    loans = shard.loans
    told = told_of(loans.loan_id, loans.facts, loans.segment, shard.cohort, shard.day, chosen=over)
    sums.told = sums.told.joined(told if sign > 0 else told.taken_back())
    sums.loans_over += sign * int(over.sum())


def _take_back(scope: Scope, then: Shard, pools: Pools, policies: Policies, sums: Sums) -> None:
    """Loans that were over and are closed again: what is carried of them, as it was."""
    loans = pools.placed(then.loans, then.cohort)
    at = positions(loans, policies, then.day, then.cutoffs, 0, len(loans))
    found = -amounts_of_positions(at, policies, loans.segment, loans.pool)
    for total in (sums.cells, sums.over):
        _add(scope, loans.loan_id, found, loans.cell * 2, total, scope.shared_ids)
    slices = np.zeros_like(sums.slices)
    add_slices(at, loans.segment, slices)
    sums.slices -= slices
    sums.loans -= len(loans)
    _add_over(then, np.ones(len(loans), np.bool_), sums, sign=-1)


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
    over: NDArray[np.bool_], sums: Sums,
) -> I64:  # fmt: skip
    """The amounts of a piece by column; what it sums is added in order of its chunks."""
    columns = np.empty((len(AMOUNTS), len(rows)), np.int64)
    shared = scope.shared_ids

    def piece(start: int, stop: int) -> tuple[I64, I64, I64, LoanFindings]:
        a, b = rows.start + start, rows.start + stop
        at, found = room.positions[: stop - start], room.amounts[: stop - start]
        positions(loans, policies, shard.day, shard.cutoffs, a, b, out=at)
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
        over_rows(at, over[a:b])
        ended, slices = np.zeros_like(sums.over), np.zeros_like(sums.slices)
        some = np.flatnonzero(over[a:b])
        _add(scope, loans.loan_id[a:b][some], found[some], loans.cell[a:b][some] * 2, ended, shared)
        add_slices(at[some], loans.segment[a:b][some], slices)
        return local, ended, slices, findings

    for local, ended, slices, findings in in_threads(piece, len(rows)):
        sums.cells += local
        sums.over += ended
        sums.slices += slices
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


def _part(ids: I64, columns: I64, over: NDArray[np.bool_], close_no: int) -> pa.Table:
    made = {"close_no": pa.array(np.full(len(ids), close_no, np.int32)), "loan_id": ids}
    made |= {name: columns[place] for place, name in enumerate(AMOUNTS)}
    made["is_over"] = over.astype(np.int8)
    return pa.table(made).select(list(SUBLEDGER.names))
