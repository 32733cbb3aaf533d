"""What was routed as the table `routing`: a row for every attempt, and one for "no source"."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import RoutingOutcome
from usance.base.rates import PPB, PPM
from usance.match.limits import BUDGETS, LimitKind, list_limits
from usance.match.mandate import Mandates
from usance.match.router import Routed

Numbers = NDArray[np.int64]


def routing_table(routed: Routed, mandates: Mandates | None = None) -> Any:
    """The table `routing` of a run.

    `score_minor` is approval × (margin − prices); the binding limit of an attempt is the source's
    own budget with a price, that of "no source" the budget that kept out the best other source.
    """
    from usance.base.columns import make

    answers, requests, columns = routed.answers, routed.requests, routed.columns
    made = np.abs(answers.outcome).astype(np.int64)
    attempts = np.maximum(made, 1)
    row = np.repeat(np.arange(len(made)), attempts)
    attempt = np.arange(len(row)) - np.repeat(np.cumsum(attempts) - attempts, attempts)
    column = answers.asked[row, attempt].astype(np.int64)
    asked = column >= 0
    last = attempt + 1 == made[row]
    outcome = np.where(
        ~asked, RoutingOutcome.NO_SOURCE,
        np.where(last & (answers.outcome[row] > 0), RoutingOutcome.APPROVED,
                 RoutingOutcome.DECLINED),
    )  # fmt: skip
    amount = requests.amount_minor[row]
    approval = np.where(asked, columns.approval[column], 0)
    worth = answers.worth[row, attempt] * approval // PPM
    runner = answers.runner_up[row].astype(np.int64)
    binding = np.zeros(len(columns.source) + 1, np.int64)
    if mandates is not None:
        binding[:-1] = _binding(routed, mandates)
    decided = np.where(asked, column, answers.blocked[row].astype(np.int64))
    return make(
        "routing",
        loan_id=requests.loan_id[row],
        attempt=(attempt + 1).astype(np.int8),
        at=requests.requested_at[row],
        source=np.where(asked, columns.source[column], 0),
        outcome=outcome,
        score_minor=amount * worth // PPB,
        runner_up=np.where(runner >= 0, columns.source[runner], 0),
        runner_up_minor=amount * answers.runner_up_worth[row] // PPB,
        binding_limit=binding[decided],
        plan_no=routed.plan_of[row],
    )


def write_routing(path: Path, routed: Routed, mandates: Mandates | None = None) -> None:
    """The table in key order as a Parquet file."""
    import pyarrow.parquet as parquet

    from usance.base.columns import sort
    from usance.base.tables import table

    rows = sort(routing_table(routed, mandates), table("routing"))
    parquet.write_table(rows, path, compression="zstd")


def _binding(routed: Routed, mandates: Mandates) -> Numbers:
    """By column: the number of the budget nearest to its end, 0 without one."""
    live = routed.live
    left = {LimitKind.TOTAL: live.total, LimitKind.MONTH: live.month, LimitKind.DAY: live.day}
    best = np.zeros(len(routed.columns.source), np.int64)
    least = np.full(len(best), np.iinfo(np.int64).max)
    for limit in list_limits(mandates):
        if limit.kind in BUDGETS and left[limit.kind][limit.column] < least[limit.column]:
            least[limit.column] = left[limit.kind][limit.column]
            best[limit.column] = limit.number
    return best
