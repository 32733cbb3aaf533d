"""Clients that are slow or away: others are served, and nobody holds a connection for ever."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.platform.api.served import Served, error_of, new_ref
from usance.platform.api.connections import HEAD_SECONDS
from usance.platform.api.guard import BODY_SECONDS

COUNT = 60
HALF_HEAD = b"POST /v1/users HTTP/1.1\r\nHost: lender\r\nX-Slow: "


class Slow:
    """Connections that say a part of what they promised, and then nothing."""

    def __init__(self, served: Served, said: bytes, count: int = COUNT) -> None:
        url = httpx.URL(served.url)
        self.sockets = [socket.create_connection((url.host, url.port or 80)) for _ in range(count)]
        for each in self.sockets:
            each.sendall(said)

    def close(self) -> None:
        for each in self.sockets:
            each.close()


@pytest.fixture
def half_open(served: Served) -> Iterator[Slow]:
    """Connections whose clients went away after half a head."""
    made = Slow(served, HALF_HEAD)
    yield made
    made.close()


def half_body(served: Served) -> bytes:
    """A request whose body does not come."""
    head = (f"POST /v1/users HTTP/1.1\r\nHost: lender\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {served.keys['channel']}\r\nIdempotency-Key: slow\r\n"
            f"Content-Length: 200\r\n\r\n")  # fmt: skip
    return head.encode() + b'{"client_ref": "sl'


@pytest.mark.slow
def test_others_are_served_and_slow_ones_are_sent_away(served: Served, half_open: Slow) -> None:
    slow = Slow(served, half_body(served))
    silent = Slow(served, b"")  # connected, and nothing more
    for _ in range(20):
        made = served.post("/v1/users", {"client_ref": new_ref(), "region": 3})
        assert made.status_code == 201
    for each in (*half_open.sockets, *silent.sockets):
        each.settimeout(HEAD_SECONDS * 3)
        assert each.recv(100) == b""  # closed by the server
    for each in slow.sockets:
        each.settimeout(BODY_SECONDS * 3)
        told = each.recv(4_000)
        assert b"400" in told.partition(b"\r\n")[0]
        while b"body_incomplete" not in told and (more := each.recv(4_000)):
            told += more
        assert b"body_incomplete" in told
    again = served.post("/v1/users", {"client_ref": new_ref(), "region": 3}, key="slow")
    assert again.status_code == 201  # the key of what never came is free
    slow.close()
    silent.close()


def test_a_client_that_reads_nothing_stops_nobody(served: Served) -> None:
    ask = (f"GET /v1/openapi.json HTTP/1.1\r\nHost: lender\r\n"
           f"Authorization: Bearer {served.keys['channel']}\r\n\r\n")  # fmt: skip
    deaf = Slow(served, ask.encode() * 5, 4)  # each answer is longer than what a socket holds
    for _ in range(10):
        assert served.get("/v1/clock").status_code == 200
    deaf.close()


def test_a_request_cut_off_in_its_body_leaves_nothing(served: Served) -> None:
    ref = new_ref()
    url = httpx.URL(served.url)
    body = f'{{"client_ref": "{ref}", "region": 3}}'.encode()
    head = half_body(served).partition(b"\r\n\r\n")[0].replace(b"200", str(len(body)).encode())
    with socket.create_connection((url.host, url.port or 80)) as cut:
        cut.sendall(head.replace(b"slow", b"cut") + b"\r\n\r\n" + body[:-1])
    time.sleep(0.2)
    assert served.get(f"/v1/users?client_ref={ref}").json()["data"] == []
    made = served.post("/v1/users", {"client_ref": ref, "region": 5}, key="cut")
    assert made.status_code == 201, error_of(made)
