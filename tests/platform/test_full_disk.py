"""A disk that fills under the database: what was answered stays, the rest is refused whole."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox, installed
from tests.platform.test_concurrency import many
from tests.platform.test_kills import MOMENT
from tests.platform.test_loan_states import differences
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.errors import ServerError
from usance.platform.ledger.seals import seal, verify
from usance.platform.live import Platform
from usance.platform.store.server import Embedded

USERS = 12


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def own(disk: Path) -> Iterator[Sandbox]:
    server = Embedded(disk / "server")
    try:
        server.start()
    except ServerError as error:
        pytest.skip(f"PostgreSQL cannot start here: {error}")
    try:
        yield Sandbox(server, installed(server, "full"))
    finally:
        server.stop()


def fill(disk: Path) -> Path:
    """A file that leaves nothing of the disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:  # closing it must not write a rest
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            return ballast


def test_a_full_disk_loses_and_halves_nothing(own: Sandbox, disk: Path) -> None:
    many(own, USERS)

    async def draws(platform: Platform) -> list[Any]:
        channel = await platform.principal("channel")
        return await asyncio.gather(
            *(platform.do(channel, Draw(print_id("us", n), "instalment", 100_000, 6), key=f"k{n}")
              for n in range(1, USERS + 1)), return_exceptions=True,
        )  # fmt: skip

    ballast, told = fill(disk), dict[int, str]()
    for _ in range(20):  # what the log has set aside is used up first
        with_owner(own.server, own.name, waste)
        made = own.within(draws)
        told |= {n: str(each.answer["loan"]) for n, each in enumerate(made)
                 if not isinstance(each, BaseException)}  # fmt: skip
        refused = [each for each in made if isinstance(each, BaseException)]
        if refused or len(told) == USERS:
            break
    assert refused
    assert all(isinstance(each, UsanceError | OSError | asyncpg.PostgresError) for each in refused)
    ballast.unlink()
    own.server.stop()
    own.server.start()
    after = own.within(draws)
    loans = {n: str(each.answer["loan"]) for n, each in enumerate(after)}
    assert told.items() <= loans.items()  # what was answered is the answer again
    assert len(set(loans.values())) == USERS
    assert own.sql("operations", "select count(*) from usance.loans") == USERS
    assert differences(own) == []

    async def sealed(platform: Platform) -> list[Any]:
        async with platform.database.transaction(0) as transaction:
            await seal(transaction, MOMENT)
            return list(await verify(transaction))

    assert own.within(sealed) == []


async def waste(connection: asyncpg.Connection) -> None:
    """Write more of the log than there is room for."""
    try:
        await connection.execute("create table if not exists public.waste (x text)")
        await connection.execute(
            "insert into public.waste select repeat(md5(g::text), 100) "
            "from generate_series(1, 20000) g"
        )
    except (asyncpg.PostgresError, OSError):
        return
