"""Routes of institutions: offers and their answers, mandates, their own loans."""

from __future__ import annotations

from typing import Any

from usance.base.ids import parse_id, print_id
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval, Offer, OfferState
from usance.platform.api.groups import Group
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_cursor
from usance.platform.api.parameters import PAGED, one_of
from usance.platform.api.shapes import Loan, Object, Page
from usance.platform.principals import PrincipalKind
from usance.platform.reads.institutions import funded_loans, mandate_rows
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
    return await read.offer(call.path["offer"])


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
group.command("/offers/{offer}/answer", "offer.answer", {200: OfferState})
group.read("/mandates", Page[Object], mandates, query=PAGED,
           scopes=("institution", "control", "operations"))  # fmt: skip
group.command("/mandates", "mandate.put", {202: Approval})
group.read("/institution/loans", Page[Loan], institution_loans, query=PAGED)
