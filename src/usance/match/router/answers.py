"""What `match explain` answers, from files: a loan, a source or a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from usance.base.errors import InputError
from usance.base.ids import parse_id
from usance.match.backtest.replays import DEMAND_FILE
from usance.match.mandates.file import read_mandates
from usance.match.mandates.mandate import Mandates
from usance.match.plan.demand import Demand, read_demand
from usance.match.router.explanation import explain_limit, explain_loan, explain_source
from usance.match.router.requests import read_requests


def explained(
    file: Path, mandates_file: Path, demand_file: Path | None, loan: str, source: int, limit: int,
    seed: int,
) -> dict[str, Any]:  # fmt: skip
    """The explanation asked for; exactly one of loan, source and limit is."""
    if sum((bool(loan), bool(source), bool(limit))) != 1:
        raise InputError(
            "nothing or too much to explain", fix="Give one of --loan --source --limit"
        )
    mandates = read_mandates(mandates_file)
    if limit:
        return explain_limit(read_demand(demand_file or file, mandates), mandates, limit)
    requests = read_requests(file, mandates)
    demand = _demand(file, demand_file, mandates)
    if source:
        return explain_source(requests, mandates, source, demand, seed=seed)
    loan_id = int(loan) if loan.isdecimal() else parse_id(loan, "ln")
    return explain_loan(requests, mandates, loan_id, demand, seed=seed)


def _demand(stream: Path, demand_file: Path | None, mandates: Mandates) -> Demand | None:
    beside = stream.parent / DEMAND_FILE
    chosen = demand_file or (beside if beside.is_file() else None)
    return read_demand(chosen, mandates) if chosen else None
