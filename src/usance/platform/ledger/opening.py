"""The opening of a ledger: what it would hold of loans that came from elsewhere, posted by cell."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.columns import arrays
from usance.base.dates import to_month
from usance.base.segments import cell_key
from usance.base.tables import TABLES
from usance.books.journal import CloseHead, JournalKind, journal_heads, loan_postings
from usance.books.loans.amounts import AMOUNTS, FACT_AMOUNT_PLACES
from usance.books.loans.cells import Sources
from usance.books.loans.fact_amounts import (
    BookedState,
    booked_loans,
    fact_amounts,
    start_booked,
    step_booked,
)
from usance.books.postings import Cells, post
from usance.books.rules import load_rules
from usance.loan.visible_facts import fact_columns, term_columns
from usance.platform.ledger.fact_postings import LIVE_JOURNAL
from usance.platform.lender import read_lender
from usance.platform.store.bulk import load_rows, read_rows

if TYPE_CHECKING:
    import asyncpg

ACTOR = "twin.load"
_SOURCE_TERMS = ("source", "valid_from", "valid_to", "fee_ppm", "settlement_lag")


def stepped_loans(
    loans: pa.Table, facts: pa.Table, day: date, fees: list[int] | None = None
) -> BookedState:
    """Loans with everything that happened to them up to a day, ready for their amounts."""
    columns = arrays(loans)
    held = booked_loans(columns["model"].tolist(), columns["upfront_fee_minor"].tolist(), fees)
    start = start_booked(term_columns(loans), held)
    return step_booked(start, fact_columns(facts, columns["loan_id"]), day)


async def post_opening(
    connection: asyncpg.Connection, loans: pa.Table, facts: pa.Table, day: date
) -> None:
    """Post by cell what the ledger would hold of the loans that came along, in their last month."""
    lender = await read_lender(connection)
    await connection.execute("set local role usance_loader")
    sources = arrays(await read_rows(connection, TABLES["sources"]))
    cells = arrays(await read_rows(connection, TABLES["cells"]))
    terms = Sources(*(sources[name].astype(np.int64) for name in _SOURCE_TERMS))
    columns = arrays(loans)
    first = np.flatnonzero(columns["terms_no"] == 1)
    fees, _ = terms.terms_of(columns["source"][first], columns["disbursed_on"][first], 0)
    amounts = fact_amounts(stepped_loans(loans, facts, day, fees.tolist()))
    keys = cell_key(cells["model"], cells["product"], cells["source"])
    order = np.argsort(keys)
    wanted = cell_key(*(columns[name][first] for name in ("model", "product", "source")))
    moved = np.zeros((len(keys), len(AMOUNTS)), np.int64)
    rows = order[np.searchsorted(keys[order], wanted)]
    np.add.at(moved, (rows[:, None], np.array(FACT_AMOUNT_PLACES)[None, :]), amounts)
    own = np.array([lender.cells[number] for number in cells["cell"].tolist()], np.int64).T
    dimensions = Cells(own[0], own[1], own[2], own[3] > 0, own[4], own[5])
    lines = post(moved, dimensions, load_rules(), lender.platform_entity)
    at = datetime.combine(day, time(), lender.zone)
    head = CloseHead(0, to_month(day), day, at, ACTOR)
    postings = loan_postings(lines, head, int(lender.currency), np.zeros(len(lines), np.int64))
    journals = journal_heads(postings, head, {}, "").drop_columns(["hash", "previous_hash"])
    empty = pa.array([""] * journals.num_rows)
    journals = journals.append_column("hash", empty).append_column("previous_hash", empty)
    live = LIVE_JOURNAL - head.first_id(JournalKind.LOANS)
    for name, table in (("journals", journals), ("postings", postings)):
        moved_ids = pc.add(table["journal_id"], live)
        await load_rows(connection, TABLES[name], table.set_column(
            table.column_names.index("journal_id"), "journal_id", moved_ids
        ))  # fmt: skip
    await connection.execute("reset role")
