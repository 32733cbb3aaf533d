"""The kernel over a column of loans, in threads, with refusals turned into named errors.

>>> from datetime import date
>>> from usance.loan.terms import Terms
>>> loan = Terms(
...     principal_minor=1_200_00,
...     rate_ppm=180_000,
...     instalments=12,
...     disbursed_on=date(2024, 1, 15),
...     first_due_on=date(2024, 2, 15),
... )
>>> plan = schedule_columns(TermColumns.of([loan, loan]))
>>> plan.principal[:3].tolist(), int(plan.principal.sum())
([9202, 9340, 9480], 240000)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeAlias

import numpy as np

from usance.base.arrays import I32, I64
from usance.base.compiled import in_threads
from usance.base.dates import to_day
from usance.base.errors import UsanceError, unknown
from usance.base.refusals import unpack_refusal
from usance.loan.columns import FactColumns, TermColumns, allocation_codes
from usance.loan.convention import DEFAULT_ALLOCATION
from usance.loan.errors import BackdatedStep, ConventionNotInKernel, KernelRange
from usance.loan.kernel import batch as kernel_batch
from usance.loan.kernel.any_order import order_workspace
from usance.loan.kernel.arrays import AsOf, InstalmentColumns, ScheduleColumns, StateArrays
from usance.loan.kernel.state import SLOTS, empty_state, workspace
from usance.loan.refusals import named_refusal
from usance.loan.views import VIEW_FIELDS

Days: TypeAlias = date | int | I32
"""One day for all loans or a day each, as day numbers."""


class Views(NamedTuple):
    """Balances and arrears of every loan: a row per loan, a column per name in `VIEW_FIELDS`."""

    values: I64

    def column(self, name: str) -> I64:
        """One field of all loans, without copying."""
        if name not in VIEW_FIELDS:
            raise unknown("field of a view", name, VIEW_FIELDS)
        return self.values[:, VIEW_FIELDS.index(name)]


@dataclass(slots=True)
class States:
    """Checkpoints of a column of loans: 144 bytes each, and the day they were stepped to."""

    terms: TermColumns
    values: I64
    through: I32


def schedule_columns(
    terms: TermColumns, *, out: ScheduleColumns | None = None, workers: int | None = None
) -> ScheduleColumns:
    """The schedule of every loan; `out`, from an earlier call of the same shape, is used again."""
    plan = out or _empty_schedule(terms)
    size = int(plan.offsets[-1])
    _check_size(size, int(terms.instalments.sum(dtype=np.int64)))
    if not _has_fees(terms):
        none = np.broadcast_to(np.int64(0), size)
        plan = plan._replace(guarantee_fee=none, service_fee=none)
    with_fees = 0 not in plan.guarantee_fee.strides
    written = plan if with_fees else plan._replace(guarantee_fee=_EMPTY, service_fee=_EMPTY)

    def rows(start: int, stop: int, refused: I64) -> None:
        kernel_batch.schedule_rows(start, stop, empty_state(), terms.arrays, written, refused)

    _run(rows, len(terms), workers)
    return plan


def replay_columns(
    terms: TermColumns, facts: FactColumns, as_of: Days, *, out: Views | None = None,
    workers: int | None = None,
) -> Views:  # fmt: skip
    """A view of every loan from its terms and all its facts; `out` is used again if given."""
    days = _days(as_of, len(terms))
    _check_same_loans(facts, len(terms))
    values = out.values if out else np.empty((len(terms), len(VIEW_FIELDS)), np.int64)
    _check_size(len(values), len(terms))
    order = allocation_codes(terms.allocation)
    longest = int(terms.instalments.max(initial=1))

    def in_our_order(start: int, stop: int, refused: I64) -> None:
        kernel_batch.replay_rows(
            start, stop, empty_state(), workspace(), terms.arrays, facts.arrays, days, values,
            refused,
        )  # fmt: skip

    def in_any_order(start: int, stop: int, refused: I64) -> None:
        kernel_batch.replay_rows_by_order(
            start, stop, empty_state(), order_workspace(longest), terms.arrays, order,
            facts.arrays, days, values, refused,
        )  # fmt: skip

    ours = terms.allocation == DEFAULT_ALLOCATION
    _run(in_our_order if ours else in_any_order, len(terms), workers, facts)
    return Views(values)


def start_columns(terms: TermColumns, *, workers: int | None = None) -> States:
    """The states of loans that have terms and no facts yet."""
    if terms.allocation != DEFAULT_ALLOCATION:
        raise ConventionNotInKernel(
            "only our own allocation order has a stored state",
            where="terms",
            fix="Replay these loans from their facts",
        )
    states = np.empty((len(terms), SLOTS), np.int64)

    def rows(start: int, stop: int, refused: I64) -> None:
        kernel_batch.start_rows(start, stop, terms.arrays, states, refused)

    _run(rows, len(terms), workers)
    return States(terms, states, np.full(len(terms), -1, np.int32))


def step_columns(
    states: States, facts: FactColumns, until: int, *, out: States | None = None,
    workers: int | None = None,
) -> States:  # fmt: skip
    """Later facts added to every state, up to and including a day; `states` stays as it was.

    `out`, states no longer needed, is used again if given; never `states` itself, so that a
    refused fact leaves the old states whole.
    """
    _check_same_loans(facts, len(states.terms))
    new = out or States(states.terms, np.empty_like(states.values), np.empty_like(states.through))
    _check_size(len(new.values), 0 if new.values is states.values else len(states.values))

    old, after = StateArrays(states.values, states.through), StateArrays(new.values, new.through)

    def rows(start: int, stop: int, refused: I64) -> None:
        kernel_batch.step_rows(
            start, stop, workspace(), states.terms.arrays, facts.arrays, until, old, after, refused
        )

    _run(rows, len(states.terms), workers, facts)
    return States(states.terms, new.values, new.through)


def view_columns(
    states: States, as_of: Days, *, out: Views | None = None, workers: int | None = None
) -> Views:
    """A view of every state on a day, not before the one it was stepped to."""
    days = _days(as_of, len(states.terms))
    early = np.flatnonzero(days.days < states.through)
    if len(early):
        raise BackdatedStep(
            f"its state already stands at day {states.through[early[0]]}",
            where=f"loan {early[0]}",
            fix="Ask for that day or a later one",
        )
    values = out.values if out else np.empty((len(states.terms), len(VIEW_FIELDS)), np.int64)
    _check_size(len(values), len(states.terms))

    def rows(start: int, stop: int, _: I64) -> None:
        kernel_batch.view_rows(start, stop, states.terms.arrays, states.values, days, values)

    _run(rows, len(states.terms), workers)
    return Views(values)


def instalment_columns(states: States, *, workers: int | None = None) -> InstalmentColumns:
    """Every instalment with what is due and what is paid or waived of it."""
    offsets = _offsets(states.terms)
    size = int(offsets[-1])
    due, covered = np.empty((size, 4), np.int64), np.empty((size, 4), np.int64)
    out = InstalmentColumns(offsets, np.empty(size, np.int32), due, covered)

    def rows(start: int, stop: int, _: I64) -> None:
        kernel_batch.instalment_rows(
            start, stop, workspace(), states.terms.arrays, states.values, out
        )

    _run(rows, len(states.terms), workers)
    return out


_EMPTY = np.empty(0, np.int64)


def _has_fees(terms: TermColumns) -> bool:
    return bool((terms.coupon_ppm != terms.rate_ppm).any() or terms.flat_fee_minor.any())


def _empty_schedule(terms: TermColumns) -> ScheduleColumns:
    offsets = _offsets(terms)
    size, fees = int(offsets[-1]), int(offsets[-1]) if _has_fees(terms) else 0
    return ScheduleColumns(
        offsets, np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64),
        np.empty(fees, np.int64), np.empty(fees, np.int64),
    )  # fmt: skip


def _offsets(terms: TermColumns) -> I64:
    return np.concatenate(([0], np.cumsum(terms.instalments, dtype=np.int64)))


def _days(as_of: Days, loans: int) -> AsOf:
    """Days as the kernel reads them: one for all, or one each."""
    if isinstance(as_of, date):
        as_of = to_day(as_of)
    if isinstance(as_of, int):
        return AsOf(np.array([as_of], np.int32), 0)
    if getattr(as_of, "dtype", None) != np.int32 or as_of.shape != (loans,):
        raise KernelRange(
            f"as_of is not one day, nor {loans} of them", where="as_of",
            fix="Give a date, or an int32 array of days since 1970-01-01",
        )  # fmt: skip
    return AsOf(as_of, 1)


def _check_same_loans(facts: FactColumns, loans: int) -> None:
    if len(facts.offsets) != loans + 1:
        raise KernelRange(
            f"there are facts of {len(facts.offsets) - 1} loans and terms of {loans}",
            where="facts", fix="Give every loan its facts, none if it has none",
        )  # fmt: skip


def _check_size(given: int, needed: int) -> None:
    if given != needed:
        raise KernelRange(
            f"out has {given} rows where {needed} are needed",
            where="out",
            fix="Give memory of an earlier call of the same shape, or none",
        )


def _run(
    rows: Callable[[int, int, I64], None], count: int, workers: int | None,
    facts: FactColumns | None = None,
) -> None:  # fmt: skip
    def piece(start: int, stop: int) -> I64:
        refused = np.zeros(3, np.int64)
        rows(start, stop, refused)
        return refused

    refusals = [refused for refused in in_threads(piece, count, workers) if refused[0]]
    if refusals:
        raise _refusal(refusals, facts)


def _refusal(refusals: list[I64], facts: FactColumns | None) -> UsanceError:
    count, (_, row, reason) = sum(int(r[0]) for r in refusals), refusals[0].tolist()
    code, place = unpack_refusal(reason)
    position = int(facts.offsets[row]) + place if facts is not None else None
    return named_refusal(code, row, count, facts, position)
