"""The platform over HTTP, and what its guards cost: rights, keys, sign-in, webhooks.

Two workers, the clients and the database share this machine; every command waits for the disk. What
a guard costs is a ratio of the same commands with and without it, in turns.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from bench.platform import GOOD
from bench.report import Report
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.partners.deliveries import Deliverer
from usance.platform.security.sessions import create_operator, owner_of_session, sign_in
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

COUNT = int(os.environ.get("USANCE_BENCH_REQUESTS", "400"))
"""Requests of a measurement."""
USERS, CLIENTS, WORKERS = 64, 16, 2
SESSIONS = 10_000
AMOUNT, PAID = 10_000, 100
NUMBERS = itertools.count(1)


def run(report: Report) -> None:
    """Every figure of the platform over HTTP, then of its guards in process."""
    with tempfile.TemporaryDirectory() as folder:
        with _served(Path(folder) / "up") as (url, keys):
            asyncio.run(_over_http(report, url, keys))
        server = Embedded(Path(folder) / "guards")
        server.start()
        try:
            asyncio.run(_guards(report, server))
        finally:
            server.stop()


@contextmanager
def _served(home: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A fresh sandbox that two workers serve."""
    usance = Path(sys.executable).with_name("usance")
    command = [str(usance), "up", "--sandbox", "--home", str(home), "--port", "0", "--workers",
               str(WORKERS)]  # fmt: skip
    serving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert serving.stdout is not None
        url = json.loads(serving.stdout.readline())["url"]
        yield url, json.loads((home / "sandbox.json").read_text())["keys"]
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait()


class Lane:
    """A connection with a key, and the seconds that each of its requests took.

    It writes and reads HTTP itself: a library's client takes as long as the server it measures.
    """

    def __init__(self, url: str, key: str, taken: list[float]) -> None:
        self.url, self.key, self.taken = httpx.URL(url), key, taken
        self.open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: Any) -> Any:
        """The answer to a request with a key of its own."""
        if self.open is None or self.open[0].at_eof():  # it rested for too long
            self.open = await asyncio.open_connection(self.url.host, self.url.port)
        (reader, writer), content = self.open, json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.url.host}\r\nAuthorization: Bearer {self.key}\r\n"
            f"Idempotency-Key: b{next(NUMBERS)}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        begun = time.perf_counter()
        writer.write(head.encode() + content)
        lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(each[16:]) for each in lines if each.startswith(b"content-length: "))
        answer = await reader.readexactly(length)
        self.taken.append(time.perf_counter() - begun)
        assert lines[0].startswith(b"http/1.1 2"), answer
        return json.loads(answer)

    def close(self) -> None:
        """Close the connection."""
        if self.open is not None:
            self.open[1].close()


@asynccontextmanager
async def _lanes(url: str, key: str, count: int) -> AsyncIterator[tuple[list[Lane], list[float]]]:
    taken: list[float] = []
    lanes = [Lane(url, key, taken) for _ in range(count)]
    yield lanes, taken
    for lane in lanes:
        lane.close()


async def _each(
    lanes: list[Lane], rows: list[Any], one: Callable[[Lane, Any], Awaitable[Any]]
) -> tuple[float, list[Any]]:
    """Seconds that rows take, handed to whichever client is free; with the answers."""
    left, answers = iter(rows), list[Any]()

    async def work(lane: Lane) -> None:
        for row in left:
            answers.append(await one(lane, row))

    begun = time.perf_counter()
    await asyncio.gather(*(work(lane) for lane in lanes))
    return time.perf_counter() - begun, answers


async def _over_http(report: Report, url: str, keys: dict[str, str]) -> None:
    async def bring(lane: Lane, number: int) -> str:
        user = (await lane.post("/v1/users", {"client_ref": f"u{number}", "region": 3}))["user"]
        applied = {"user": user, "product": "instalment", "inputs": GOOD}
        await lane.post("/v1/applications", applied)
        return str(user)

    async def draw(lane: Lane, user: str) -> str:
        body = {"user": user, "product": "instalment", "amount_minor": AMOUNT, "months": 6}
        made = await lane.post("/v1/drawdowns", body)
        assert made["state"] == "active", made
        return str(made["loan"])

    async def pay(lane: Lane, loan: str) -> None:
        await lane.post("/v1/payments", {
            "loan": loan, "amount_minor": PAID, "currency": "CNY", "effective_on": days[-1],
            "provider": "psp_a", "ref": f"r{next(NUMBERS)}"})  # fmt: skip

    async def next_day() -> None:
        """Money comes on a day after the loan's last fact; of the same day it is replayed."""
        async with _lanes(url, keys["control"], 1) as ([lane], _):
            to = f"2024-07-0{len(days) + 1}T05:00:00Z"
            days.append((await lane.post("/v1/clock/advance", {"to": to}))["business_date"])

    days = ["2024-07-01"]

    report.section(f"platform over HTTP: {WORKERS} workers, {CLIENTS} clients, one machine")
    async with _lanes(url, keys["channel"], CLIENTS) as (channels, taken):
        _, users = await _each(channels, list(range(USERS)), bring)
        rows = list(itertools.islice(itertools.cycle(users), COUNT))
        await _each(channels, rows[:USERS], draw)  # warm
        taken.clear()
        seconds, loans = await _each(channels, rows, draw)
        report.at_least("drawdowns", COUNT / seconds, 800, "/s")
        taken.clear()
        await _each(channels[:4], rows[: COUNT // 2], draw)
        report.at_most("drawdowns, 4 clients: p99", 1e3 * _p99(taken), 100, "ms")
    await next_day()
    async with _lanes(url, keys["provider"], CLIENTS) as (providers, taken):
        await _each(providers, loans[:USERS], pay)  # warm
        await next_day()
        seconds, _ = await _each(providers, loans, pay)
        report.at_least("payments", len(loans) / seconds, 1_500, "/s")
        await next_day()
        taken.clear()
        await _each(providers[:4], loans, pay)
        report.at_most("payments, 4 clients: p99", 1e3 * _p99(taken), 100, "ms")
        await next_day()
        taken.clear()
        await _each(providers[:1], loans[: COUNT // 2], pay)
        report.line("a payment, one at a time: p50", f"{1e3 * statistics.median(taken):.2f} ms")


def _p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100)[-1]


class Plain(Vault):
    """Keys that encrypt nothing, to see what encryption costs."""

    def seal(self, _subject: int, _column: str, plain: bytes) -> bytes:
        """The value itself."""
        return plain

    def open(self, _subject: int, _column: str, kept: bytes) -> bytes:
        """The value itself."""
        return kept


async def _guards(report: Report, server: Embedded) -> None:
    """What rights, encryption, sign-in and deliveries cost, in process."""
    platforms = []
    for name in ("guarded", "open"):
        database = Database(server, name)
        owner = await asyncpg.connect(**server.connection(database="postgres"))
        await owner.execute(f"create database {name}")
        await owner.close()
        await database.prepare()
        platform = Platform.of_database(database, Vault(bytes(32)))
        await platform.install(sandbox_document())
        platforms.append(platform)
    await _without_rights(server)
    try:
        report.section("platform: what its guards cost")
        await _rights(report, platforms)
        await _keys(report, platforms[0])
        await _entrance(report, platforms[0])
        await _webhooks(report, platforms[0])
    finally:
        for platform in platforms:
            await platform.close()


async def _without_rights(server: Embedded) -> None:
    owner = await asyncpg.connect(**server.connection(database="open"))
    for row in await owner.fetch("select relname from pg_class where relrowsecurity"):
        await owner.execute(f'alter table usance."{row["relname"]}" disable row level security')
    await owner.close()


async def _rights(report: Report, platforms: list[Platform]) -> None:
    """Payments with and without row-level security, in turns, 16 in flight."""
    loans: list[list[str]] = []
    for platform in platforms:
        channel, own = await platform.principal("channel"), []
        for number in range(USERS):
            body = {"client_ref": f"u{number}", "region": 3}
            user = (await platform.do(channel, "user.register", body)).answer["user"]
            applied = {"user": user, "product": "instalment", "inputs": GOOD}
            await platform.do(channel, "application.decide", applied)
            drawn = {"user": user, "product": "instalment", "amount_minor": 600_000, "months": 6}
            own.append((await platform.do(channel, "drawdown.request", drawn)).answer["loan"])
        loans.append(own)
    best = [float("inf"), float("inf")]
    for _ in range(5):
        for n, platform in enumerate(platforms):
            provider = await platform.principal("provider")
            left = iter(loans[n] * 2)

            async def lane(platform: Platform = platform, who: Any = provider,
                           left: Iterator[str] = left) -> None:  # fmt: skip
                for loan in left:
                    await platform.do(who, "payment.book", {
                        "loan": loan, "amount_minor": PAID, "currency": "CNY",
                        "effective_on": "2024-07-01", "provider": "psp_a",
                        "ref": f"r{next(NUMBERS)}"})  # fmt: skip

            begun = time.perf_counter()
            await asyncio.gather(*(lane() for _ in range(16)))
            best[n] = min(best[n], time.perf_counter() - begun)
    report.at_most("row-level security, share of a payment", 100 * (1 - best[1] / best[0]), 10, "%")


async def _keys(report: Report, platform: Platform) -> None:
    """Registration with a person, sealed and in clear, in turns."""
    channel = await platform.principal("channel")
    kept, best = platform.services.keys, {Vault: float("inf"), Plain: float("inf")}
    for _ in range(5):
        for kind in (Vault, Plain):
            platform.services.vault = kept if kind is Vault else Plain(kept.master)
            begun = time.perf_counter()
            for _ in range(COUNT // 10):
                number = next(NUMBERS)
                body = {"client_ref": f"k{number}", "region": 3}
                user = (await platform.do(channel, "user.register", body)).answer["user"]
                await platform.do(channel, "person.set", {
                    "user": user, "name": "Ada Lin", "national_id": f"{number:018}",
                    "phone": "+8613800000001"})  # fmt: skip
            best[kind] = min(best[kind], time.perf_counter() - begun)
    platform.services.vault = kept
    share = 100 * (1 - best[Plain] / best[Vault])
    report.at_most("encryption, share of a registration with a person", share, 5, "%")


async def _entrance(report: Report, platform: Platform) -> None:
    """Sign-in, and sessions looked up among one and among ten thousand."""
    pool, keys, word = await platform.database.pool(), platform.services.keys, "several words fit"
    async with pool.acquire() as connection:
        number = await create_operator(connection, "bench@lender.example", "auditor", word)
        taken = []
        for _ in range(9):
            begun = time.perf_counter()
            opened = await sign_in(connection, keys, "bench@lender.example", word)
            taken.append(1e3 * (time.perf_counter() - begun))
        told = statistics.median(taken)
        report.line("sign-in", f"{told:.0f} ms", "aim 50–100 ms", 50 <= told <= 100)
        alone = await _session_seconds(connection, opened.token)
        await connection.execute(
            "select count(usance.add_session($1, sha256(n::text::bytea), null, '', "
            "interval '1 hour')) from generate_series(1, $2) n", number, SESSIONS,
        )  # fmt: skip
        many = await _session_seconds(connection, opened.token)
    report.at_most(f"a session among {SESSIONS:,} to one alone", many / alone, 1.5, "×")


async def _session_seconds(connection: Any, token: str) -> float:
    best = float("inf")
    for _ in range(40):
        begun = time.perf_counter()
        for _ in range(50):
            await owner_of_session(connection, token)
        best = min(best, time.perf_counter() - begun)
    return best / 50


async def _webhooks(report: Report, platform: Platform) -> None:
    """Events told to a receiver of this machine, as fast as one deliverer can."""
    told = [0]

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                          if line.lower().startswith(b"content-length"))  # fmt: skip
            await reader.readexactly(length)
            told[0] += 1
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async def until_closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await take(reader, writer)
        except asyncio.IncompleteReadError:
            writer.close()

    receiver = await asyncio.start_server(until_closed, "127.0.0.1", 0)
    port = receiver.sockets[0].getsockname()[1]
    channel = await platform.principal("channel")
    await platform.do(channel, "webhook.add", {"url": f"http://127.0.0.1:{port}/"})
    for _ in range(COUNT):
        body = {"client_ref": f"w{next(NUMBERS)}", "region": 3}
        await platform.do(channel, "user.register", body)
    deliverer = Deliverer(platform.database, platform.services.keys, allow_private=True)
    begun = time.perf_counter()
    while told[0] < COUNT:
        await deliverer.step()
    seconds = time.perf_counter() - begun
    await deliverer.close()
    report.at_least("webhooks to a receiver of this machine", told[0] / seconds, 1_000, "/s")
    receiver.close()
