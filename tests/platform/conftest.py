"""One embedded server for the tests of the platform, stopped with the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.platform.databases import fresh
from usance.platform.errors import ServerError
from usance.platform.store.server import Embedded


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    running = Embedded(tmp_path_factory.mktemp("server"))
    try:
        running.start()
    except ServerError as error:
        pytest.skip(f"PostgreSQL cannot start here: {error}")
    yield running
    running.stop()


@pytest.fixture
def database(server: Embedded, request: pytest.FixtureRequest) -> str:
    """A fresh, empty database named after the test."""
    return fresh(server, request.node.name)
