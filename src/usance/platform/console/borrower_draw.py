"""Borrower pages of a loan to come: tenors side by side, an offer with its true cost, a contract.

The dearest and the cheapest tenor stand beside each other; nothing is chosen before the borrower
chooses.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from usance.base.dates import parse_moment
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.borrower_pages import BorrowerVisit, message_of, products_of
from usance.platform.console.frame import MINE, form, language_of, redirect
from usance.platform.errors import InvalidField, PlatformError
from usance.platform.reads.loans.letters import lender_name, name_of, quote_letter, statement_of
from usance.platform.reads.reading import Reading
from usance.platform.reads.shapes import moment_text
from usance.platform.security import borrower_access as access
from usance.service.documents.letters import Letter

TEMPLATE_VERSION = "1"
PDF = "application/pdf"


async def show(visit: BorrowerVisit) -> Response:
    """How much, for what, and what each tenor costs."""
    given = visit.request.query_params
    async with visit.platform.reading(visit.principal) as read:
        lines, moment = await read.lines(visit.user), read.moment
        products = products_of(read, lines)
    wrong = ""
    offers: list[dict[str, Any]] = []
    own = [line["product"] for line in lines if line["product"] in products]
    product = given.get("product") or next(iter([*own, *products]), "")
    if given.get("amount") and product in products:
        try:
            amount = minor_of(given["amount"], moment.lender.currency)
            offers, wrong = await _tenors(visit, product, amount, moment.lender)
        except InvalidField:
            wrong = visit.texts["my_no_amount"]
    return visit.page(
        "draw", visit.texts["my_draw"], lines=lines, products=products, product=product,
        typed=given.get("amount", ""), offers=offers, wrong=wrong,
        currency=moment.lender.currency.name,
        money=lambda minor: printed(minor, moment.lender.currency),
    )  # fmt: skip


async def _tenors(
    visit: BorrowerVisit, product: str, amount: int, lender: Any
) -> tuple[list[dict[str, Any]], str]:
    """A quote for every number of months there is, and why the others are none."""
    offers, wrong = [], ""
    for months in lender.products[product].months:
        body = {"user": visit.user, "product": product, "amount_minor": amount, "months": months}
        try:
            offers.append(await visit.do("quote.make", body, dry_run=True))
        except PlatformError as error:
            wrong = wrong or str(error)
    costs = [each["total_cost_minor"] for each in offers]
    for each in offers:
        each["mark"] = ("my_cheapest" if each["total_cost_minor"] == min(costs) else
                        "my_dearest" if each["total_cost_minor"] == max(costs) else "")  # fmt: skip
    return offers, "" if offers else wrong


async def choose(visit: BorrowerVisit) -> Response:
    """Make the quote of the tenor that was chosen."""
    given = await form(visit.request)
    async with visit.platform.reading(visit.principal) as read:
        currency = read.moment.lender.currency
    months = given.get("months", "")
    if not (months.isascii() and months.isdigit() and len(months) < 4):
        raise InvalidField("are no months", where="months", fix="Choose one that is offered")
    body = {"user": visit.user, "product": given.get("product", ""), "months": int(months),
            "amount_minor": minor_of(given.get("amount", ""), currency)}  # fmt: skip
    made = await visit.do("quote.make", body, given.get("key", ""))
    return redirect(f"{MINE}/offers/{made['quote']}")


async def offer(
    visit: BorrowerVisit,
    wrong: str = "",
    status: int = 200,
    code: str = "",
    *,
    is_sent: bool = False,
) -> Response:
    """An offer with its true annual cost and every fee, before anything is agreed."""
    async with visit.platform.reading(visit.principal) as read:
        quote, letter = await _contract(visit, read)
        moment = read.moment
        needs_code = await access.phone_of(read.transaction, visit.principal.user_id) is not None
        is_over = parse_moment(quote["valid_until"]) < moment.at
    return visit.page(
        "offer", visit.texts["my_offer"], status, quote=quote, sha256=letter.sha256, wrong=wrong,
        shown_at=moment_text(moment.at), needs_code=needs_code, code=code, is_sent=is_sent,
        is_over=is_over,
        money=lambda minor: printed(minor, moment.lender.currency),
    )  # fmt: skip


async def contract(visit: BorrowerVisit) -> Response:
    """The contract as PDF, before it is accepted."""
    async with visit.platform.reading(visit.principal) as read:
        quote, letter = await _contract(visit, read)
    headers = {"Content-Disposition": f'inline; filename="contract-{quote["quote"]}.pdf"'}
    return Response(letter.pdf, 200, headers, PDF)


async def accept(visit: BorrowerVisit) -> Response:
    """Agree to the contract that was shown, and draw; a known phone says yes by a code."""
    given = await form(visit.request)
    async with visit.platform.reading(visit.principal) as read:
        quote, letter = await _contract(visit, read)
        phone = await access.phone_of(read.transaction, visit.principal.user_id)
        now = read.moment.at
    vault = visit.platform.services.keys
    if given.get("step") == "code" and phone is not None:
        message = await message_of(visit.request, visit.texts)
        async with visit.platform.reading(visit.principal) as read:
            code = await access.step_up_code(
                read.transaction, vault, visit.principal.user_id, access.DRAW, message,
                visit.address,
            )  # fmt: skip
        return await offer(visit, code=code, is_sent=True)
    if given.get("read") != "1" or given.get("sha256") != letter.sha256:
        return await offer(visit, visit.texts["my_read_first"], 400)
    if phone is not None:
        pool = await visit.platform.database.pool()
        async with pool.acquire() as connection:
            is_right = await access.step_up(connection, vault, phone, access.DRAW,
                                            given.get("code", ""))  # fmt: skip
        if not is_right:
            return await offer(visit, visit.texts["my_code_wrong"], 401)
    key = given.get("key", "")
    agreed = await visit.do("agreement.make", {
        "quote": quote["quote"], "document_sha256": letter.sha256,
        "shown_at": given.get("shown_at", ""), "accepted_at": moment_text(now),
        "method": "borrower_page", "template_version": TEMPLATE_VERSION, "address": visit.address,
    }, f"{key}a")  # fmt: skip
    drawn = await visit.do("drawdown.request", {
        "user": visit.user, "product": quote["product"], "amount_minor": quote["amount_minor"],
        "months": quote["months"], "quote": quote["quote"], "agreement": agreed["agreement"],
    }, f"{key}d")  # fmt: skip
    return redirect(f"{MINE}/drawdowns/{drawn['loan']}")


async def drawdown(visit: BorrowerVisit) -> Response:
    """A drawdown on its way: who is asked, and how it ended."""
    async with visit.platform.reading(visit.principal) as read:
        found = await read.drawdown(visit.request.path_params["loan"])
        currency = read.moment.lender.currency
    if found["state"] == "active":
        return redirect(f"{MINE}/loans/{found['loan']}?done=drawn")
    return visit.page("drawdown", visit.texts["my_draw"], found=found,
                      money=lambda minor: printed(minor, currency))  # fmt: skip


async def statement(visit: BorrowerVisit) -> Response:
    """The statement of a loan as of today, as PDF."""
    async with visit.platform.reading(visit.principal) as read:
        told = await read.statement(visit.request.path_params["loan"])
        who = await name_of(read, visit.principal.user_id)
        lender, day = read.moment.lender, read.moment.business_date
    language, loan = language_of(visit.request), told["loan"]["loan"]
    letter = await asyncio.to_thread(statement_of, told, lender_name(lender), who, day, language)
    headers = {"Content-Disposition": f'inline; filename="statement-{loan}.pdf"'}
    return Response(letter.pdf, 200, headers, PDF)


async def _contract(visit: BorrowerVisit, read: Reading) -> tuple[dict[str, Any], Letter]:
    """A quote of the borrower's own, and the contract that it makes."""
    name = visit.request.path_params["quote"]
    return await quote_letter(read, name, language_of(visit.request), with_name=True)
