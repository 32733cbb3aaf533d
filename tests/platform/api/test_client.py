"""The client: typed calls, sent again with the same key until they are answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.platform.api.served import Served, new_ref
from usance.platform.client import calls
from usance.platform.client.client import AsyncClient, CallFailed, Client


class Flaky(BaseHTTPRequestHandler):
    """A server that drops, delays and refuses before it answers."""

    def do_POST(self) -> None:
        seen: list[str] = self.server.seen  # type: ignore[attr-defined]
        seen.append(self.headers["idempotency-key"])
        self.rfile.read(int(self.headers["content-length"]))
        if len(seen) == 1:
            self.connection.close()
            return
        status = {2: 503, 3: 429}.get(len(seen), 201)
        body = b'{"user": "us_00000000001"}' if status == 201 else b"<html>"
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def flaky() -> Iterator[ThreadingHTTPServer]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    running.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def test_a_call_is_tried_again_with_the_same_key(flaky: ThreadingHTTPServer) -> None:
    with Client(f"http://127.0.0.1:{flaky.server_address[1]}", "k") as client:
        answer = client.send(calls.register_user("anna", 3))
    assert answer["user"] == "us_00000000001"
    seen = flaky.seen  # type: ignore[attr-defined]
    assert len(seen) == 4
    assert len(set(seen)) == 1


def test_both_ways_give_the_same_answers(served: Served) -> None:
    ref = new_ref()
    with Client(served.url, served.keys["channel"]) as client:
        user = client.send(calls.register_user(ref, region=3))
        assert client.send(calls.user(user["user"])) == user
        with pytest.raises(CallFailed) as failed:
            client.send(calls.register_user(ref, region=4))
    assert (failed.value.status, failed.value.code) == (409, "client_ref_taken")
    assert failed.value.request_id.startswith("rq_")

    async def awaited() -> None:
        async with AsyncClient(served.url, served.keys["channel"]) as client:
            assert (await client.send(calls.users(ref)))["data"] == [user]
            assert (await client.send(calls.clock()))["business_date"] >= "2024-07-01"

    asyncio.run(awaited())
