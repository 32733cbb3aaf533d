"""Clearing posted live: what providers have passed on, each evening, by the days of each source.

What borrowers paid lies with payment providers until the days to settlement of its source are over.
Postings of receipts are gathered by cell, account and day; an evening posts what has become due, as
the difference to what was posted before, so that late and reversed receipts need no rule. A close
brings into the ledger what its own clearing comes to beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import to_month
from usance.books.chart import load_chart
from usance.books.loans.amounts import AMOUNTS
from usance.books.postings import Cells, Lines
from usance.books.postings import post as journals_of
from usance.books.rules import load_rules
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.ledger.fact_postings import FACT_RULES, LIVE_JOURNAL, Books
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.principals import Principal

CLEARED = {
    "providers_institution": "cleared_institution", "providers_principal": "cleared_principal",
    "providers_interest": "cleared_interest", "providers_fees": "cleared_fees",
    "providers_recovery": "cleared_recovery",
}  # fmt: skip
"""Amount that empties each account of cash with providers."""
CLEARING_RULES = frozenset(
    rule.number for rule in load_rules() if rule.amount in set(CLEARED.values())
)
"""Rules that are posted each evening, and completed by the close."""
CLEARING_JOURNAL = LIVE_JOURNAL | 1 << 51
"""Ids of these journals: beyond those of any user's."""
MAX_LINES = 120
"""Lines of one journal, whose numbers are of eight bits."""
_NEW = (
    "select cell, entity, account, effective_on as day, sum(amount_minor)::bigint as amount_minor"
    " from usance.postings where xid::text::bigint >= $1 and xid::text::bigint < $2"
    " and account = any($3) and rule = any($4) group by 1, 2, 3, 4"
)
_KNOWN = (
    "select d.* from unnest($1::smallint[], $2::smallint[], $3::smallint[], $4::date[])"
    " g (cell, entity, account, day) join usance.clearing_days d using (cell, entity, account, day)"
)
_OPEN = "select * from usance.clearing_days where amount_minor <> cleared_minor and day <= $1"
_LAGS = (
    "select c.cell, (select s.settlement_lag from usance.sources s where s.source = c.source"
    " and s.valid_from <= $1 order by s.valid_from desc limit 1) as lag from usance.cells c"
)
_NOW = "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_Place = tuple[int, int, int, date]


@dataclass(frozen=True)
class PostClearing:
    """Post what payment providers have passed on by a day."""

    day: date


async def post_clearing(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PostClearing
) -> Decided:
    """Take new receipts in, and post what is due by a day."""
    await transaction.execute("select pg_advisory_xact_lock(hashtext('clearing'))")
    changes = WriteSet()
    rows = await _days(transaction, changes, command.day)
    usual = moment.lender.parameters.at("servicing.clearing_lag", command.day).integer
    lags = {row["cell"]: usual if row["lag"] is None else row["lag"]
            for row in await transaction.fetch(_LAGS, command.day)}  # fmt: skip
    due = {place: row for place, row in rows.items()
           if place[3] + timedelta(days=lags.get(place[0], usual)) <= command.day}  # fmt: skip
    moved: dict[tuple[int, int], int] = {}
    for (cell, _, account, _), row in due.items():
        key = cell, account
        moved[key] = moved.get(key, 0) + row["amount_minor"] - row["cleared_minor"]
        row["cleared_minor"] = row["amount_minor"]
    for row in rows.values():
        changes.put("clearing_days", **row)
    journals = await _post(transaction, moment, command.day, moved, changes)
    answer = {"day": command.day.isoformat(), "cleared_minor": sum(moved.values()),
              "journals": journals}  # fmt: skip
    return Decided(answer, f"clearing/{command.day}", 0, changes, bool(changes.live_rows), DONE)


async def _days(
    transaction: asyncpg.Connection, changes: WriteSet, day: date
) -> dict[_Place, dict[str, Any]]:
    """Days that something was received on since, or that wait to be cleared."""
    through = await transaction.fetchval(_NOW)
    since = await transaction.fetchval("select through_xid from usance.clearing_mark") or 0
    chart = load_chart()
    accounts = [chart[name].number for name in CLEARED]
    new = await transaction.fetch(_NEW, since, through, accounts, sorted(FACT_RULES))
    if new:
        changes.put("clearing_mark", is_it=True, through_xid=through)
    known = await transaction.fetch(
        _KNOWN, *([row[name] for row in new] for name in ("cell", "entity", "account", "day"))
    )
    rows = {_place(row): dict(row) for row in [*await transaction.fetch(_OPEN, day), *known]}
    for row in new:
        held = rows.setdefault(_place(row), {**dict(row), "amount_minor": 0, "cleared_minor": 0})
        held["amount_minor"] += row["amount_minor"]
    return rows


def _place(row: Mapping[str, Any]) -> _Place:
    return row["cell"], row["entity"], row["account"], row["day"]


async def _post(
    transaction: asyncpg.Connection, moment: Moment, day: date,
    moved: Mapping[tuple[int, int], int], changes: WriteSet,
) -> int:  # fmt: skip
    """Add the journals of what has arrived, by cell and account; the number of them."""
    cells = sorted({cell for (cell, _), amount in moved.items() if amount})
    if not cells:
        return 0
    lines = list(_grouped(_lines(moment, cells, moved)))
    first = await transaction.fetchval("select usance.next_ids('clearing', $1)", len(lines))
    period = Books(moment.open_periods, moment.lender.cells).period_for(to_month(day))
    for number, group in enumerate(lines, start=first):
        changes.add(
            "journals", journal_id=CLEARING_JOURNAL + number, booked_at=moment.at, close_no=0,
            kind=0, actor="clearing.post", text="clearing.post", reverses=0, hash="",
            previous_hash="",
        )  # fmt: skip
        for line, values in enumerate(group, start=1):
            changes.add(
                "postings", journal_id=CLEARING_JOURNAL + number, line=line, period=period,
                effective_on=day, loan_id=0, currency=int(moment.lender.currency), **values,
            )  # fmt: skip
    return len(lines)


def _lines(moment: Moment, cells: Sequence[int], moved: Mapping[tuple[int, int], int]) -> Lines:
    accounts = load_chart().by_number
    keys = [moment.lender.cells[cell] for cell in cells]
    own = np.array([tuple(key) for key in keys], np.int64).T
    cash = load_chart()["cash"].number
    dimensions = Cells(own[0], own[1], own[2], own[3] > 0, *(np.where(each == 0, cash, each)
                                                             for each in own[4:6]))  # fmt: skip
    movement: I64 = np.zeros((len(cells), len(AMOUNTS)), np.int64)
    for (cell, account), amount in moved.items():
        if amount:
            place = AMOUNTS.index(CLEARED[accounts[account].name])
            movement[cells.index(cell), place] += amount
    return journals_of(movement, dimensions, load_rules(), moment.lender.platform_entity)


def _grouped(lines: Lines) -> Iterator[list[dict[str, Any]]]:
    """Lines of journals that sum to zero each, put together as far as one has room for them."""
    names = ("entity", "basis", "tag", "account", "rule", "cell", "amount")
    columns = [getattr(lines, name).tolist() for name in names]
    group: list[dict[str, Any]] = []
    ends = [*np.flatnonzero(np.diff(lines.journal)).tolist(), len(lines) - 1]
    start = 0
    for end in ends:
        own = [
            {**dict(zip(names[:-1], values[:-1], strict=True)), "amount_minor": values[-1]}
            for values in zip(*(column[start : end + 1] for column in columns), strict=True)
        ]
        if group and len(group) + len(own) > MAX_LINES:
            yield group
            group = []
        group += own
        start = end + 1
    yield group


async def cleared_live(
    transaction: asyncpg.Connection, first: int, last: int
) -> dict[tuple[int, ...], int]:
    """Sums that evenings have posted in some months, by rule, entity, basis, tag, account, cell."""
    rows = await transaction.fetch(
        "select p.rule, p.entity, p.basis, p.tag, p.account, p.cell, "
        "sum(p.amount_minor)::bigint as amount from usance.postings p "
        "join usance.journals j using (journal_id) where j.close_no = 0 and p.rule = any($1) "
        "and p.period between $2 and $3 group by 1, 2, 3, 4, 5, 6",
        sorted(CLEARING_RULES), first, last,
    )  # fmt: skip
    return {tuple(row)[:6]: row["amount"] for row in rows if row["amount"]}
