"""A shard's loans through a month: facts from the world and the rules, then the fold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import in_threads
from usance.loan.kernel.single import loan_room
from usance.loan.refusals import named_refusal
from usance.service.due_kernel import scratch
from usance.service.rules import Rules
from usance.twin import month_kernel as m
from usance.twin.fact_rows import FactRows
from usance.twin.open_loans import OpenLoans
from usance.twin.serve_kernel import MOST_FACTS, serve_rows
from usance.world.behaviour import days_late, knobs, prefixes
from usance.world.behaviour_kernel import MOST_PAYMENTS
from usance.world.population import month_days
from usance.world.scenario import Scenario

I64 = NDArray[np.int64]
MONTH_DAYS = 32


class Folded(NamedTuple):
    """Loans at a month's end: with new states, where each stands, dues, and what came back."""

    loans: OpenLoans
    ends: I64
    """By loan, the columns of `month_kernel.ENDS`."""
    dues: I64
    """By loan, the columns of `month_kernel.DUES`."""
    released: I64
    """Principal that came back by source and day of the month, from 0."""


def serve(
    scenario: Scenario, loans: OpenLoans, month: int, rules: Rules, *, workers: int | None = None
) -> FactRows:
    """Every fact that a month brings to existing loans, known in it or later."""
    first, last = month_days(month)
    begun, own, days = prefixes(scenario.seed), knobs(scenario, month), days_late()
    terms, offsets = loans.terms().arrays, np.zeros(1, np.int64)

    def rows(start: int, stop: int) -> FactRows:
        room = (stop - start) * MOST_FACTS
        facts: Any = (
            np.empty(room, np.int32), np.empty(room, np.int8), np.empty(room, np.int64),
            np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int32),
            np.empty(room, np.int32),
        )  # fmt: skip
        found = serve_rows(
            start, stop, loan_room(), scratch(), np.zeros((MOST_PAYMENTS, 2), np.int64), terms,
            loans.states, loans["loan_id"], loans["model"], loans["trigger"], loans["hazard"],
            month, first, last, rules.array, begun, own, days, facts, offsets,
        )  # fmt: skip
        day, kind, amount, arg, ref, booked, row = (each[:found].copy() for each in facts)
        return FactRows(loans["loan_id"][row], day, kind, ref, amount, arg, booked)

    pieces = in_threads(rows, len(loans), workers)
    if not pieces:
        return FactRows.none()
    return FactRows(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def fold(
    loans: OpenLoans, facts: FactRows, month: int, sources: int, *, workers: int | None = None
) -> Folded:
    """A month's known facts folded into states, with all that metrics ask of the month."""
    first, last = month_days(month)
    known, terms, count = facts.columns_for(loans["loan_id"]), loans.terms().arrays, len(loans)
    states, through = np.empty_like(loans.states), np.empty(count, np.int32)
    watches = loans.watches.copy()
    ends, dues = np.empty((count, m.ENDS), np.int64), np.empty((count, m.DUES), np.int64)

    def rows(start: int, stop: int) -> tuple[I64, I64]:
        released, refused = np.zeros((sources + 1, MONTH_DAYS), np.int64), np.zeros(3, np.int64)
        seen, notes, stops = m.work()
        m.month_rows(
            start, stop, loan_room(), seen, notes, stops, terms, loans.states, loans["worst"],
            known.arrays, month, first, last, watches, loans["source"], states, through, ends,
            dues, released, refused,
        )  # fmt: skip
        return released, refused

    pieces = in_threads(rows, count, workers)
    for _, refused in pieces:
        if refused[0]:
            row, reason = int(refused[1]), int(refused[2])
            raise named_refusal(
                reason % 16, row, int(refused[0]), known, int(known.offsets[row]) + reason // 16
            )
    released = sum((each for each, _ in pieces), np.zeros((sources + 1, MONTH_DAYS), np.int64))
    return Folded(OpenLoans(loans.columns, states, watches), ends, dues, np.asarray(released))
