"""Serving: one worker in this process, or several beside it, on one socket of this machine.

A worker beside others is `python -m usance.platform.api.serve HOME MODE SOCKET`; it serves the
socket that it inherits and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
import uvloop

from usance.platform.api.application import application
from usance.platform.api.connections import TimedProtocol
from usance.platform.api.warm_up import warm
from usance.platform.assistant.model_port import configured_model
from usance.platform.errors import ServerError
from usance.platform.live import Platform
from usance.platform.logs import log_to_standard_error
from usance.platform.partners.http_channels import configured_channels
from usance.platform.store.database import Database, server_of
from usance.platform.vault import unlock

HOST = "127.0.0.1"
GRACE_SECONDS = 20
MAX_RESTARTS = 20
"""Workers that end by themselves are started again so many times before the platform gives up."""
log = logging.getLogger("usance.serve")


def bound(port: int) -> socket.socket:
    """A socket of this machine on a port that nobody else has."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind((HOST, port))
        own.listen(2048)
    except OSError as error:
        own.close()
        raise ServerError(
            f"cannot be listened on: {error.strerror}", where=f"port {port}",
            fix="End what listens there, or choose another by --port",
        ) from error  # fmt: skip
    own.setblocking(False)
    return own


class _Server(uvicorn.Server):
    """A server whose owner handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    opened: AbstractAsyncContextManager[Platform], mode: str, listening: socket.socket,
    stop: asyncio.Event, ready: Callable[[], None],
) -> None:  # fmt: skip
    """Serve in this process until told to stop."""
    app = application(opened, mode)
    config = uvicorn.Config(
        app, loop="none", http=TimedProtocol, ws="none", lifespan="on", log_config=None,
        access_log=False, server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )  # fmt: skip
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        ready()
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    stopping.cancel()


async def supervise(
    home: Path, mode: str, listening: socket.socket, workers: int, stop: asyncio.Event,
    ready: Callable[[], None],
) -> None:  # fmt: skip
    """Keep workers beside this process until told to stop; they end with it, however it ends."""
    failed: list[int] = []

    async def keep(number: int, is_ready: asyncio.Event) -> None:
        while not stop.is_set() and len(failed) < MAX_RESTARTS:
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "usance.platform.api.serve", str(home), mode,
                str(listening.fileno()), stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, pass_fds=(listening.fileno(),),
            )  # fmt: skip
            assert worker.stdout is not None
            assert worker.stdin is not None
            if await worker.stdout.readline():
                is_ready.set()
            ended = asyncio.create_task(worker.wait())
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait((ended, stopping), return_when=asyncio.FIRST_COMPLETED)
            worker.stdin.close()
            code = await ended
            stopping.cancel()
            if not stop.is_set():
                failed.append(code)
                log.error("worker %d ended with %d and is started again", number, code)
        stop.set()

    signs = [asyncio.Event() for _ in range(workers)]
    keeping = [asyncio.create_task(keep(n, sign)) for n, sign in enumerate(signs)]
    waiting = asyncio.gather(*(sign.wait() for sign in signs))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((waiting, stopping), return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        ready()
    await asyncio.gather(*keeping)
    waiting.cancel()
    stopping.cancel()


@asynccontextmanager
async def platform_of(home: Path) -> AsyncIterator[Platform]:
    """The platform of a home whose server and schema another process looks after."""
    server = server_of(home)
    database = Database(server)
    platform = Platform.of_database(database, await unlock(database, home), home)
    platform.model = configured_model(os.environ)
    platform.channels.update(configured_channels(os.environ))
    await warm(server)
    try:
        yield platform
    finally:
        await platform.close()


def stop_on_signals(stop: asyncio.Event) -> None:
    """Stop in order when the system or the terminal asks for it."""
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop.set)


async def work(home: Path, mode: str, descriptor: int) -> None:
    """Serve until standard input ends."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    listening = socket.socket(fileno=descriptor)

    def ready() -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    async def orphaned() -> None:
        await reader.read()
        stop.set()

    watching = asyncio.create_task(orphaned())
    await serve(platform_of(home), mode, listening, stop, ready)
    watching.cancel()


if __name__ == "__main__":
    log_to_standard_error()
    uvloop.run(work(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
