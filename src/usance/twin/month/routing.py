"""Routing of a month: the requests of all shards, in order, through the router."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import RoutingOutcome
from usance.base.columns import arrays, make, sort
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.tables import table
from usance.match.router.releases import releases_of
from usance.match.router.request_rows import local_seconds
from usance.match.router.requests import DAY_SECONDS, from_columns
from usance.match.router.router import route
from usance.match.router.routing_table import routing_table
from usance.match.router.state import ENGINE
from usance.twin.month.loan_month import MONTH_DAYS
from usance.twin.month.mandates import month_mandates
from usance.twin.run.run_context import RunContext
from usance.world.population import month_days

Columns = Mapping[str, NDArray[Any]]
WEEK_HOURS, SEGMENTS = 168, 2_000
POLICY = replace(
    ENGINE, every_hours=WEEK_HOURS, segments=SEGMENTS, watches_change=False,
    unforeseen_hours=WEEK_HOURS, unforeseen_share=1.0, waits_for_experience=True,
)  # fmt: skip
"""Plans are made as requests double, then each week, from so many kinds of demand at most."""
REQUEST_COLUMNS = (
    "requested_at", "loan_id", "decision_id", "product", "amount_minor", "months", "rate_ppm",
    "grade", "region", "channel",
)  # fmt: skip


class Routing(NamedTuple):
    """A month's requests in order, the attempts of each, and who took them."""

    requests: dict[str, NDArray[Any]]
    source: I64
    """The source that took each request, 0 if none did."""
    attempts: pa.Table | None
    plans: int


def in_order(parts: Sequence[Columns]) -> dict[str, NDArray[Any]]:
    """The requests of all shards, which are by loan, by moment and loan."""
    moments = np.concatenate([part["requested_at"] for part in parts])
    order = np.argsort(moments, kind="stable")

    def ordered(name: str) -> NDArray[Any]:
        return np.concatenate([part[name] for part in parts]).take(order)

    names = list(parts[0])
    return dict(zip(names, parallel_map(ordered, names, available_cores()), strict=True))


def route_month(
    context: RunContext, month: int, requests: dict[str, NDArray[Any]], released: I64,
    before: I64,
) -> Routing:  # fmt: skip
    """Route a month; `released` is the principal released in it, `before` in the month before."""
    count = len(requests["loan_id"])
    if count == 0:
        return Routing(requests, np.zeros(0, np.int64), None, 0)
    mandates = month_mandates(context.institutions, month, before)
    asked = from_columns(**{name: requests[name] for name in REQUEST_COLUMNS})
    first, _ = month_days(month)
    source, day = np.nonzero(released[:, :MONTH_DAYS])
    back = releases_of(day=day + first + 1, source=source, principal_minor=released[source, day])
    result = route(asked, mandates, POLICY, seed=context.scenario.seed, releases=back)
    column = result.column
    taken = np.where(column >= 0, result.columns.source[np.maximum(column, 0)], 0)
    attempts = sort(_unanswered(context, routing_table(result)), table("routing"))
    return Routing(requests, taken, attempts, len(result.plans))


def _unanswered(context: RunContext, attempts: pa.Table) -> pa.Table:
    """Attempts at a source that does not answer time out."""
    events = context.institutions.events
    if not events.by_source:
        return attempts
    found = arrays(attempts)
    day = local_seconds(found["at"], context.zone) // DAY_SECONDS
    no = found["outcome"] == RoutingOutcome.DECLINED
    silent = no & events.silent(found["source"].astype(np.int64), day)
    outcome = np.where(silent, RoutingOutcome.TIMED_OUT, found["outcome"])
    return make("routing", **{**found, "outcome": outcome})
