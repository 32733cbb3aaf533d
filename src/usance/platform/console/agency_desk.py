"""The agency desk: an agency's own cases, worked on the page of our people, and its commission.

Whoever has a key of an agency enters with it; rows are its own by row-level security, and ids are
those that its API shows.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from usance.base.errors import UsanceError
from usance.platform.console.amounts import printed
from usance.platform.console.case_desk import CaseDesk
from usance.platform.console.frame import form, html, language_of, see, texts
from usance.platform.errors import PlatformError, UnknownPrincipal
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads import case_results
from usance.platform.reads import cases as reads
from usance.platform.security.keys import owner_of_key
from usance.platform.security.permuted_ids import ids_of_party

DESK = "/desk"
COOKIE = "usance_agency"
CASES = 200


@dataclass(frozen=True)
class AgencyVisit:
    """One request of an agency."""

    request: Request
    principal: Principal

    @property
    def platform(self) -> Platform:
        """The platform that the request came to."""
        platform: Platform = self.request.app.state.platform
        return platform

    @property
    def desk(self) -> CaseDesk:
        """The desk at which the agency works its cases."""
        who, vault = self.principal, self.platform.services.keys
        ids = ids_of_party(vault, who.kind, who.party or who.principal_id)
        return CaseDesk(self.platform, who, DESK, ids)


Answer = Callable[[AgencyVisit], Awaitable[Response]]


def routes() -> list[BaseRoute]:
    """Every route of the agency desk."""
    return [
        Route(DESK, _guarded(show), methods=["GET"]),
        Route(DESK, _guarded(work), methods=["POST"]),
        Route(f"{DESK}/enter", entrance, methods=["GET"]),
        Route(f"{DESK}/enter", enter, methods=["POST"]),
        Route(f"{DESK}/leave", leave, methods=["POST"]),
        Route(f"{DESK}/cases/{{case}}", _guarded(case), methods=["GET"]),
        Route(f"{DESK}/cases/{{case}}", _guarded(work), methods=["POST"]),
    ]


def _guarded(page: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def guarded(request: Request) -> Response:
        principal = await _owner(request, request.cookies.get(COOKIE, ""))
        if principal is None:
            return see(f"{DESK}/enter")
        try:
            return await page(AgencyVisit(request, principal))
        except UsanceError as error:
            own = texts(language_of(request))
            return html(request, "message", own["agency_desk"], error.http_status,
                        text=str(error))  # fmt: skip

    return guarded


async def _owner(request: Request, key: str) -> Principal | None:
    """The agency of a key; nobody else has this desk."""
    pool = await request.app.state.platform.database.pool()
    try:
        async with pool.acquire() as connection:
            principal, _ = await owner_of_key(connection, key)
    except UnknownPrincipal:
        return None
    return principal if principal.kind is PrincipalKind.AGENCY else None


async def entrance(request: Request) -> Response:
    """The form to enter with a key."""
    title = texts(language_of(request))["agency_desk"]
    return html(request, "portal_enter", title, failed=False, enter_at=DESK)


async def enter(request: Request) -> Response:
    """Let an agency in; the cookie that carries its key is out of reach of scripts."""
    key = (await form(request)).get("key", "").strip()
    if await _owner(request, key) is None:
        title = texts(language_of(request))["agency_desk"]
        return html(request, "portal_enter", title, 401, failed=True, enter_at=DESK)
    response = see(DESK)
    response.set_cookie(COOKIE, key, path=DESK, httponly=True, samesite="strict",
                        secure=request.url.scheme == "https")  # fmt: skip
    return response


async def leave(request: Request) -> Response:
    """Forget the key."""
    await form(request)
    response = see(f"{DESK}/enter")
    response.delete_cookie(COOKIE, path=DESK)
    return response


async def show(visit: AgencyVisit) -> Response:
    """Cases that the agency has, and what it is owed this month."""
    async with visit.platform.reading(visit.principal) as read:
        rows = await reads.cases(read.transaction, limit=CASES, best_first=True)
        first, last = reads.month_of(read.moment.business_date)
        made = await case_results.commission(
            read.transaction, read.moment, visit.principal.name, first, last
        )
        currency = read.moment.lender.currency
    return html(
        visit.request, "agency_desk", visit.principal.name, cases=visit.desk.shown(rows),
        made=made, desk=DESK, key=secrets.token_urlsafe(18),
        none=visit.request.query_params.get("none") == "1",
        money=lambda minor: printed(minor, currency),
    )  # fmt: skip


async def case(visit: AgencyVisit, error: str = "", status: int = 200) -> Response:
    """One case, under ids of the agency's own."""
    number = visit.request.path_params["case"]
    values = await visit.desk.page_of(number)
    may = {"next": True, "contact": True, "promise": True, "stop": False, "plan": False}
    title = f"{texts(language_of(visit.request))['case']} {number}"
    return html(visit.request, "case", title, status, may=may, error=error, borrower="",
                loan_at="", letters="", done=visit.request.query_params.get("done", ""),
                **values)  # fmt: skip


async def work(visit: AgencyVisit) -> Response:
    """A step of a case; what is refused is said beside it."""
    given, number = await form(visit.request), visit.request.path_params.get("case", "")
    try:
        return await visit.desk.step(number, given)
    except PlatformError as error:
        if not number:
            raise
        return await case(visit, str(error), error.http_status)
