"""The loans' part of a close: two passes over the shards, in pieces that fit in memory.

The first pass sums exposures by pool, which the estimates need; the second makes every loan's
amounts, writes them as the subledger and sums them by cell. Both leave out loans that were fully
settled at the close before and begin with its sums of them. Nothing depends on the order of shards
or on threads: all sums are of integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I32, I64
from usance.base.compiled import in_threads
from usance.books.close.carry_forward import SettledSums
from usance.books.close.controls import Control
from usance.books.close.recomputation import implausible_guarantees, recompute_sample
from usance.books.close.scope import Pools, Progress, Scope, no_progress
from usance.books.kernel.sums import add_amounts, add_fee_instalments, mark_fully_settled
from usance.books.loans.amounts import AMOUNTS, SUBLEDGER
from usance.books.loans.changed_terms import ExactLoans
from usance.books.loans.checks import LoanFindings
from usance.books.loans.co_funding import parts_of
from usance.books.loans.cohorts import CohortOutcomes, cohort_outcomes
from usance.books.loans.measurement import LoanColumns, Workspace, amounts_of_positions, positions
from usance.books.loans.shards import Shard
from usance.books.policies import Policies

PIECE = 1 << 17
"""Loans whose amounts are held at a time."""


@dataclass(slots=True)
class Sums:
    """Sums of the second pass: amounts by cell, loans of this period apart."""

    cells: I64
    """[cell × 2 + is_new, amount]"""
    settled: I64
    """The same of fully settled loans: none of them is new to a later close."""
    fee_instalments: I64
    """Of fully settled loans, by segment: count, service fees, and the part collected."""
    outcomes: CohortOutcomes
    """Of fully settled loans."""
    findings: LoanFindings = field(default_factory=LoanFindings)
    loans: int = 0
    loans_settled: int = 0
    sampled: list[list[Control]] = field(default_factory=list)
    """Of each shard, the controls of its recomputed sample."""
    implausible: list[int] = field(default_factory=list)
    """Sampled loans whose guarantee is stated above what it can be worth."""
    open_loans: bytes = b""
    """Of one shard, the file of its open loans for the next close."""

    @classmethod
    def zero(cls, scope: Scope, pools: Pools) -> Sums:
        """Of no loans."""
        cells = np.zeros((2 * len(scope.index.cells), len(AMOUNTS)), np.int64)
        return cls(
            cells,
            cells.copy(),
            np.zeros((len(pools.segments), 3), np.int64),
            CohortOutcomes.empty(),
        )

    @classmethod
    def of(cls, scope: Scope, pools: Pools) -> Sums:
        """Sums that begin with those carried forward."""
        made = cls.zero(scope, pools)
        if scope.carry_forward is None:
            return made
        settled = scope.carry_forward.settled
        place = {int(cell): row for row, cell in enumerate(scope.index.cells.cell)}
        for cell, held in settled.cells.items():
            made.settled[2 * place[cell]] = held
        for segment, held in settled.fee_instalments.items():
            made.fee_instalments[np.searchsorted(pools.segments, segment)] += held
        made.cells += made.settled
        made.outcomes = settled.outcomes
        made.loans = made.loans_settled = settled.loans
        return made

    def add(self, shard: Sums) -> None:
        """Add those of a shard."""
        self.cells += shard.cells
        self.settled += shard.settled
        self.fee_instalments += shard.fee_instalments
        self.outcomes = self.outcomes.joined(shard.outcomes)
        self.findings.add(shard.findings)
        self.loans += shard.loans
        self.loans_settled += shard.loans_settled
        self.sampled += shard.sampled
        self.implausible += shard.implausible

    def carry_forward(self, scope: Scope, pools: Pools) -> SettledSums:
        """Sums that the next close begins with."""
        cells = dict(zip(scope.index.cells.cell.tolist(), self.settled[0::2], strict=True))
        fees = {
            segment: held
            for segment, held in zip(pools.segments.tolist(), self.fee_instalments, strict=True)
            if held.any()
        }
        return SettledSums(self.loans_settled, cells, self.outcomes.summed(), fees)


def subledger_parts(
    scope: Scope, shard: Shard, close_no: int, pools: Pools, policies: Policies, sums: Sums,
    progress: Progress = no_progress,
) -> Iterator[pa.Table]:  # fmt: skip
    """The second pass over one shard: its subledger, piece by piece; sums grow with it."""
    if shard.reopened is not None:
        _subtract_reopened(scope, shard.reopened, pools, policies, sums)
    loans, exact = pools.with_pools(shard.loans, shard.cohort), scope.exact(shard, policies, pools)
    settled = np.zeros(len(loans), np.bool_)
    workspace = Workspace()
    for kernel_rows, rows in _pieces(loans, exact):
        progress("amounts", kernel_rows.start, len(loans))
        columns = _kernel_piece(
            scope, shard, loans, policies, kernel_rows, workspace, settled, sums
        )
        here = slice(kernel_rows.start, kernel_rows.stop)
        ids, ended = loans.loan_id[here], settled[here]
        if len(rows):
            more = _exact_piece(scope, exact, rows, pools, policies, sums)
            ids = np.concatenate([ids, exact.loan_id[rows]])
            order = np.argsort(ids, kind="stable")
            ids, columns = ids[order], np.hstack([columns, more])[:, order]
            ended = np.concatenate([ended, np.zeros(len(rows), np.bool_)])[order]
        sums.loans += len(ids)
        yield _part(ids, columns, ended, close_no)
    _add_settled(shard, settled, sums)
    sums.open_loans = shard.open_loans(settled)


def _add_settled(shard: Shard, settled: NDArray[np.bool_], sums: Sums, sign: int = 1) -> None:
    """Count fully settled loans, and their outcomes."""
    loans = shard.loans
    outcomes = cohort_outcomes(
        loans.loan_id, loans.facts, loans.segment, shard.cohort, shard.day, chosen=settled
    )
    sums.outcomes = sums.outcomes.joined(outcomes if sign > 0 else outcomes.negated())
    sums.loans_settled += sign * int(settled.sum())


def _subtract_reopened(
    scope: Scope, reopened: Shard, pools: Pools, policies: Policies, sums: Sums
) -> None:
    """Subtract settled loans that have moved, as the sums carried forward hold them."""
    loans = pools.with_pools(reopened.loans, reopened.cohort)
    at = positions(loans, policies, reopened.day, reopened.cutoffs, 0, len(loans))
    found = -amounts_of_positions(at, policies, loans.segment, loans.pool)
    for total in (sums.cells, sums.settled):
        _add(scope, loans.loan_id, found, loans.cell * 2, total, scope.shared_ids)
    fees = np.zeros_like(sums.fee_instalments)
    add_fee_instalments(at, loans.segment, fees)
    sums.fee_instalments -= fees
    sums.loans -= len(loans)
    _add_settled(reopened, np.ones(len(loans), np.bool_), sums, sign=-1)


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
    scope: Scope, shard: Shard, loans: LoanColumns, policies: Policies, rows: range,
    workspace: Workspace, settled: NDArray[np.bool_], sums: Sums,
) -> I64:  # fmt: skip
    """The amounts of a piece by column; what it sums is added in order of its chunks."""
    columns = np.empty((len(AMOUNTS), len(rows)), np.int64)
    shared = scope.shared_ids

    def piece(start: int, stop: int) -> tuple[I64, I64, I64, LoanFindings]:
        a, b = rows.start + start, rows.start + stop
        at, found = workspace.positions[: stop - start], workspace.amounts[: stop - start]
        positions(loans, policies, shard.day, shard.cutoffs, a, b, out=at)
        amounts_of_positions(at, policies, loans.segment[a:b], loans.pool[a:b], found)
        columns[:, start:stop] = found.T
        local = np.zeros_like(sums.cells)
        groups = _groups(loans.cell[a:b], shard.cohort[a:b], scope)
        _add(scope, loans.loan_id[a:b], found, groups, local, shared)
        findings = LoanFindings()
        findings.check(loans.loan_id[a:b], at, found)
        if a == 0:
            sums.sampled.append(recompute_sample(loans, at, found, 0, policies))
            sums.implausible += implausible_guarantees(loans, at, 0)
        mark_fully_settled(at, settled[a:b])
        ended, fees = np.zeros_like(sums.settled), np.zeros_like(sums.fee_instalments)
        some = np.flatnonzero(settled[a:b])
        _add(scope, loans.loan_id[a:b][some], found[some], loans.cell[a:b][some] * 2, ended, shared)
        add_fee_instalments(at[some], loans.segment[a:b][some], fees)
        return local, ended, fees, findings

    for local, ended, fees, findings in in_threads(piece, len(rows)):
        sums.cells += local
        sums.settled += ended
        sums.fee_instalments += fees
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
    sums.findings.check(exact.loan_id[rows], at, found)
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


def _part(ids: I64, columns: I64, settled: NDArray[np.bool_], close_no: int) -> pa.Table:
    made = {"close_no": pa.array(np.full(len(ids), close_no, np.int32)), "loan_id": ids}
    made |= {name: columns[place] for place, name in enumerate(AMOUNTS)}
    made["is_fully_settled"] = settled.astype(np.int8)
    return pa.table(made).select(list(SUBLEDGER.names))
