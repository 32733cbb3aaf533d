"""A month of a shard's loans: facts from the world and the rules, then the fold."""

from __future__ import annotations

import threading
from functools import partial
from typing import NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.compiled import in_threads
from usance.base.refusals import unpack_refusal
from usance.loan.columns import FactColumns
from usance.loan.kernel.single import loan_workspace
from usance.loan.refusals import named_refusal
from usance.service.servicing_kernel import event_buffer
from usance.service.servicing_rules import ServicingRules
from usance.twin.month import month_kernel as m
from usance.twin.month.collection_effect import effect_of
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.merge_facts_kernel import merge_facts
from usance.twin.month.month_arrays import (
    DueTotals,
    FactBuffer,
    MonthEnd,
    MonthOutput,
    Payments,
    WorkSpace,
    draw_space,
)
from usance.twin.month.month_pass_kernel import month_pass_rows
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.serve_kernel import MAX_FACTS, serve_rows
from usance.world.behaviour import behaviour_inputs
from usance.world.behaviour_kernel import MAX_PAYMENTS, MonthSpan
from usance.world.population import month_days
from usance.world.providers import arrivals
from usance.world.scenario.scenario import Scenario

MONTH_DAYS = 32
PIECE = 1 << 15
"""Loans of one piece of work: their facts, of all columns, stay in a core's cache."""


class Folded(NamedTuple):
    """Loans with a month's facts folded in, their dues, and principal that came back."""

    loans: OpenLoans
    ends: MonthEnd
    dues: I64
    """By loan, the columns of `month_kernel.DUES`."""
    released: I64
    """Principal that came back by source and day of the month, from 0."""


class MonthPass(NamedTuple):
    """A month of loans, whose states were carried on in place."""

    ends: MonthEnd
    known: FactRows
    """Facts known by the month's end."""
    coming: FactRows
    """Payments that are known only later."""
    apart: I64
    """Rows of their loans, which are as they were: `fold` carries them on."""
    dues: DueSums
    released: I64


def serve(
    scenario: Scenario, loans: OpenLoans, month: int, rules: ServicingRules, *,
    workers: int | None = None,
) -> FactRows:  # fmt: skip
    """Every fact that a month brings to existing loans, known in it or later."""
    world, arrays = behaviour_inputs(scenario, month, partial(effect_of, scenario)), loans.arrays

    def rows(start: int, stop: int) -> FactRows:
        facts = FactBuffer.of((stop - start) * MAX_FACTS)
        return _copied(facts, serve_rows(start, stop, arrays, world, rules, _work_space(), facts))

    return _joined(in_threads(rows, len(loans), workers))


def fold(
    loans: OpenLoans, facts: FactRows, month: int, sources: int, *, workers: int | None = None
) -> Folded:
    """A month's known facts folded into states, with all that metrics ask of the month."""
    span = MonthSpan(month, *month_days(month))
    known, count = facts.columns_for(loans["loan_id"]), len(loans)
    carried = OpenLoans(
        {**loans.columns, "worst": loans["worst"].copy()}, loans.states.copy(), loans.watches.copy()
    )
    arrays, ends, dues = carried.arrays, MonthEnd.of(count), np.empty((count, m.DUES), np.int64)

    def rows(start: int, stop: int) -> tuple[I64, I64]:
        released, refused = _released(sources), np.zeros(3, np.int64)
        m.fold_rows(
            start, stop, arrays, known.arrays, span, _work_space(), ends, dues, released, refused
        )
        return released, refused

    pieces = in_threads(rows, count, workers)
    for _, refused in pieces:
        _refuse(refused, known)
    released = sum((each for each, _ in pieces), _released(sources))
    return Folded(carried, ends, dues, np.asarray(released))


class _ThreadMemory(threading.local):
    """Memory a thread uses again for every piece: fresh pages cost more than the arithmetic."""

    def __init__(
        self, ends: MonthEnd, payments: Payments, sources: int, cells: int,
        outputs: list[MonthOutput],
    ) -> None:  # fmt: skip
        final, still_open = DueSums.space(cells), DueSums.space(cells)
        met = np.zeros(final.shape[1:3], np.int64)
        self.work = _work_space()
        self.out = MonthOutput(
            ends, DueTotals(final, still_open, met), _released(sources), payments,
            FactBuffer.of(PIECE * MAX_FACTS), FactBuffer.of(PIECE * 2), np.empty(PIECE, np.int64),
            np.zeros(3, np.int64),
        )  # fmt: skip
        outputs.append(self.out)


class _Piece(NamedTuple):
    """One piece of a month pass: how many facts are known, and those of loans not on schedule."""

    facts: int
    others: FactBuffer
    coming: FactRows
    apart: I64


def month_pass(
    scenario: Scenario, loans: OpenLoans, month: int, rules: ServicingRules, sources: int,
    cells: int, *, workers: int | None = None,
) -> MonthPass:  # fmt: skip
    """`serve` and `fold` in one pass: states, watches and worst days are carried on in place."""
    world, arrays = behaviour_inputs(scenario, month, partial(effect_of, scenario)), loans.arrays
    ends, payments = MonthEnd.of(len(loans)), Payments.of(len(loans))
    outputs: list[MonthOutput] = []
    memory = _ThreadMemory(ends, payments, sources, cells, outputs)

    def rows(start: int, stop: int) -> _Piece:
        work, out = memory.work, memory.out
        on_schedule, others, coming, apart = month_pass_rows(
            start, stop, arrays, world, rules, work, out
        )
        return _Piece(
            on_schedule + others,
            out.known.first(others),
            _copied(out.coming, coming),
            out.apart[:apart].copy(),
        )

    pieces = in_threads(rows, len(loans), workers, PIECE)
    known = _merged(loans["loan_id"], month, payments, pieces, workers)
    apart = np.concatenate([np.zeros(0, np.int64), *(each.apart for each in pieces)])
    dues, released = DueSums(cells), _released(sources)
    for out in outputs:
        if out.refused[0]:
            _refuse(out.refused, known.columns_for(loans["loan_id"]))
        released += out.released
        dues.add_totals(out.dues, month)
    coming = _joined([each.coming for each in pieces])
    return MonthPass(ends, known, coming, apart, dues, released)


def month_pass_with_faults(
    scenario: Scenario, loans: OpenLoans, month: int, rules: ServicingRules, sources: int,
    cells: int, *, workers: int | None = None,
) -> MonthPass:  # fmt: skip
    """`month_pass` with files that come damaged or not at all: notices are known afterwards."""
    facts = serve(scenario, loans, month, rules, workers=workers)
    facts = facts._replace(booked=arrivals(scenario, facts))
    is_known = facts.booked <= month_days(month)[1]
    known, coming = facts.where(is_known), facts.where(~is_known)
    is_apart = np.isin(loans["loan_id"], coming.loan_id)
    rows, apart = np.flatnonzero(~is_apart), np.flatnonzero(is_apart)
    some = loans.take(rows)
    folded = fold(some, known.of_loans(some["loan_id"]), month, sources, workers=workers)
    ends, dues = MonthEnd.of(len(loans)), DueSums(cells)
    dues.add(folded.dues, some["cell"], month)
    put_folded(loans, rows, folded, ends)
    return MonthPass(ends, known, coming, apart, dues, folded.released)


def put_folded(loans: OpenLoans, rows: I64, folded: Folded, ends: MonthEnd) -> None:
    """Put the result of `fold` for some loans in their places."""
    loans.states[rows], loans.watches[rows] = folded.loans.states, folded.loans.watches
    loans["worst"][rows] = folded.loans["worst"]
    own = folded.ends._asdict()
    for name, whole in ends._asdict().items():
        whole[rows] = own[name]


def _work_space() -> WorkSpace:
    return WorkSpace(
        loan_workspace(), event_buffer(), np.zeros((MAX_PAYMENTS, 2), np.int64), *m.fold_space(),
        np.empty(m.DUES, np.int64), *draw_space(), np.zeros(1, np.int64),
    )  # fmt: skip


def _released(sources: int) -> I64:
    return np.zeros((sources + 1, MONTH_DAYS), np.int64)


def _copied(facts: FactBuffer, count: int) -> FactRows:
    return FactRows(*facts.first(count))


def _merged(
    loan: I64, month: int, payments: Payments, pieces: list[_Piece], workers: int | None
) -> FactRows:
    """Known facts of all loans: payments on schedule, and the others' of each piece."""
    ends = np.cumsum([0, *(piece.facts for piece in pieces)])
    facts = FactBuffer.of(int(ends[-1]))

    def rows(start: int, stop: int) -> None:
        piece = start // PIECE
        merge_facts(
            start, stop, loan, month * 256, payments, pieces[piece].others, ends[piece], facts
        )

    in_threads(rows, len(loan), workers, PIECE)
    return FactRows(*facts)


def _joined(pieces: list[FactRows]) -> FactRows:
    if not pieces:
        return FactRows.none()
    return FactRows(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def _refuse(refused: I64, known: FactColumns) -> None:
    """Name the first fact that was refused, if one was."""
    if refused[0]:
        row, (code, place) = int(refused[1]), unpack_refusal(int(refused[2]))
        raise named_refusal(code, row, int(refused[0]), known, int(known.offsets[row]) + place)
