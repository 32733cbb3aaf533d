"""One embedded server for the tests of the platform, stopped with the session."""

from __future__ import annotations

from collections.abc import Iterator

import asyncpg
import pytest

from tests.platform.databases import fresh, with_owner
from tests.platform.sandbox import Sandbox, installed
from usance.platform.errors import ServerError
from usance.platform.store.server import Embedded


async def do_not_wait_for_disk(connection: asyncpg.Connection) -> None:
    """Tests kill processes, never the machine: what the system holds in memory survives them."""
    await connection.execute("alter system set fsync = off")
    await connection.execute("select pg_reload_conf()")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    running = Embedded(tmp_path_factory.mktemp("server"))
    try:
        running.start()
    except ServerError as error:
        pytest.skip(f"PostgreSQL cannot start here: {error}")
    with_owner(running, "postgres", do_not_wait_for_disk)
    yield running
    running.stop()


@pytest.fixture
def database(server: Embedded, request: pytest.FixtureRequest) -> str:
    """A fresh, empty database named after the test."""
    return fresh(server, request.node.name)


@pytest.fixture(scope="session")
def template(server: Embedded) -> str:
    """A database with a fresh sandbox; tests take copies of it."""
    return installed(server, "sandbox_template")


@pytest.fixture
def sandbox(server: Embedded, template: str, request: pytest.FixtureRequest) -> Sandbox:
    """A fresh sandbox in a database named after the test."""
    return Sandbox(server, fresh(server, request.node.name, template))
