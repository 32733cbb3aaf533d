"""`usance demo`: a lender with a history, closed, published, alive; and days that go by in it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from usance.base.command_line import print_answer, print_line, print_table
from usance.platform.errors import NotInstalled, ServerError

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)
HOME = Path(os.environ.get("USANCE_CACHE", ".cache")) / "demo"
SATURDAY = 5
ADDRESS = "address"
"""The file of a home that says where it is served."""

Home = Annotated[
    Path, typer.Option("--home", metavar="DIR", envvar="USANCE_DEMO", help="The demo's folder.")
]


@app.callback()
def demo(
    ctx: typer.Context,
    home: Home = HOME,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any.")] = 0,
    scale: Annotated[str, typer.Option(help="Size; 1 is 20,000 users.")] = "1",
    once: Annotated[bool, typer.Option("--once", help="Show it alive, then end.")] = False,
) -> None:
    """Serve a simulated lender with a history, alive.

    Its 18 months are made, closed, published and loaded the first time.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = home
        return
    from usance.platform.demo.build import make

    made = make(home, _size(scale), _say)
    _say(f"a lender with {made['loans']:,} loans and {made['facts']:,} facts")
    with served(home, port) as (process, url):
        asyncio.run(_show(home, url))
        print_people(home)
        _say(f"console {url}/console · institutions {url}/portal · closed books as pages "
             f"{(home / 'pages' / 'index.html').absolute()}")  # fmt: skip
        if once:
            _say(f"keep it running: usance demo --home {home}")
            return
        _say(f"let days go by: usance demo --home {home} advance --days 7 (Ctrl-C ends the demo)")
        process.wait()


@app.command("advance")
def advance(
    ctx: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=62, help="Days that go by.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let days go by: borrowers pay and draw, institutions answer, through the API."""
    home: Path = ctx.obj
    with _reached(home) as url:
        told = asyncio.run(_live(home, url, days))
    if as_json:
        print_answer([{"day": each.day, **each.counts} for each in told])
    else:
        names = sorted({name for each in told for name in each.counts})
        rows = [[each.day, *(str(each.counts.get(name, 0)) for name in names)] for each in told]
        print_table(["day", *names], rows)


@contextmanager
def _reached(home: Path) -> Iterator[str]:
    """The address of a demo that is served; one that is not is served for as long as it is needed.

    A demo that was killed has left its address behind.
    """
    from usance.platform.demo.build import READY

    file = home / ADDRESS
    url = file.read_text().strip() if file.exists() else ""
    if url and _answers(url):
        yield url
        return
    if not (home / READY).exists():
        raise NotInstalled("has no demo", where=str(home), fix="Run 'usance demo' first")
    with served(home, 0) as (_, own):
        yield own


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port), timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def served(home: Path, port: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The platform of a home in a process of its own, for as long as it is needed."""
    program = str(Path(sys.executable).with_name("usance"))
    command = [program, "up", "--sandbox", "--home", str(home), "--port",
               str(port)]  # fmt: skip
    with (home / "up.log").open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise ServerError(
                "did not start", where=str(home / "up.log"), fix="Read its last lines"
            )
        url = str(json.loads(line)["url"])
        (home / ADDRESS).write_text(url)
        yield process, url
    except KeyboardInterrupt:
        _say("ended")
    finally:
        (home / ADDRESS).unlink(missing_ok=True)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


async def _show(home: Path, url: str) -> None:
    """One loan drawn and paid through the API, so that it is seen to be alive."""
    from usance.platform.client import calls
    from usance.platform.client.client import AsyncClient
    from usance.platform.demo.world import PROVIDER, paid_up
    from usance.platform.security.sandbox_access import FILE

    keys = json.loads((home / FILE).read_text())["keys"]
    async with (
        AsyncClient(url, keys["channel"], timeout=120) as channel,
        AsyncClient(url, keys["provider"]) as provider,
    ):
        now = await channel.send(calls.clock())
        while date.fromisoformat(now["business_date"]).weekday() >= SATURDAY:
            for each in await _live(home, url, 1):  # sources rest on weekends
                _say(f"{each.day}: " + ", ".join(f"{n} {what}" for what, n in each.counts.items()))
            now = await channel.send(calls.clock())
        loan, payment = await paid_up(channel, provider)
        call: calls.Call[Any] = calls.Call("POST", f"/v1/users/{loan['user']}/links", {})
        link = (await channel.send(call))["url"]
    _say(f"{now['business_date']}: {loan['loan']} of {loan['amount_minor'] / 100:,.2f} drawn from "
         f"{loan['source']}, {payment['amount_minor'] / 100:,.2f} paid through {PROVIDER}, "
         f"{len(payment['allocation'])} allocations")  # fmt: skip
    _say(f"the borrower's own page, for whoever opens it first: {url}{link}")


async def _live(home: Path, url: str, days: int) -> list[Any]:
    from usance.platform.demo.world import World
    from usance.platform.terminal.homes import installed

    async def report(done: int, whole: int) -> None:
        if done < whole:
            _say(f"day {done} of {whole}")

    async with installed(home) as platform:
        world = World.of_home(platform, home, url)
        try:
            return list(await world.live(days, report))
        finally:
            await world.close()


def print_people(home: Path) -> None:
    """Operators with their roles and passwords: a demo has no secrets worth hiding."""
    from usance.platform.demo.build import people_of

    rows = [[each["role"], each["email"], each["password"]] for each in people_of(home)]
    print_table(["role", "e-mail", "password"], rows)


def _size(text: str) -> Fraction:
    try:
        size = Fraction(text)
    except (ValueError, ZeroDivisionError):
        size = Fraction(0)
    if not 0 < size <= 100:
        raise ServerError(f"{text!r} is no size", where="--scale", fix="Give one such as 1 or 1/4")
    return size


def _say(text: str) -> None:
    print_line(f"  {text}")
    sys.stdout.flush()
