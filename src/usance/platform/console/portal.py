"""The institution portal: offers that wait, answered one or many, mandates and own loans.

Whoever has a key of an institution enters with it; rows are its own by row-level security, and ids
are those that its API shows.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from usance.base.ids import print_id
from usance.platform.console.amounts import printed
from usance.platform.console.frame import form, html, language_of, see, texts
from usance.platform.console.funding import report_values
from usance.platform.errors import NotFound, PlatformError, UnknownPrincipal
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.deals import deal_answer, report
from usance.platform.reads.deals import deals as deals_of
from usance.platform.reads.institutions import funded_loans, mandate_rows
from usance.platform.security.keys import owner_of_key
from usance.platform.security.permuted_ids import PermutedIds

PORTAL = "/portal"
COOKIE = "usance_institution"
LOANS = 50
FIELD = "offer."


@dataclass(frozen=True)
class Guest:
    """One request of an institution."""

    request: Request
    principal: Principal

    @property
    def platform(self) -> Platform:
        """The platform that the request came to."""
        platform: Platform = self.request.app.state.platform
        return platform

    @property
    def ids(self) -> PermutedIds:
        """Ids as the institution sees them."""
        who = self.principal
        return PermutedIds(self.platform.services.keys.key_for(f"ids of {who.kind} {who.party}"))


Answer = Callable[[Guest], Awaitable[Response]]


def routes() -> list[BaseRoute]:
    """Every route of the portal."""
    return [
        Route(PORTAL, _guarded(show), methods=["GET"]),
        Route(PORTAL, _guarded(answer), methods=["POST"]),
        Route(f"{PORTAL}/deals/{{deal}}", _guarded(deal_report), methods=["GET"]),
        Route(f"{PORTAL}/enter", entrance, methods=["GET"]),
        Route(f"{PORTAL}/enter", enter, methods=["POST"]),
        Route(f"{PORTAL}/leave", leave, methods=["POST"]),
    ]


def _guarded(page: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def guarded(request: Request) -> Response:
        principal = await _owner(request, request.cookies.get(COOKIE, ""))
        return (
            see(f"{PORTAL}/enter") if principal is None else await page(Guest(request, principal))
        )

    return guarded


async def _owner(request: Request, key: str) -> Principal | None:
    """The institution of a key; nobody else has a portal."""
    pool = await request.app.state.platform.database.pool()
    try:
        async with pool.acquire() as connection:
            principal, _ = await owner_of_key(connection, key)
    except UnknownPrincipal:
        return None
    return principal if principal.kind is PrincipalKind.INSTITUTION else None


async def entrance(request: Request) -> Response:
    """The form to enter with a key."""
    return html(request, "portal_enter", texts(language_of(request))["portal"], failed=False)


async def enter(request: Request) -> Response:
    """Let an institution in; the cookie that carries its key is out of reach of scripts."""
    key = (await form(request)).get("key", "").strip()
    if await _owner(request, key) is None:
        title = texts(language_of(request))["portal"]
        return html(request, "portal_enter", title, 401, failed=True)
    response = see(PORTAL)
    response.set_cookie(COOKIE, key, path=PORTAL, httponly=True, samesite="strict",
                        secure=request.url.scheme == "https")  # fmt: skip
    return response


async def leave(request: Request) -> Response:
    """Forget the key."""
    await form(request)
    response = see(f"{PORTAL}/enter")
    response.delete_cookie(COOKIE, path=PORTAL)
    return response


async def show(guest: Guest, problems: tuple[str, ...] = (), status: int = 200) -> Response:
    """Offers that wait with their countdown, mandates, and the loans it funds."""
    async with guest.platform.reading(guest.principal) as read:
        offers = await read.offers("open", limit=200)
        mandates = await mandate_rows(read.transaction, read.moment.lender, guest.principal.party)
        numbers = await funded_loans(read.transaction, 0, LOANS)
        loans = [await read.loan(print_id("ln", each)) for each in numbers]
        deals = [deal_answer(each) for each in await deals_of(read.transaction)]
        now, currency = read.moment.at, read.moment.lender.currency
        name = read.moment.lender.party_name("institution", guest.principal.party)
        left = await read.transaction.fetch(
            "select offer_id, answer_by from usance.offers where state = 'open'"
        )
    minutes = {print_id("of", row["offer_id"]): max(0, int((row["answer_by"] - now).total_seconds()
               // 60)) for row in left}  # fmt: skip
    waiting = [{**offer, "minutes": minutes.get(offer["offer"], 0)} for offer in offers]
    return html(
        guest.request, "portal", name, status, offers=guest.ids.shown(waiting),
        mandates=mandates, deals=deals, loans=guest.ids.shown(loans), problems=problems,
        money=lambda minor: printed(minor, currency), key=secrets.token_urlsafe(12), field=FIELD,
    )  # fmt: skip


async def deal_report(guest: Guest) -> Response:
    """The last investor report of a deal whose notes the institution holds."""
    name, language = guest.request.path_params["deal"], language_of(guest.request)
    try:
        async with guest.platform.reading(guest.principal) as read:
            _, _, made = await report(read.transaction, name, language)
    except NotFound as error:
        return html(guest.request, "message", texts(language)["no_such_page"], 404,
                    text=error.what)  # fmt: skip
    return html(guest.request, "deal_report", made.title, files=(), **report_values(made))


async def answer(guest: Guest) -> Response:
    """Answer one offer or many; each for itself, once for the form's key."""
    given = await form(guest.request)
    approved, problems = given.get("answer") == "approve", []
    for name in given:
        if name.startswith(FIELD):
            shown = name.removeprefix(FIELD)
            body = {"offer": guest.ids.meant(shown), "approved": approved,
                    "reason": given.get("reason", "")}  # fmt: skip
            key = f"{given.get('key', '')}/{shown}"[:255]
            try:
                await guest.platform.do(guest.principal, "offer.answer", body, key=key)
            except PlatformError as error:
                problems.append(f"{shown}: {error.what}")
    return await show(guest, tuple(problems), 409) if problems else see(PORTAL)
