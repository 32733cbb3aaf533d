"""A shard's loans through a month: facts from the world and the rules, then the fold."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.ageing import ageing_buckets
from usance.base.arrays import I64
from usance.base.codes import Status
from usance.base.compiled import in_threads
from usance.base.refusals import unpack_refusal
from usance.loan.columns import FactColumns
from usance.loan.kernel.single import loan_workspace
from usance.loan.refusals import named_refusal
from usance.service.rules import Rules
from usance.service.servicing_kernel import scratch
from usance.twin.month import month_kernel as m
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.merge_facts_kernel import weave_facts
from usance.twin.month.month_pass_kernel import MAX_DAYS_PAST_DUE, through_rows
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.serve_kernel import MAX_FACTS, serve_rows
from usance.world.behaviour import days_late, knobs, prefixes
from usance.world.behaviour_kernel import MAX_PAYMENTS
from usance.world.draw_kernel import AHEAD
from usance.world.population import month_days
from usance.world.providers import arrivals
from usance.world.scenario.scenario import Scenario

MONTH_DAYS = 32
PIECE = 1 << 15
"""Loans of one piece of work: their facts, of all columns, stay in a core's cache."""


class Folded(NamedTuple):
    """Loans at a month's end: with new states, where each stands, dues, and what came back."""

    loans: OpenLoans
    ends: I64
    """By loan, the columns of `month_kernel.ENDS`."""
    dues: I64
    """By loan, the columns of `month_kernel.DUES`."""
    released: I64
    """Principal that came back by source and day of the month, from 0."""

    @property
    def tape(self) -> Ends:
        """Where they stand, as the tape has it."""
        dpd, status, owed = (self.ends[:, place] for place in (m.DPD, m.STATUS, m.PRINCIPAL))
        late = (dpd > 0) | (status == Status.CHARGED_OFF)
        worst = np.where(late, self.ends[:, m.WORST], 0)
        return Ends(
            np.minimum(dpd, MAX_DAYS_PAST_DUE).astype(np.int16),
            ageing_buckets(dpd, status).astype(np.int8), status.astype(np.int8), owed.copy(),
            self.ends[:, m.PAST_DUE].copy(), np.where(worst > 30, owed, 0),
            np.where(worst > 180, owed, 0), self.ends[:, m.PREPAID].copy(),
            self.ends[:, m.RECOVERED_NOW].copy(),
        )  # fmt: skip


class Ends(NamedTuple):
    """Where loans stand at a month's end, as the tape has it."""

    dpd: NDArray[np.int16]
    bucket: NDArray[np.int8]
    status: NDArray[np.int8]
    principal_minor: I64
    past_due_minor: I64
    net30_minor: I64
    net180_minor: I64
    prepaid_minor: I64
    recovered_minor: I64

    @classmethod
    def of(cls, count: int) -> Ends:
        """Room for some loans."""
        amounts = (np.empty(count, np.int64) for _ in range(6))
        return cls(
            np.empty(count, np.int16), np.empty(count, np.int8), np.empty(count, np.int8), *amounts
        )


class Through(NamedTuple):
    """A month of loans, whose states were taken on in place."""

    ends: Ends
    known: FactRows
    """The facts that are known by the month's end."""
    coming: FactRows
    """Payments that are known only later."""
    apart: NDArray[np.int64]
    """The rows of their loans, which are as they were: `fold` takes them on."""
    dues: DueSums
    released: I64


def serve(
    scenario: Scenario, loans: OpenLoans, month: int, rules: Rules, *, workers: int | None = None
) -> FactRows:
    """Every fact that a month brings to existing loans, known in it or later."""
    first, last = month_days(month)
    begun, own, days = prefixes(scenario.seed), knobs(scenario, month), days_late()
    offsets = np.zeros(1, np.int64)

    def rows(start: int, stop: int) -> FactRows:
        facts = _facts_room((stop - start) * MAX_FACTS)
        found = serve_rows(
            start, stop, loan_workspace(), scratch(), np.zeros((MAX_PAYMENTS, 2), np.int64),
            loans.term_arrays, loans.states, loans["loan_id"], loans["model"], loans["trigger"],
            loans["hazard"], month, first, last, rules.array, begun, own, days, facts, offsets,
        )  # fmt: skip
        return _told(facts, found)

    return _joined(in_threads(rows, len(loans), workers))


def fold(
    loans: OpenLoans, facts: FactRows, month: int, sources: int, *, workers: int | None = None
) -> Folded:
    """A month's known facts folded into states, with all that metrics ask of the month."""
    first, last = month_days(month)
    known, count = facts.columns_for(loans["loan_id"]), len(loans)
    states, watches = np.empty_like(loans.states), loans.watches.copy()
    ends, dues = np.empty((count, m.ENDS), np.int64), np.empty((count, m.DUES), np.int64)

    def rows(start: int, stop: int) -> tuple[I64, I64]:
        released, refused = np.zeros((sources + 1, MONTH_DAYS), np.int64), np.zeros(3, np.int64)
        m.month_rows(
            start,
            stop,
            loan_workspace(),
            *m.work(),
            loans.term_arrays,
            loans.states,
            loans["worst"],
            known.arrays,
            month,
            first,
            last,
            watches,
            loans["source"],
            states,
            ends,
            dues,
            released,
            refused,
        )
        return released, refused

    pieces = in_threads(rows, count, workers)
    for _, refused in pieces:
        _refuse(refused, known)
    released = sum((each for each, _ in pieces), np.zeros((sources + 1, MONTH_DAYS), np.int64))
    return Folded(OpenLoans(loans.columns, states, watches), ends, dues, np.asarray(released))


class _Room(threading.local):
    """Memory a thread uses again for every piece: fresh pages cost more than the arithmetic."""

    def __init__(self, sources: int, cells: int, kept: list[Any]) -> None:
        self.sure, self.open = DueSums.room(cells), DueSums.room(cells)
        met = np.zeros(self.sure.shape[1:3], np.int64)
        self.work = (
            loan_workspace(), scratch(), np.zeros((MAX_PAYMENTS, 2), np.int64), *m.work(),
            np.empty(m.DUES, np.int64), np.empty((2, AHEAD), np.uint64), np.empty(AHEAD, np.int64),
            met,
        )  # fmt: skip
        self.known, self.coming = _facts_room(PIECE * MAX_FACTS), _facts_room(PIECE * 2)
        self.apart, self.refused = np.empty(PIECE, np.int64), np.zeros(3, np.int64)
        self.released = np.zeros((sources + 1, MONTH_DAYS), np.int64)
        kept.append((self.released, met, self.sure, self.open, self.refused))


def through(
    scenario: Scenario, loans: OpenLoans, month: int, rules: Rules, sources: int, cells: int, *,
    workers: int | None = None,
) -> Through:  # fmt: skip
    """`serve` and `fold` in one pass: states, watches and worst days are taken on in place."""
    first, last = month_days(month)
    begun, own, days = prefixes(scenario.seed), knobs(scenario, month), days_late()
    ends, offsets = Ends.of(len(loans)), np.zeros(1, np.int64)
    stands: Any = tuple(ends)
    names = ("loan_id", "model", "trigger", "hazard", "source", "cell", "worst")
    columns: Any = tuple(loans[name] for name in names)
    kinds = (np.int8, np.int32, np.int64, np.int16)
    paid: Any = tuple(np.empty(len(loans), kind) for kind in kinds)
    kept: list[Any] = []
    room = _Room(sources, cells, kept)

    def rows(start: int, stop: int) -> tuple[int, Any, FactRows, I64]:
        calm, at, found, few = through_rows(
            start, stop, room.work, loans.term_arrays, loans.states, loans.watches, columns, month,
            first, last, rules.array, begun, own, days, paid, room.known, room.coming, room.apart,
            offsets, stands, room.sure, room.open, room.released, room.refused,
        )  # fmt: skip
        others = tuple(each[:at].copy() for each in room.known)
        return calm + at, others, _told(room.coming, found), room.apart[:few].copy()

    pieces = in_threads(rows, len(loans), workers, PIECE)
    known = _woven(loans["loan_id"], month, paid, pieces, workers)
    coming = _joined([each for *_, each, _ in pieces])
    apart = np.concatenate([np.zeros(0, np.int64), *(each for *_, each in pieces)])
    dues, released = DueSums(cells), np.zeros((sources + 1, MONTH_DAYS), np.int64)
    for back, met, sure, still_open, refused in kept:
        if refused[0]:
            _refuse(refused, known.columns_for(loans["loan_id"]))
        released += back
        dues.take_in(met, sure, still_open, month)
    return Through(ends, known, coming, apart, dues, released)


def through_faults(
    scenario: Scenario, loans: OpenLoans, month: int, rules: Rules, sources: int, cells: int, *,
    workers: int | None = None,
) -> Through:  # fmt: skip
    """`through` where files come damaged or not at all: who is known is seen only afterwards."""
    told = serve(scenario, loans, month, rules, workers=workers)
    told = told._replace(booked=arrivals(scenario, told))
    is_known = told.booked <= month_days(month)[1]
    known, coming = told.where(is_known), told.where(~is_known)
    is_apart = np.isin(loans["loan_id"], coming.loan_id)
    rows, apart = np.flatnonzero(~is_apart), np.flatnonzero(is_apart)
    some = loans.take(rows)
    folded = fold(some, known.of_loans(some["loan_id"]), month, sources, workers=workers)
    ends, dues = Ends.of(len(loans)), DueSums(cells)
    dues.add(folded.dues, some["cell"], month)
    take_on(loans, rows, folded, ends)
    return Through(ends, known, coming, apart, dues, folded.released)


def take_on(loans: OpenLoans, rows: I64, folded: Folded, ends: Ends) -> None:
    """Put what `fold` made of some loans in their places."""
    loans.states[rows], loans.watches[rows] = folded.loans.states, folded.loans.watches
    loans["worst"][rows] = np.minimum(folded.ends[:, m.WORST], MAX_DAYS_PAST_DUE)
    own = folded.tape._asdict()
    for name, whole in ends._asdict().items():
        whole[rows] = own[name]


def _facts_room(count: int) -> Any:
    """Room for facts in the order of the kernel."""
    return (
        np.empty(count, np.int32), np.empty(count, np.int8), np.empty(count, np.int64),
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int32),
        np.empty(count, np.int64),
    )  # fmt: skip


def _told(facts: Any, found: int) -> FactRows:
    day, kind, amount, arg, ref, booked, loan = (each[:found].copy() for each in facts)
    return FactRows(loan, day, kind, ref, amount, arg, booked)


def _woven(loan: I64, month: int, paid: Any, pieces: list[Any], workers: int | None) -> FactRows:
    """The known facts of all loans: payments of calm ones, and the others' of each piece."""
    ends = np.cumsum([0, *(count for count, *_ in pieces)])
    facts = _facts_room(int(ends[-1]))

    def rows(start: int, stop: int) -> None:
        piece = start // PIECE
        weave_facts(start, stop, loan, month * 256, paid, pieces[piece][1], ends[piece], facts)

    in_threads(rows, len(loan), workers, PIECE)
    day, kind, amount, arg, ref, booked, owner = facts
    return FactRows(owner, day, kind, ref, amount, arg, booked)


def _joined(pieces: list[FactRows]) -> FactRows:
    if not pieces:
        return FactRows.none()
    return FactRows(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def _refuse(refused: I64, known: FactColumns) -> None:
    """Name the first fact that was refused, if one was."""
    if refused[0]:
        row, (code, place) = int(refused[1]), unpack_refusal(int(refused[2]))
        raise named_refusal(code, row, int(refused[0]), known, int(known.offsets[row]) + place)
