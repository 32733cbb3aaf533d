"""Clients that send calls: one that waits, one that is awaited; both try again with the same key.

client = Client("http://127.0.0.1:8000", key)
anna = client.send(register_user("anna", region=3))
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from types import TracebackType
from typing import Any, TypeVar

import httpx

from usance.platform.client.calls import Call

Answer = TypeVar("Answer")
MAX_TRIES, FIRST_WAIT, MAX_WAIT = 6, 0.1, 10.0
AGAIN = frozenset({429, 503})


class CallFailed(Exception):
    """An answer that tells a failure."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(f"{status} {error.get('code')}: {error.get('message')}")
        self.status = status
        self.code = str(error.get("code", ""))
        self.param: str | None = error.get("param")
        self.request_id = str(error.get("request_id", ""))


class _Sending:
    """One call on its way: its request, and what to make of an answer."""

    def __init__(self, call: Call[Any], idempotency_key: str) -> None:
        self.call = call
        self.tries = 0
        self.headers: dict[str, str] = {}
        if call.method == "POST":
            self.headers["Idempotency-Key"] = idempotency_key or secrets.token_urlsafe(18)

    def request(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request, the same for every try."""
        self.tries += 1
        call = self.call
        return client.build_request(
            call.method, call.path, json=call.body, params=call.query, headers=self.headers
        )

    def wait(self, response: httpx.Response | None) -> float | None:
        """Seconds until the next try, none when this answer stands."""
        if self.tries >= MAX_TRIES or not (response is None or _is_passing(response)):
            return None
        told = "" if response is None else response.headers.get("retry-after", "")
        backed_off = FIRST_WAIT * 2**self.tries * (1 + random.random())  # noqa: S311 -- spreads tries
        return min(MAX_WAIT, float(told) if told.isdigit() else backed_off)


def _is_passing(response: httpx.Response) -> bool:
    if response.status_code == 409:
        return _error(response).get("code") == "idempotency_in_flight"
    return response.status_code in AGAIN


def _error(response: httpx.Response) -> dict[str, Any]:
    try:
        found = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return {"code": "no_answer", "message": response.text[:200]}
    return dict(found)


def _answer(response: httpx.Response) -> Any:
    if response.status_code >= 400:
        raise CallFailed(response.status_code, _error(response))
    return response.json()


class Client:
    """A client that waits for its answers."""

    def __init__(self, url: str, key: str = "", *, timeout: float = 30.0) -> None:
        self._http = httpx.Client(base_url=url, headers=_bearer(key), timeout=timeout)

    def send(self, call: Call[Answer], *, idempotency_key: str = "") -> Answer:
        """Send a call until it is answered; it is done once, however often it is sent."""
        sending = _Sending(call, idempotency_key)
        while True:
            try:
                response = self._http.send(sending.request(self._http))
            except httpx.TransportError:
                seconds = sending.wait(None)
                if seconds is None:
                    raise
            else:
                seconds = sending.wait(response)
                if seconds is None:
                    answer: Answer = _answer(response)
                    return answer
            time.sleep(seconds)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()


class AsyncClient:
    """A client whose answers are awaited."""

    def __init__(self, url: str, key: str = "", *, timeout: float = 30.0) -> None:
        self._http = httpx.AsyncClient(base_url=url, headers=_bearer(key), timeout=timeout)

    async def send(self, call: Call[Answer], *, idempotency_key: str = "") -> Answer:
        """Send a call until it is answered; it is done once, however often it is sent."""
        sending = _Sending(call, idempotency_key)
        while True:
            try:
                response = await self._http.send(sending.request(self._http))
            except httpx.TransportError:
                seconds = sending.wait(None)
                if seconds is None:
                    raise
            else:
                seconds = sending.wait(response)
                if seconds is None:
                    answer: Answer = _answer(response)
                    return answer
            await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self.close()


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}
