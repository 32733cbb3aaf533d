"""A finished twin in the database, as if it had been served there; life goes on from its last day.

Tables of the data contract go in by COPY; what the live system keeps beside them (counters of
users, states of loans, drawdowns, applications) is worked out from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from usance.base.arrays import I32, I64
from usance.base.book import Book
from usance.base.codes import Status
from usance.base.columns import arrays, sort
from usance.base.dates import from_day, last_of_month
from usance.base.tables import TABLES
from usance.books.loans.fact_amounts import booked_loans, fact_amounts, start_booked, step_booked
from usance.loan.batch import view_columns
from usance.loan.columns import FactColumns
from usance.loan.visible_facts import fact_columns, term_columns
from usance.platform.installation import PRODUCTS
from usance.platform.ledger.opening import post_opening
from usance.platform.lender import read_lender
from usance.platform.records.loan_fold import packed_states, packed_terms
from usance.platform.records.worst_days import WorstDays, late_receipts
from usance.platform.settlement.owed_amounts import institution_of
from usance.platform.store.bulk import load_rows

if TYPE_CHECKING:
    import asyncpg

LOADED = (
    "users", "decisions", "decision_inputs", "lines", "requests", "routing", "loans", "shares",
    "facts", "group_facts",
)  # fmt: skip
"""Tables that a twin and the database share, in the order of their rows' lives."""


async def load_book(
    connection: asyncpg.Connection, book: Book, months: Sequence[int], triggers: dict[int, int],
    fees: dict[int, int] | None = None,
) -> dict[str, int]:  # fmt: skip
    """Load months of a book into an installed database without users; rows by table.

    `triggers` are the days past due each source waits for, `fees` what its institution pays of a
    loan, in parts per million. The caller owns the database.
    """
    tables = {name: _of_months(book, name, months) for name in LOADED}
    counts = await load_tables(connection, tables, triggers, fees or {})
    limits = _of_months(book, "limits", months)
    if limits.num_rows:
        await load_rows(connection, TABLES["limits"], limits)
    if tables["loans"].num_rows:
        loans, facts = (sort(tables[name], TABLES[name]) for name in ("loans", "facts"))
        day = last_of_month(max(months))
        async with connection.transaction():
            await post_opening(connection, loans, facts, day)
        async with connection.transaction():
            await open_settlements(connection, day)
    return counts


async def open_settlements(connection: asyncpg.Connection, day: date) -> None:
    """Note what each institution was settled for before: receipts that had reached it by a day.

    Without it the first evening would owe every institution its whole past again.
    """
    lender = await read_lender(connection)
    usual = lender.parameters.at("servicing.clearing_lag", day).integer
    rows = await connection.fetch(
        "select distinct on (source) source, settlement_lag from usance.sources "
        "where valid_from <= $1 order by source, valid_from desc", day,
    )  # fmt: skip
    await connection.execute("set local role usance_writer")
    for (kind, _), number in lender.parties.items():
        if kind == "institution":
            lags = [row["settlement_lag"] for row in rows
                    if institution_of(lender, row["source"]) == number]  # fmt: skip
            through = day - timedelta(days=min(lags, default=usual))
            for statement in _OPENED:
                await connection.execute(statement, number, through)
    await connection.execute("reset role")


_OPENED = tuple(
    f"insert into usance.{name} (institution, day, through_xid) "  # noqa: S608
    "values ($1, $2, pg_snapshot_xmin(pg_current_snapshot())::text::bigint)"
    for name in ("settlement_openings", "settlement_marks")
)


async def load_tables(
    connection: asyncpg.Connection, tables: Mapping[str, pa.Table], triggers: dict[int, int],
    fees: dict[int, int],
) -> dict[str, int]:  # fmt: skip
    """Load tables of the contract, and everything that is worked out from them; rows by table."""
    async with connection.transaction():
        await connection.execute("set local role usance_loader")
        for name, rows in tables.items():
            if rows.num_rows:
                await load_rows(connection, TABLES[name], rows)
        await connection.execute("reset role")
        if tables["loans"].num_rows:
            loans, facts = (sort(tables[name], TABLES[name]) for name in ("loans", "facts"))
            states = loan_states(loans, facts, triggers, fees)
            await connection.execute("set local role usance_loader")
            await connection.copy_records_to_table(
                "loan_states", records=states, schema_name="usance", columns=STATE_COLUMNS
            )
            await connection.execute("reset role")
        await _derive(connection)
        if tables["loans"].num_rows:
            await _count_lateness(connection, loans, facts)
    return {name: rows.num_rows for name, rows in tables.items()}


def _of_months(book: Book, name: str, months: Sequence[int]) -> pa.Table:
    """The rows of some months; a month without any has no width of inputs either."""
    found = [book.read(name, month=month) for month in months]
    return pa.concat_tables([each for each in found if each.num_rows] or found[:1])


STATE_COLUMNS = (
    "loan_id", "is_open", "form", "model", "source", "cell", "trigger_days", "through", "terms",
    "state", "posted",
)  # fmt: skip


def loan_states(
    loans: pa.Table, facts: pa.Table, triggers: dict[int, int], fees: dict[int, int]
) -> list[tuple[Any, ...]]:
    """Rows of `loan_states`: each loan folded to the last day of its facts."""
    columns = arrays(loans)
    ids: I64 = columns["loan_id"]
    own_fees = [fees.get(source, 0) for source in columns["source"].tolist()]
    held = booked_loans(columns["model"].tolist(), columns["upfront_fee_minor"].tolist(), own_fees)
    known = fact_columns(facts, ids)
    last = int(known.day.max())
    stepped = step_booked(start_booked(term_columns(loans), held), known, last)
    posted = fact_amounts(stepped).astype("<i8")
    is_open = view_columns(stepped.states, last).column("status") != int(Status.CLOSED)
    cell = (columns["source"].astype(np.int64) - 1) * PRODUCTS + columns["product"] + 1
    return [
        (loan, alive, 0, model, source, own, triggers.get(source, 0), from_day(day), terms, state,
         amounts.tobytes())
        for loan, alive, model, source, own, day, terms, state, amounts in zip(
            ids.tolist(), is_open.tolist(), columns["model"].tolist(),
            columns["source"].tolist(), cell.tolist(), last_days(known).tolist(),
            packed_terms(stepped), packed_states(stepped), posted, strict=True)
    ]  # fmt: skip


def last_days(facts: FactColumns) -> I32:
    """The last day of each loan's facts; every loan has one."""
    return np.maximum.reduceat(facts.day, facts.offsets[:-1])


async def _derive(connection: asyncpg.Connection) -> None:
    """Counters, applications and drawdowns, from what was loaded."""
    for statement in _DERIVED:
        await connection.execute("set local role usance_writer")
        await connection.execute(statement)
        await connection.execute("reset role")


async def _count_lateness(connection: asyncpg.Connection, loans: pa.Table, facts: pa.Table) -> None:
    """How late each borrower has paid."""
    worst = WorstDays()
    for late in late_receipts(loans, facts):
        worst.note(*late)
    await connection.execute("set local role usance_writer")
    await connection.execute(
        "update usance.user_counters c set worst_days = w.days "
        "from unnest($1::bigint[], $2::integer[]) w (user_id, days) where c.user_id = w.user_id",
        list(worst), list(worst.values()),
    )  # fmt: skip
    await connection.execute("reset role")


_DERIVED = (
    """
    insert into usance.counters select 'group_fact', max(fact_id) from usance.group_facts having
    max(fact_id) > 0 on conflict (kind) do update set last = excluded.last
    """,
    """
    update usance.counters set last = (select coalesce(max(user_id), 0) from usance.users) where
    kind = 'user'
    """,
    """
    insert into usance.user_counters (user_id, decisions, lines, requests, borrowed) select
    u.user_id, coalesce(d.n, 0), coalesce(l.n, 0), greatest(coalesce(r.n, 0), coalesce(b.last,
    0)), coalesce(b.n, 0) from usance.users u left join (select decision_id / 16384 as u,
    max(decision_id % 16384) as n from usance.decisions group by 1) d on d.u = u.user_id left
    join (select line_id / 16384 as u, max(line_id % 16384) as n from usance.lines group by 1) l
    on l.u = u.user_id left join (select loan_id / 16384 as u, max(loan_id % 16384) as n from
    usance.requests group by 1) r on r.u = u.user_id left join (select loan_id / 16384 as u,
    count(distinct loan_id) as n, max(loan_id % 16384) as last from usance.loans group by 1) b
    on b.u = u.user_id
    """,
    """
    insert into usance.applications (decision_id, user_id, product, line_id, review_id) select
    d.decision_id, d.decision_id / 16384, coalesce(l.product, 1), coalesce(l.line_id, 0), 0 from
    usance.decisions d left join (select distinct on (line_id) * from usance.lines order by
    line_id, effective_on desc) l on l.line_id / 16384 = d.decision_id / 16384 where d.kind = 0
    """,
    """
    insert into usance.placements (loan_id, user_id, state, product, amount_minor, currency,
    months, decision_id, line_id, source, candidates, terms, requested_at, disbursed_on) select
    l.loan_id, l.loan_id / 16384, 'active', l.product, l.principal_minor, l.currency,
    l.instalments, l.decision_id, l.line_id, l.source, '[]', '{}', coalesce(r.requested_at,
    l.disbursed_on::timestamptz), l.disbursed_on from usance.loans l left join usance.requests r
    using (loan_id) where l.terms_no = 1
    """,
)


def last_moment(book: Book, months: list[int]) -> datetime:
    """The end of the last month of a book, in its time zone."""
    from zoneinfo import ZoneInfo

    day = last_of_month(max(months))
    zone = ZoneInfo(book.manifest.time_zone)
    return datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=zone)
