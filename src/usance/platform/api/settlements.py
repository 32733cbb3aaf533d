"""Routes of settlement: batches with their files, an institution's answer, claims."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from usance.base.ids import parse_id, print_id
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Claim, SettlementBatch
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_id_cursor
from usance.platform.api.parameters import PAGED, one_of
from usance.platform.api.shapes import Object, Page
from usance.platform.reads.reading import Reading
from usance.platform.reads.settlement.settlements import (
    load_batch,
    load_settlement,
    settlement_control,
)
from usance.platform.records.user_record import read_id
from usance.platform.security.permuted_ids import ids_of_party
from usance.platform.settlement.owed_amounts import InstitutionTerms
from usance.service.guarantees.claim import ClaimState
from usance.service.settlement.layout import write_file

group = Group("Institutions", "institution", "operations", "finance")
MEDIA = {"csv": "text/csv", "txt": "text/plain", "xml": "application/xml"}
"""Media types of files by their endings."""


async def settlements(read: Reading, call: Call) -> Any:
    """Settlement batches, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.settlements(
        call.query.get("state"), read_id_cursor(call.query, "se"), limit + 1
    )
    return cut(rows, limit, "settlement")


async def settlement(read: Reading, call: Call) -> Any:
    """One settlement batch with its lines."""
    return await read.settlement(call.path["settlement"])


async def claims(read: Reading, call: Call) -> Any:
    """Claims of loans that were compensated, in the order of their ids."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.claims(call.query.get("state"), read_id_cursor(call.query, "cl"), limit + 1)
    return cut(rows, limit, "claim")


async def control(read: Reading, call: Call) -> Any:
    """Each institution: what the ledger has posted for it, what batches told, the difference."""
    return page(await settlement_control(read.transaction, read.moment.lender), call.query,
                "institution")  # fmt: skip


async def file(call: Call) -> Response:
    """The file of a batch in the layout of its institution, with ids as it sees them."""
    async with call.platform.reading(call.principal) as read:
        name, content = await settlement_file(read, call.path["settlement"])
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, 200, headers, MEDIA[name.rpartition(".")[2]])


async def settlement_file(read: Reading, settlement: str) -> tuple[str, str]:
    """Name and text of a batch's file."""
    row = await load_settlement(read.transaction, read_id(settlement, "se", "settlement"))
    batch, lender = await load_batch(read.transaction, row), read.moment.lender
    layout = InstitutionTerms.of(lender, batch.institution).layout
    ids = ids_of_party(read.moment.vault, "institution", batch.institution)
    assert ids is not None, "institutions see ids of their own"
    lines = [
        each._replace(loan_id=parse_id(ids.encode(print_id("ln", each.loan_id)), "ln"))
        for each in batch.lines()
    ]
    name = lender.party_name("institution", batch.institution)
    return f"{name}-{batch.day}.{layout.suffix}", write_file(lines, layout)


_STATES = one_of("closed", "acknowledged", "disputed")
group.read("/settlements", Page[SettlementBatch], settlements, query={"state": _STATES, **PAGED})
group.read("/settlements/{settlement}", SettlementBatch, settlement)
group.add(
    "GET", "/settlements/{settlement}/file", file, Access(frozenset(group.scopes)), {200: Page},
    "The file of a batch in the layout of its institution.", files=MEDIA.values(),
)  # fmt: skip
group.command("/settlements/{settlement}/acknowledge", "settlement.acknowledge",
              {200: SettlementBatch})  # fmt: skip
group.read("/claims", Page[Claim], claims,
           query={"state": one_of(*(each.value for each in ClaimState)), **PAGED})  # fmt: skip
group.read("/settlement-control", Page[Object], control, query=PAGED,
           scopes=("finance", "operations"))  # fmt: skip
