"""Upgrades: a lender of every earlier schema keeps its rows and goes on living.

The rows of a lender who has lived are put into the schema of a version, as far as that had room
for them; the migrations after it run on these rows, not on an empty database.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox
from tests.platform.test_loan_states import differences
from usance.platform.errors import MigrationError
from usance.platform.store.database import Database
from usance.platform.store.migrations import Migration, migrate, shipped
from usance.platform.store.server import Embedded

Rows = dict[str, list[dict[str, Any]]]
VERSIONS = range(2, len(shipped()))
OFTEN = {9, 22, 31, len(shipped()) - 1}
"""Versions that every run of the tests upgrades: the first with a lender, and some since."""
ALIVE = 14
"""The first version whose lender can go on by itself: what came later has a beginning."""
NOT_FILLED = {"migrations", "live_tables"}
"""Tables that migrations fill."""


@pytest.fixture(scope="module")
def lived(server: Embedded, template: str) -> Rows:
    """Every row of a lender with borrowers, loans, payments, a reversal and what was refused."""
    sandbox = Sandbox(server, fresh(server, "lived", template))
    loans = [str(drawn(sandbox, borrower(sandbox, f"u{n}")).answer["loan"]) for n in range(3)]
    sandbox.do("control", "clock.advance", {"to": "2024-08-20T01:00:00Z"})
    paid = [sandbox.do("provider", "payment.book", payment(loan, f"p{n}"), key=f"p{n}").answer
            for n, loan in enumerate(loans[:2])]  # fmt: skip
    reverse = {"payment": paid[0]["payment"], "reason": "returned"}
    sandbox.do("operations", "payment.reverse", reverse)
    sandbox.do("operations", "fee.charge", {"loan": loans[2], "amount_minor": 1_000})
    return with_owner(server, sandbox.name, read)


def payment(loan: str, ref: str) -> dict[str, Any]:
    return {"loan": loan, "amount_minor": 40_000, "currency": "CNY", "ref": ref,
            "effective_on": "2024-08-19"}  # fmt: skip


async def read(connection: asyncpg.Connection) -> Rows:
    """All rows by table, as JSON has them."""
    names = await connection.fetch("select tablename from pg_tables where schemaname = 'usance'")
    return {
        name: [json.loads(row[0]) for row in
               await connection.fetch(f"select row_to_json(t)::text from usance.{name} t")]
        for name in (row["tablename"] for row in names)
    }  # fmt: skip


def told_in_full(rows: Rows) -> list[dict[str, Any]]:
    """Stored answers as they were before events carried them."""
    events = {row["event_id"]: row["data"] for row in rows["outbox"]}
    return [
        {**row, "answer": {"answer": events[row["event_id"]], "is_new": True, "status": 201}}
        if row["event_id"] else row for row in rows["idempotency"]
    ]  # fmt: skip


_COUNTED = "select exists (select from usance.counters where kind = $1)"


async def fill(connection: asyncpg.Connection, rows: Rows) -> Rows:
    """Put rows into the schema as it is, column by column as far as it has them."""
    there = await connection.fetch(
        "select c.relname, array_agg(a.attname::text) as columns from pg_attribute a "
        "join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = 'usance' and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped "
        "and a.attidentity = '' "
        "group by c.relname"
    )
    await connection.execute("set session_replication_role = replica")
    for table, columns in ((row["relname"], set(row["columns"])) for row in there):
        own = rows.get(table, [])
        if table == "counters":  # each kind comes with its migration
            own = [row for row in own if await connection.fetchval(_COUNTED, row["kind"])]
        if table in NOT_FILLED or not own:
            continue
        if table == "idempotency" and "event_id" not in columns:
            own = told_in_full(rows)
        await connection.execute(f"delete from usance.{table}")
        listed = ", ".join(f'"{name}"' for name in own[0] if name in columns)
        await connection.execute(
            f"insert into usance.{table} ({listed}) select {listed} from "
            f"json_populate_recordset(null::usance.{table}, $1)",
            json.dumps(own),
        )
    await connection.execute("set session_replication_role = origin")
    return await read(connection)


def upgraded(server: Embedded, rows: Rows, version: int) -> tuple[Sandbox, Rows, Rows]:
    """A lender of a version brought up to date, with its rows before and after."""
    sandbox = Sandbox(server, fresh(server, f"version_{version}"))
    steps = shipped()

    async def work(connection: asyncpg.Connection) -> tuple[Rows, Rows]:
        await migrate(connection, steps[:version])
        before = await fill(connection, rows)
        await migrate(connection, steps)
        return before, await read(connection)

    before, after = with_owner(server, sandbox.name, work)
    return sandbox, before, after


@pytest.mark.parametrize(
    "version",
    [each if each in OFTEN else pytest.param(each, marks=pytest.mark.nightly)
     for each in VERSIONS],
)  # fmt: skip
def test_a_lender_of_every_version_keeps_its_rows_and_lives_on(
    server: Embedded, lived: Rows, version: int
) -> None:
    sandbox, before, after = upgraded(server, lived, version)
    assert len(before["facts"]) == len(lived["facts"]) > 6
    for table, own in before.items():
        if table not in NOT_FILLED:
            kept = [{name: row[name] for name in own[0] if name in row} for row in after[table]]
            lost = [
                row for row in own if {k: v for k, v in row.items() if k in kept[0]} not in kept
            ]
            assert lost == [], table
    if version >= ALIVE:
        asyncio.run(Database(server, sandbox.name).prepare())  # as opening a lender does
        assert differences(sandbox) == []
        loan = str(drawn(sandbox, borrower(sandbox, "new")).answer["loan"])
        sandbox.do("control", "clock.advance", {"to": "2024-08-21T01:00:00Z"})
        for n, each in enumerate([loan, "ln_00000001G01"]):
            assert sandbox.do("provider", "payment.book", {
                **payment(each, f"again{n}"), "effective_on": "2024-08-20"}).is_new  # fmt: skip
        assert sandbox.do("provider", "payment.book", payment("ln_00000000G01", "p0"),
                          key="p0").is_replay  # fmt: skip
        assert differences(sandbox) == []


def test_a_failed_upgrade_leaves_the_version_before_it_working(
    server: Embedded, template: str
) -> None:
    sandbox = Sandbox(server, fresh(server, "failed_upgrade", template))
    loan = str(drawn(sandbox, borrower(sandbox)).answer["loan"])
    broken = Migration(
        len(shipped()) + 1, "broken",
        "alter table usance.payments drop column content; update usance.loan_states "
        "set state = ''; select 1 / count(*) from usance.payments",
    )  # fmt: skip
    with pytest.raises(MigrationError, match="division by zero"):
        with_owner(server, sandbox.name,
                   lambda connection: migrate(connection, [*shipped(), broken]))  # fmt: skip
    sandbox.do("control", "clock.advance", {"to": "2024-08-20T01:00:00Z"})
    assert sandbox.do("provider", "payment.book", payment(loan, "p")).is_new
    assert differences(sandbox) == []
