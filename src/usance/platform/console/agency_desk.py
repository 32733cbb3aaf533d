"""The agency desk: an agency's own cases, worked on the page of our people, and its commission.

Whoever has a key of an agency enters with it; rows are its own by row-level security, and ids are
those that its API shows.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.collections.agency_cases import ReportPayment
from usance.platform.console.agency_files import (
    PAYMENT_COLUMNS,
    cases_csv,
    payments_of_file,
    refuse,
)
from usance.platform.console.amounts import printed
from usance.platform.console.case_desk import CaseDesk, case_number
from usance.platform.console.frame import DESK, form, html
from usance.platform.console.key_entrance import KeyEntrance, KeyVisit
from usance.platform.errors import PlatformError
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.collections import case_results
from usance.platform.reads.collections import cases as reads

ENTRANCE = KeyEntrance(PrincipalKind.AGENCY, DESK, "usance_agency", "agency_desk")
CASES = 200
MAX_FILE, PIECE = 100_000, 1_000


@dataclass(frozen=True)
class AgencyVisit(KeyVisit):
    """One request of an agency."""

    @property
    def desk(self) -> CaseDesk:
        """The desk at which the agency works its cases."""
        return CaseDesk(self.platform, self.principal, DESK, self.ids)


Answer = Callable[[AgencyVisit], Awaitable[Response]]


def routes() -> list[BaseRoute]:
    """Every route of the agency desk."""
    return [
        Route(DESK, _guarded(show), methods=["GET"]),
        Route(DESK, _guarded(work), methods=["POST"]),
        Route(f"{DESK}/cases.csv", _guarded(cases_file), methods=["GET"]),
        Route(f"{DESK}/cases/{{case}}", _guarded(case), methods=["GET"]),
        Route(f"{DESK}/cases/{{case}}", _guarded(work), methods=["POST"]),
        *ENTRANCE.routes(),
    ]


def _guarded(page: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def guarded(request: Request, principal: Principal) -> Response:
        visit = AgencyVisit(request, principal)
        try:
            return await page(visit)
        except UsanceError as error:
            return html(request, "message", visit.texts["agency_desk"], error.http_status,
                        text=str(error))  # fmt: skip

    return ENTRANCE.guarded(guarded)


async def show(
    visit: AgencyVisit, error: str = "", status: int = 200, text: str = "", taken: int = 0
) -> Response:
    """Cases that the agency has, and what it is owed this month."""
    async with visit.platform.reading(visit.principal) as read:
        rows = await reads.cases(read.transaction, limit=CASES, best_first=True)
        first, last = reads.month_of(read.moment.business_date)
        made = await case_results.commission(
            read.transaction, read.moment, visit.principal.name, first, last
        )
        currency = read.moment.lender.currency
    return html(
        visit.request, "agency_desk", visit.principal.name, status, cases=visit.desk.encode(rows),
        error=error, text=text, taken=taken, columns=",".join(PAYMENT_COLUMNS), made=made,
        desk=DESK, key=secrets.token_urlsafe(18),
        none=visit.request.query_params.get("none") == "1",
        money=lambda minor: printed(minor, currency),
    )  # fmt: skip


async def cases_file(visit: AgencyVisit) -> Response:
    """Every case that the agency has, as a file."""
    rows: list[dict[str, Any]] = []
    async with visit.platform.reading(visit.principal) as read:
        currency = read.moment.lender.currency
        while len(rows) < MAX_FILE:
            after = case_number(rows[-1]["case"]) if rows else 0
            piece = await reads.cases(read.transaction, after=after, limit=PIECE)
            rows += piece
            if len(piece) < PIECE:
                break
    name = 'attachment; filename="cases.csv"'
    return Response(cases_csv(visit.desk.encode(rows), currency), media_type="text/csv",
                    headers={"Content-Disposition": name})  # fmt: skip


async def report(visit: AgencyVisit, text: str) -> Response:
    """Take a file of payments: every line is read and looked up before the first is taken."""
    try:
        async with visit.platform.reading(visit.principal) as read:
            currency, today = read.moment.lender.currency, read.moment.business_date
            given = payments_of_file(text, currency, visit.desk.decode)
            users = [case_number(each.case) for each in given]
            held = await reads.seen_users(read.transaction, users)
            reported = await reads.reported(read.transaction, [each.reference for each in given])
        wrong = []
        for number, (each, user_id) in enumerate(zip(given, users, strict=True), 2):
            known = reported.get(each.reference)
            if user_id not in held:
                wrong.append(f"line {number}: the case is not with you. Leave it out.")
            elif each.paid_on > today:
                wrong.append(f"line {number}: {each.paid_on} is in the future. Give the day.")
            elif known not in (None, (user_id, each.paid_on, each.amount_minor)):
                wrong.append(f"line {number}: {each.reference} was reported otherwise. "
                             "Give another reference.")  # fmt: skip
        refuse(wrong)
        for each, user_id in zip(given, users, strict=True):
            command = ReportPayment(print_id("us", user_id), each.reference, each.paid_on,
                                    each.amount_minor)  # fmt: skip
            await visit.platform.do(visit.principal, command)
    except PlatformError as error:
        return await show(visit, str(error), error.http_status, text)
    return await show(visit, taken=len(given))


async def case(visit: AgencyVisit, error: str = "", status: int = 200) -> Response:
    """One case, under ids of the agency's own."""
    number = visit.request.path_params["case"]
    values = await visit.desk.page_of(number, visit.texts)
    may = {"next": True, "contact": True, "promise": True, "stop": False, "plan": False,
           "draft": False}  # fmt: skip
    title = f"{visit.texts['case']} {number}"
    return html(visit.request, "case", title, status, may=may, error=error, borrower="",
                loan_at="", letters="", done=visit.request.query_params.get("done", ""),
                **values)  # fmt: skip


async def work(visit: AgencyVisit) -> Response:
    """A step of a case; what is refused is said beside it."""
    given, number = await form(visit.request), visit.request.path_params.get("case", "")
    if given.get("step") == "report" and not number:
        return await report(visit, given.get("text", ""))
    try:
        return await visit.desk.step(number, given)
    except PlatformError as error:
        if not number:
            raise
        return await case(visit, str(error), error.http_status)
