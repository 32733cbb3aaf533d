"""A sandbox served for the tests of the API: one process a session, spoken to over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.platform.api.served import Served
from usance.platform.store.server import Embedded


@pytest.fixture(scope="session")
def served(server: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert (
        server.data.exists()
    )  # where PostgreSQL cannot start, the tests of the API are skipped with the others
    running = Served(tmp_path_factory.mktemp("served"))
    running.start()
    yield running
    assert running.stop() == 0
