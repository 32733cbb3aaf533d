"""Routes of compliance: screening, requests about data and decisions, retention, overrides."""

from __future__ import annotations

from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.groups import Group
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_cursor, read_id_cursor
from usance.platform.api.parameters import DAY, PAGED, one_of
from usance.platform.api.shapes import Case, DataRequest, Object, Page
from usance.platform.reads.lending import overrides
from usance.platform.reads.people import data_rights, retention, screening
from usance.platform.reads.reading import Reading
from usance.platform.records.user_record import load_user, read_id

group = Group("Compliance", "control")
PEOPLE = ("channel", "operations")


async def hits(read: Reading, call: Call) -> Any:
    """Hits of screening with who decided them, and why."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await screening.hits(
        read.transaction,
        read.moment.vault,
        call.query.get("state"),
        read_id_cursor(call.query, "sh"),
        limit + 1,
    )
    return cut(rows, limit, "hit")


async def screening_runs(read: Reading, call: Call) -> Any:
    """Comparisons of everybody with lists that had changed."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    return cut(await screening.runs(read.transaction, _run(call), limit + 1), limit, "run")


async def own_requests(read: Reading, call: Call) -> Any:
    """Requests of a user about their data and decisions, with what was asked and answered."""
    number = read_id(call.path["user"], "us", "user")
    await load_user(read.transaction, number)
    rows = await data_rights.requests_of(read.transaction, read.moment.vault, number)
    return page(rows, call.query, "case")


async def requests(read: Reading, call: Call) -> Any:
    """Requests of everybody, with the day by which each is answered."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await data_rights.queue(
        read.transaction, call.query.get("state"), read_id_cursor(call.query, "rr"), limit + 1
    )
    return cut(rows, limit, "case")


async def retention_rules(read: Reading, call: Call) -> Any:
    """Rules of retention with their days in force, and what the last run of each has deleted."""
    lender, day = read.moment.lender, read.moment.business_date
    return page(await retention.rules(read.transaction, lender, day), call.query, "rule")


async def retention_runs(read: Reading, call: Call) -> Any:
    """Runs of retention: rows that each rule has deleted and kept."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    return cut(await retention.runs(read.transaction, _run(call), limit + 1), limit, "run")


async def overridden(read: Reading, call: Call) -> Any:
    """Decisions that people made otherwise than the model, by model and grade, and what came."""
    first, last = call.query.get("from"), call.query.get("to", read.moment.business_date)
    rows = await overrides.overrides(read.transaction, read.moment.lender, first, last)
    return page(rows, call.query, "group")


def _run(call: Call) -> int:
    return int(read_cursor(call.query["after"], int)[0]) if "after" in call.query else 0


group.read("/screening/hits", Page[Object], hits,
           query={"state": one_of(*screening.STATES), **PAGED}, is_personal=True)  # fmt: skip
group.command("/screening/hits/{hit}/decide", "screening.decide", {200: Object},
              needs_session=True)  # fmt: skip
group.read("/screening/runs", Page[Object], screening_runs, query=PAGED)
group.command("/users/{user}/corrections", "correction.request", {201: Case})
group.command("/corrections/{correction}/answer", "correction.answer", {200: Case})
group.command("/decisions/{decision}/review-request", "review.request", {201: Case})
group.read("/users/{user}/data-requests", Page[DataRequest], own_requests, query=PAGED,
           scopes=PEOPLE, is_personal=True)  # fmt: skip
group.read("/data-requests", Page[Object], requests, scopes=("operations", "control"),
           query={"state": one_of(*data_rights.STATES), **PAGED})  # fmt: skip
group.read("/retention", Page[Object], retention_rules, query=PAGED)
group.read("/retention/runs", Page[Object], retention_runs, query=PAGED)
group.read("/models/overrides", Page[Object], overridden,
           query={"from": DAY, "to": DAY, **PAGED})  # fmt: skip
