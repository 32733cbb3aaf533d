"""Routes of documents as PDF: the contract of a quote or agreement, the statement of a loan."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from usance.platform.api.calls import Call
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.parameters import HISTORY, one_of
from usance.platform.api.shapes import Page, Statement
from usance.platform.principals import PrincipalKind
from usance.platform.reads.loans.letters import (
    agreement_letter,
    lender_name,
    name_of,
    plan_letter,
    quote_letter,
    statement_of,
)
from usance.platform.records.user_record import owner_of, read_id
from usance.service.documents.letter_values import LANGUAGES

group = Group("Channels", "channel", "operations", "finance")
PDF = "application/pdf"
LANGUAGE = one_of(*LANGUAGES)


async def agreement(call: Call) -> Response:
    """The contract of an agreement, with its hash and whether it is what was agreed to."""
    name = call.path["agreement"]
    async with call.platform.reading(call.principal) as read:
        letter, is_agreed = await agreement_letter(
            read, name, call.query.get("language"), with_name=_knows_people(call)
        )
    headers = {"Content-Disposition": f'inline; filename="{name}.pdf"',
               "Document-Sha256": letter.sha256, "Document-Is-Agreed": str(is_agreed).lower()
               }  # fmt: skip
    return Response(letter.pdf, 200, headers, PDF)


async def contract(call: Call) -> Response:
    """The contract of a quote before it is agreed to, with the hash that an agreement names."""
    name = call.path["quote"]
    async with call.platform.reading(call.principal) as read:
        _, letter = await quote_letter(read, name, call.query.get("language", LANGUAGES[0]),
                                       with_name=_knows_people(call))  # fmt: skip
    headers = {"Content-Disposition": f'inline; filename="contract-{name}.pdf"',
               "Document-Sha256": letter.sha256}  # fmt: skip
    return Response(letter.pdf, 200, headers, PDF)


async def statement(call: Call) -> Response:
    """A loan with its instalments and facts, as one document: JSON, or PDF if that is asked for."""
    async with call.platform.reading(call.principal) as read:
        told = await read.statement(
            call.path["loan"], call.query.get("as_of"), call.query.get("known_at")
        )
        if call.query.get("format", "json") == "json":
            return call.respond(told)
        user_id = owner_of(read_id(call.path["loan"], "ln", "loan"))
        who = await name_of(read, user_id) if _knows_people(call) else told["loan"]["user"]
        lender = lender_name(read.moment.lender)
        day = call.query.get("as_of", read.moment.business_date)
    told, who = call.ids.encode([told, who]) if call.ids else (told, who)
    language = call.query.get("language", LANGUAGES[0])
    letter = await asyncio.to_thread(statement_of, told, lender, who, day, language)
    name = f"statement-{told['loan']['loan']}-{day}.pdf"
    headers = {"Content-Disposition": f'inline; filename="{name}"',
               "Document-Sha256": letter.sha256}  # fmt: skip
    return Response(letter.pdf, 200, headers, PDF)


async def plan(call: Call) -> Response:
    """The letter of a plan that was offered, as PDF."""
    name = call.path["plan"]
    async with call.platform.reading(call.principal) as read:
        letter = await plan_letter(read, name, call.query.get("language", LANGUAGES[0]),
                                   with_name=_knows_people(call))  # fmt: skip
    headers = {"Content-Disposition": f'inline; filename="{name}.pdf"',
               "Document-Sha256": letter.sha256}  # fmt: skip
    return Response(letter.pdf, 200, headers, PDF)


def _knows_people(call: Call) -> bool:
    """True for channels, whose own borrowers these are; names are revealed to others by command."""
    return call.principal.kind is PrincipalKind.CHANNEL


group.add(
    "GET", "/quotes/{quote}/document", contract,
    Access(frozenset(group.scopes), query={"language": LANGUAGE}), {200: Page},
    "The contract of a quote as PDF, before it is agreed to.", files=(PDF,),
)  # fmt: skip
group.add(
    "GET", "/agreements/{agreement}/document", agreement,
    Access(frozenset(group.scopes), query={"language": LANGUAGE}), {200: Page},
    "The contract of an agreement as PDF.", files=(PDF,),
)  # fmt: skip
group.add(
    "GET", "/plans/{plan}/letter", plan,
    Access(frozenset(group.scopes), query={"language": LANGUAGE}), {200: Page},
    "The letter of a plan that was offered, as PDF.", files=(PDF,),
)  # fmt: skip
group.add(
    "GET", "/loans/{loan}/statement", statement,
    Access(frozenset((*group.scopes, "institution")),
           query={**HISTORY, "format": one_of("json", "pdf"),
                  "language": LANGUAGE}),
    {200: Statement}, "A loan with its instalments and facts, as one document.", also=(PDF,),
)  # fmt: skip
