"""Decisions as the table `routing`: a row for every attempt, and one for "no source"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import RoutingOutcome
from usance.base.ids import print_id
from usance.base.rates import PPB, PPM
from usance.match.csv_columns import write_columns
from usance.match.router.router import RoutingResult


def routing_table(result: RoutingResult) -> Any:
    """The table `routing` of a run.

    `score_minor` and `runner_up_minor` are approval × (margin − prices). The binding limit of an
    attempt is the one that had the highest price at that moment, that of "no source" the one that
    kept out the source with the highest margin.
    """
    from usance.base.columns import make

    decisions, requests, columns = result.decisions, result.requests, result.columns
    made = np.abs(decisions.outcome).astype(np.int64)
    attempts = np.maximum(made, 1)
    row = np.repeat(np.arange(len(made)), attempts)
    attempt = np.arange(len(row)) - np.repeat(np.cumsum(attempts) - attempts, attempts)
    column = decisions.asked[row, attempt].astype(np.int64)
    asked = column >= 0
    last = attempt + 1 == made[row]
    outcome = np.where(
        ~asked, RoutingOutcome.NO_SOURCE,
        np.where(last & (decisions.outcome[row] > 0), RoutingOutcome.APPROVED,
                 RoutingOutcome.DECLINED),
    )  # fmt: skip
    amount = requests.amount_minor[row]
    approval = np.where(asked, columns.approval[column], 0)
    net_ppb = decisions.net_ppb[row, attempt] * approval // PPM
    runner = decisions.runner_up[row].astype(np.int64)
    second = decisions.runner_up_net_ppb[row] * columns.approval[runner] // PPM
    return make(
        "routing",
        loan_id=requests.loan_id[row],
        attempt=(attempt + 1).astype(np.int8),
        at=requests.requested_at[row],
        source=np.where(asked, columns.source[column], 0),
        outcome=outcome,
        score_minor=_of_ppb(amount, net_ppb),
        runner_up=np.where(runner >= 0, columns.source[runner], 0),
        runner_up_minor=np.where(runner >= 0, _of_ppb(amount, second), 0),
        binding_limit=decisions.binding[row, attempt],
        plan_no=result.plan_number[row],
    )


def write_routing(path: Path, result: RoutingResult, refs: Sequence[str] = ()) -> None:
    """The table in key order as a Parquet file, or with names and loan ids as CSV.

    Own names of the loans, in the order of the requests, are a column of the CSV.
    """
    import pyarrow.parquet as parquet

    from usance.base.columns import sort
    from usance.base.tables import table

    rows = sort(routing_table(result), table("routing"))
    if path.suffix.lower() == ".csv":
        named = dict(zip(result.requests.loan_id.tolist(), refs, strict=bool(refs)))
        write_columns(path, _shown(rows, named))
    else:
        parquet.write_table(rows, path, compression="zstd")


def _shown(rows: Any, named: Mapping[int, str]) -> dict[str, Any]:
    """Columns as people read them: ids printed, outcomes by name, moments in UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    numbers = rows["loan_id"].to_pylist()
    columns["loan_id"] = pa.array([print_id("ln", each) for each in numbers])
    if named:
        columns["loan_ref"] = pa.array([named[each] for each in numbers])
    outcomes = np.array([outcome.label for outcome in RoutingOutcome])
    columns["outcome"] = pa.array(outcomes[rows["outcome"].to_numpy()])
    seconds = pc.cast(columns["at"], pa.timestamp("s", "UTC"), safe=False)
    columns["at"] = pc.strftime(seconds, "%Y-%m-%dT%H:%M:%SZ")
    return columns


def _of_ppb(amount: I64, share: I64) -> I64:
    """Amount × share // 10^9, where the product alone may not fit into 64 bits."""
    part: I64 = amount * (share // PPB) + amount * (share % PPB) // PPB
    return part
