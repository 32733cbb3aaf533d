"""The institution portal: offers that wait, answered one or many, mandates and own loans.

Whoever has a key of an institution enters with it; rows are its own by row-level security, and ids
are those that its API shows.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.match.mandates.file import parse_mandates
from usance.pages.charts import columns
from usance.pages.numbers import words
from usance.platform.console.amounts import printed
from usance.platform.console.frame import PORTAL, form, html, language_of, redirect, texts
from usance.platform.console.funding import report_values
from usance.platform.console.key_entrance import KeyEntrance, KeyVisit
from usance.platform.console.lists import FORMATS, file_of
from usance.platform.console.portal_settlements import batch, batch_file, settlements
from usance.platform.errors import InvalidField, NotFound, PlatformError
from usance.platform.mandate_texts import mandates_text
from usance.platform.principals import SYSTEM, Principal, PrincipalKind
from usance.platform.reads.control.deals import deal_answer, report
from usance.platform.reads.control.deals import deals as deals_of
from usance.platform.reads.control.institutions import mandate_rows
from usance.platform.reads.control.mandate_tester import tried
from usance.platform.reads.settlement.portfolio import loans_of_sources, own_sources, vintages_of
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import read_id
from usance.platform.security import access_reads

ENTRANCE = KeyEntrance(PrincipalKind.INSTITUTION, PORTAL, "usance_institution", "portal")
LOANS = 50
"""Loans of a page."""
FIELD = "offer."
PARTS = (("offers", PORTAL), ("mandates", f"{PORTAL}/mandates"),
         ("portfolio", f"{PORTAL}/portfolio"), ("settlements", f"{PORTAL}/settlements"),
         ("keys", f"{PORTAL}/keys"))  # fmt: skip
"""Parts of the portal and their addresses."""


@dataclass(frozen=True)
class PortalVisit(KeyVisit):
    """One request of an institution."""

    async def page(self, template: str, title: str, status: int = 200, **values: Any) -> Response:
        """A page of the portal."""
        return html(self.request, template, title, status, parts=PARTS,
                    key=secrets.token_urlsafe(12), **values)  # fmt: skip


Answer = Callable[[PortalVisit], Awaitable[Response]]


def routes() -> list[BaseRoute]:
    """Every route of the portal."""
    return [
        Route(PORTAL, _guarded(show), methods=["GET"]),
        Route(PORTAL, _guarded(answer), methods=["POST"]),
        Route(f"{PORTAL}/deals/{{deal}}", _guarded(deal_report), methods=["GET"]),
        Route(f"{PORTAL}/mandates", _guarded(mandates), methods=["GET"]),
        Route(f"{PORTAL}/mandates", _guarded(put_mandates), methods=["POST"]),
        Route(f"{PORTAL}/portfolio", _guarded(portfolio), methods=["GET"]),
        Route(f"{PORTAL}/portfolio/{{loan}}", _guarded(loan), methods=["GET"]),
        Route(f"{PORTAL}/settlements", _guarded(settlements), methods=["GET"]),
        Route(f"{PORTAL}/settlements/{{settlement}}", _guarded(batch), methods=["GET"]),
        Route(f"{PORTAL}/settlements/{{settlement}}/file", _guarded(batch_file), methods=["GET"]),
        Route(f"{PORTAL}/keys", _guarded(keys), methods=["GET"]),
        *ENTRANCE.routes(),
    ]


def _guarded(page: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def guarded(request: Request, principal: Principal) -> Response:
        visit = PortalVisit(request, principal)
        try:
            return await page(visit)
        except (NotFound, InvalidField) as error:
            return await visit.page("message", visit.texts["no_such_page"], 404, text=str(error))
        except PlatformError as error:
            return await visit.page("message", visit.texts["portal"], error.http_status,
                                    text=str(error))  # fmt: skip

    return ENTRANCE.guarded(guarded)


async def show(
    visit: PortalVisit, problems: tuple[str, ...] = (), status: int = 200, reason: str = ""
) -> Response:
    """Offers that wait, each with its report and its countdown."""
    async with visit.platform.reading(visit.principal) as read:
        offers = await read.offers("open", limit=200)
        deals = [deal_answer(each) for each in await deals_of(read.transaction)]
        now, currency = read.moment.at, read.moment.lender.currency
        name = read.moment.lender.party_name("institution", visit.principal.party)
        left = await read.transaction.fetch(
            "select offer_id, answer_by from usance.offers where state = 'open'"
        )
    minutes = {print_id("of", row["offer_id"]): max(0, int((row["answer_by"] - now).total_seconds()
               // 60)) for row in left}  # fmt: skip
    waiting = [{**offer, "minutes": minutes.get(offer["offer"], 0)} for offer in offers]
    return await visit.page(
        "portal", words(name).title(), status, offers=visit.ids.encode(waiting), problems=problems,
        money=lambda minor: printed(minor, currency), field=FIELD, deals=deals,
        reason=reason,
    )  # fmt: skip


async def deal_report(visit: PortalVisit) -> Response:
    """The last investor report of a deal whose notes the institution holds."""
    name, language = visit.request.path_params["deal"], language_of(visit.request)
    try:
        async with visit.platform.reading(visit.principal) as read:
            _, _, made = await report(read.transaction, name, language)
    except NotFound as error:
        return html(visit.request, "message", texts(language)["no_such_page"], 404,
                    text=error.what)  # fmt: skip
    return html(visit.request, "deal_report", made.title, files=(), **report_values(made))


async def answer(visit: PortalVisit) -> Response:
    """Answer one offer or many; each for itself, once for the form's key."""
    given = await form(visit.request)
    approved, problems = given.get("answer") == "approve", []
    for name in given:
        if name.startswith(FIELD):
            shown = name.removeprefix(FIELD)
            body = {"offer": visit.ids.decode(shown), "approved": approved,
                    "reason": given.get("reason", "")}  # fmt: skip
            key = f"{given.get('key', '')}/{shown}"[:255]
            try:
                await visit.platform.do(visit.principal, "offer.answer", body, key=key)
            except PlatformError as error:
                problems.append(f"{shown}: {error.what}")
    reason = given.get("reason", "")
    return await show(visit, tuple(problems), 409, reason) if problems else redirect(PORTAL)


async def mandates(
    visit: PortalVisit, error: str = "", status: int = 200, typed: str = "",
    found: Sequence[Mapping[str, Any]] = (),
) -> Response:  # fmt: skip
    """Own mandates with all versions, what was proposed, and the tester on own past loans."""
    async with visit.platform.reading(visit.principal) as read:
        lender, today = read.moment.lender, read.moment.business_date.isoformat()
        rows = await mandate_rows(read.transaction, lender, visit.principal.party)
        mine = await read.transaction.fetch(
            "select approval_id, state, proposed_at from usance.approvals "
            "where command = 'mandate.put' and given[1] = $1 order by approval_id desc limit 20",
            visit.principal.principal_id,
        )  # fmt: skip
    async with visit.platform.reading(SYSTEM) as whole:  # settings are no rows of a party
        typed = typed or await mandates_text(
            whole.transaction, whole.moment.business_date, visit.principal.party
        )
    proposed = [{"approval": print_id("ap", row["approval_id"]), "state": row["state"],
                 "proposed_at": moment_text(row["proposed_at"])} for row in mine]  # fmt: skip
    return await visit.page(
        "portal_mandates", visit.texts["mandates"], status, rows=rows, proposed=proposed,
        error=error, typed=typed, today=today, found=found, may_put=True,
        money=lambda minor: printed(minor, lender.currency),
    )  # fmt: skip


async def put_mandates(visit: PortalVisit) -> Response:
    """Propose mandates, which the platform's people agree to; or try them on own past loans."""
    given = await form(visit.request)
    text = given.get("text", "")
    if given.get("step") == "test":
        try:
            parsed = parse_mandates(text)
        except UsanceError as error:
            return await mandates(visit, str(error), 400, text)
        async with visit.platform.reading(visit.principal) as read:
            found = await tried(read.transaction, parsed)
        return await mandates(visit, "", 200, text, found)
    body = {"text": text, "valid_from": given.get("valid_from", "")}
    try:
        await visit.platform.do(visit.principal, "mandate.put", body, key=given.get("key", ""))
    except PlatformError as error:
        return await mandates(visit, str(error), error.http_status, text)
    return redirect(f"{PORTAL}/mandates")


async def portfolio(visit: PortalVisit) -> Response:
    """Own loans with what is owed and late, by quarter of origination too."""
    given = visit.request.query_params
    async with visit.platform.reading(visit.principal) as read:
        currency, day = read.moment.lender.currency, read.moment.business_date
        sources = await own_sources(read.transaction, visit.principal.party)
        vintages = await vintages_of(read.transaction, sources, day)
        last = visit.ids.decode(given.get("after", ""))
        after = read_id(last, "ln", "after") if last else 0
        numbers = await loans_of_sources(read.transaction, sources, after, LOANS + 1)
        loans = [await read.loan(print_id("ln", each)) for each in numbers[:LOANS]]
    names = ("quarter", "loans", "lent_minor", "owed_minor", "late_minor")
    if given.get("format") in FORMATS:
        rows = [{name: row[name] for name in names} for row in vintages]
        return file_of("portfolio", names, rows, given["format"])
    shares = {visit.texts["late_share"]: [row["late_minor"] / row["lent_minor"]
                                          for row in vintages]}  # fmt: skip
    figure = columns(
        [row["quarter"] for row in vintages], shares, caption=visit.texts["vintages"],
        format_y=lambda y: f"{100 * y:.1f} %",
    ) if any(row["late_minor"] for row in vintages) else None  # fmt: skip
    shown = visit.ids.encode(loans)
    return await visit.page(
        "portal_portfolio", visit.texts["portfolio"], vintages=vintages, loans=shown,
        figure=figure, after=shown[-1]["loan"] if len(numbers) > LOANS else "",
        money=lambda minor: printed(minor, currency),
    )  # fmt: skip


async def loan(visit: PortalVisit) -> Response:
    """One own loan with its schedule and facts."""
    name = visit.ids.decode(visit.request.path_params["loan"])
    async with visit.platform.reading(visit.principal) as read:
        found, rows, facts = (
            await read.loan(name),
            await read.schedule(name),
            await read.facts(name),
        )
        currency = read.moment.lender.currency
    shown = visit.ids.encode(found)
    return await visit.page(
        "portal_loan", f"{visit.texts['loan']} {shown['loan']}", loan=shown, rows=rows,
        facts=visit.ids.encode(facts), money=lambda minor: printed(minor, currency),
    )  # fmt: skip


async def keys(visit: PortalVisit) -> Response:
    """Own keys and who acts with them; never what they are."""
    async with visit.platform.reading(visit.principal) as read:
        rows = await access_reads.keys(read.transaction)
    shown = [{**each, "scopes": ", ".join(each["scopes"])} for each in rows]
    return await visit.page("portal_keys", visit.texts["keys"], rows=shown)
