"""Collections: the evening's cases of a million loans, the morning's allocation, `next` of agents.

The evening and `next` run on the live platform in process; time is processor time of this process
and the database's together where a row says so, else the clock's.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path

import asyncpg
import numpy as np

from bench.report import Report
from usance.platform.commands.collections.cases import ServeCases
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM, Principal
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault
from usance.service.collections.allocation import AgencyTerms, allocate
from usance.service.collections.candidates import Agent, Agents, CaseValues
from usance.twin.desk_year import ALLOCATION, BY_BALANCE, FIRST_COME, WAYS, Desk, years

LOANS = int(os.environ.get("USANCE_BENCH_CASE_LOANS", "1000000"))
"""Loans past due of the larger evening."""
CASES, AGENTS, CANDIDATES = 100_000, 500, 20
STAFF, ASKED, THINKS = 50, 10, 2.0
"""Agents who ask, how often each, and the seconds of one between two cases; a call takes minutes,
so this is far more than they ever ask."""
DAY = date(2024, 7, 2)


def run(report: Report) -> None:
    """Every figure of collections."""
    allocation(report)
    simulated_years(report)
    with tempfile.TemporaryDirectory() as folder:
        server = Embedded(Path(folder) / "server")
        server.start()
        try:
            asyncio.run(_live(report, server))
        finally:
            server.stop()


def allocation(report: Report) -> None:
    """A morning of many cases, with agencies, and the curve from an eighth to twice of it.

    Below a hundred thousand cases the arrays fit the processor's cache, and a case costs less.
    """
    report.section(f"collections: {CASES:,} cases to {AGENTS} agents, {CANDIDATES} candidates each")
    took, gaps, worked = {}, {}, {}
    for cases in (CASES // 8, CASES // 4, CASES // 2, CASES, 2 * CASES):
        work, agents, terms = morning(cases)
        begun = time.process_time()
        done = allocate(work, agents, terms, unfair_minor=2_000, max_candidates=CANDIDATES)
        took[cases] = time.process_time() - begun
        gaps[cases], worked[cases] = done.gap_ppm / 10_000, int((done.agent >= 0).sum())
        report.line(f"{cases:,} cases", f"{took[cases] / cases * 1e6:.1f} µs", "a case")
    report.at_most("allocation with its bound", took[CASES], 60, "s")
    report.at_most("gap to the bound", gaps[CASES], 1, "%")
    report.line("cases that somebody works", f"{worked[CASES]:,}")
    report.at_most("twice the cases take", took[2 * CASES] / took[CASES], 2.5, "times")


def simulated_years(report: Report, seeds: int = 5) -> None:
    """What an agent's hour brings over simulated years, each way on the same debtors."""
    desk = Desk()
    report.section(f"collections: {seeds} years of {desk.days} days, {desk.agents} agents, "
                   f"{desk.arrivals} new cases a day")  # fmt: skip
    made = [{year.way: year for year in years(desk, seed)} for seed in range(1, seeds + 1)]
    per_hour = {way: np.array([each[way].per_hour_minor for each in made]) for way in WAYS}
    for way in WAYS:
        shown = ", ".join(f"{each / 100:,.0f}" for each in per_hour[way])
        report.line(f"an hour brings, {way}", f"{per_hour[way].mean() / 100:,.0f}", shown)
    for way, aim in ((BY_BALANCE, 10.0), (FIRST_COME, 10.0)):
        more = (per_hour[ALLOCATION] / per_hour[way] - 1) * 100
        spread = f"{more.min():.1f} to {more.max():.1f}"
        report.at_least(f"allocation over {way} ({spread})", float(more.mean()), aim, "%")


def morning(cases: int, seed: int = 1) -> tuple[CaseValues, Agents, list[AgencyTerms]]:
    """Cases of every stage and two languages, agents of a house and five agencies."""
    random = np.random.default_rng(seed)
    staff = [
        Agent(f"a{n}", slots=int(random.integers(80, 220) * cases // CASES),
              stages=(1, 2, 3) if n % 6 == 0 else (3, 4, 5, 6),
              languages="zh en" if n % 4 == 0 else "zh",
              agency="" if n % 6 == 0 else f"g{n % 6}", skill_ppm=int(random.normal(1e6, 1e5)))
        for n in range(AGENTS)
    ]  # fmt: skip
    value = random.lognormal(9, 1.2, cases).astype(np.int64) - 2_000
    stage = random.choice([1, 2, 3, 4, 5], cases, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    spoken = np.where(random.random(cases) < 0.05, "en", "zh").tolist()
    last = np.where(random.random(cases) < 0.5, random.integers(0, AGENTS, cases), -1)
    work = CaseValues.of(np.arange(cases) + 1, value, stage, spoken, last, 500)
    most = cases // 5
    return work, Agents.of(staff), [AgencyTerms(f"g{n}", most, most // 2) for n in range(1, 6)]


async def _live(report: Report, server: Embedded) -> None:
    database = Database(server, "usance")
    await database.prepare()
    platform = Platform.of_database(database, Vault(bytes(32)))
    await platform.install(sandbox_document())
    owner = await asyncpg.connect(**server.connection(database="usance"))
    try:
        await _at(owner, DAY)
        await evenings(report, platform, owner)
        await agents_ask(report, platform, owner)
    finally:
        await owner.close()
        await platform.close()


async def _at(owner: asyncpg.Connection, day: date) -> None:
    at = datetime(day.year, day.month, day.day, 4, tzinfo=UTC)
    await owner.execute("select usance.set_clock($1, $2)", at, day)


async def evenings(report: Report, platform: Platform, owner: asyncpg.Connection) -> None:
    """The first evening of so many loans past due, and one more; a twentieth of them before.

    A twentieth is what a million active loans have past due; all of them is the worst there can be.
    """
    took: dict[int, float] = {}
    for loans in (LOANS // 20, LOANS):
        report.section(f"collections: an evening of {loans:,} loans past due")
        await owner.execute("truncate usance.cases, usance.case_days")
        for number, what in enumerate(("opened", "the next evening")):
            command = ServeCases(DAY.replace(day=DAY.day + number), arrears(loans, number))
            begun = time.perf_counter()
            told = (await platform.do(SYSTEM, command)).answer
            took[loans] = time.perf_counter() - begun
            report.at_most(f"{told['cases']:,} cases, {what}", took[loans], 60, "s")
            await owner.execute("vacuum analyze usance.cases")
    ratio = took[LOANS] / took[LOANS // 20]
    report.at_most("twenty times the loans take", ratio, 25, "times")


def arrears(loans: int, later: int) -> tuple[tuple[int, int, int, int], ...]:
    """Loans past due, two of a borrower in three; some of them paid by a later evening."""
    number = np.arange(loans)
    user = number * 2 // 3 + 1
    rows = np.stack([(user << 14) + 1 + number % 3, 1 + number % 170 + later,
                     5_000 + number % 90_000, 50_000 + number % 900_000], axis=1)  # fmt: skip
    kept = rows[(number % 50 != 7) | (later == 0)]
    return tuple(map(tuple, kept.tolist()))


async def agents_ask(report: Report, platform: Platform, owner: asyncpg.Connection) -> None:
    """Agents who ask for their next case, begin a contact and end it, at once."""
    report.section(f"collections: {STAFF} agents at work on {CASES:,} cases")
    staff = await _staffed(platform, owner)
    waited: list[float] = []
    users: list[str] = []

    async def one(who: Principal, number: int) -> None:
        await asyncio.sleep(THINKS * number / STAFF)
        for _ in range(ASKED):
            begun = time.perf_counter()
            found = (await platform.do(who, "case.next", {})).answer["case"]
            waited.append(time.perf_counter() - begun)
            users.append(found["user"])
            begin = {"user": found["user"], "channel": "voice"}
            contact = (await platform.do(who, "contact.begin", begin)).answer["contact"]
            await platform.do(who, "contact.end", {"contact": contact, "connected": True})
            await asyncio.sleep(THINKS)

    begun = time.process_time()
    await one(staff[0], 0)  # plans are made
    spent = (time.process_time() - begun) / ASKED
    report.line("processor time of a case: next, begun, ended", f"{spent * 1000:.1f} ms")
    alone = np.median(np.array(waited)) * 1000
    report.line("next, one agent alone, median", f"{alone:.2f} ms")
    waited.clear()
    users.clear()
    await asyncio.gather(*(one(who, number) for number, who in enumerate(staff)))
    ordered = np.sort(np.array(waited)) * 1000
    report.line("next, median", f"{ordered[len(ordered) // 2]:.2f} ms")
    report.at_most("next, 99th percentile", float(ordered[int(len(ordered) * 0.99)]), 20, "ms")
    report.line(
        "cases a second", f"{len(users) / (THINKS * ASKED):.0f}", "at the pace of the agents"
    )
    report.at_most("cases that two agents got", len(users) - len(set(users)), 0, "")


async def _staffed(platform: Platform, owner: asyncpg.Connection) -> list[Principal]:
    """Agents with as many cases each; the best of them are of borrowers who can be called."""
    await owner.execute("truncate usance.cases, usance.case_days")
    await owner.execute(
        "insert into usance.principals (principal_id, name, kind, scopes) select 1000 + n, "
        "'agent ' || n, 'operator', '{operations}' from generate_series(0, $1 - 1) n", STAFF,
    )  # fmt: skip
    channel = await platform.principal("channel")
    count = STAFF * (2 * ASKED + 2)
    for number in range(count):
        made = await platform.do(channel, "user.register",
                                 {"client_ref": f"d{number}", "region": 3})  # fmt: skip
        profile = {"user": made.answer["user"], "time_zone": "Asia/Shanghai",
                   "channels": ["voice"]}  # fmt: skip
        await platform.do(channel, "contact.profile", profile)
    await owner.execute(
        "insert into usance.cases (user_id, days_past_due, past_due_minor, stage, priority_minor, "
        "opened_on, agent, assigned) select n, 10, 50000, 2, "
        "case when n <= $2 then 1000000 else 0 end + 1000 + n % 997, '2024-06-20', 0, "
        "case when n % 10 = 0 and n > $2 then 0 else 1000 + n % $3 end "
        "from generate_series(1, $1) n", CASES, count, STAFF,
    )  # fmt: skip
    await owner.execute("vacuum analyze usance.cases")
    return [await platform.principal(f"agent {n}") for n in range(STAFF)]
