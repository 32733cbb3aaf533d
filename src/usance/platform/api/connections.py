"""Connections that begin and do not go on: the head of a request has to come within its time.

A body has a time of its own, a connection that rests between requests uvicorn's.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
"""Time from the first byte of a request, or from the connection, to the end of its headers."""


class TimedProtocol(HttpToolsProtocol):
    """HTTP whose clients are slow, or away: a head that does not come ends the connection."""

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request."""
        super().connection_made(transport)
        self._wait_for_head()

    def on_message_begin(self) -> None:
        """Wait for the rest of the head."""
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Go on with a request whose head is whole."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._head = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
