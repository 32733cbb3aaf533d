"""Routes for those who run the platform: alive, ready, figures, the description and its errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import asyncpg
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from usance.base.errors import UsanceError
from usance.pages.rendering import render
from usance.platform.api.calls import Call, json_response
from usance.platform.api.errors import known_codes
from usance.platform.api.guard import Access, guarded
from usance.platform.api.request_log import RequestLog
from usance.platform.command_figures import BUCKETS, CommandFigures
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import MigrationError
from usance.platform.reads.control.gauges import Gauge, condition
from usance.platform.store.database import connection_failures
from usance.platform.store.migrations import status

log = logging.getLogger("usance.health")
router = APIRouter(include_in_schema=False)
READY_SECONDS = 5.0
WATCHERS = Access(scopes=frozenset({"operations", "finance", "control"}))
"""Keys of service accounts, and sessions: figures tell how much is lent, and what fails."""
STYLE = "/console/console.css"
ERROR_PAGE_POLICY = "default-src 'none'; style-src 'self'; frame-ancestors 'none'"


@router.get("/healthz")
async def alive() -> Response:
    """The process answers."""
    return json_response({"status": "ok"})


@router.get("/readyz")
async def ready(request: Request) -> Response:
    """Database, migrations and clock are there."""
    found = {"database": False, "migrations": False, "clock": False}
    try:
        async with asyncio.timeout(READY_SECONDS):
            pool = await request.app.state.platform.database.pool()
            async with pool.acquire() as connection:
                found["database"] = await connection.fetchval("select true")
                found["migrations"] = (await status(connection)).is_current
                moment = await connection.fetchval("select clock from usance.installation")
                found["clock"] = moment is not None
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, MigrationError):
        return json_response({"status": "unavailable", **found}, 503, {"Retry-After": "1"})
    is_ready = all(found.values())
    return json_response({"status": "ok" if is_ready else "unavailable", **found},
                         200 if is_ready else 503)  # fmt: skip


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Figures of this worker and of the platform, as Prometheus reads them with a key."""

    async def told(call: Call) -> Response:
        return await _metrics(call, request.app.state.request_log)

    return await guarded(request, WATCHERS, told)


async def _metrics(call: Call, requests: RequestLog) -> Response:
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    platform = call.platform
    gauges: list[Gauge] = []
    try:
        async with (
            asyncio.timeout(READY_SECONDS), platform.database.transaction(0) as transaction,
        ):  # fmt: skip
            lender = (await now(transaction, platform.services)).lender
            gauges = await condition(transaction, platform.home, lender)
    except UsanceError as error:
        log.warning("the platform's condition is not known: %s", error)
    except connection_failures() as error:
        log.warning("the platform's condition is not known: %s", error)
    registry = CollectorRegistry()
    registry.register(Figures(requests, platform.figures, gauges))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


@dataclass(eq=False)
class Figures:
    """Figures as Prometheus collects them."""

    requests: RequestLog
    commands: CommandFigures
    gauges: list[Gauge]

    def collect(self) -> Iterator[Any]:
        """Yield the figures as they are now."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        log = self.requests
        for name, line, value in (
            ("usance_requests", "Requests answered.", log.answered),
            ("usance_requests_failed", "Requests answered with 500 or more.", log.failed),
            ("usance_request_seconds", "Time spent in requests.", log.seconds),
            ("usance_requests_not_logged", "Requests that the log had no room for.", log.dropped),
        ):
            yield CounterMetricFamily(name, line, value=value)
        ended = CounterMetricFamily(
            "usance_commands", "Commands by outcome.", labels=["command", "outcome"]
        )
        for (command, outcome), count in sorted(self.commands.ended.items()):
            ended.add_metric([command, outcome], count)
        yield ended
        took = HistogramMetricFamily(
            "usance_command_seconds", "Duration of commands.", labels=["command"]
        )
        ends = [*map(str, BUCKETS), "+Inf"]
        for command, own in sorted(self.commands.took.items()):
            took.add_metric([command], list(zip(ends, own.counts, strict=True)), own.seconds)
        yield took
        for gauge in self.gauges:
            family = GaugeMetricFamily(
                gauge.name, gauge.meaning, labels=[gauge.label] if gauge.label else []
            )
            for label, value in gauge.values.items():
                family.add_metric([label] if gauge.label else [], value)
            yield family


@router.get("/v1/openapi.json")
async def openapi(request: Request) -> Response:
    """The description of the API."""
    return json_response(describe(request.app))


def describe(app: Any) -> dict[str, Any]:
    """OpenAPI 3.1 of an application, with how to sign in."""
    whole: dict[str, Any] = app.openapi()
    parts = whole.setdefault("components", {})
    parts["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    whole["x-error-codes"] = {code: each[0] for code, each in known_codes().items()}
    return whole


@router.get("/docs/errors")
async def errors() -> Response:
    """Every code of an error with its status and meaning."""
    return HTMLResponse(error_page(), headers={"Content-Security-Policy": ERROR_PAGE_POLICY})


@cache
def error_page() -> str:
    """The page of all codes; each has its anchor."""
    return render("reports/error_codes.html.j2", title="Errors", style=STYLE, codes=known_codes())
