"""The requests of a month, in order, through the router; loans are booked from its answers."""

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
from usance.base.ids import PER_USER
from usance.base.tables import table
from usance.match.router.releases import releases_of
from usance.match.router.request_rows import local_seconds
from usance.match.router.requests import DAY_SECONDS, from_columns
from usance.match.router.router import route
from usance.match.router.routing import routing_table
from usance.match.router.state import ENGINE
from usance.twin.month.loan_month import MONTH_DAYS
from usance.twin.month.loan_terms import loans_table
from usance.twin.month.shard import disbursed, new_loans, new_tape
from usance.twin.run.run_context import Setting
from usance.world.population import month_days

Columns = Mapping[str, NDArray[Any]]
WEEK_HOURS, SEGMENTS = 168, 2_000
POLICY = replace(ENGINE, every_hours=WEEK_HOURS, segments=SEGMENTS)
"""Plans are made again each week, from so many kinds of demand at most."""
_TABLE = (
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
    setting: Setting, month: int, requests: dict[str, NDArray[Any]], released: I64,
    before: I64,
) -> Routing:  # fmt: skip
    """Route a month; `released` is what came back in it, `before` in the month before."""
    count = len(requests["loan_id"])
    if count == 0:
        return Routing(requests, np.zeros(0, np.int64), None, 0)
    revolved = {n: int(before[n].sum()) for n in range(1, setting.sources + 1)}
    mandates = setting.institutions.mandates(month, revolved)
    asked = from_columns(**{name: requests[name] for name in _TABLE})
    first, _ = month_days(month)
    source, day = np.nonzero(released[:, :MONTH_DAYS])
    back = releases_of(day=day + first + 1, source=source, principal_minor=released[source, day])
    routed = route(asked, mandates, POLICY, seed=setting.scenario.seed, releases=back)
    column = routed.column
    taken = np.where(column >= 0, routed.columns.source[np.maximum(column, 0)], 0)
    attempts = sort(_unanswered(setting, routing_table(routed)), table("routing"))
    return Routing(requests, taken, attempts, len(routed.plans))


def _unanswered(setting: Setting, attempts: pa.Table) -> pa.Table:
    """Of a source that does not answer, attempts end with their time."""
    events = setting.institutions.events
    if not events.by_source:
        return attempts
    found = arrays(attempts)
    day = local_seconds(found["at"], setting.zone) // DAY_SECONDS
    no = found["outcome"] == RoutingOutcome.DECLINED
    silent = no & events.silent(found["source"].astype(np.int64), day)
    outcome = np.where(silent, RoutingOutcome.TIMED_OUT, found["outcome"])
    return make("routing", **{**found, "outcome": outcome})


class Booked(NamedTuple):
    """The rows that a shard's new loans add to the book."""

    requests: pa.Table
    routing: pa.Table
    loans: pa.Table
    facts: pa.Table
    tape: pa.Table


def book_shard(setting: Setting, routing: Routing, shard: int, month: int) -> Booked:
    """The new loans of one shard: terms, disbursement and first row of the tape."""
    own = np.flatnonzero(routing.requests["loan_id"] // PER_USER >> setting.shard_bits == shard)
    asked = {name: values[own] for name, values in routing.requests.items()}
    requests = make("requests", **{name: asked[name] for name in _TABLE})
    taken = np.flatnonzero(routing.source[own] > 0)
    taken = taken[np.argsort(asked["loan_id"][taken], kind="stable")]
    drawn = {name: values[taken] for name, values in asked.items()}
    drawn["source"] = routing.source[own][taken]
    terms = setting.pricer.columns(
        source=drawn["source"], grade=drawn["grade"], amount_minor=drawn["amount_minor"],
        months=drawn["months"], convention=drawn["convention"], disbursed_on=drawn["day"],
        month=month,
    )  # fmt: skip
    loan_id = drawn["loan_id"]
    loans = loans_table(
        loan_id, loan_id // PER_USER * PER_USER + 1, drawn["decision_id"], drawn["user_loan_no"],
        drawn, terms, setting.scenario.currency,
    )  # fmt: skip
    facts = disbursed(loan_id, terms["disbursed_on"], terms["principal_minor"])
    tape = new_tape(new_loans(setting, loans), month)
    return Booked(
        requests, _attempts(routing, setting, shard), loans, facts.table(setting.zone), tape
    )


def _attempts(routing: Routing, setting: Setting, shard: int) -> pa.Table:
    attempts = routing.attempts
    if attempts is None:
        from usance.base.columns import arrow_schema

        return arrow_schema(table("routing")).empty_table()
    loan = attempts["loan_id"].to_numpy()
    start, stop = (
        np.searchsorted(loan, (bound << setting.shard_bits) * PER_USER)
        for bound in (shard, shard + 1)
    )
    return attempts.slice(int(start), int(stop - start))
