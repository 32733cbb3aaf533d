"""The kernel over a column of loans, in threads, with refusals turned into named errors.

>>> from datetime import date
>>> from usance.loan.terms import Terms
>>> loan = Terms(principal_minor=1_200_00, rate_ppm=180_000, instalments=12,
...              disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15))
>>> plan = schedule_columns(TermColumns.of([loan, loan]))
>>> plan.principal[:3].tolist(), int(plan.principal.sum())
([9202, 9340, 9480], 240000)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import announce_if_cold, in_threads
from usance.base.errors import UsanceError
from usance.loan import kernel_batch
from usance.loan.columns import FactColumns, TermColumns, order_codes
from usance.loan.convention import DEFAULT_ALLOCATION
from usance.loan.errors import ConventionNotInKernel
from usance.loan.kernel_fold import SLOTS, work_row
from usance.loan.kernel_orders import order_row
from usance.loan.kernel_view import FIELDS
from usance.loan.refusals import named_refusal

I64, I32 = NDArray[np.int64], NDArray[np.int32]
Days = int | I32
"""One day for all loans or a day each, as day numbers."""


class ScheduleColumns(NamedTuple):
    """Every instalment of every loan; loan i has rows `offsets[i]` to `offsets[i + 1]`."""

    offsets: I64
    due_on: I32
    parts: I64  # principal, interest, guarantee fee, service fee

    @property
    def principal(self) -> I64:
        """The principal of every instalment."""
        return self.parts[:, 0]

    @property
    def interest(self) -> I64:
        """The interest of every instalment."""
        return self.parts[:, 1]

    @property
    def total(self) -> I64:
        """What the borrower pays with every instalment."""
        totals: I64 = self.parts.sum(axis=1)
        return totals


class Views(NamedTuple):
    """Where every loan stands: a row per loan, a column per name in `FIELDS`."""

    values: I64

    def column(self, name: str) -> I64:
        """One field of all loans, without copying."""
        return self.values[:, FIELDS.index(name)]


@dataclass(slots=True)
class States:
    """Checkpoints of a column of loans: 144 bytes each, and the day they were stepped to."""

    terms: TermColumns
    values: I64
    through: I32


class CoverColumns(NamedTuple):
    """Every instalment of every loan as it stands: what it asks, and what is paid or waived."""

    offsets: I64
    due_on: I32
    asked: I64
    met: I64


def schedule_columns(terms: TermColumns, *, workers: int | None = None) -> ScheduleColumns:
    """The schedule of every loan."""
    offsets = _offsets(terms)
    due, parts = np.empty(offsets[-1], np.int32), np.empty((offsets[-1], 4), np.int64)

    def rows(start: int, stop: int, refused: I32) -> None:
        kernel_batch.schedule_rows(
            start, stop, work_row(), terms.arrays, offsets, due, parts, refused
        )

    _run(rows, len(terms), workers)
    return ScheduleColumns(offsets, due, parts)


def replay_columns(
    terms: TermColumns, facts: FactColumns, as_of: Days, *, workers: int | None = None
) -> Views:
    """A view of every loan from its terms and all its facts."""
    days = _days(as_of, len(terms))
    out = np.empty((len(terms), len(FIELDS)), np.int64)
    order = order_codes(terms.allocation)
    longest = int(terms.instalments.max(initial=1))

    def in_our_order(start: int, stop: int, refused: I32) -> None:
        kernel_batch.replay_rows(
            start, stop, work_row(), terms.arrays, facts.arrays, days, out, refused
        )

    def in_any_order(start: int, stop: int, refused: I32) -> None:
        kernel_batch.replay_rows_by_order(
            start, stop, work_row(), order_row(longest), terms.arrays, order, facts.arrays, days,
            out, refused,
        )  # fmt: skip

    ours = terms.allocation == DEFAULT_ALLOCATION
    _run(in_our_order if ours else in_any_order, len(terms), workers, facts)
    return Views(out)


def start_columns(terms: TermColumns, *, workers: int | None = None) -> States:
    """The states of loans that have terms and no facts yet."""
    if terms.allocation != DEFAULT_ALLOCATION:
        raise ConventionNotInKernel("only our own allocation order has a stored state",
                                    where="terms", fix="Replay these loans from their facts")  # fmt: skip
    states = np.empty((len(terms), SLOTS), np.int64)

    def rows(start: int, stop: int, refused: I32) -> None:
        kernel_batch.start_rows(start, stop, work_row(), terms.arrays, states, refused)

    _run(rows, len(terms), workers)
    return States(terms, states, np.full(len(terms), -1, np.int32))


def step_columns(
    states: States, facts: FactColumns, until: int, *, workers: int | None = None
) -> States:
    """Later facts added to every state, up to and including a day.

    All or nothing: a refused fact leaves every state as it was.
    """
    values, through = states.values.copy(), states.through.copy()

    def rows(start: int, stop: int, refused: I32) -> None:
        kernel_batch.step_rows(
            start, stop, work_row(), states.terms.arrays, values, through, until, facts.arrays,
            refused,
        )  # fmt: skip

    _run(rows, len(states.terms), workers, facts)
    return States(states.terms, values, through)


def view_columns(states: States, as_of: Days, *, workers: int | None = None) -> Views:
    """A view of every state on a day."""
    days = _days(as_of, len(states.terms))
    out = np.empty((len(states.terms), len(FIELDS)), np.int64)

    def rows(start: int, stop: int, refused: I32) -> None:
        kernel_batch.view_rows(
            start, stop, work_row(), states.terms.arrays, states.values, days, out
        )

    _run(rows, len(states.terms), workers)
    return Views(out)


def cover_columns(states: States, *, workers: int | None = None) -> CoverColumns:
    """Every instalment with what it asks and what is paid or waived of it."""
    offsets = _offsets(states.terms)
    due = np.empty(offsets[-1], np.int32)
    asked, met = np.empty((offsets[-1], 4), np.int64), np.empty((offsets[-1], 4), np.int64)

    def rows(start: int, stop: int, refused: I32) -> None:
        kernel_batch.cover_rows(
            start, stop, work_row(), states.terms.arrays, states.values, offsets, due, asked, met
        )

    _run(rows, len(states.terms), workers)
    return CoverColumns(offsets, due, asked, met)


def _offsets(terms: TermColumns) -> I64:
    return np.concatenate(([0], np.cumsum(terms.instalments, dtype=np.int64)))


def _days(as_of: Days, count: int) -> I32:
    return np.full(count, as_of, np.int32) if isinstance(as_of, int) else as_of


def _run(
    rows: Callable[[int, int, I32], None], count: int, workers: int | None,
    facts: FactColumns | None = None,
) -> None:  # fmt: skip
    announce_if_cold()
    refused = np.zeros(count, np.int32)
    in_threads(lambda start, stop: rows(start, stop, refused), count, workers)
    bad = np.flatnonzero(refused)
    if len(bad):
        raise _refusal(refused, bad, facts)


def _refusal(refused: I32, bad: NDArray[np.intp], facts: FactColumns | None) -> UsanceError:
    row = int(bad[0])
    position = None
    if facts is not None:
        position = int(facts.offsets[row]) + int(refused[row]) // 16
    return named_refusal(int(refused[row]) % 16, row, len(bad), facts, position)
