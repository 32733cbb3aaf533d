"""Providers over HTTP against a real server: slow, broken, lost and hostile answers.

The server keeps its own book of what it paid. Whatever it answers, an order is paid once at most,
and nothing is taken for its word that is none.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.platform.applicants import GOOD
from tests.platform.databases import fresh
from usance.platform.commands.control.clock import AdvanceClock
from usance.platform.errors import CircuitOpen, OutboundRefused, UnreadableAnswer
from usance.platform.lender import sandbox_document
from usance.platform.live import Platform
from usance.platform.partners.circuit_breaker import CircuitBreaker
from usance.platform.partners.dispatch import take_notices
from usance.platform.partners.http_provider import HttpProvider
from usance.platform.partners.signatures import is_signed, request_content
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault
from usance.service.orders.payment_order import EventKind, PaymentOrder, Purpose

SECRET = "a secret between the two of us"
START = datetime(2024, 7, 1, 1, tzinfo=UTC)


class Psp:
    """A payment provider with a book, and a habit for its next answers."""

    def __init__(self) -> None:
        self.habits: list[str] = []
        """One for each call to come; without any, it answers as it should."""
        self.orders: dict[str, dict[str, Any]] = {}
        self.paid: dict[str, int] = {}
        self.calls: list[str] = []
        self.notices: list[Any] = []
        self.files: dict[str, bytes] = {}
        psp = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_given: Any) -> None:
                return

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                psp.serve(self, body)

            def do_GET(self) -> None:
                psp.serve(self, b"")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/psp"

    def serve(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        self.calls.append(f"{request.command} {request.path}")
        content = request_content(request.command, request.path, body)
        if not is_signed(request.headers["Usance-Signature"], content, [SECRET], time.time()):
            return self.say(request, 401, b'{"error": "signature"}')
        habit = self.habits.pop(0) if self.habits else ""
        if habit == "down":
            return self.say(request, 503, b"<html>busy</html>")
        day = request.path.rpartition("/")[2]
        if day in self.files:
            return self.say(request, 200, self.files[day])
        told = self.answer(request, body)
        if habit == "lost":  # it did what was asked and the answer breaks off
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
            return None
        if habit == "slow":
            time.sleep(1.5)
        if habit == "drip":
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
            for _ in range(20):
                try:
                    request.wfile.write(b" ")
                except OSError:
                    return None
                time.sleep(0.1)
            return None
        status, said = told
        broken = {
            "garbage": b"\xff\xfe<html>", "list": b"[]",
            "other": b'{"reference": "OR9", "state": "settled"}',
            "no_amount": json.dumps({**said, "state": "settled", "amount_minor": None}).encode(),
            "true": json.dumps({**said, "state": "settled", "amount_minor": True,
                                "provider_ref": "T", "moved_on": "2024-07-01"}).encode(),
            "state": json.dumps({**said, "state": "perhaps"}).encode(),
            "twice": b'{"reference": "OR1", "reference": "OR2", "state": "settled"}',
            "huge": b" " * (2 << 20), "empty": b"", "deep": b"[" * 100_000,
            "proxy": b"<html>404 not found</html>",
        }.get(habit)  # fmt: skip
        return self.say(request, 404 if habit == "proxy" else status,
                        json.dumps(said).encode() if broken is None else broken)  # fmt: skip

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, Any]]:
        path = request.path.removeprefix("/psp")
        if path.startswith("/notices"):
            after = int(path.partition("=")[2] or 0)
            return 200, {"notices": self.notices[after:], "next": str(len(self.notices))}
        if request.command == "POST":
            told = json.loads(body)
            assert request.headers["Idempotency-Key"] == told["reference"]
            known = self.orders.setdefault(told["reference"], {
                "reference": told["reference"], "state": "settled", "moved_on": "2024-07-01",
                "amount_minor": told["amount_minor"], "provider_ref": f"T{len(self.orders)}",
            })  # fmt: skip
            self.paid.setdefault(told["reference"], told["amount_minor"])
            return 200, known
        reference = path.rpartition("/")[2]
        missing = {"reference": reference, "state": "not_found"}
        return (200, self.orders[reference]) if reference in self.orders else (404, missing)

    @staticmethod
    def say(request: BaseHTTPRequestHandler, status: int, content: bytes) -> None:
        try:
            request.send_response(status)
            request.send_header("Content-Length", str(len(content)))
            request.end_headers()
            request.wfile.write(content)
        except OSError:
            return


@pytest.fixture
def psp() -> Iterator[Psp]:
    made = Psp()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def port_of(psp: Psp, **given: Any) -> HttpProvider:
    settings = {"timeout_seconds": 0.5, "breaker": CircuitBreaker(100), **given}
    return HttpProvider("psp_a", psp.url, SECRET, allow_private=True, **settings)


ORDER = PaymentOrder(
    order_id=1, purpose=Purpose.PAYOUT, reference="OR1", provider=1, party=1, currency="CNY",
    amount_minor=600_000, created_at=START, expires_at=START + timedelta(days=7), sends=1,
    sent_at=START,
)  # fmt: skip


def test_an_order_is_sent_signed_and_its_word_taken(psp: Psp) -> None:
    port = port_of(psp)
    assert port.status(ORDER).kind is EventKind.NOT_FOUND
    said = port.send(ORDER)
    assert (said.kind, said.amount_minor, said.provider_ref) == (EventKind.SETTLED, 600_000, "T0")
    assert port.send(ORDER)[3:] == said[3:] == port.status(ORDER)[3:]
    assert psp.paid == {"OR1": 600_000}
    stranger = port_of(psp)
    stranger.secret = "another"
    with pytest.raises(UnreadableAnswer, match="names no order"):
        stranger.send(ORDER)


@pytest.mark.parametrize("habit", [
    "slow", "drip", "lost", "down", "garbage", "list", "other", "no_amount", "true", "state",
    "twice", "huge", "empty", "deep", "proxy",
])  # fmt: skip
def test_what_is_no_word_says_nothing(psp: Psp, habit: str) -> None:
    port = port_of(psp)
    psp.habits = [habit, habit]
    began = time.monotonic()
    for verb in (port.send, port.status):
        with pytest.raises(OutboundRefused):
            verb(ORDER)
    assert time.monotonic() - began < 20, "a dripping answer has an end"
    assert port.breaker.failures == 2
    assert port.send(ORDER).kind is EventKind.SETTLED
    assert port.breaker.failures == 0


def test_a_provider_that_fails_in_a_row_is_left_alone(psp: Psp) -> None:
    port = port_of(psp, breaker=CircuitBreaker(opens_after=3, opens_seconds=0.3))
    psp.habits = ["down"] * 3
    for _ in range(3):
        with pytest.raises(UnreadableAnswer, match="503"):
            port.send(ORDER)
    assert port.is_away()
    with pytest.raises(CircuitOpen):
        port.send(ORDER)
    assert len(psp.calls) == 3
    time.sleep(0.35)
    assert port.send(ORDER).kind is EventKind.SETTLED
    assert not port.is_away()


def test_addresses_inside_are_refused_where_only_outside_ones_are_allowed(psp: Psp) -> None:
    port = HttpProvider("psp_a", psp.url, SECRET)
    with pytest.raises(Exception, match="no address to call"):
        port.send(ORDER)
    assert psp.calls == []


def test_notices_come_by_pages_and_a_broken_one_stops_no_other(psp: Psp) -> None:
    port = port_of(psp)
    good = {"reference": "OR1", "state": "settled", "amount_minor": 5, "provider_ref": "T1",
            "moved_on": "2024-07-01"}  # fmt: skip
    psp.notices = [good, {"reference": "OR2", "state": "settled"}, 5, {**good, "reference": "OR3"}]
    assert [each.reference for each in port.notices()] == ["OR1", "OR3"]
    assert list(port.notices()) == []
    psp.habits = ["list"]
    with pytest.raises(UnreadableAnswer):
        port.notices()


async def lent(platform: Platform) -> dict[str, Any]:
    channel = await platform.principal("channel")
    body = {"client_ref": "anna", "region": 3}
    user = (await platform.do(channel, "user.register", body)).answer["user"]
    account = {"user": user, "bank": "B", "number": "622200000000", "holder": "H", "debit": True}
    await platform.do(channel, "account.add", account)
    applied = {"user": user, "product": "instalment", "inputs": GOOD}
    await platform.do(channel, "application.decide", applied)
    draw = {"user": user, "product": "instalment", "amount_minor": 600_000, "months": 6}
    return dict((await platform.do(channel, "drawdown.request", draw)).answer)


def on_platform(server: Embedded, psp: Psp, name: str, work: Any, **terms: Any) -> None:
    """Some work on a lender whose provider is the one behind the address."""
    name = fresh(server, name)

    async def lived() -> None:
        document = sandbox_document()
        document["providers"] = {"psp_a": {
            "port": "http", "url": psp.url, "timeout_seconds": 5, "opens_seconds": 0.1,
            "finality_seconds": 4 * 3600, **terms,
        }}  # fmt: skip
        database = Database(server, name)
        await database.prepare()
        platform = Platform.of_database(database, Vault(bytes(32)))
        try:
            await platform.install(document, START)
            await work(platform)
        finally:
            await platform.close()

    asyncio.run(lived())


async def advance(platform: Platform, hours: float) -> None:
    control = await platform.principal("control")
    await platform.do(control, AdvanceClock(START + timedelta(hours=hours)))


async def state_of(platform: Platform, loan: str) -> str:
    async with platform.reading(await platform.principal("channel")) as read:
        return str((await read.drawdown(loan))["state"])


def test_a_payout_whose_answer_is_lost_is_asked_about_and_paid_once(
    server: Embedded, psp: Psp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USANCE_PROVIDER_PSP_A_SECRET", SECRET)

    async def work(platform: Platform) -> None:
        psp.habits = ["lost", "down", "garbage"]
        drawn = await lent(platform)
        await advance(platform, 0.1)
        assert await state_of(platform, drawn["loan"]) == "approved"
        await advance(platform, 2)
        assert await state_of(platform, drawn["loan"]) == "active"

    on_platform(server, psp, "http_lost", work)
    assert list(psp.paid.values()) == [600_000]
    assert [each.split()[0] for each in psp.calls] == ["POST", "GET", "GET", "GET"]


def test_a_payout_that_never_arrived_goes_again_after_finality_under_its_reference(
    server: Embedded, psp: Psp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USANCE_PROVIDER_PSP_A_SECRET", SECRET)

    async def work(platform: Platform) -> None:
        psp.habits = ["down"]
        drawn = await lent(platform)
        await advance(platform, 3.9)
        assert psp.paid == {}
        await advance(platform, 5)
        assert await state_of(platform, drawn["loan"]) == "active"

    on_platform(server, psp, "http_again", work)
    sent = [each for each in psp.calls if each.startswith("POST")]
    assert (len(sent), list(psp.paid.values())) == (2, [600_000])


def test_a_notice_about_an_order_of_another_provider_is_not_taken(
    server: Embedded, psp: Psp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """psp_b may not speak about what psp_a was asked to pay."""
    monkeypatch.setenv("USANCE_PROVIDER_PSP_A_SECRET", SECRET)
    monkeypatch.setenv("USANCE_PROVIDER_PSP_B_SECRET", SECRET)

    async def work(platform: Platform) -> None:
        psp.habits = ["down"]
        drawn = await lent(platform)
        await advance(platform, 0.01)
        async with platform.database.transaction(0) as transaction:
            reference = await transaction.fetchval("select own_reference from usance.orders")
        word = {"reference": reference, "state": "settled", "amount_minor": 600_000,
                "provider_ref": "T9", "moved_on": "2024-07-01"}  # fmt: skip
        psp.notices = [{**word, "reference": "of nobody"}, word]
        own = platform.providers.pop(1)
        assert isinstance(own, HttpProvider)
        platform.providers[2] = own
        platform.providers[1] = port_of(psp, cursor="2")
        assert await take_notices(platform) == 0
        assert await state_of(platform, drawn["loan"]) == "approved"
        platform.providers[1] = port_of(psp)
        assert await take_notices(platform) == 1
        assert await state_of(platform, drawn["loan"]) == "active"

    on_platform(server, psp, "http_other", work)


def test_without_a_secret_nothing_is_booked_as_sent(server: Embedded, psp: Psp) -> None:
    async def work(platform: Platform) -> None:
        drawn = await lent(platform)
        with pytest.raises(OutboundRefused, match="no secret"):
            await advance(platform, 1)
        assert await state_of(platform, drawn["loan"]) == "approved"
        async with platform.database.transaction(0) as transaction:
            assert await transaction.fetchval("select state from usance.orders") == "created"

    on_platform(server, psp, "http_secret", work)
    assert psp.calls == []


def test_the_file_of_a_day_is_text_or_not_there_yet(psp: Psp) -> None:
    port = port_of(psp)
    assert port.file(date(2024, 7, 1)) == ""
    psp.files["2024-07-01"] = b"order_no,provider_ref\n"
    assert port.file(date(2024, 7, 1)) == "order_no,provider_ref\n"
    psp.files["2024-07-01"] = b"\xff\xff"
    with pytest.raises(UnreadableAnswer, match="no UTF-8"):
        port.file(date(2024, 7, 1))
    psp.habits = ["down"]
    with pytest.raises(UnreadableAnswer, match="503"):
        port.file(date(2024, 7, 1))


def test_files_are_fetched_each_evening_until_they_are_there_and_reconciled(
    server: Embedded, psp: Psp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first evening's file comes a day late, the second one's is cut off and mended later."""
    monkeypatch.setenv("USANCE_PROVIDER_PSP_A_SECRET", SECRET)
    head = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer\n"

    async def runs(platform: Platform) -> list[tuple[str, str]]:
        async with platform.database.transaction(0) as transaction:
            rows = await transaction.fetch(
                "select day, name from usance.money_runs where name like 'file/%' order by day"
            )
        return [(str(row["day"]), row["name"]) for row in rows]

    async def work(platform: Platform) -> None:
        await lent(platform)
        await advance(platform, 24)
        [reference] = psp.paid
        assert await runs(platform) == []
        line = f"{reference},T0,2024-07-01,-6000.00,0,,0,Anna\n"
        psp.files["2024-07-01"] = (head + line).encode()
        psp.files["2024-07-02"] = (head + ",T1,2024-07-02,12").encode()
        await advance(platform, 48)
        assert await runs(platform) == [("2024-07-01", "file/psp_a")]
        psp.files["2024-07-02"] = (head + ",T1,2024-07-02,12.00,0,,0,Bo\n").encode()
        await advance(platform, 72)
        assert [day for day, _ in await runs(platform)] == ["2024-07-01", "2024-07-02"]
        async with platform.reading(await platform.principal("finance")) as read:
            assert [each["left_minor"] for each in await read.unallocated()] == [1_200]
            found = await read.breaks()
            assert [(each["class"], each["reference"], each["amount_minor"]) for each in found
                    if each["leg"] == "provider"] == []  # fmt: skip
        asked = sum(each == "GET /psp/files/2024-07-01" for each in psp.calls)
        await advance(platform, 96)
        assert sum(each == "GET /psp/files/2024-07-01" for each in psp.calls) == asked

    on_platform(server, psp, "http_files", work, profile="psp")
