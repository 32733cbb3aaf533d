"""Addresses of the console, each with the function that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from usance.base.errors import UsanceError
from usance.pages.rendering import stylesheet
from usance.platform.console import (
    actions,
    agency_desk,
    applications,
    borrower_routes,
    borrowers,
    checks,
    close,
    closed_books,
    collections,
    control,
    developers,
    exports,
    funding,
    loans,
    matching,
    money,
    money_desk,
    overview,
    portal,
    risk,
    search,
    sign_in,
    tasks,
)
from usance.platform.console.frame import HOME, SCREENS, Visit, visit_of
from usance.platform.console.lists import ListPage
from usance.platform.console.log_tail import keep_tail
from usance.platform.errors import Forbidden, NotFound

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="16" height="16" rx="3" fill="#0b5c6b"/>'
    '<path d="M3.5 11.5 6.5 8l2.5 2 3.5-5" fill="none" stroke="#fff" stroke-width="1.7"/></svg>'
)
"""The mark of a tab."""
Answer = Callable[[Visit], Awaitable[Response | ListPage]]
PAGES: dict[tuple[str, str], tuple[str, Answer]] = {
    ("GET", "/overview"): ("overview", overview.show),
    ("GET", "/search"): ("overview", search.search),
    ("GET", "/exports"): ("overview", exports.show),
    ("POST", "/exports"): ("overview", exports.ask),
    ("GET", "/exports/{job}"): ("overview", exports.file),
    ("POST", "/exports/{job}/{action}"): ("overview", exports.act),
    ("GET", "/do/{command}"): ("overview", tasks.show),
    ("POST", "/do/{command}"): ("overview", tasks.act),
    ("GET", "/books/{path:path}"): ("overview", closed_books.show),
    ("GET", "/applications"): ("applications", applications.show),
    ("GET", "/applications/checks"): ("applications", checks.show),
    ("POST", "/applications/checks"): ("applications", checks.act),
    ("GET", "/applications/{decision}"): ("applications", applications.one),
    ("POST", "/applications/{decision}"): ("applications", applications.review),
    ("GET", "/borrowers"): ("borrowers", borrowers.find),
    ("GET", "/borrowers/help"): ("borrowers", borrowers.help_queue),
    ("GET", "/borrowers/checks"): ("borrowers", checks.show),
    ("POST", "/borrowers/checks"): ("borrowers", checks.act),
    ("GET", "/borrowers/{user}"): ("borrowers", borrowers.show),
    ("GET", "/loans"): ("loans", loans.find),
    ("GET", "/journals/{journal}"): ("loans", loans.journal),
    ("GET", "/loans/{loan}"): ("loans", loans.show),
    ("GET", "/loans/{loan}/{action}"): ("loans", actions.show),
    ("POST", "/loans/{loan}/{action}"): ("loans", actions.act),
    ("GET", "/matching"): ("matching", matching.show),
    ("GET", "/funding"): ("funding", funding.show),
    ("POST", "/funding"): ("funding", funding.put),
    ("GET", "/funding/{deal}"): ("funding", funding.one),
    ("GET", "/funding/{deal}/report"): ("funding", funding.report),
    ("GET", "/matching/limits"): ("matching", matching.limits),
    ("GET", "/matching/mandates"): ("matching", matching.mandates),
    ("POST", "/matching/mandates"): ("matching", matching.put),
    ("GET", "/collections"): ("collections", collections.show),
    ("POST", "/collections"): ("collections", collections.act),
    ("GET", "/collections/cases"): ("collections", collections.cases),
    ("GET", "/collections/cases/{case}"): ("collections", collections.case),
    ("POST", "/collections/cases/{case}"): ("collections", collections.work),
    ("GET", "/collections/promises"): ("collections", collections.promises),
    ("GET", "/collections/team"): ("collections", collections.team),
    ("GET", "/collections/strategy"): ("collections", collections.strategy),
    ("GET", "/collections/agencies"): ("collections", collections.agencies),
    ("GET", "/collections/letters/{contact}"): ("collections", collections.letter),
    ("GET", "/money"): ("money", money.show),
    ("GET", "/money/orders"): ("money", money.orders),
    ("GET", "/money/orders/{record}"): ("money", money_desk.order),
    ("GET", "/money/files"): ("money", money.files),
    ("GET", "/money/files/{record}"): ("money", money_desk.file),
    ("GET", "/money/breaks"): ("money", money.breaks),
    ("GET", "/money/breaks/{record}"): ("money", money_desk.one_break),
    ("GET", "/money/unallocated"): ("money", money.unallocated),
    ("GET", "/money/unallocated/{record}"): ("money", money_desk.unallocated),
    ("GET", "/money/settlements"): ("money", money.settlements),
    ("GET", "/money/settlement-control"): ("money", money.control),
    ("GET", "/money/settlements/{record}"): ("money", money_desk.settlement),
    ("GET", "/money/settlements/{record}/file"): ("money", money_desk.batch_file),
    ("GET", "/money/claims"): ("money", money.claims),
    ("GET", "/money/claims/{record}"): ("money", money_desk.claim),
    ("GET", "/money/claims/{record}/letter"): ("money", money_desk.claim_pdf),
    ("GET", "/money/guarantors"): ("money", money.guarantors),
    ("GET", "/money/guarantors/{record}"): ("money", money_desk.guarantor),
    ("GET", "/money/guarantors/{record}/claims-file"): ("money", money_desk.guarantor_file),
    ("GET", "/money/accounts"): ("money", money.accounts),
    ("GET", "/money/{kind}/{record}/{action}"): ("money", money_desk.ask),
    ("POST", "/money/{kind}/{record}/{action}"): ("money", money_desk.act),
    ("GET", "/risk"): ("risk", closed_books.risk),
    ("GET", "/risk/drift"): ("risk", risk.drift),
    ("GET", "/risk/models"): ("risk", risk.models),
    ("GET", "/close"): ("close", close.show),
    ("POST", "/close"): ("close", close.move),
    ("GET", "/statements"): ("statements", closed_books.statements),
    ("GET", "/control"): ("control", control.show),
    ("POST", "/control"): ("control", control.decide_many),
    ("GET", "/control/audit"): ("control", control.audit),
    ("GET", "/control/audit/{entry}"): ("control", control.audit_entry),
    ("GET", "/control/parameters"): ("control", control.parameters),
    ("POST", "/control/parameters"): ("control", control.put_parameter),
    ("GET", "/control/people"): ("control", control.people),
    ("GET", "/control/approvals/{approval}"): ("control", control.one),
    ("POST", "/control/{approval}/{answer}"): ("control", control.decide),
    ("GET", "/developers"): ("developers", developers.show),
    ("GET", "/developers/requests"): ("developers", developers.requests),
    ("GET", "/developers/events"): ("developers", developers.events),
    ("GET", "/developers/events/{event}"): ("developers", developers.event),
    ("GET", "/developers/webhooks"): ("developers", developers.hooks),
    ("POST", "/developers/webhooks/{delivery}/resend"): ("developers", developers.resend),
    ("GET", "/developers/keys"): ("developers", developers.keys),
    ("GET", "/developers/log"): ("developers", developers.log),
    ("POST", "/developers/clock"): ("developers", developers.advance),
    ("POST", "/developers/jobs/{job}/{action}"): ("developers", developers.act),
}
"""Method and address of every page, its screen and its function."""


def routes() -> list[BaseRoute]:
    """Every route of the console; from now on the log's last lines are kept."""
    keep_tail()
    made: list[BaseRoute] = [
        Route("/", _home), Route(HOME, _home), Route(f"{HOME}/", _home),
        Route(f"{HOME}/sign-in", sign_in.show, methods=["GET"]),
        Route(f"{HOME}/sign-in", sign_in.enter, methods=["POST"]),
        Route(f"{HOME}/sign-out", sign_in.leave, methods=["POST"]),
        Route(f"{HOME}/language", sign_in.set_language, methods=["POST"]),
        Route(f"{HOME}/console.css", _style), Route(f"{HOME}/console.js", _script),
        Route(f"{HOME}/icon.svg", _icon),
    ]  # fmt: skip
    made += [
        Route(f"{HOME}{path}", _guarded(screen, answer), methods=[method])
        for (method, path), (screen, answer) in PAGES.items()
    ]
    made += [*portal.routes(), *borrower_routes.routes(), *agency_desk.routes()]
    there = {path for _, path in PAGES if path.count("/") == 1}
    made += [Route(each.path, _guarded(each.name, _later(each.name)))
             for each in SCREENS if f"/{each.name}" not in there]  # fmt: skip
    return made


def _guarded(screen: str, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """A page for whoever is signed in and has the screen; a failure is a page too."""

    async def page(request: Request) -> Response:
        visit = await visit_of(request)
        if isinstance(visit, Response):
            return visit
        try:
            visit.need(screen)
            told = await answer(visit)
            return told.response(visit) if isinstance(told, ListPage) else told
        except NotFound:
            return visit.page(screen, "message", visit.texts["no_such_page"], 404,
                              text=visit.texts["what_next"])  # fmt: skip
        except Forbidden:
            return visit.page("", "message", visit.texts["not_yours"], 403,
                              text=visit.texts["what_next"])  # fmt: skip
        except UsanceError as error:
            return visit.page(screen, "message", visit.texts[screen], error.http_status,
                              text=str(error))  # fmt: skip

    return page


def _later(screen: str) -> Answer:
    async def page(visit: Visit) -> Response:
        return visit.page(screen, "message", visit.texts[screen], text=visit.texts["not_yet"])

    return page


async def _home(_: Request) -> Response:
    return RedirectResponse(SCREENS[0].path, 303)


async def _style(_: Request) -> Response:
    return Response(
        str(stylesheet("style.css", "charts.css", "console.css")), media_type="text/css"
    )


async def _icon(_: Request) -> Response:
    return Response(ICON, media_type="image/svg+xml")


async def _script(_: Request) -> Response:
    text = files("usance.platform.console").joinpath("console.js").read_text("utf-8")
    return Response(text, media_type="text/javascript")
