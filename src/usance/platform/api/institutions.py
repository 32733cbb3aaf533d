"""Routes of institutions: offers and their answers, mandates, their own loans."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import HTMLResponse, Response

from usance.base.ids import parse_id
from usance.pages.reports.pre_loan_report import pre_loan_report as report_page
from usance.pages.reports.pre_loan_report import report_rows
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval, Offer, OfferState
from usance.platform.api.documents import PDF
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_id_cursor
from usance.platform.api.parameters import PAGED, one_of
from usance.platform.api.shapes import Loan, Object, Page
from usance.platform.errors import NotFound
from usance.platform.principals import PrincipalKind
from usance.platform.reads.control.institutions import funded_loans, mandate_rows
from usance.platform.reads.lending.pre_loan_reports import pre_loan_report
from usance.platform.reads.loans.letters import lender_name, report_of
from usance.platform.reads.reading import Reading
from usance.platform.reads.shapes import moment_text
from usance.service.documents.letter_values import LANGUAGES

group = Group("Institutions", "institution")
OFFER_STATES = ("open", "approved", "declined", "timed_out", "released")


async def offers(read: Reading, call: Call) -> Any:
    """Offers to the institution, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.offers(call.query.get("state"), read_id_cursor(call.query, "of"), limit + 1)
    return cut(rows, limit, "offer")


async def offer(read: Reading, call: Call) -> Any:
    """One offer with its pre-loan report."""
    found = await read.offer(call.path["offer"])
    number = parse_id(call.path["offer"], "of")
    report = await pre_loan_report(read.transaction, read.moment, number)
    return {**found, "report": {**found["report"], **report}}


async def offer_page(call: Call) -> Response:
    """The pre-loan report of an offer as a page to print, or as PDF if that is asked for."""
    async with call.platform.reading(call.principal) as read:
        number = parse_id(call.path["offer"], "of")
        report = await pre_loan_report(read.transaction, read.moment, number)
        lender = lender_name(read.moment.lender)
    if not report:
        raise NotFound("there is no report", where=call.path["offer"], fix="Ask for the offer")
    shown = call.ids.encode(report) if call.ids else report
    if call.query.get("format", "html") == "html":
        return HTMLResponse(report_page(shown))
    language = call.query.get("language", LANGUAGES[0])
    letter = await asyncio.to_thread(report_of, shown, report_rows(shown), lender, language)
    headers = {"Content-Disposition": f'inline; filename="report-{call.path["offer"]}.pdf"',
               "Document-Sha256": letter.sha256}  # fmt: skip
    return Response(letter.pdf, 200, headers, PDF)


async def institution_loans(read: Reading, call: Call) -> Any:
    """Loans that the institution funds."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    numbers = await funded_loans(read.transaction, read_id_cursor(call.query, "ln"), limit + 1)
    known = moment_text(read.moment.at)
    rows = [{**each, "known_at": known} for each in await read.loans(numbers)]
    return cut(rows, limit, "loan")


async def mandates(read: Reading, call: Call) -> Any:
    """Mandates by source and version; an institution sees its own."""
    who = call.principal
    own = who.party if who.kind is PrincipalKind.INSTITUTION else None
    return page(await mandate_rows(read.transaction, read.moment.lender, own), call.query,
                "source", "version")  # fmt: skip


group.read("/offers", Page[Offer], offers, query={"state": one_of(*OFFER_STATES), **PAGED})
group.read("/offers/{offer}", Offer, offer)
group.add(
    "GET", "/offers/{offer}/report", offer_page,
    Access(frozenset(group.scopes),
           query={"format": one_of("html", "pdf"), "language": one_of(*LANGUAGES)}),
    {200: Object}, "The pre-loan report of an offer as a page to print, or as PDF.",
    files=("text/html", PDF),
)  # fmt: skip
group.command("/offers/{offer}/answer", "offer.answer", {200: OfferState})
group.read("/mandates", Page[Object], mandates, query=PAGED,
           scopes=("institution", "control", "operations"))  # fmt: skip
group.command("/mandates", "mandate.put", {202: Approval})
group.command("/mandates/try", "mandate.try", {200: Object})
group.read("/institution/loans", Page[Loan], institution_loans, query=PAGED)
