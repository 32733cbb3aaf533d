"""Connections to the targets of webhooks: kept while they are used, one request at a time on each.

Of an answer the status alone is read; its body is passed over, up to a size. A client library
takes several times as long for a request as signing, sending and noting it do together.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from usance.platform.partners.outbound import Target

if TYPE_CHECKING:
    import ssl

MAX_ANSWER = 1 << 16
FINAL_STATUS = 200
"""Below it an answer only says that another one comes."""
_EMPTY = (204, 304)
"""Answers without a body, whatever they say."""


class AnswerHead(NamedTuple):
    """The beginning of an answer: its status, how its body ends, and if its connection is kept."""

    status: int
    length: int
    """Of its body; -1 where it ends with the connection."""
    is_chunked: bool
    keeps: bool


def read_head(text: bytes) -> AnswerHead:
    r"""The beginning of an answer.

    >>> read_head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    AnswerHead(status=200, length=5, is_chunked=False, keeps=True)
    """
    first, *lines = text.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
        raise OSError("the answer is not HTTP")
    named = {name.lower(): value.strip().lower() for name, _, value in
             (line.partition(":") for line in lines if line)}  # fmt: skip
    status, told = int(rest[:3]), named.get("content-length", "")
    is_chunked = named.get("transfer-encoding", "") == "chunked" and status not in _EMPTY
    length = 0 if status in _EMPTY else int(told) if told.isdecimal() else -1
    is_kept = version == "HTTP/1.1" and named.get("connection", "") != "close"
    return AnswerHead(status, length, is_chunked, is_kept and (is_chunked or length >= 0))


class Connection:
    """One connection to a target; a target that is silent for too long loses it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silence_seconds: float
    ) -> None:
        self._reader, self._writer, self._silence_seconds = reader, writer, silence_seconds
        self.is_used, self.is_closed = False, False

    @property
    def is_open(self) -> bool:
        """True if another request may go out on it."""
        return not (self.is_closed or self._reader.at_eof() or self._writer.is_closing())

    async def post(self, request: bytes) -> int:
        """The status that a request is answered with."""
        keeps = False
        try:
            self._writer.write(request)
            head = read_head(await self._until(b"\r\n\r\n"))
            while head.status < FINAL_STATUS:
                head = read_head(await self._until(b"\r\n\r\n"))
            passed = self._pass_chunks() if head.is_chunked else self._pass_over(head.length)
            keeps = await passed and head.keeps
        finally:
            self.is_used = True
            if not keeps:
                self.close()
        return head.status

    def close(self) -> None:
        """Close the connection; nothing more is read from it."""
        self.is_closed = True
        self._writer.transport.abort()

    async def _until(self, end: bytes) -> bytes:
        """The next bytes up to an end."""
        try:
            async with asyncio.timeout(self._silence_seconds):
                return await self._reader.readuntil(end)
        except asyncio.LimitOverrunError as error:
            raise OSError("the answer is not HTTP") from error
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("the target closed the connection") from error

    async def _pass_over(self, length: int) -> bool:
        """Read a body as far as answers are read at all; True if it has ended there."""
        left = MAX_ANSWER if length < 0 else min(length, MAX_ANSWER)
        while left > 0:
            async with asyncio.timeout(self._silence_seconds):
                part = await self._reader.read(left)
            if not part:
                return False
            left -= len(part)
        return length <= MAX_ANSWER

    async def _pass_chunks(self) -> bool:
        """Read a body that comes in pieces, as far as answers are read at all."""
        size = 0
        while size <= MAX_ANSWER:
            told = (await self._until(b"\r\n")).partition(b";")[0].strip()
            try:
                length = int(told, 16)
            except ValueError as error:
                raise OSError("the answer is not HTTP") from error
            if length <= 0:  # nobody sends lines behind the last piece
                return await self._until(b"\r\n") == b"\r\n"
            size += length
            if size > MAX_ANSWER or not await self._pass_over(length + 2):
                return False
        return False


class HttpTargets:
    """Connections to targets by their address, each used again as long as it lasts."""

    def __init__(self, silence_seconds: float) -> None:
        self._silence_seconds = silence_seconds
        self._idle: dict[tuple[str, int, str], list[Connection]] = defaultdict(list)
        self._certificates: ssl.SSLContext | None = None

    async def post(self, target: Target, content: bytes, headers: Mapping[str, str]) -> int:
        """The status that a target answers a body with, at the address that was looked at."""
        parts = urlsplit(target.url)
        is_secret = parts.scheme == "https"
        place = (parts.hostname or "", parts.port or 0, target.name if is_secret else "")
        lines = [f"POST {parts.path}{'?' * bool(parts.query)}{parts.query} HTTP/1.1",
                 f"Host: {target.host}", f"Content-Length: {len(content)}",
                 *(f"{name}: {value}" for name, value in headers.items())]  # fmt: skip
        request = "\r\n".join([*lines, "", ""]).encode("ascii") + content
        while True:
            connection = self._kept(place) or await self._connect(place)
            was_kept = connection.is_used
            try:
                status = await connection.post(request)
            except ConnectionError:
                if not was_kept:  # one that was kept may have ended just then
                    raise
                continue
            if connection.is_open:
                self._idle[place].append(connection)
            return status

    def close(self) -> None:
        """Close all connections."""
        for kept in self._idle.values():
            for each in kept:
                each.close()
        self._idle.clear()

    def _kept(self, place: tuple[str, int, str]) -> Connection | None:
        kept = self._idle[place]
        while kept:
            connection = kept.pop()
            if connection.is_open:
                return connection
        return None

    async def _connect(self, place: tuple[str, int, str]) -> Connection:
        address, port, name = place
        async with asyncio.timeout(self._silence_seconds):
            reader, writer = await asyncio.open_connection(
                address, port, ssl=self._secret() if name else None, server_hostname=name or None
            )
        return Connection(reader, writer, self._silence_seconds)

    def _secret(self) -> ssl.SSLContext:
        """Certificates that are trusted, read when the first target needs them."""
        if self._certificates is None:
            from httpx import create_ssl_context

            self._certificates = create_ssl_context(trust_env=False)
        return self._certificates
