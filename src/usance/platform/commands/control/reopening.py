"""A period opened again: journals of its closes are taken back, and what came late is moved.

Facts are not moved, differences of amounts are: journals of a loan by month then come to what they
would have been, had the months not been closed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from usance.base.dates import first_of_month, last_of_month
from usance.books.periods import ClosePeriod
from usance.loan.facts import Fact
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.commands.unit_of_work import now
from usance.platform.ledger.fact_postings import (
    NOTHING,
    Amounts,
    Books,
    amounts_on,
    by_share,
    lines_of,
)
from usance.platform.ledger.recompute import institution_fee
from usance.platform.reads.shapes import moment_text
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

REVERSAL, MOVED = 8 << 24, 15 << 24
"""Places in the numbers of a close's journals for those that take them back, and for what a period
that is open again admits."""
LOANS_A_PIECE = 1_000


async def reopen(
    transaction: asyncpg.Connection, moment: Moment, period: ClosePeriod, rows: Sequence[Any]
) -> Decided:
    """Open a period and all after it: its closes are taken back, late differences moved into it."""
    first = period.months[0]
    at: datetime = (await now(transaction, moment.services)).at
    closes = await transaction.fetch(
        "select * from usance.closes where last >= $1 and state = 'effective' order by last", first
    )
    await transaction.execute("select usance.open_periods($1)", first)
    changes = WriteSet(changes_configuration=True)
    for each in closes:
        await _reverse(transaction, each["close_no"], changes, at)
        changes.put("closes", **{**dict(each), "state": "reopened",
                                 "controls": json.loads(each["controls"])})  # fmt: skip
    known = {row["period"]: row["closing_at"] for row in rows if row["closing_at"] and row["state"]}
    moved = await _move_admitted(transaction, moment, known, closes[0]["close_no"], changes, at)
    answer = {"period": period.label, "state": "open", "known_at": moment_text(min(known.values())),
              "reopened": [each["name"] for each in closes], "moved": moved}  # fmt: skip
    return Decided(answer, f"period/{period.label}", 0, changes, status=DONE, as_platform=True)


async def _reverse(
    transaction: asyncpg.Connection, close_no: int, changes: WriteSet, at: datetime
) -> None:
    """Add the journals that take those of a close back."""
    heads = await transaction.fetch(
        "select journal_id, text from usance.journals where close_no = $1 and reverses = 0 "
        "order by journal_id", close_no,
    )  # fmt: skip
    for head in heads:
        changes.add(
            "journals", journal_id=head["journal_id"] + REVERSAL, booked_at=at, close_no=close_no,
            kind=0, actor="period.move", text=head["text"], reverses=head["journal_id"], hash="",
            previous_hash="",
        )  # fmt: skip
    lines = await transaction.fetch(
        "select p.* from usance.postings p join usance.journals j using (journal_id) "
        "where j.close_no = $1 and j.reverses = 0 order by p.journal_id, p.line", close_no,
    )  # fmt: skip
    for line in lines:
        row = {name: value for name, value in dict(line).items() if name != "xid"}
        row |= {"journal_id": row["journal_id"] + REVERSAL, "amount_minor": -row["amount_minor"]}
        changes.add("postings", **row)


async def _move_admitted(
    transaction: asyncpg.Connection, moment: Moment, known: dict[int, datetime], close_no: int,
    changes: WriteSet, at: datetime,
) -> int:  # fmt: skip
    """Move what became known too late for a month from where it was posted into that month."""
    rows = await transaction.fetch(
        "select distinct loan_id from usance.facts where booked_at > $1 order by 1",
        min(known.values()),
    )  # fmt: skip
    ids = [row["loan_id"] for row in rows]
    number, moved = (close_no << 28) + MOVED, 0
    for start in range(0, len(ids), LOANS_A_PIECE):
        for loan in await load_loans(transaction, ids[start : start + LOANS_A_PIECE]):
            fee_ppm = institution_fee(moment.lender, loan)
            books = Books(moment.open_periods, moment.lender.cells, fee_ppm)
            parts = _displaced(loan, known, books.fee_ppm, at)
            moved += bool(parts)
            for month, amounts in parts:
                number += 1
                changes.add(
                    "journals", journal_id=number, booked_at=at, close_no=0, kind=0,
                    actor="period.move", text="period.move", reverses=0, hash="", previous_hash="",
                )  # fmt: skip
                lines = lines_of(books, loan.cells, amounts, moment.lender.platform_entity)
                for n, line in enumerate(lines, start=1):
                    changes.add(
                        "postings", journal_id=number, line=n, entity=line.entity,
                        basis=line.basis, tag=line.tag, account=line.account, period=month,
                        effective_on=first_of_month(month), rule=line.rule, cell=line.cell,
                        loan_id=loan.loan_id, amount_minor=line.amount_minor,
                        currency=int(moment.lender.currency),
                    )  # fmt: skip
    return moved


def _displaced(
    loan: LoanRecord, known: dict[int, datetime], fee_ppm: int, at: datetime
) -> list[tuple[int, Amounts]]:
    """By month, what has to be added to it; over all months it comes to nothing."""
    added: defaultdict[int, Amounts] = defaultdict(lambda: by_share(loan, NOTHING))
    for month, moment in known.items():
        was = amounts_on(loan, _known(loan, moment), last_of_month(month), fee_ppm)
        is_now = amounts_on(loan, _known(loan, at), last_of_month(month), fee_ppm)
        late = tuple(b - a for a, b in zip(was, is_now, strict=True))
        for place, sign in ((month, 1), (month + 1, -1)):
            pairs = zip(added[place], late, strict=True)
            added[place] = tuple(held + sign * each for held, each in pairs)
    return [(month, amounts) for month, amounts in sorted(added.items()) if any(amounts)]


def _known(loan: LoanRecord, moment: datetime) -> list[Fact]:
    return [each for each in loan.facts if each.booked_at <= moment]
