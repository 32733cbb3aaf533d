"""Routes of third-party guarantors: claims answered and disputed, deposits, files and letters."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval, Claim, Guarantor
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.pages import page
from usance.platform.api.parameters import PAGED, one_of
from usance.platform.api.shapes import Object, Page
from usance.platform.reads.loans.letters import claim_letter
from usance.platform.reads.reading import Reading
from usance.platform.reads.settlement import guarantors as reads
from usance.service.documents.letter_values import LANGUAGES

group = Group("Guarantors", "operations", "finance")
PDF = "application/pdf"


async def guarantors(read: Reading, call: Call) -> Any:
    """Third-party guarantors with their deposits, calls and claims."""
    moment = read.moment
    rows = await reads.guarantors(read.transaction, moment.lender, moment.business_date)
    return page(rows, call.query, "guarantor")


async def deposit(read: Reading, call: Call) -> Any:
    """Movements of the deposit with a guarantor, with the balance after each."""
    number = reads.number_of(read.moment.lender, call.path["guarantor"])
    rows = await reads.deposit_moves(read.transaction, read.moment.lender, number)
    return page(rows, call.query, "no")


async def calls(read: Reading, call: Call) -> Any:
    """Calls of a guarantor to top up its deposit, the latest first."""
    number = reads.number_of(read.moment.lender, call.path["guarantor"])
    rows = await reads.deposit_calls(read.transaction, read.moment.lender, number)
    return page(rows, call.query, "day")


async def claim(read: Reading, call: Call) -> Any:
    """One claim with its answers."""
    moment = read.moment
    return await reads.one_claim(read.transaction, moment.lender, moment.business_date,
                                 call.path["claim"])  # fmt: skip


async def file(call: Call) -> Response:
    """The file of the claims that wait for a guarantor's answer."""
    async with call.platform.reading(call.principal) as read:
        number = reads.number_of(read.moment.lender, call.path["guarantor"])
        name, text = await reads.claims_file(read.transaction, read.moment.lender, number)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, 200, headers, "text/csv")


async def letter(call: Call) -> Response:
    """The letter of a claim as PDF."""
    async with call.platform.reading(call.principal) as read:
        made = await claim_letter(read, call.path["claim"], call.query.get("language", "en"))
    name = f"{call.path['claim']}.pdf"
    headers = {"Content-Disposition": f'inline; filename="{name}"', "Document-Sha256": made.sha256}
    return Response(made.pdf, 200, headers, PDF)


group.read("/guarantors", Page[Guarantor], guarantors, query=PAGED)
group.read("/guarantors/{guarantor}/deposit", Page[Object], deposit, query=PAGED)
group.read("/guarantors/{guarantor}/calls", Page[Object], calls, query=PAGED)
group.command("/guarantors/{guarantor}/deposit", "deposit.move", {200: Guarantor, 202: Approval})
group.add(
    "GET", "/guarantors/{guarantor}/claims-file", file, Access(frozenset(group.scopes)),
    {200: Page}, "The file of the claims that wait for a guarantor's answer.", files=("text/csv",),
)  # fmt: skip
group.read("/claims/{claim}", Claim, claim, scopes=("operations", "finance", "institution"))
group.command("/claims/{claim}/answer", "claim.answer", {200: Claim})
group.command("/claims/{claim}/dispute", "claim.dispute", {200: Claim})
group.command("/claims/{claim}/close", "claim.close", {200: Claim, 202: Approval})
group.command("/claims/{claim}/withdraw", "claim.withdraw", {200: Claim, 202: Approval})
group.add(
    "GET", "/claims/{claim}/letter", letter,
    Access(frozenset(group.scopes), query={"language": one_of(*LANGUAGES)}), {200: Page},
    "The letter of a claim as PDF.", files=(PDF,),
)  # fmt: skip
