"""`usance up`: the platform as a server, in the foreground."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import print_line
from usance.base.errors import DateError
from usance.platform.errors import ServerError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

Home = Annotated[
    Path, typer.Option("--home", metavar="DIR", envvar="USANCE_HOME", help="The platform's folder.")
]


@app.command()
def up(
    home: Home,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1.")] = 8000,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Test keys and a clock.")] = False,
    clock: Annotated[
        str, typer.Option(metavar="MOMENT", help="First moment of a fresh sandbox.")
    ] = "",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that serve.")] = 1,
) -> None:
    """Serve the platform of a folder until it is told to end."""
    if not sandbox:
        raise ServerError(
            "no mode is given", where="usance up", fix="Add --sandbox; live is not served yet"
        )
    import uvloop

    from usance.platform.api.application import log_to_standard_error

    log_to_standard_error()
    uvloop.run(_run(home, port, _moment(clock), workers))


async def _run(home: Path, port: int, clock: datetime | None, workers: int) -> None:
    from usance.platform.api.serve import (
        bound,
        platform_of,
        serve,
        stop_on_signals,
        supervise,
    )
    from usance.platform.api.warm import warm_database
    from usance.platform.installation import FIRST_MOMENT
    from usance.platform.live import Platform
    from usance.platform.partners.deliveries import Deliverer
    from usance.platform.security.sandbox_access import give_access
    from usance.platform.vault import vault_of

    listening = bound(port)
    stop = asyncio.Event()
    stop_on_signals(stop)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    warmed = AsyncExitStack()

    def ready() -> None:
        print_line(json.dumps({"ready": True, "url": url, "mode": "sandbox"}))
        sys.stdout.flush()

    with listening:
        async with Platform.of_home(home, clock=clock or FIRST_MOMENT) as platform, warmed:
            await give_access(platform, home)
            await warmed.enter_async_context(warm_database(platform.database.server))
            deliverer = Deliverer(platform.database, vault_of(home), allow_private=True)
            delivering = asyncio.create_task(deliverer.run(stop))
            if workers == 1:
                await serve(platform_of(home), "sandbox", listening, stop, ready)
            else:
                await supervise(home, "sandbox", listening, workers, stop, ready)
            stop.set()
            await delivering


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
