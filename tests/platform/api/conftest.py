"""A sandbox served for the tests of the API: one process a session, spoken to over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.platform.api.served import Served
from usance.platform.live import Platform
from usance.platform.security.roles import Roles
from usance.platform.security.sessions import create_operator
from usance.platform.store.server import Embedded
from usance.platform.terminal.homes import on_platform

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="session")
def served(server: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert (
        server.data.exists()
    )  # where PostgreSQL cannot start, the tests of the API are skipped with the others
    running = Served(tmp_path_factory.mktemp("served"))
    running.start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="session")
def roles(served: Served) -> dict[str, dict[str, str]]:
    """Somebody for each role, with what they sign in with."""
    return people_of(served, "work.example")


def people_of(served: Served, host: str) -> dict[str, dict[str, str]]:
    """Somebody for each role of a lender, with what they sign in with."""
    people = {role: {"email": f"{role}@{host}", "password": PASSWORD}
              for role in Roles.load().by_name}  # fmt: skip

    async def work(platform: Platform) -> None:
        async with platform.database.transaction(0) as transaction:
            for role, person in people.items():
                await create_operator(transaction, person["email"], role, PASSWORD)

    on_platform(served.home, work)
    return people
