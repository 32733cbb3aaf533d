"""Borrower pages: what is owed, an offer with its true cost, draw, pay, settle, help, own data.

For a phone and in plain words. Whoever comes in acts as a principal that sees one user; a page asks
the same commands as the API.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from usance.base.codes import Product
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import Moment
from usance.platform.commands.loans.payments import reference_of
from usance.platform.commands.loans.plans import REASONS
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.frame import MINE, form, html, language_of, redirect, texts
from usance.platform.errors import (
    InvalidField,
    NotFound,
    PlatformError,
    SignInFailed,
    UnknownPrincipal,
)
from usance.platform.live import Platform
from usance.platform.partners.messages import messages_of
from usance.platform.principals import Principal
from usance.platform.reads.loans import plans as help_reads
from usance.platform.reads.reading import Reading
from usance.platform.security import borrower_access as access
from usance.platform.security.sessions import OpenedSession, end_session
from usance.service.help.complaints import SUBJECTS
from usance.service.help.plan_rules import PlanKind

COOKIE = "usance_borrower"
PROVIDER = "provider"
"""The principal of a sandbox that pays at a click."""
MAX_TRIES = 256
"""References that are tried until one counts late enough."""
PURPOSES = ("credit_bureau", "marketing")
TEXT_VERSION = "1"


@dataclass(frozen=True)
class BorrowerVisit:
    """One request of a borrower who is in."""

    request: Request
    principal: Principal
    session_id: int

    @property
    def platform(self) -> Platform:
        """The platform that the request came to."""
        platform: Platform = self.request.app.state.platform
        return platform

    @property
    def user(self) -> str:
        """The borrower's own id."""
        return print_id("us", self.principal.user_id)

    @property
    def address(self) -> str:
        """The address they come from."""
        return self.request.client.host if self.request.client else ""

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts in the borrower's language."""
        return texts(language_of(self.request))

    def page(self, template: str, title: str, status: int = 200, **values: Any) -> Response:
        """A page of the borrower's."""
        parts = (("mine", MINE), ("my_draw", f"{MINE}/draw"), ("my_data", f"{MINE}/data"),
                 ("my_complaint", f"{MINE}/complaint"))  # fmt: skip
        return html(self.request, f"mine/{template}", title, status, parts=parts,
                    key=secrets.token_urlsafe(18), **values)  # fmt: skip

    async def do(
        self, command: str, body: dict[str, Any], key: str = "", *, dry_run: bool = False
    ) -> dict[str, Any]:
        """Do a command as this borrower; gives its answer."""
        outcome = await self.platform.do(self.principal, command, body, key=key, dry_run=dry_run)
        return dict(outcome.answer)


Answer = Callable[[BorrowerVisit], Awaitable[Response]]


def guarded(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """A page for a borrower who is in; a refusal is a page too."""

    async def page(request: Request) -> Response:
        visit = await _visit(request)
        if visit is None:
            return redirect(f"{MINE}/enter")
        try:
            return await answer(visit)
        except (NotFound, InvalidField) as error:
            is_lost = isinstance(error, NotFound) or request.method != "POST"
            status = 404 if is_lost else error.http_status
            return visit.page("told", visit.texts["no_such_page"] if is_lost else
                              visit.texts["my_wrong"], status, text=str(error))  # fmt: skip
        except PlatformError as error:
            return visit.page("told", visit.texts["my_wrong"], error.http_status, text=str(error))

    return page


async def _visit(request: Request) -> BorrowerVisit | None:
    token = request.cookies.get(COOKIE, "")
    if not token:
        return None
    pool = await request.app.state.platform.database.pool()
    async with pool.acquire() as connection:
        try:
            principal, session = await access.owner_of_borrower_session(connection, token)
        except UnknownPrincipal:
            return None
    return BorrowerVisit(request, principal, session)


async def entrance(request: Request) -> Response:
    """The way in: a link that was given, or a phone that a code goes to."""
    token = request.query_params.get("token", "")
    return _entrance(request, token=token)


def _entrance(request: Request, status: int = 200, **values: Any) -> Response:
    given = {"token": "", "phone": "", "code": "", "is_sent": False, "wrong": ""} | values
    return html(request, "mine/enter", texts(language_of(request))["mine"], status, **given)


async def enter(request: Request) -> Response:
    """Let a borrower in by a link or a code, or send a code; the cookie is no script's."""
    given, platform = await form(request), request.app.state.platform
    address = request.client.host if request.client else ""
    phone, keys = given.get("phone", "").strip(), platform.services.keys
    t = texts(language_of(request))
    pool = await platform.database.pool()
    async with pool.acquire() as connection:
        try:
            if given.get("token"):
                return _let_in(request, await access.open_link(connection, given["token"], address))
            if given.get("code"):
                opened = await access.enter_code(connection, keys, phone, given["code"], address)
                return _let_in(request, opened)
            message = await message_of(request, t)
            code = await access.send_code(connection, keys, phone, access.ENTER, message,
                                          address=address)  # fmt: skip
        except SignInFailed:
            wrong = t["my_link_over"] if given.get("token") else t["my_code_wrong"]
            return _entrance(
                request, 401, phone=phone, is_sent=bool(given.get("code")), wrong=wrong
            )
        except PlatformError as error:
            return _entrance(request, error.http_status, phone=phone, wrong=str(error))
    return _entrance(request, phone=phone, code=code, is_sent=True)


async def message_of(request: Request, t: Mapping[str, str]) -> access.Message:
    """How a code comes to a phone here."""
    app = request.app.state
    return access.Message(t["my_code_message"], messages_of(app.platform.home),
                          app.mode == "sandbox")  # fmt: skip


def _let_in(request: Request, opened: OpenedSession) -> Response:
    response = redirect(MINE)
    response.set_cookie(COOKIE, opened.token, path=MINE, httponly=True, samesite="lax",
                        secure=request.url.scheme == "https")  # fmt: skip
    return response


async def leave(visit: BorrowerVisit) -> Response:
    """End the session."""
    await form(visit.request)
    return await _left(visit)


async def _left(visit: BorrowerVisit) -> Response:
    pool = await visit.platform.database.pool()
    async with pool.acquire() as connection:
        await end_session(connection, visit.session_id, visit.principal)
    response = redirect(f"{MINE}/enter")
    response.delete_cookie(COOKIE, path=MINE)
    return response


async def show(visit: BorrowerVisit) -> Response:
    """The first page: owed today, the loans, and how much may still be drawn."""
    async with visit.platform.reading(visit.principal) as read:
        loans, lines = await read.user_loans(visit.user), await read.lines(visit.user)
        today, currency = read.moment.business_date, read.moment.lender.currency
    open_loans = [each for each in loans if each["status"] == "active"]
    owed = sum(_owed(each, today) for each in open_loans)
    return visit.page(
        "home", visit.texts["mine"], loans=loans, lines=lines, owed=owed, today=today.isoformat(),
        currency=currency.name, money=lambda minor: printed(minor, currency),
        done=visit.texts.get("my_done_" + visit.request.query_params.get("done", ""), ""),
    )  # fmt: skip


def _owed(loan: Mapping[str, Any], today: date) -> int:
    """The amount past due, with what falls due today."""
    due = loan["next_due"]
    falls = due["amount_minor"] if due and due["due_on"] == today.isoformat() else 0
    return int(loan["past_due"]["total_minor"]) + int(falls)


async def loan(visit: BorrowerVisit, wrong: str = "", status: int = 200) -> Response:
    """One loan: what is owed today, the schedule, and everything that can be done about it."""
    name = visit.request.path_params["loan"]
    async with visit.platform.reading(visit.principal) as read:
        found, rows = await read.loan(name), await read.schedule(name)
        paid = await read.loan_payments(name)
        moment = read.moment
        settlement = await read.settlement_quote(name) if found["status"] == "active" else None
        ref = _last_of_day(moment, await read.facts(name), secrets.token_urlsafe(18))
    return visit.page(
        "loan", f"{visit.texts['loan']} {found['loan']}", status, loan=found, rows=rows, paid=paid,
        settlement=settlement, ref=ref, owed=_owed(found, moment.business_date), wrong=wrong,
        today=moment.business_date.isoformat(), pays=moment.lender.is_sandbox,
        money=lambda minor: printed(minor, moment.lender.currency),
        done=visit.texts.get("my_done_" + visit.request.query_params.get("done", ""), ""),
    )  # fmt: skip


def _last_of_day(moment: Moment, facts: list[dict[str, Any]], key: str) -> str:
    """A reference that counts after all payments of today: the day's payments go by their order.

    So a settlement settles also on a day on which something was paid before.
    """
    provider = moment.lender.payout.provider
    today = moment.business_date.isoformat()
    last = max((int(each["ref"]) for each in facts if each["effective_on"] == today), default=0)
    found = (f"my/{key}/{number}" for number in range(MAX_TRIES))
    return next((each for each in found if reference_of(moment, provider, each) > last),
                f"my/{key}")  # fmt: skip


async def pay(visit: BorrowerVisit) -> Response:
    """Pay what was chosen: in a sandbox the test provider takes it at once."""
    given, name = await form(visit.request), visit.request.path_params["loan"]
    async with visit.platform.reading(visit.principal) as read:
        found, moment = await read.loan(name), read.moment
    if not moment.lender.is_sandbox:
        raise NotFound("nobody takes payments here", where="pay", fix="Pay through your app")
    try:
        amount = minor_of(given.get("amount", ""), moment.lender.currency)
    except InvalidField:
        return await loan(visit, visit.texts["my_no_amount"], 400)
    body = {"loan": found["loan"], "amount_minor": amount, "currency": found["currency"],
            "effective_on": moment.business_date.isoformat(),
            "ref": given.get("ref", "") or f"my/{given.get('key', '')}"}  # fmt: skip
    body["ref"] = "my/" + str(body["ref"]).removeprefix("my/")[:200]
    provider = await visit.platform.principal(PROVIDER)
    try:
        await visit.platform.do(provider, "payment.book", body, key=given.get("key", ""))
    except UsanceError as error:
        return await loan(visit, str(error), 400)
    return redirect(f"{MINE}/loans/{name}?done=paid")


async def help_page(visit: BorrowerVisit) -> Response:
    """Requests, plans that wait for an answer, and forms of help with what each would change."""
    return await _help(visit)


async def ask_help(visit: BorrowerVisit) -> Response:
    """Take a request for help; or show what a plan would change, then offer it as shown."""
    given, name = await form(visit.request), visit.request.path_params["loan"]
    key, step = given.get("key", ""), given.get("step", "")
    try:
        if step == "ask":
            await visit.do("hardship.request", {
                "user": visit.user, "loan": name, "reason": given.get("reason", ""),
                "text": given.get("text", "")}, key)  # fmt: skip
            return redirect(f"{MINE}/loans/{name}/help?done=help")
        body: dict[str, Any] = {"user": visit.user, "loan": name, "kind": given.get("kind", "")}
        months = given.get("months", "")
        if months.isascii() and months.isdigit():
            body["months"] = int(months[:4])
        if given.get("kind") == "interest_pause":
            body["pause_days"] = 30 * body.pop("months", 0)
        is_final = step == "confirm"
        offered = await visit.do("plan.offer", body, key if is_final else "", dry_run=not is_final)
    except PlatformError as error:
        return await _help(visit, wrong=str(error), status=422, given=given)
    if is_final:
        return redirect(f"{MINE}/loans/{name}/help#{offered['plan']}")
    return await _help(visit, offered=offered, given=given)


async def answer_plan(visit: BorrowerVisit) -> Response:
    """Accept a plan as it was shown, or decline it."""
    given, path = await form(visit.request), visit.request.path_params
    body = {"plan": path["plan"], "accepted": given.get("answer") == "accept"}
    await visit.do("plan.answer", body, given.get("key", ""))
    return redirect(f"{MINE}/loans/{path['loan']}?done=plan")


async def _help(
    visit: BorrowerVisit, *, offered: Mapping[str, Any] | None = None, wrong: str = "",
    status: int = 200, given: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    name = visit.request.path_params["loan"]
    async with visit.platform.reading(visit.principal) as read:
        found, currency = await read.loan(name), read.moment.lender.currency
        number = visit.principal.user_id
        asked = await help_reads.hardship_requests(read.transaction, read.moment.vault, number)
        plans = [each for each in await help_reads.plans(read.transaction, number)
                 if each["loan"] == found["loan"]]  # fmt: skip
    return visit.page(
        "help", visit.texts["my_help"], status, loan=found, offered=offered, wrong=wrong,
        kinds=[each.value for each in PlanKind if each is not PlanKind.SETTLEMENT],
        reasons=REASONS, given=given or {}, asked=asked, plans=plans,
        money=lambda minor: printed(minor, currency),
        done=visit.texts.get("my_done_" + visit.request.query_params.get("done", ""), ""),
    )  # fmt: skip


async def complaint(visit: BorrowerVisit) -> Response:
    """The form of a complaint."""
    return visit.page("complaint", visit.texts["my_complaint"], wrong="", given={},
                      subjects=SUBJECTS)  # fmt: skip


async def complain(visit: BorrowerVisit) -> Response:
    """Take a complaint."""
    given = await form(visit.request)
    body = {"user": visit.user, "subject": given.get("subject", ""), "text": given.get("text", "")}
    try:
        await visit.do("complaint.open", body, given.get("key", ""))
    except PlatformError as error:
        return visit.page("complaint", visit.texts["my_complaint"], error.http_status, given=given,
                          wrong=str(error), subjects=SUBJECTS)  # fmt: skip
    return redirect(f"{MINE}?done=complaint")


async def data(visit: BorrowerVisit, wrong: str = "", status: int = 200) -> Response:
    """Consents, the copy of one's data, and the wish to be forgotten."""
    async with visit.platform.reading(visit.principal) as read:
        given = {each["purpose"]: each for each in await read.consents(visit.user)}
    return visit.page("data", visit.texts["my_data"], status, consents=given, purposes=PURPOSES,
                      wrong=wrong)  # fmt: skip


async def consent(visit: BorrowerVisit) -> Response:
    """Grant a purpose, or withdraw it."""
    given = await form(visit.request)
    body = {"user": visit.user, "purpose": given.get("purpose", ""),
            "text_version": TEXT_VERSION, "granted": given.get("granted") == "1"}  # fmt: skip
    if body["purpose"] not in PURPOSES:
        raise NotFound("there is no such purpose", where="purpose", fix="Use the buttons")
    await visit.do("consent.give", body, given.get("key", ""))
    return redirect(f"{MINE}/data")


async def export(visit: BorrowerVisit) -> Response:
    """Everything that is known about the borrower, as a file."""
    import json

    given = await form(visit.request)
    told = await visit.do("user.export", {"user": visit.user}, given.get("key", ""))
    content = json.dumps(told.get("data", told), ensure_ascii=False, indent=1)
    headers = {"Content-Disposition": 'attachment; filename="my-data.json"'}
    return Response(content, 200, headers, "application/json")


async def erase(visit: BorrowerVisit) -> Response:
    """Forget the borrower, once they have said it twice; loans stay, of nobody in particular."""
    given = await form(visit.request)
    if given.get("sure") != "1":
        return await data(visit, visit.texts["my_erase_sure"], 400)
    async with visit.platform.reading(visit.principal) as read:
        loans = await read.user_loans(visit.user)
    if any(each["status"] == "active" for each in loans):
        return await data(visit, visit.texts["my_erase_open"], 409)
    await visit.do("user.erase", {"user": visit.user}, given.get("key", ""))
    return await _left(visit)


def products_of(read: Reading, lines: list[dict[str, Any]]) -> list[str]:
    """Products that may be drawn on the lines there are."""
    lender = read.moment.lender
    names = [each.label for each in Product if each.label in lender.products]
    own = {each["product"] for each in lines if each["available_minor"]}
    return names if lender.has_one_line and own else [each for each in names if each in own]
