"""Payment providers over HTTP: signed requests, and answers that count only if they can be read.

    POST {url}/orders               an order; Idempotency-Key is our reference
    GET  {url}/orders/{reference}   its state
    GET  {url}/notices?after=…      what the provider says by itself, page by page
    GET  {url}/files/{day}          its file of a day

The word about an order is an object `{reference, state}`, of money that moved also `amount_minor`,
`provider_ref` and `moved_on`. All else, whatever its status, is no word: a time-out, an answer
that breaks off, a page of a proxy, a reference that is not ours. The order is then asked about,
and only a provider that says `not_found` in so many words does not know it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from usance.base.documents import parse_json
from usance.base.errors import UsanceError
from usance.platform.errors import CircuitOpen, OutboundRefused, PlatformError, UnreadableAnswer
from usance.platform.partners.circuit_breaker import CircuitBreaker
from usance.platform.partners.outbound import resolve
from usance.platform.partners.signatures import request_content, sign
from usance.service.orders.payment_order import EventKind, OrderEvent, PaymentOrder
from usance.service.orders.provider_port import Notice

LOG = logging.getLogger("usance.orders")
MAX_ANSWER, MAX_FILE = 1 << 20, 64 << 20
MAX_MINOR = 2**62
MAX_PAGES = 1_000
"""Pages of notices that one look takes; more wait for the next."""
TIMEOUT_SECONDS = 10.0
_WORDS = {each.value: each for each in (
    EventKind.ACCEPTED, EventKind.SETTLED, EventKind.REJECTED, EventKind.RETURNED,
    EventKind.NOT_FOUND,
)}  # fmt: skip
_MOVES = (EventKind.SETTLED, EventKind.RETURNED)
_MAX_TEXT = 255


@dataclass
class HttpProvider:
    """A provider behind an address; `send` and `status` may be called again at any time."""

    name: str
    url: str
    secret: str
    allow_private: bool = False
    timeout_seconds: float = TIMEOUT_SECONDS
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    cursor: str = ""
    """The last page of notices that was taken; a worker that starts anew begins with the first."""

    def send(self, order: PaymentOrder) -> OrderEvent:
        """Hand over an order; the same reference again is the same order to the provider."""
        body = {
            "reference": order.reference, "purpose": order.purpose.value,
            "amount_minor": order.amount_minor, "currency": order.currency,
            "created_at": order.created_at.astimezone(UTC).isoformat(),
            "expires_at": order.expires_at.astimezone(UTC).isoformat(),
        }  # fmt: skip
        content = json.dumps(body, separators=(",", ":")).encode()
        return self._word(self._call("POST", "/orders", content, order.reference), order.reference)

    def status(self, order: PaymentOrder) -> OrderEvent:
        """The provider's word about an order."""
        found = self._call("GET", f"/orders/{quote(order.reference, safe='')}")
        return self._word(found, order.reference)

    def notices(self) -> Iterable[Notice]:
        """Notices since the last look; one that cannot be read is logged and left out."""
        found: list[Notice] = []
        for _ in range(MAX_PAGES):
            page = self._object(self._call("GET", f"/notices?after={quote(self.cursor, safe='')}"))
            self.breaker.worked()
            rows, after = page.get("notices"), page.get("next", "")
            if not isinstance(rows, list) or not isinstance(after, str):
                raise self._unreadable("is no page of notices")
            for row in rows:
                try:
                    event = self._event(row, None)
                except UnreadableAnswer as error:
                    LOG.warning("%s: a notice is left out: %s", self.name, error)
                    continue
                found.append(Notice(row["reference"], event))
            if not rows or after in ("", self.cursor):
                break
            self.cursor = after
        return found

    def file(self, day: date) -> str:
        """The provider's file of a day as text; empty where it has none yet."""
        content = self._call("GET", f"/files/{day}", most=MAX_FILE)
        self.breaker.worked()
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._unreadable("is a file that is no UTF-8") from error

    def is_away(self) -> bool:
        """True while its circuit is open: what was not sent yet waits."""
        return self.breaker.is_open(time.monotonic())

    def _call(
        self, method: str, path: str, content: bytes = b"", key: str = "", most: int = MAX_ANSWER
    ) -> bytes:
        """The body of an answer, within the time for all of it."""
        if not self.breaker.lets_through(time.monotonic()):
            raise CircuitOpen("is not asked for a while: it has failed several times in a row",
                              where=self.name, fix="Look at the provider; orders wait meanwhile"
                              )  # fmt: skip
        call = self._answer(method, path, content, key, most)
        try:
            body = asyncio.run(asyncio.wait_for(call, self.timeout_seconds))
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, PlatformError) as error:
            self.breaker.failed(time.monotonic())
            if isinstance(error, PlatformError):
                raise
            said = str(error) or type(error).__name__
            raise OutboundRefused(f"has not answered: {said}", where=self.name,
                                  fix="The order is asked about later") from error  # fmt: skip
        return body

    async def _answer(
        self, method: str, path: str, content: bytes, key: str, most: int
    ) -> bytes:  # fmt: skip
        url = self.url.rstrip("/") + path
        target = await resolve(url, allow_private=self.allow_private)
        parts = urlsplit(url)
        line = f"{parts.path}?{parts.query}" if parts.query else parts.path
        signed = sign(request_content(method, line, content), int(time.time()), [self.secret])
        headers = {"Host": target.host, "Usance-Signature": signed, "Accept": "application/json"}
        if content:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        async with (
            httpx.AsyncClient(
                timeout=self.timeout_seconds, follow_redirects=False, trust_env=False
            ) as http,
            http.stream(method, target.url, content=content or None, headers=headers,
                        extensions={"sni_hostname": target.name}) as response,
        ):  # fmt: skip
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > most:
                    raise self._unreadable(f"is longer than {most} bytes")
            if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
                raise self._unreadable(f"has the status {response.status_code}")
            if path.startswith("/files") and response.status_code != httpx.codes.OK:
                if response.status_code == httpx.codes.NOT_FOUND:
                    return b""
                raise self._unreadable(f"has the status {response.status_code}")
            return body

    def _word(self, body: bytes, reference: str) -> OrderEvent:
        """The word of an answer about the order that it was asked about."""
        event = self._event(self._object(body), reference)
        self.breaker.worked()
        return event

    def _object(self, body: bytes) -> Mapping[str, Any]:
        try:
            found = parse_json(body.decode())
        except (UnicodeDecodeError, UsanceError) as error:
            raise self._failed("is no JSON") from error
        if not isinstance(found, dict):
            raise self._failed("is no object")
        return found

    def _event(self, told: Any, reference: str | None) -> OrderEvent:
        """A word as an event; None as a reference: of whichever order it is about."""
        if not isinstance(told, Mapping) or not _is_text(told.get("reference")):
            raise self._failed("names no order")
        if reference not in (None, told["reference"]):
            raise self._failed(f"is not about {reference}")
        kind = _WORDS.get(str(told.get("state")))
        if kind is None:
            raise self._failed(f"has the state {str(told.get('state'))[:40]!r}")
        if kind not in _MOVES:
            return OrderEvent(kind, datetime.now(UTC), self.source)
        amount, number, on = (
            told.get("amount_minor"), told.get("provider_ref"), _day(told.get("moved_on"))
        )  # fmt: skip
        if type(amount) is not int or not 0 < amount < MAX_MINOR or on is None:
            raise self._failed("says that money moved, not how much and when")
        if not _is_text(number):
            raise self._failed("says that money moved, not by which number")
        return OrderEvent(kind, datetime.now(UTC), self.source, amount, str(number), on)

    @property
    def source(self) -> str:
        """The source of its words, as events name it."""
        return f"{self.name} over HTTP"

    def _failed(self, what: str) -> UnreadableAnswer:
        self.breaker.failed(time.monotonic())
        return self._unreadable(what)

    def _unreadable(self, what: str) -> UnreadableAnswer:
        return UnreadableAnswer(f"the answer {what}", where=self.name,
                                fix="Ask the provider; the order is asked about later")  # fmt: skip


def _is_text(given: Any) -> bool:
    return isinstance(given, str) and 1 <= len(given) <= _MAX_TEXT and given.isprintable()


def _day(given: Any) -> date | None:
    try:
        return date.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        return None


def http_provider(name: str, given: Mapping[str, Any], *, allow_private: bool) -> HttpProvider:
    """The provider of a contract; its secret comes from a file or from the environment alone."""
    if not isinstance(given.get("url"), str):
        raise OutboundRefused("has no address", where=f"providers.{name}", fix="Give url")
    seconds = float(given.get("timeout_seconds", TIMEOUT_SECONDS))
    breaker = CircuitBreaker(int(given.get("opens_after", 5)),
                             float(given.get("opens_seconds", 60)))  # fmt: skip
    return HttpProvider(name, given["url"], _secret(name), allow_private, seconds, breaker)


def _secret(name: str) -> str:
    variable = f"USANCE_PROVIDER_{name.upper()}_SECRET"
    if file := os.environ.get(f"{variable}_FILE"):
        try:
            found = Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise OutboundRefused(f"the secret cannot be read: {error.strerror}", where=file,
                                  fix=f"Let {variable}_FILE name a file") from error  # fmt: skip
    else:
        found = os.environ.get(variable, "")
    if not found:
        raise OutboundRefused("there is no secret to sign with", where=f"providers.{name}",
                              fix=f"Set {variable}_FILE or {variable}")  # fmt: skip
    return found
