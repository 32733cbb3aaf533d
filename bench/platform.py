"""The live platform in process: drawdowns and payments beside a bare insert of the same rows.

A bare insert is one call of a function that inserts the very rows of a command into tables without
triggers or row-level security, on as many connections as commands are in flight. Both wait for the
disk at every commit, and take turns in one run.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from bench.report import Report, best_seconds
from usance.base.codes import FactKind, FundingModel
from usance.base.ids import print_id
from usance.base.tables import TABLES
from usance.books.loans.fact_amounts import fact_amounts
from usance.books.posting_templates import posting_template
from usance.loan.facts import Fact
from usance.platform.closing.caches import compare_caches
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.day import HalfDay, serve_half
from usance.platform.lake.export import export
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.principals import Principal
from usance.platform.records.loan_fold import PackedLoan, unpack
from usance.platform.records.loan_record import load_loans
from usance.platform.settlement.owed_amounts import Parts, owed
from usance.platform.store.bulk import read_rows
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.twin_load import LOADED, load_tables
from usance.platform.vault import KEY_BYTES, Vault
from usance.service.loan_servicing import DayPart
from usance.service.settlement.batch import next_batches

COUNT = int(os.environ.get("USANCE_BENCH_COMMANDS", "512"))
"""Commands of a measurement."""
SIZES = [int(each) for each in os.environ.get("USANCE_BENCH_LOANS", "10000 100000").split()]
IN_FLIGHT = (1, 16, 64)
SETTLED, RECEIPTS = 10_000, 300_000
"""Loans that a settlement is measured on, and receipts of a day that it is scaled to."""
FULL = 100_000
"""Loans from which on a time is scaled to a million: it is linear from there."""
LATE_OF = 33
"""One loan of so many does not pay its first instalment."""
FIRST_CLONE = 1_000
AMOUNT = 100_000
DAY = date(2024, 7, 1)
GOOD: dict[str, Any] = {
    "document_valid": True, "face_match_ppm": 930_000, "card_check": "match", "age_years": 31,
    "occupation": "employee", "monthly_income_minor": 900_000, "requested_minor": 5_000_000,
    "bureau_inquiries_90d": 1, "bureau_open_loans": 2, "bureau_worst_days_24m": 0,
    "bureau_overdue_minor": 0, "bureau_debt_minor": 300_000, "bank_inflow_ppm": None,
    "device_age_days": 400,
}  # fmt: skip
CLONED = {
    "users": "user_id", "user_counters": "user_id", "decisions": "decision_id",
    "decision_inputs": "decision_id", "lines": "line_id", "applications": "decision_id line_id",
    "requests": "loan_id decision_id", "routing": "loan_id",
    "loans": "loan_id line_id decision_id", "facts": "loan_id", "loan_states": "loan_id",
    "placements": "loan_id decision_id line_id",
}  # fmt: skip
"""Tables of a borrower, with the columns that name their user."""
Asked = Callable[[int], Awaitable[object]]


def run(report: Report) -> None:
    """Every figure of the platform in process."""
    with tempfile.TemporaryDirectory() as folder:
        start_up(report, Path(folder) / "up")
        server = Embedded(Path(folder) / "server")
        server.start()
        try:
            asyncio.run(_measure(report, server))
        finally:
            server.stop()


def start_up(report: Report, home: Path) -> None:
    """From an empty folder to the line that says ready, kernels compiled before."""
    report.section("platform: usance up from an empty folder")
    begun = time.perf_counter()
    usance = Path(sys.executable).parent / "usance"
    command = [str(usance), "up", "--sandbox", "--home", str(home), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None, "the output is piped"
        line = process.stdout.readline()
        seconds = time.perf_counter() - begun
        process.terminate()
    assert json.loads(line)["ready"], "the first line says ready"
    report.at_most("to ready", seconds, 15, "s")


async def _measure(report: Report, server: Embedded) -> None:
    database = Database(server, "usance")
    await database.prepare()
    platform = Platform.of_database(database, Vault(bytes(32)))
    await platform.install(sandbox_document())
    owner = await asyncpg.connect(**server.connection(database="usance"))
    bench = Bench(report, platform, owner)
    try:
        await bench.prepare()
        for size in SIZES:
            await bench.grow(size)
            if size <= FULL:
                await bench.compare(size)
            await bench.end_of_day(size)
        await bench.settle(SETTLED)
        await bench.storage()
        await bench.amounts()
        await bench.load(server)
    finally:
        await owner.close()
        await platform.close()


class Bench:
    """One lender that grows, and the bare tables beside it."""

    def __init__(self, report: Report, platform: Platform, owner: asyncpg.Connection) -> None:
        self.report, self.platform, self.owner = report, platform, owner
        self.users = self.borrowers = 0
        """Clones so far, without and with a loan; users of loans are behind all the others."""
        self.day, self.paid, self.evenings = DAY, 0, 0
        self.numbers = self._numbers()

    def _numbers(self) -> Iterator[int]:
        number = 0
        while True:
            number += 1
            yield number

    async def prepare(self) -> None:
        """A user with a line, one with a loan paid once, one with a loan not paid; bare tables."""
        self.channel = await self.platform.principal("channel")
        self.provider = await self.platform.principal("provider")
        self.first = await self._user("line")
        self.second, self.third = await self._user("loan"), await self._user("late")
        await self.platform.do(self.channel, self._draw(self.third), key="late")
        key = "first"
        made = await self.platform.do(self.channel, self._draw(self.second), key=key)
        self.rows = {"drawdown": await self._rows_of("usance.loans")}
        await self._next_day()
        command = BookPayment(20_000, "CNY", self.day, "first", str(made.answer["loan"]))
        await self.platform.do(self.provider, command, key=key)
        self.rows["payment"] = await self._rows_of("usance.payments")
        for kind, rows in self.rows.items():
            await self._make_bare(kind, list(rows))
        size = await self._size()
        self.report.section(f"platform: rows of a drawdown and a payment, database {size >> 20} MB")
        for kind, rows in self.rows.items():
            counts = ", ".join(f"{len(own)} {name}" for name, own in rows.items())
            self.report.line(kind, "", counts)

    async def _user(self, ref: str) -> int:
        body = {"client_ref": ref, "region": 3}
        user = (await self.platform.do(self.channel, "user.register", body)).answer["user"]
        applied = {"user": user, "product": "instalment", "inputs": GOOD}
        made = await self.platform.do(self.channel, "application.decide", applied)
        assert made.answer["outcome"] == "approved", "a good applicant has a line"
        return int(await self.owner.fetchval("select max(user_id) from usance.users"))

    def _draw(self, user: int) -> Draw:
        return Draw(print_id("us", user), "instalment", AMOUNT, 6, inputs=GOOD)

    async def _next_day(self) -> None:
        self.day += timedelta(days=1)
        at = datetime(self.day.year, self.day.month, self.day.day, 4, tzinfo=UTC)
        await self.owner.execute("select usance.set_clock($1, $2)", at, self.day)

    async def _rows_of(self, table: str) -> dict[str, list[asyncpg.Record]]:
        """Every row that the transaction wrote which wrote the last row of a table."""
        xmin = await self.owner.fetchval(f"select xmin::text from {table} limit 1")
        names = await self.owner.fetch(
            "select tablename from pg_tables where schemaname = 'usance' and tablename not in "
            "('migrations', 'installation') order by 1"
        )
        found = {}
        for (name,) in names:
            rows = await self.owner.fetch(
                f"select * from usance.{name} where xmin::text = $1", xmin
            )  # fmt: skip
            if rows:
                found[name] = rows
        return found

    async def _make_bare(self, kind: str, names: list[str]) -> None:
        """Tables without guards, and the one call that inserts into them."""
        await self.owner.execute("create schema if not exists bare")
        for name in names:
            await self.owner.execute(
                f"create table if not exists bare.{name} (like usance.{name} including indexes)"
            )
        given = ", ".join(f"{name} bare.{name}[]" for name in names)
        inserts = " ".join(
            f"insert into bare.{name} select * from unnest({kind}.{name});" for name in names
        )
        await self.owner.execute(
            f"create function bare.{kind}({given}) returns void language plpgsql as "
            f"$$ begin {inserts} end $$"
        )
        await self.owner.execute(
            "grant usage on schema bare to usance_application;"
            "grant select, insert on all tables in schema bare to usance_application"
        )

    async def grow(self, loans: int) -> None:
        """Clone users with a line, and users with a loan, up to a number of loans."""
        wanted = len(IN_FLIGHT) * COUNT + 2 * COUNT
        await self._clone(self.first, FIRST_CLONE + self.users, wanted)
        self.fresh = FIRST_CLONE + self.users
        self.users += wanted
        last = (1 << 24) + self.borrowers
        more = loans - self.borrowers
        late = more // LATE_OF
        await self._clone(self.second, last, more - late)
        await self._clone(self.third, last + more - late, late)
        self.borrowers = loans
        await self._keys()
        await self.owner.execute("analyze")

    async def _keys(self) -> None:
        """A key for each user who was cloned, as whoever applied has one."""
        rows = await self.owner.fetch(
            "select user_id from usance.users u where not exists "
            "(select from usance.subject_keys k where k.subject = u.user_id)"
        )
        vault = self.platform.services.vault
        assert vault is not None, "a lender has a vault"
        await self.owner.executemany(
            "insert into usance.subject_keys (subject, wrapped) values ($1, $2)",
            [(user, vault.seal(user, "key", secrets.token_bytes(KEY_BYTES)))
             for (user,) in rows],
        )  # fmt: skip

    async def _clone(self, template: int, first: int, count: int) -> None:
        for name, keys in CLONED.items():
            listed = await self.owner.fetch(
                "select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 "
                "and not attisdropped and attname <> 'xid' order by attnum", f"usance.{name}",
            )  # fmt: skip
            columns = [row["attname"] for row in listed]
            shifted = [self._shifted(each, keys.split()) for each in columns]
            key = keys.split()[0]
            low, high = (template, template) if key == "user_id" else (
                template << 14, (template << 14) + 16_383)  # fmt: skip
            await self.owner.execute(
                f"insert into usance.{name} ({', '.join(columns)}) "
                f"select {', '.join(shifted)} from usance.{name} t, "
                f"generate_series($1::bigint, $2) n where t.{key} between $3 and $4",
                first, first + count - 1, low, high,
            )  # fmt: skip

    def _shifted(self, column: str, keys: list[str]) -> str:
        if column == "user_id":
            return "n"
        if column == "client_ref":
            return "'clone' || n"
        return f"n * 16384 + t.{column} % 16384" if column in keys else f"t.{column}"

    async def compare(self, loans: int) -> None:
        """Commands a second at some in flight, ours and bare in turns."""
        report = self.report
        report.section(f"platform: commands a second, {loans:,} loans, {COUNT} commands each")
        aims = {("drawdown", 16): 0.7, ("drawdown", 64): 1.4, ("payment", 16): 1.4}
        await self._rate(self._drawdowns(64), 64, 64)  # plans are made, the router is folded
        await self._next_day()
        await self._rate(self._payments(64), 64, 64)
        for kind, make in (("drawdown", self._drawdowns), ("payment", self._payments)):
            for flight in IN_FLIGHT:
                count = COUNT if flight > 1 else COUNT // 4
                await self._next_day()
                bare = await self._rate(self._bare(kind), flight, count)
                ours = await self._rate(make(count), flight, count)
                bare = max(bare, await self._rate(self._bare(kind), flight, count))
                report.line(f"{kind}, {flight} in flight: bare", f"{bare:,.0f} /s")
                report.line(f"{kind}, {flight} in flight: ours", f"{ours:,.0f} /s")
                aim = aims.get((kind, flight))
                if aim is not None:
                    report.at_least(f"{kind}, {flight} in flight: ratio", ours / bare, aim, "×")
                else:
                    report.line(f"{kind}, {flight} in flight: ratio", f"{ours / bare:.2f} ×")

    async def _rate(self, one: Asked, flight: int, count: int) -> float:
        """Calls a second with so many in flight."""
        left = iter(range(count))

        async def lane() -> None:
            for number in left:
                await one(number)

        begun = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(flight)))
        return count / (time.perf_counter() - begun)

    def _drawdowns(self, count: int) -> Asked:
        first, self.fresh = self.fresh, self.fresh + count

        async def one(number: int) -> None:
            command = self._draw(first + number)
            made = await self.platform.do(self.channel, command, key=f"d{first + number}")
            assert made.answer["state"] == "active", "every drawdown pays out"

        return one

    def _payments(self, _count: int) -> Asked:
        day, loan = self.day, (1 << 24 << 14) + 1

        async def one(number: int) -> None:
            ref = f"{day}/{number}"
            command = BookPayment(100, "CNY", day, ref, print_id("ln", loan + (number << 14)))
            await self.platform.do(self.provider, command, key=ref)

        return one

    def _bare(self, kind: str) -> Asked:
        rows, names = self.rows[kind], list(self.rows[kind])
        places = ", ".join(f"${n}" for n in range(1, len(names) + 1))
        sql, numbers = f"select bare.{kind}({places})", self.numbers

        async def one(_number: int) -> None:
            shift = next(numbers)
            given = [[_other(row, shift) for row in rows[name]] for name in names]
            pool = await self.platform.database.pool()
            async with pool.acquire() as connection:
                await connection.execute(sql, *given)

        return one

    async def _size(self) -> int:
        return int(await self.owner.fetchval("select pg_database_size(current_database())"))

    async def end_of_day(self, loans: int) -> None:
        """Both halves of a day, caches, and the export of 300,000 facts; time and processor time.

        The day lies behind the first due date: every loan is looked at, one of 33 is past due.
        """
        report, per_million = self.report, 1_000_000 / loans
        report.section(f"platform: the end of a day, {loans:,} open loans, one of {LATE_OF} late")
        day = DAY + timedelta(days=36 + self.evenings)
        self.evenings += 1
        seconds = 0.0
        for part in (DayPart.MORNING, DayPart.EVENING):
            spent = await self._spent(serve_half(self.platform, HalfDay(day, part)))
            seconds += spent[0]
            told = f"{spent[0] * per_million:.1f} s for a million; {spent[1]:.2f} s processor here"
            report.line(str(part), f"{spent[0]:.2f} s", told)
        if loans >= FULL:
            report.at_most("end of day, scaled to a million", seconds * per_million, 15, "s")
        if loans == SIZES[-1]:  # a half day is served once
            await self._day_of_fees()
        found, (spent_s, own) = None, (0.0, 0.0)

        async def compared() -> None:
            nonlocal found
            found = await compare_caches(self.platform)

        spent_s, own = await self._spent(compared())
        assert found is not None, "they were compared"
        report.line(f"comparison of {found.compared:,} caches", f"{spent_s:.2f} s",
                    f"{own:.2f} s processor here")  # fmt: skip
        if loans >= FULL:
            report.at_most("comparison, scaled to a million", spent_s * per_million, 60, "s")
        exported = await self._export_of_a_day(loans)
        if loans >= FULL:
            report.at_most("whole day, scaled to a million",
                           (seconds + exported) * per_million if loans < 1_000_000
                           else seconds + exported, 60, "s")  # fmt: skip

    async def _day_of_fees(self) -> None:
        """The one morning of a month on which everybody who is late is charged a fee."""
        half = HalfDay(DAY + timedelta(days=35), DayPart.MORNING)
        spent = await self._spent(serve_half(self.platform, half))
        fees = int(await self.owner.fetchval(
            "select count(*) from usance.facts where kind = $1", int(FactKind.FEE_CHARGED)
        ))  # fmt: skip
        told = f"{1e3 * spent[0] / fees:.2f} ms each; {spent[1]:.2f} s processor here"
        self.report.line(f"morning with {fees:,} late fees", f"{spent[0]:.2f} s", told)
        scaled = spent[0] * 1_000_000 / LATE_OF / fees
        self.report.at_most("the same for a million loans", scaled, 15, "s")

    async def _export_of_a_day(self, loans: int) -> float:
        """Seconds of the export of a day with a fact of each of so many loans, up to 300,000."""
        count = min(loans, RECEIPTS)
        with tempfile.TemporaryDirectory() as folder:
            async with self.platform.database.loader() as connection:
                begun = time.perf_counter()
                made = await export(connection, Path(folder) / "lake")
                seconds, rows = time.perf_counter() - begun, sum(made.rows.values())
                self.report.line(f"first export, {rows:,} rows", f"{seconds:.2f} s",
                                 f"{rows / seconds:,.0f} rows/s")  # fmt: skip
                await connection.execute(
                    "insert into usance.facts (loan_id, effective_on, kind, ref, amount_minor, arg,"
                    " booked_at) select loan_id, $1, $2, $3 + loan_id, 1, 1, clock_timestamp() "
                    "from (select loan_id from usance.loans order by loan_id desc limit $4) l",
                    self.day, int(FactKind.PAID), (1 << 61) + (self.evenings << 45), count,
                )  # fmt: skip
                begun, own = time.perf_counter(), time.process_time()
                made = await export(connection, Path(folder) / "lake")
                seconds, own = time.perf_counter() - begun, time.process_time() - own
        assert made.rows["facts"] == count, "the day's facts, and no more of them"
        self.report.line(f"export of a day with {count:,} facts", f"{seconds:.2f} s",
                         f"{own:.2f} s processor here")  # fmt: skip
        if count == RECEIPTS:
            self.report.at_most("export of a day with 300,000 facts", seconds, 30, "s")
        for sql in (
            "alter table usance.facts disable trigger append_only",
            "alter table usance.facts no force row level security",
            f"delete from usance.facts where ref >= {1 << 61}",  # states know nothing of them
            "alter table usance.facts force row level security",
            "alter table usance.facts enable trigger append_only",
        ):
            await self.owner.execute(sql)
        return seconds

    async def _spent(self, work: Awaitable[object]) -> tuple[float, float]:
        """Seconds by the clock, and of this process's processor."""
        begun, own = time.perf_counter(), time.process_time()
        await work
        return time.perf_counter() - begun, time.process_time() - own

    async def settle(self, loans: int) -> None:
        """A settlement of loans with a receipt of the day: read, folded, batched; processor time.

        The loans are the borrowers' own, read as the platform reads them, as if an institution had
        given their principal.
        """
        report, day = self.report, self.day
        report.section(f"platform: settlement of a day, {loans:,} loans with a receipt")
        rows = await self.owner.fetch(
            "select loan_id from usance.loan_states order by loan_id desc limit $1", loans
        )
        begun = time.process_time()
        async with self.platform.database.transaction(0) as transaction:
            found = await load_loans(transaction, sorted(row["loan_id"] for row in rows))
        read = time.process_time() - begun
        told = datetime.combine(day, datetime.min.time(), UTC)
        for loan in found:
            loan.first["model"] = int(FundingModel.CAPITAL_LIGHT)
            loan.facts.append(Fact(FactKind.PAID, day, 100, 1 << 60, 1, told))
        parts = Parts(found, {loan.loan_id: {loan.loan_id % 160 + 1: 1} for loan in found})
        since = {loan.loan_id: day for loan in found}
        owed(Parts(found[:1], parts.shares), {}, day, since)  # compiled and warm
        begun = time.process_time()
        made = next_batches(owed(parts, {}, day, since), [], day)
        folded = time.process_time() - begun
        assert sum(each.total_minor for each in made) == 100 * loans, "every receipt is settled"
        report.line("read from the database", f"{read:.2f} s", f"{1e6 * read / loans:.0f} us each")
        report.line("folded and batched", f"{folded:.2f} s", f"{1e6 * folded / loans:.0f} us each")
        scaled = (read + folded) * RECEIPTS / loans
        report.at_most(f"scaled to {RECEIPTS:,} receipts", scaled, 30, "s")

    async def storage(self) -> None:
        """Bytes on disk and in the log for each command, without full-page images."""
        self.report.section("platform: storage and log")
        await self.owner.execute("alter system set full_page_writes = off")
        await self.owner.execute("select pg_reload_conf()")
        aims = {"drawdown": (3_000, 5_000), "payment": (1_500, None)}
        for kind, make in (("drawdown", self._drawdowns), ("payment", self._payments)):
            await self._next_day()
            count = COUNT
            if kind == "payment":  # a state takes the room of the one before it, once there is some
                await self._rate(make(count), 16, count)
                await self.owner.execute("vacuum usance.loan_states")
                await self._next_day()
            await self.owner.execute("checkpoint")
            size, log = await self._used(), await self._log()
            await self._rate(make(count), 16, count)
            more = (await self._used() - size) / count
            written = await self.owner.fetchval(
                "select pg_wal_lsn_diff(pg_current_wal_lsn(), $1::text::pg_lsn)", log
            )
            aim, log_aim = aims[kind]
            self.report.at_most(f"bytes of a {kind}, indexes in", more, aim, "B")
            if log_aim:
                self.report.at_most(f"log of a {kind}", float(written) / count, log_aim, "B")
            else:
                self.report.line(f"log of a {kind}", f"{float(written) / count:,.0f} B")

    async def _log(self) -> str:
        return str(await self.owner.fetchval("select pg_current_wal_lsn()::text"))

    async def _used(self) -> int:
        """Bytes of all tables and indexes that hold rows of commands."""
        return int(await self.owner.fetchval(
            "select sum(pg_total_relation_size(format('usance.%I', tablename)))::bigint "
            "from pg_tables where schemaname = 'usance'"
        ))  # fmt: skip

    async def amounts(self) -> None:
        """Fact amounts of one fold, and the lines of one difference."""
        self.report.section("platform: postings of one fact")
        row = await self.owner.fetchrow(
            "select loan_id, version, is_open, form, model, source, cell, trigger_days, through, "
            "terms, state, posted from usance.loan_states limit 1"
        )
        loan = PackedLoan(*row)
        folded = unpack([loan])
        async with self.platform.reading(Principal(0, "system", self.channel.kind)) as reading:
            cell = reading.moment.lender.cells[loan.cell]
        template, moved = posting_template(cell, 1), fact_amounts(folded)[0].tolist()
        many = range(1_000)
        seconds = best_seconds(lambda: [fact_amounts(folded) for _ in many], 3)
        self.report.line("fact amounts of one loan", f"{seconds * 1e3:.1f} µs", "spec 2 µs")
        seconds = best_seconds(lambda: [template.lines(moved) for _ in many], 3)
        self.report.at_most("lines by the template of a cell", seconds * 1e3, 3, "µs")

    async def load(self, server: Embedded) -> None:
        """The tables of this lender, loaded into an empty one as a finished twin is."""
        self.report.section("platform: load of a finished twin")
        tables = {name: await read_rows(self.owner, TABLES[name]) for name in LOADED}
        await self.owner.execute("create database loaded")
        database = Database(server, "loaded")
        await database.prepare()
        document = {**sandbox_document(), "group_facts": ""}  # they come along
        await Platform.of_database(database).install(document)
        other = await asyncpg.connect(**server.connection(database="loaded"))
        try:
            begun = time.perf_counter()
            counts = await load_tables(other, tables, {}, {})
            seconds = time.perf_counter() - begun
        finally:
            await other.close()
            await database.close()
        rows = sum(counts.values())
        self.report.at_least(f"{rows:,} rows", rows / seconds, 200_000, "rows/s")


def _other(row: asyncpg.Record, shift: int) -> tuple[Any, ...]:
    """A row with other keys, so that it can be inserted again."""
    return tuple(
        value + (shift << 20) if name in KEYS and isinstance(value, int)
        else f"{value}-{shift}" if name in KEYS else value
        for name, value in row.items()
    )  # fmt: skip


KEYS = frozenset({
    "user_id", "loan_id", "decision_id", "journal_id", "payment_id", "event_id", "entry_id",
    "order_id", "reference", "own_reference", "key", "name", "client_ref", "request_id", "line_id",
})  # fmt: skip
