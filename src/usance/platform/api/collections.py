"""Routes of collections: cases, contacts, promises, strategies, desks, channels and agencies."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from usance.base.ids import parse_id, print_id
from usance.platform.api.body_schemas import schema_of
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval
from usance.platform.api.groups import Answers, Group
from usance.platform.api.guard import Access
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_id_cursor
from usance.platform.api.parameters import DAY, MONTH, PAGED, one_of
from usance.platform.api.shapes import Object, Page
from usance.platform.commands.fields import read_command
from usance.platform.commands.registry import COMMANDS
from usance.platform.errors import NotFound, UnknownField
from usance.platform.principals import PrincipalKind
from usance.platform.reads.collections import case_results, collection_results
from usance.platform.reads.collections import cases as reads
from usance.platform.reads.collections.collection_results import ResultsBy
from usance.platform.reads.control import configuration
from usance.platform.reads.reading import Reading
from usance.service.collections.promises import PromiseState
from usance.service.collections.stages import Stage

group = Group("Collections", "operations", "agency")
LEADS = ("operations", "control")


async def cases(read: Reading, call: Call) -> Any:
    """Cases, in the order of their ids."""
    limit, given = call.query.get("limit", DEFAULT_PAGE), call.query
    rows = await reads.cases(
        read.transaction, state=given.get("state", "open"), stage=given.get("stage"),
        after=read_id_cursor(call.query, "ca"), limit=limit + 1,
    )  # fmt: skip
    return cut(rows, limit, "case")


async def case(read: Reading, call: Call) -> Any:
    """One case: its next action with words and reasons, contacts, promises and stops."""
    number = parse_id(call.path["case"], "ca")
    return await reads.one_case(read.transaction, read.moment, number)


async def promises(read: Reading, call: Call) -> Any:
    """Promises to pay, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await reads.promises(
        read.transaction, call.query.get("state"), read_id_cursor(call.query, "pr"), limit + 1
    )
    return cut(rows, limit, "promise")


async def strategies(read: Reading, call: Call) -> Any:
    """Strategies by version."""
    rows = await configuration.settings(read.transaction, "strategy")
    return page(rows, call.query, "name", "version")


async def collectors(read: Reading, call: Call) -> Any:
    """Everybody who works cases, with their day so far."""
    return page(await reads.team(read.transaction, read.moment), call.query, "name")


async def desks(read: Reading, call: Call) -> Any:
    """Open cases by stage."""
    return page(await reads.desks(read.transaction), call.query, "stage")


async def channels(read: Reading, call: Call) -> Any:
    """Channels, each with the outage that it is in."""
    return page(await reads.channels(read.transaction, read.moment), call.query, "channel")


async def agencies(read: Reading, call: Call) -> Any:
    """Agencies with their contract and the cases they hold."""
    return page(await reads.agencies(read.transaction, read.moment), call.query, "agency")


async def statement(read: Reading, call: Call) -> Any:
    """Commission of an agency for a month."""
    name = call.path["agency"]
    is_foreign = call.principal.kind is PrincipalKind.AGENCY and call.principal.name != name
    if is_foreign or name not in read.moment.lender.collections.agencies:
        raise NotFound("there is nothing here", where=name, fix="See GET /v1/agencies")
    today = read.moment.business_date
    month = call.query.get("month")
    day = today if month is None else today.fromisoformat(f"{month}-01")
    first, last = reads.month_of(day)
    return await case_results.commission(read.transaction, read.moment, name, first, last)


async def results(read: Reading, call: Call) -> Any:
    """Results of cases by strategy, arm, segment, desk or agency; uplift of challengers."""
    first, last = reads.month_of(read.moment.business_date)
    return await collection_results.results(
        read.transaction,
        read.moment,
        call.query.get("from", first),
        call.query.get("to", last),
        ResultsBy(call.query.get("by", ResultsBy.ARM.value)),
    )


def _of_case(path: str, command: str, answers: Answers) -> None:
    """A route of a command about the borrower of a case."""
    spec = COMMANDS[command]

    def check(call: Call) -> None:
        if "user" in call.body:
            raise UnknownField("there is no field user", where="body.user",
                               fix="Leave it out: the address says it")  # fmt: skip
        read_command(spec.command, {**call.body, "user": call.path["case"]})

    async def answering(call: Call) -> Response:
        check(call)
        user = print_id("us", parse_id(call.path["case"], "ca"))
        return await call.do(command, {**call.body, "user": user})

    summary = (spec.command.__doc__ or command).strip().splitlines()[0]
    access = Access(
        frozenset(spec.scopes), needs_key=True, has_body=True, command=spec.name, check=check
    )
    group.add("POST", path, answering, access, answers, summary,
              schema_of(spec.command, without=["user"]))  # fmt: skip


_STAGES = one_of(*(each.label for each in Stage))
_PROMISES = one_of(*(each.value for each in PromiseState))
group.read("/cases", Page[Object], cases,
           query={"state": one_of("open", "closed", "all"), "stage": _STAGES, **PAGED})  # fmt: skip
group.command("/cases/next", "case.next", {200: Object})
group.command("/cases/allocate", "cases.allocate", {200: Object})
group.read("/cases/{case}", Object, case)
_of_case("/cases/{case}/contacts", "contact.begin", {201: Object})
_of_case("/cases/{case}/promises", "promise.make", {201: Object})
_of_case("/cases/{case}/stops", "stop.set", {201: Object})
group.command("/contacts/{contact}/end", "contact.end", {200: Object})
group.read("/promises", Page[Object], promises, query={"state": _PROMISES, **PAGED})
group.command("/stops/{stop}/end", "stop.end", {200: Object})
group.command("/users/{user}/contact-profile", "contact.profile", {200: Object}, method="PUT")
group.read("/strategies", Page[Object], strategies, query=PAGED, scopes=LEADS)
group.command("/strategies", "strategy.put", {201: Object, 202: Approval})
group.command("/c-scores", "c_score.put", {201: Object, 202: Approval})
group.read("/collectors", Page[Object], collectors, query=PAGED, scopes=("operations",))
group.command("/collectors", "collector.put", {200: Object})
group.read("/collections/desks", Page[Object], desks, query=PAGED, scopes=("operations",))
group.read("/collections/results", Object, results,
           query={"from": DAY, "to": DAY, "by": one_of(*(each.value for each in ResultsBy))},
           scopes=("operations",))  # fmt: skip
group.read("/channels", Page[Object], channels, query=PAGED)
group.command("/channels/{channel}/down", "channel.down", {200: Object})
group.command("/channels/{channel}/up", "channel.up", {200: Object})
group.read("/agencies", Page[Object], agencies, query=PAGED, scopes=LEADS)
group.command("/agencies", "agency.put", {201: Object, 202: Approval})
group.command("/agencies/recall", "agency.recall", {200: Object})
group.command("/agencies/reports", "agency.report", {200: Object, 201: Object})
group.command("/agencies/{agency}/placements", "agency.place", {201: Object})
group.read("/agencies/{agency}/statement", Object, statement, query={"month": MONTH})
