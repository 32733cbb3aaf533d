"""New loans of a shard, booked from the router's answers: terms, disbursement, tape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from usance.base.columns import arrays, arrow_schema, make, sort
from usance.base.ids import PER_USER
from usance.base.tables import table
from usance.match.mandates.co_funding import partner_part_minor
from usance.twin.month.loan_terms import loans_table
from usance.twin.month.mandates import co_funding
from usance.twin.month.routing import REQUEST_COLUMNS, Routing
from usance.twin.month.shard import disbursed, new_loans, new_tape
from usance.twin.run.run_context import RunContext


class Booked(NamedTuple):
    """Rows that a shard's new loans add to the book."""

    requests: pa.Table
    routing: pa.Table
    loans: pa.Table
    shares: pa.Table
    facts: pa.Table
    tape: pa.Table


def book_shard(context: RunContext, routing: Routing, shard: int, month: int) -> Booked:
    """The new loans of one shard: terms, disbursement and first row of the tape."""
    own = np.flatnonzero(routing.requests["loan_id"] // PER_USER >> context.shard_bits == shard)
    asked = {name: values[own] for name, values in routing.requests.items()}
    requests = make("requests", **{name: asked[name] for name in REQUEST_COLUMNS})
    taken = np.flatnonzero(routing.source[own] > 0)
    taken = taken[np.argsort(asked["loan_id"][taken], kind="stable")]
    drawn = {name: values[taken] for name, values in asked.items()}
    drawn["source"] = routing.source[own][taken]
    terms = context.pricer.columns(
        source=drawn["source"], grade=drawn["grade"], amount_minor=drawn["amount_minor"],
        months=drawn["months"], convention=drawn["convention"], disbursed_on=drawn["day"],
        month=month,
    )  # fmt: skip
    loan_id = drawn["loan_id"]
    loans = loans_table(
        loan_id, loan_id // PER_USER * PER_USER + 1, drawn["decision_id"], drawn["user_loan_no"],
        drawn, terms, context.scenario.currency,
    )  # fmt: skip
    facts = disbursed(loan_id, terms["disbursed_on"], terms["principal_minor"])
    tape = new_tape(new_loans(context, loans), month)
    return Booked(
        requests, _attempts(routing, context, shard), loans, _shares(context, loans, month),
        facts.table(context.zone), tape,
    )  # fmt: skip


def _shares(context: RunContext, loans: pa.Table, month: int) -> pa.Table:
    """Parts of the loans that two sources fund together."""
    found = [arrow_schema(table("shares")).empty_table()]
    rows = arrays(loans)
    for lead, given in co_funding(context.institutions, month).items():
        is_first = given.partner < lead
        own = np.flatnonzero(rows["source"] == lead)
        ids, principal = rows["loan_id"][own], rows["principal_minor"][own]
        part = partner_part_minor(principal, given.share_ppm, given.least_ppm, is_first)
        for source, minor in ((lead, principal - part), (given.partner, part)):
            numbers = np.full(len(ids), source)
            found.append(make("shares", loan_id=ids, source=numbers, principal_minor=minor))
    return sort(pa.concat_tables(found), table("shares"))


def _attempts(routing: Routing, context: RunContext, shard: int) -> pa.Table:
    attempts = routing.attempts
    if attempts is None:
        return arrow_schema(table("routing")).empty_table()
    loan = attempts["loan_id"].to_numpy()
    start, stop = (
        np.searchsorted(loan, (bound << context.shard_bits) * PER_USER)
        for bound in (shard, shard + 1)
    )
    return attempts.slice(int(start), int(stop - start))
