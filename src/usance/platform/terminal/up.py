"""`usance up`: the platform as a server, in the foreground."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import print_line
from usance.base.errors import DateError
from usance.platform.errors import ServerError

if TYPE_CHECKING:
    from usance.platform.live import Platform

app = typer.Typer(rich_markup_mode=None, add_completion=False)

Home = Annotated[
    Path, typer.Option("--home", metavar="DIR", envvar="USANCE_HOME", help="The platform's folder.")
]


@app.command()
def up(
    home: Home,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1.")] = 8000,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Test keys and a clock.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Real money and the real clock.")] = False,
    lender: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The lender of a fresh live home.")
    ] = None,
    clock: Annotated[
        str, typer.Option(metavar="MOMENT", help="First moment of a fresh sandbox.")
    ] = "",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that serve.")] = 1,
) -> None:
    """Serve the platform of a folder until it is told to end."""
    if sandbox == live:
        raise ServerError("no mode is given" if not live else "two modes are given",
                          where="usance up", fix="Add --sandbox, or --live with --lender FILE once"
                          )  # fmt: skip
    if live and clock:
        raise ServerError("a live clock is not set", where="--clock", fix="Leave --clock out")
    import uvloop

    from usance.platform.logs import log_to_standard_error

    log_to_standard_error()
    uvloop.run(_run(home, port, _start(live, lender, clock), workers))


async def _run(home: Path, port: int, start: _Start, workers: int) -> None:
    from usance.platform.api.serve import (
        bound,
        platform_of,
        serve,
        stop_on_signals,
        supervise,
    )
    from usance.platform.api.warm_up import warm_database
    from usance.platform.live import Platform
    from usance.platform.partners.deliveries import Deliverer
    from usance.platform.security.sandbox_access import give_access
    from usance.platform.terminal.live_mode import need_administrator

    listening = bound(port)
    stop = asyncio.Event()
    stop_on_signals(stop)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    warmed = AsyncExitStack()

    def ready() -> None:
        print_line(json.dumps({"ready": True, "url": url, "mode": start.mode}))
        sys.stdout.flush()

    with listening:
        opened = Platform.of_home(
            home, clock=start.clock, document=start.document, mode=start.number
        )
        async with opened as platform, warmed:
            if start.is_live:
                await need_administrator(platform)
            else:
                await give_access(platform, home)
                if start.is_clock_given:
                    sys.stderr.write(await kept_clock(platform, start.clock))
            await warmed.enter_async_context(warm_database(platform.database.server))
            deliverer = Deliverer(
                platform.database, platform.services.keys, allow_private=not start.is_live
            )
            delivering = asyncio.create_task(deliverer.run(stop))
            if workers == 1:
                await serve(platform_of(home), start.mode, listening, stop, ready)
            else:
                await supervise(home, start.mode, listening, workers, stop, ready)
            stop.set()
            await delivering


async def kept_clock(platform: Platform, wanted: datetime) -> str:
    """A line for whoever gives a clock to a sandbox that was there before and keeps its own."""
    from usance.platform.principals import SYSTEM

    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        clock = await transaction.fetchval("select clock from usance.installation")
    if clock == wanted:
        return ""
    return (f"--clock is for a fresh sandbox; this one's stands at {clock:%Y-%m-%dT%H:%M:%SZ}, "
            "and POST /v1/clock/advance moves it\n")  # fmt: skip


@dataclass(frozen=True)
class _Start:
    """How the platform is started."""

    is_live: bool
    clock: datetime
    is_clock_given: bool
    document: Mapping[str, Any] | None

    @property
    def mode(self) -> str:
        """The mode, as it is printed."""
        return "live" if self.is_live else "sandbox"

    @property
    def number(self) -> int:
        """The mode, as the database has it."""
        from usance.platform.lender import LIVE, SANDBOX

        return LIVE if self.is_live else SANDBOX


def _start(live: bool, lender: Path | None, clock: str) -> _Start:
    from usance.platform.installation import FIRST_MOMENT
    from usance.platform.terminal.live_mode import live_document

    if not live:
        return _Start(False, _moment(clock) or FIRST_MOMENT, bool(clock), None)
    return _Start(True, datetime.now(UTC), False, live_document(lender) if lender else None)


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise DateError(
            f"{text!r} is no moment with a time zone", where="--clock",
            fix="Write it like 2024-07-01T01:00:00Z",
        )  # fmt: skip
    return moment
