"""The screen *Collections*: desks, the next case, promises, the team, the strategy, agencies."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from starlette.responses import Response

from usance.platform.console.amounts import printed
from usance.platform.console.case_desk import CaseDesk, case_number, problem_of
from usance.platform.console.frame import HOME, Visit, form, redirect
from usance.platform.console.lists import ListPage, ListState
from usance.platform.console.tasks import buttons
from usance.platform.desk.contact_desk import letter_of
from usance.platform.errors import Forbidden, PlatformError
from usance.platform.reads.collections import case_results
from usance.platform.reads.collections import cases as reads
from usance.platform.reads.collections.collection_results import ResultsBy, results
from usance.platform.records.user_record import read_id
from usance.service.collections.promises import PromiseState
from usance.service.collections.stages import Stage

BASE = f"{HOME}/collections"
SETTINGS = {
    "channel_down": ("channel.down", ("channel", "reason")),
    "channel_up": ("channel.up", ("channel",)), "allocate": ("cases.allocate", ()),
    "strategy": ("strategy.put", ("text",)),
}  # fmt: skip
"""Forms of the screen, each with its command and fields."""


def _desk(visit: Visit) -> CaseDesk:
    return CaseDesk(visit.platform, visit.operator.principal, BASE)


def _parts(visit: Visit) -> list[tuple[str, str]]:
    names = ("desks", "cases", "promises", "team", "strategy", "agencies")
    return [(visit.texts[f"part_{name}"], BASE if name == "desks" else f"{BASE}/{name}")
            for name in names]  # fmt: skip


async def show(visit: Visit, error: str = "", status: int = 200) -> Response:
    """Open cases by stage, channels that are down, and the way to the next case."""
    async with visit.platform.reading(visit.operator.principal) as read:
        desks = await reads.desks(read.transaction)
        channels = await reads.channels(read.transaction, read.moment)
        best = await reads.cases(read.transaction, limit=10, best_first=True)
        currency = read.moment.lender.currency
    return visit.page(
        "collections", "desks", visit.texts["collections"], status, desks=desks, best=best,
        channels=channels, parts_of=_parts(visit), error=error, desk=BASE,
        key=secrets.token_urlsafe(18), none=visit.request.query_params.get("none") == "1",
        may_next=visit.may("case.next"), may_lead=visit.may("channel.down"),
        money=lambda minor: printed(minor, currency),
    )  # fmt: skip


async def act(visit: Visit) -> Response:
    """Take the next case, or change how desks work."""
    given = await form(visit.request)
    step, key = given.get("step", ""), given.get("key", "")
    try:
        if step == "next":
            _need(visit, "case.next")
            return await _desk(visit).take_next(key)
        if step not in SETTINGS:
            return redirect(BASE)
        command, fields = SETTINGS[step]
        _need(visit, command)
        body = {name: given.get(name, "") for name in fields}
        await visit.do(command, body, key=key)
    except PlatformError as error:
        if step == "strategy":
            return await strategy(visit, str(error), error.http_status, given.get("text", ""))
        return await show(visit, str(error), error.http_status)
    return redirect(f"{BASE}/strategy?done=1" if step == "strategy" else f"{BASE}?done={step}")


def _need(visit: Visit, command: str) -> None:
    if not visit.may(command):
        raise Forbidden(f"{visit.operator.role} may not do {command}", where=command,
                        fix="Ask somebody who may")  # fmt: skip


async def cases(visit: Visit) -> ListPage:
    """The queue: cases with filters, in the address and as files."""
    stages = ["", *(each.label for each in Stage)]
    asked = ListState.of(visit.request, {"state": ["open", "closed", "all"], "stage": stages},
                         default="open")  # fmt: skip
    after = case_number(asked.before) if asked.before else 0
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await reads.cases(
            read.transaction, state=asked.filters["state"], stage=asked.filters["stage"] or None,
            after=after, limit=asked.limit + 1,
        )  # fmt: skip
        currency = read.moment.lender.currency
    names = ("case", "user", "stage", "days_past_due", "past_due_minor", "segment", "arm")
    shown = [{name: row[name] for name in names} for row in rows]
    if not asked.format:
        shown = [{**row, "past_due_minor": printed(row["past_due_minor"], currency)}
                 for row in shown]  # fmt: skip
    links = {"case": f"{BASE}/cases/", "user": f"{HOME}/borrowers/"}
    return ListPage("collections", asked, shown, key="case", links=links,
                   title=visit.texts["part_cases"], numbers=("days_past_due", "past_due_minor"),
                   parts=_parts(visit))  # fmt: skip


async def case(visit: Visit, error: str = "", status: int = 200) -> Response:
    """One case: who, what, when, why this action, its words, buttons and time line."""
    number = visit.request.path_params["case"]
    values = await _desk(visit).page_of(number, visit.texts)
    may = {name: visit.may(command) for name, command in (
        ("next", "case.next"), ("contact", "contact.begin"), ("promise", "promise.make"),
        ("stop", "stop.set"), ("plan", "plan.offer"), ("draft", "draft.make"))}  # fmt: skip
    return visit.page("collections", "case", f"{visit.texts['case']} {number}", status, may=may,
                      error=error, borrower=f"{HOME}/borrowers/", loan_at=f"{HOME}/loans/",
                      done=visit.request.query_params.get("done", ""),
                      letters=f"{BASE}/letters/", **values)  # fmt: skip


async def work(visit: Visit) -> Response:
    """A step of a case; what is refused is said beside it."""
    given = await form(visit.request)
    try:
        return await _desk(visit).step(visit.request.path_params["case"], given)
    except PlatformError as error:
        return await case(visit, problem_of(error), error.http_status)


async def promises(visit: Visit) -> ListPage:
    """Promises to pay by state."""
    states = ["", *(each.value for each in PromiseState)]
    asked = ListState.of(visit.request, {"state": states})
    after = read_id(asked.before, "pr", "before") if asked.before else 0
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await reads.promises(read.transaction, asked.filters["state"] or None, after,
                                    asked.limit + 1)  # fmt: skip
        currency = read.moment.lender.currency
    if not asked.format:
        rows = [{**row, "amount_minor": printed(row["amount_minor"], currency)} for row in rows]
    return ListPage("collections", asked, rows, key="promise",
                   links={"case": f"{BASE}/cases/", "user": f"{HOME}/borrowers/"},
                   title=visit.texts["promises"], numbers=("amount_minor",),
                   parts=_parts(visit))  # fmt: skip


async def team(visit: Visit) -> Response:
    """Everybody who works cases: what they have, worked and promised today."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await reads.team(read.transaction, read.moment)
    rows = [
        {**row, "kept": _percent(row["kept_ppm"]),
         "desk": visit.texts.get(f"desk_{row['desk']}", row["desk"])}
        for row in rows
    ]  # fmt: skip
    numbers = ["slots", "assigned", "in_work", "contacts", "connected", "promises", "kept"]
    return visit.page("collections", "table", visit.texts["part_team"], rows=rows,
                      names=["name", "desk", *numbers], numbers=numbers,
                      tabs=_parts(visit), tasks=buttons(visit, "team"))  # fmt: skip


async def strategy(visit: Visit, error: str = "", status: int = 200, text: str = "") -> Response:
    """The strategy in force with its results by group, and the form to propose another."""
    asked = visit.request.query_params.get("by", "")
    by = ResultsBy(asked) if asked in [each.value for each in ResultsBy] else ResultsBy.ARM
    async with visit.platform.reading(visit.operator.principal) as read:
        settings, today = read.moment.lender.collections, read.moment.business_date
        first, _ = reads.month_of(reads.month_of(today)[0].replace(day=1))
        told = await results(read.transaction, read.moment, first.replace(year=first.year - 1),
                             today, by)  # fmt: skip
        currency = read.moment.lender.currency
    used = settings.strategy
    groups: list[dict[str, Any]] = [
        {**row, **{name: printed(row[f"{name}_minor"], currency)
                   for name in ("past_due", "collected", "cost")},
         **{name: _percent(row[f"{name}_ppm"])
            for name in ("collection_30", "cure", "roll", "kept")}}
        for row in told["groups"]
    ]  # fmt: skip
    here = f"{BASE}/strategy"
    return visit.page(
        "collections", "strategy", f"{visit.texts['part_strategy']} {used.name}", status,
        groups=groups, by=by.value, uplift=told["uplift"], strategy=used, error=error,
        ways=[(visit.texts[f"by_{each.value}"], f"{here}?by={each.value}") for each in ResultsBy],
        way=f"{here}?by={by.value}", text=text or settings.strategy_text,
        parts_of=_parts(visit), desk=BASE, key=secrets.token_urlsafe(18),
        may_put=visit.may("strategy.put"), tasks=buttons(visit, "strategy"),
        done=visit.request.query_params.get("done", ""),
    )  # fmt: skip


def _percent(ppm: int | None) -> str:
    return "" if ppm is None else f"{ppm / 10_000:.1f}%"


async def agencies(visit: Visit) -> Response:
    """Agencies: contract, cases they hold, and the commission of the month."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await reads.agencies(read.transaction, read.moment)
        currency = read.moment.lender.currency
        first, last = reads.month_of(read.moment.business_date)
        for row in rows:
            made = await case_results.commission(
                read.transaction, read.moment, row["agency"], first, last
            )
            row |= {name: printed(made[f"{name}_minor"], currency)
                    for name in ("collected", "commission", "reported")}  # fmt: skip
            row["owed"] = printed(row["owed_minor"], currency)
    names = ["agency", "cases", "max_cases", "owed", "collected", "reported", "commission"]
    return visit.page("collections", "table", visit.texts["part_agencies"], rows=rows, names=names,
                      tabs=_parts(visit), tasks=buttons(visit, "agencies"))  # fmt: skip


async def letter(visit: Visit) -> Response:
    """The file of a letter that was sent."""
    number = read_id(visit.request.path_params["contact"], "ct", "contact")
    async with visit.platform.reading(visit.operator.principal) as read:
        content, language = await reads.letter(read.transaction, number)
    pdf = await asyncio.to_thread(letter_of, content, language)
    return Response(pdf, media_type="application/pdf")
