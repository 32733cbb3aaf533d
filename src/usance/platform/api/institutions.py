"""Routes of institutions: offers and their answers, mandates, their own loans."""

from __future__ import annotations

from typing import Any

from starlette.responses import HTMLResponse, Response

from usance.base.ids import parse_id, print_id
from usance.pages.reports.pre_loan_report import pre_loan_report as report_page
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval, Offer, OfferState
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_cursor
from usance.platform.api.parameters import PAGED, one_of
from usance.platform.api.shapes import Loan, Object, Page
from usance.platform.errors import NotFound
from usance.platform.principals import PrincipalKind
from usance.platform.reads.institutions import funded_loans, mandate_rows
from usance.platform.reads.pre_loan_reports import pre_loan_report
from usance.platform.reads.reading import Reading
from usance.platform.reads.shapes import moment_text

group = Group("Institutions", "institution")
OFFER_STATES = ("open", "approved", "declined", "timed_out", "released")


async def offers(read: Reading, call: Call) -> Any:
    """Offers to the institution, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.offers(call.query.get("state"), _after(call, "of"), limit + 1)
    return cut(rows, limit, "offer")


async def offer(read: Reading, call: Call) -> Any:
    """One offer with its pre-loan report."""
    found = await read.offer(call.path["offer"])
    number = parse_id(call.path["offer"], "of")
    report = await pre_loan_report(read.transaction, read.moment, number)
    return {**found, "report": {**found["report"], **report}}


async def offer_page(call: Call) -> Response:
    """The pre-loan report of an offer as a page to print."""
    async with call.platform.reading(call.principal) as read:
        number = parse_id(call.path["offer"], "of")
        report = await pre_loan_report(read.transaction, read.moment, number)
    if not report:
        raise NotFound("there is no report", where=call.path["offer"], fix="Ask for the offer")
    shown = call.ids.shown(report) if call.ids else report
    return HTMLResponse(report_page(shown))


async def institution_loans(read: Reading, call: Call) -> Any:
    """Loans that the institution funds."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    numbers = await funded_loans(read.transaction, _after(call, "ln"), limit + 1)
    known = moment_text(read.moment.at)
    rows = [{**await read.loan(print_id("ln", each)), "known_at": known} for each in numbers]
    return cut(rows, limit, "loan")


async def mandates(read: Reading, call: Call) -> Any:
    """Mandates by source and version; an institution sees its own."""
    who = call.principal
    own = who.party if who.kind is PrincipalKind.INSTITUTION else None
    return page(await mandate_rows(read.transaction, read.moment.lender, own), call.query,
                "source", "version")  # fmt: skip


def _after(call: Call, prefix: str) -> int:
    """The number that a page begins after."""
    if "after" not in call.query:
        return 0
    return parse_id(read_cursor(call.query["after"], str)[0], prefix)


group.read("/offers", Page[Offer], offers, query={"state": one_of(*OFFER_STATES), **PAGED})
group.read("/offers/{offer}", Offer, offer)
group.add(
    "GET", "/offers/{offer}/report", offer_page, Access(frozenset(group.scopes)), {200: Object},
    "The pre-loan report of an offer as a page to print.", kind=HTMLResponse,
)  # fmt: skip
group.command("/offers/{offer}/answer", "offer.answer", {200: OfferState})
group.read("/mandates", Page[Object], mandates, query=PAGED,
           scopes=("institution", "control", "operations"))  # fmt: skip
group.command("/mandates", "mandate.put", {202: Approval})
group.read("/institution/loans", Page[Loan], institution_loans, query=PAGED)
