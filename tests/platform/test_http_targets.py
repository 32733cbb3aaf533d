"""Connections to targets: kept, made again when they ended, and not deceived by odd answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from usance.platform.partners.http_targets import MAX_ANSWER, HttpTargets
from usance.platform.partners.outbound import Target

OK = b"HTTP/1.1 204 No Content\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\n\r\n"
Work = Callable[[HttpTargets, Target], Awaitable[None]]


def against(answers: list[bytes], work: Work, *, ends: bool = False) -> list[bytes]:
    """Do some work against a server with these answers in turn; what each connection asked."""
    asked: list[bytes] = []
    left, serving = iter(answers), list[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(b"")
        task = asyncio.current_task()
        assert task is not None
        serving.append(task)
        while head := await read_head(reader):
            asked[-1] += head
            length = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-L"))
            asked[-1] += await reader.readexactly(int(length.split(b":")[1]))
            writer.write(next(left))
            if ends:
                break
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def run() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            targets = HttpTargets(0.5)
            await work(targets, Target(f"http://127.0.0.1:{port}/a?b=1", "a.example", "a.example"))
            targets.close()
            await asyncio.gather(*serving)
        await asyncio.sleep(0.01)  # the loop closes what was ended

    asyncio.run(run())
    return asked


async def read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def test_a_connection_is_kept_and_told_the_name() -> None:
    async def twice(targets: HttpTargets, target: Target) -> None:
        for _ in range(2):
            assert await targets.post(target, b"{}", {"Usance-Signature": "t=1"}) // 100 == 2

    [told] = against([CHUNKED, OK], twice)
    one = (b"POST /a?b=1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n"
           b"Usance-Signature: t=1\r\n\r\n{}")  # fmt: skip
    assert told == one + one


def test_a_kept_connection_that_ended_is_made_again() -> None:
    async def twice(targets: HttpTargets, target: Target) -> None:
        for _ in range(2):
            assert await targets.post(target, b"{}", {}) == 204

    assert len(against([OK, OK], twice, ends=True)) == 2


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200),
        (CHUNKED, 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n" + b" " * 0x20002, 200),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil it ends", 200),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", 503),
        (b"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n", 302),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b" " * (MAX_ANSWER + 1), 200),
    ],
)
def test_the_status_of_an_answer_in_any_form(answer: bytes, status: int) -> None:
    async def once(targets: HttpTargets, target: Target) -> None:
        assert await targets.post(target, b"{}", {}) == status

    against([answer], once, ends=b"until" in answer or answer.startswith(b"HTTP/1.0"))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "not HTTP"),
        (b"", "^$"),
        (b"HTTP/1.1 20", "^$"),
        (b" " * 70_000, "not HTTP"),
        (b"HTTP/1.1 abc\r\n\r\n", "not HTTP"),
    ],
)
def test_what_is_no_answer(answer: bytes, problem: str) -> None:
    async def once(targets: HttpTargets, target: Target) -> None:
        with pytest.raises(OSError, match=problem):
            await targets.post(target, b"{}", {})

    assert len(against([answer], once)) == 1  # and is not asked again


def test_a_target_that_closes_at_once_is_asked_once() -> None:
    async def once(targets: HttpTargets, target: Target) -> None:
        with pytest.raises(ConnectionResetError):
            await targets.post(target, b"{}", {})

    assert len(against([b""], once, ends=True)) == 1
