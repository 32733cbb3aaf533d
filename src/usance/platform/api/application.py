"""The application: every group of routes, one form of failure, ids and a log of all requests."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from usance import __version__
from usance.base.errors import UsanceError
from usance.base.ids import ALPHABET
from usance.platform.api import (
    borrower_help,
    collections,
    compliance,
    control,
    documents,
    drafts,
    events,
    figures,
    funding,
    guarantors,
    health,
    institutions,
    jobs,
    ledger,
    lending,
    money,
    money_movement,
    sessions,
    settlements,
    users,
)
from usance.platform.api.calls import json_response
from usance.platform.api.errors import RequestError, error_object, status_of
from usance.platform.api.request_log import RequestLog
from usance.platform.console.routes import routes as console_routes
from usance.platform.desk.contact_desk import contact_loop
from usance.platform.errors import KeyInFlight, PlatformError, RefusedBefore, ServerError
from usance.platform.jobs.kinds import kinds_of
from usance.platform.jobs.worker import run_jobs
from usance.platform.live import Platform
from usance.platform.partners.dispatch import order_loop
from usance.platform.router_plans import plan_loop
from usance.platform.scheduler import schedule_loop

log = logging.getLogger("usance.api")
PREFIX = "/v1"
HEADERS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
"""Headers of every answer: nothing is kept, framed, guessed or told to others."""
GROUPS = (
    users.group, lending.group, documents.group, money.group, money_movement.group,
    borrower_help.group, collections.group, drafts.group, institutions.group, settlements.group,
    guarantors.group, funding.group, ledger.group, figures.group, compliance.group, control.group,
    events.group, jobs.group, sessions.group,
)  # fmt: skip


def application(opened: AbstractAsyncContextManager[Platform], mode: str) -> OuterMiddleware:
    """The API of a platform, which is opened when the worker starts and closed with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opened as platform:
            app.state.platform, app.state.mode = platform, mode
            app.state.request_log = RequestLog(platform.database)
            app.state.request_log.start()
            stop = asyncio.Event()
            worker = asyncio.create_task(run_jobs(platform.database, kinds_of(platform), stop=stop))
            moving = asyncio.create_task(order_loop(platform, stop))
            contacting = asyncio.create_task(contact_loop(platform, stop))
            passing = asyncio.create_task(schedule_loop(platform, stop))
            planning = asyncio.create_task(plan_loop(platform, stop))
            yield
            stop.set()
            await asyncio.gather(worker, moving, contacting, passing, planning)
            await app.state.request_log.stop()

    app = FastAPI(
        title="Usance", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url=None, redirect_slashes=False,
    )  # fmt: skip
    for group in GROUPS:
        app.include_router(group.router, prefix=PREFIX)
    app.include_router(health.router)
    app.router.routes += console_routes()
    app.add_exception_handler(UsanceError, _failed)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(Exception, _unforeseen)
    return OuterMiddleware(app)


Endpoint = Callable[[Request], Awaitable[Response]]


def fixed_addresses() -> dict[tuple[str, str], Endpoint]:
    """Routes without an id in their address, by method and path."""
    found: dict[tuple[str, str], Endpoint] = {}
    for group in GROUPS:
        for each in group.router.routes:
            if isinstance(each, APIRoute) and "{" not in each.path:
                found |= {(method, f"{PREFIX}{each.path}"): each.endpoint
                          for method in each.methods or ()}  # fmt: skip
    return found


class OuterMiddleware:
    """Around everything: the id of a request, headers of every answer, the log, the last resort.

    Addresses without an id are looked up and answered here, in a sixth of the time (0.02 ms) that
    matching against every route of every group takes. The framework has the rest.
    """

    def __init__(self, app: FastAPI) -> None:
        self.app, self.fixed = app, fixed_addresses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one message of the server's own."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter_ns()
        state: dict[str, Any] = {**scope.get("state", {}), "request_id": _request_id(), "code": ""}
        scope["state"] = state

        async def told(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.body":
                state["is_told"] = not message.get("more_body", False)
            if message["type"] == "http.response.start":
                state["status"] = message["status"]
                own = (b"request-id", state["request_id"].encode())
                given = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                message["headers"] = [*given, own, *(h for h in HEADERS if h[0] not in names)]
            await send(message)

        try:
            endpoint = self.fixed.get((scope["method"], scope["path"]))
            if endpoint is None:
                await self.app(scope, receive, told)
            else:
                await self._answer(endpoint, scope, receive, told)
        except Exception:
            log.exception("request %s failed", state["request_id"])
            if not state.get("is_told"):  # half an answer: the connection can only be closed
                raise
        finally:
            microseconds = (time.perf_counter_ns() - begun) // 1_000
            self.app.state.request_log.note(scope, microseconds)

    async def _answer(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the framework would, with the same forms of failure."""
        scope.update(app=self.app, path_params={})
        request = Request(scope, receive, send)
        try:
            response = await endpoint(request)
        except UsanceError as error:
            response = await _failed(request, error)
        except Exception as error:
            response = await _unforeseen(request, error)
            await response(scope, receive, send)
            raise
        await response(scope, receive, send)


def _request_id() -> str:
    return "rq_" + "".join(ALPHABET[byte & 31] for byte in secrets.token_bytes(16))


def _respond(error: UsanceError, state: dict[str, Any]) -> Response:
    body, status = error_object(error, state["request_id"]), status_of(error)
    state["code"] = body["error"]["code"]
    headers = {}
    if isinstance(error, RequestError) and error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, KeyInFlight | ServerError):
        headers["Retry-After"] = "1"
    if isinstance(error, RefusedBefore):
        headers["Idempotent-Replay"] = "true"
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return json_response(body, status, headers)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, UsanceError)
    if isinstance(error, PlatformError) and status_of(error) >= 500:
        log.error("request %s: %s", request.scope["state"]["request_id"], error, exc_info=error)
    return _respond(error, request.scope["state"])


async def _unforeseen(request: Request, _error: Exception) -> Response:
    error = RequestError("internal", "something went wrong on our side")
    return _respond(error, request.scope["state"])


async def _of_the_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        named = RequestError("method_not_allowed", f"{request.method} is not possible here")
    elif error.status_code == 404:
        named = RequestError("not_found", "there is nothing here")
    else:
        named = RequestError("invalid_json", "the body cannot be read", param="body")
    response = _respond(named, request.scope["state"])
    if error.headers and "Allow" in error.headers:
        response.headers["Allow"] = error.headers["Allow"]
    return response
