"""A PostgreSQL that is not the wheel's: Debian's, older, by its programs and by its address.

The guards of the database and the life of a loan are those of the other tests, on that server.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform import test_lifecycle, test_write
from tests.platform.applicants import borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox, installed
from usance.platform.errors import ServerError
from usance.platform.live import Platform
from usance.platform.store.database import URL, Database, Given, server_of
from usance.platform.store.server import BINARIES, Embedded, major_version

live = test_write.live
test_a_loan_is_drawn_paid_and_settled = test_lifecycle.test_a_loan_is_drawn_paid_and_settled
test_a_foreign_user_in_a_batch_is_refused = test_write.test_a_foreign_user_in_a_batch_is_refused
test_a_limit_is_never_oversold = test_write.test_a_limit_is_never_oversold
test_nobody_writes_but_by_the_call = test_write.test_nobody_writes_but_by_the_call

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    if not FOLDERS:
        if os.environ.get("USANCE_REQUIRE_POSTGRES"):
            pytest.fail("Debian's PostgreSQL is not installed")
        pytest.skip("Debian's PostgreSQL is not here: tests against another server are left out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(BINARIES, str(FOLDERS[0].parent))
        assert major_version() >= 15
        with Embedded(tmp_path_factory.mktemp("debian")) as running:
            yield running


@pytest.fixture(scope="module")
def template(server: Embedded) -> str:
    return installed(server, "sandbox_template")


@pytest.fixture
def address(server: Embedded, monkeypatch: pytest.MonkeyPatch) -> str:
    """The owner's address of a database that is not there yet."""
    password = server.password()
    url = f"postgresql://usance_owner:{password}@/own-lender?host={server.socket}"
    monkeypatch.setenv(URL, url)
    return url


@pytest.mark.usefixtures("address")
def test_a_lender_lives_at_an_address(server: Embedded, tmp_path: Path) -> None:
    async def install() -> None:
        async with Platform.of_home(tmp_path) as platform:
            assert isinstance(platform.database.server, Given)

    asyncio.run(install())
    given = server_of(tmp_path)
    assert isinstance(given, Given)
    sandbox = Sandbox(server, "own-lender")
    loan = drawn(sandbox, borrower(sandbox)).answer["loan"]
    assert sandbox.read("channel", "loan", loan)["status"] == "active"

    async def mode(connection: object) -> int:
        return int(await connection.fetchval("select mode from usance.installation"))  # type: ignore[attr-defined]

    assert with_owner(server, "own-lender", mode) == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("?", "?port=1&", "no server answers"),
        ("host=/", "host=/nowhere/", "no server answers"),
        ("usance_owner:", "usance_owner:x", "the server lets nobody in"),
        ("usance_owner:", "stranger:", "the server lets nobody in"),
    ],
)
def test_an_address_that_does_not_work_is_named(
    address: str, old: str, new: str, message: str
) -> None:
    async def prepare() -> None:
        await Database(Given(address.replace(old, new, 1))).prepare()

    with pytest.raises(ServerError, match=message) as caught:
        asyncio.run(prepare())
    assert "@" in caught.value.where
    assert URL in caught.value.fix


@pytest.mark.parametrize(
    "url",
    ["mysql://boss@db/lender", "postgresql://db/lender", "postgresql://boss@db:port/lender",
     "postgresql://boss@db/lender?application=1", "lender"],
)  # fmt: skip
def test_what_is_no_address_is_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL, url)
    with pytest.raises(ServerError) as caught:
        server_of(tmp_path)
    assert caught.value.where == URL
    assert caught.value.fix
