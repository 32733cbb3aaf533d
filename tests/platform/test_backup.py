"""Backup and restore: to a moment, as far as the log goes, and never from half a backup."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from tests.platform.databases import with_owner
from usance.platform import restore
from usance.platform.errors import BackupError, LakeError
from usance.platform.installation import install
from usance.platform.lake.export import export
from usance.platform.lender import read_lender, sandbox_document
from usance.platform.live import Platform
from usance.platform.reads.control.gauges import Gauge, condition
from usance.platform.restore import release, restore_home
from usance.platform.store.backup import LogReceiver, bases, last_backup, take_base, verify
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

RECOVERY_POINT = timedelta(seconds=5)


@pytest.fixture(scope="module")
def lender(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """A server of its own: its log is received, and it is killed."""
    server = Embedded(tmp_path_factory.mktemp("lender"))
    server.start()
    asyncio.run(Database(server).prepare())

    async def fill(connection: asyncpg.Connection) -> None:
        await install(connection, sandbox_document())
        await connection.execute("create table public.heartbeats (at timestamptz)")
        await connection.execute("set session_replication_role = replica")
        await connection.execute(
            "set role usance_writer; insert into usance.subject_keys values (7, 'key'), (8, 'key')"
        )

    with_owner(server, "usance", fill)
    yield server
    server.stop()


async def beat(connection: asyncpg.Connection) -> datetime:
    at: datetime = await connection.fetchval(
        "insert into public.heartbeats values (clock_timestamp()) returning at"
    )
    return at


async def beating(connection: asyncpg.Connection) -> datetime:
    """Commit after commit for a second; the moment of the last that was acknowledged."""
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        last = await beat(connection)
    return last


def _kill(server: Embedded) -> None:
    os.kill(int((server.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    server.stop()


async def last_beat(connection: asyncpg.Connection) -> datetime:
    found: datetime = await connection.fetchval("select max(at) from public.heartbeats")
    return found


async def erase(connection: asyncpg.Connection) -> None:
    async with connection.transaction():
        await connection.execute("select set_config('usance.principal', '0', true)")
        assert await connection.fetchval("select usance.erase_user(7, clock_timestamp())")


async def known(connection: asyncpg.Connection) -> list[int]:
    """Users whose key is there; whoever was erased is named in the log of erasures."""
    async with connection.transaction():
        await connection.execute("set local role usance_loader")
        assert await connection.fetchval("select array_agg(user_id) from usance.erasures") == [7]
        found = await connection.fetchval("select array_agg(subject) from usance.subject_keys")
        return list(found)


async def next_event(connection: asyncpg.Connection) -> int:
    number: int = await connection.fetchval("select pg_current_xact_id()::text::bigint * 4096")
    return number


def test_a_restore_gives_the_moment_that_was_asked_for(lender: Embedded, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    with LogReceiver(lender, backup) as receiver:
        base = take_base(lender, backup, datetime.now(UTC))
        first = with_owner(lender, "usance", beat)
        asyncio.run(_export(lender, tmp_path / "book"))
        time.sleep(1.1)
        gauges = {each.name: each.values[""] for each in asyncio.run(_watched(lender))
                  if each.name.startswith("usance_backup")}  # fmt: skip
        assert 0 < gauges["usance_backup_age_seconds"] < 3_600
        assert gauges["usance_backup_log_lag_bytes"] >= 0
        with_owner(lender, "usance", erase)
        number = with_owner(lender, "usance", next_event)
        last = with_owner(lender, "usance", beating)
        receiver.kill()
        _kill(lender)  # everything at once, with commits up to that moment
    lender.start()
    assert [each.folder for each in verify(backup)] == [base.folder]
    assert last_backup(lender.home) == base

    assert with_owner(lender, "usance", known) == [8]
    latest = Embedded(tmp_path / "latest")
    in_a_process(lambda: _restore_and_die(backup, latest))
    assert not latest.data.exists()  # whole it is, but not paused: no lender
    with pytest.raises(BackupError, match="the log ends before"):
        restore_home(backup, latest, datetime.now(UTC) + timedelta(days=1))
    restore_home(backup, latest)
    assert sorted(path.name for path in latest.home.iterdir()) == ["postgres", "restoring.lock"]
    earlier = Embedded(tmp_path / "earlier")
    restore_home(backup, earlier, first + timedelta(seconds=0.5))
    for server, least, most in ((latest, last - RECOVERY_POINT, last), (earlier, first, first)):
        with server:
            assert least <= with_owner(server, "usance", last_beat) <= most
            assert with_owner(server, "usance", next_event) > number  # an epoch of its own
            assert with_owner(server, "usance", known) == [8]  # erased stays erased
            assert asyncio.run(_paused_then_released(server)) == (True, False)
            with pytest.raises(LakeError, match="epoch"):
                asyncio.run(_export(server, tmp_path / "book"))


def in_a_process(work: Callable[[], object]) -> None:
    """Some work in a process of its own, which is killed within it."""
    process = os.fork()
    if not process:
        try:
            work()
        finally:  # it does not go on with the tests
            os._exit(1)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status)


def _restore_and_die(backup: Path, server: Embedded) -> None:
    async def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(restore, "_begin_epoch", killed)
        restore_home(backup, server)


def _receive_and_die(server: Embedded, folder: Path) -> None:
    with LogReceiver(server, folder):
        while not list((folder / "wal").glob("*.partial")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_receiver_ends_with_whoever_started_it_and_there_is_one(
    lender: Embedded, tmp_path: Path
) -> None:
    in_a_process(lambda: _receive_and_die(lender, tmp_path / "backup"))
    with LogReceiver(lender, tmp_path / "backup"):
        with_owner(lender, "postgres", _until_received)
        with (
            pytest.raises(BackupError, match="receives the log already"),
            LogReceiver(lender, tmp_path / "other"),
        ):
            raise AssertionError("not reached")
        with LogReceiver(lender, tmp_path / "other", follow=False):
            assert list((tmp_path / "other" / "wal").iterdir()) == []


async def _until_received(connection: asyncpg.Connection) -> None:
    sql = "select bool_or(active) from pg_replication_slots"
    async with asyncio.timeout(60):
        while not await connection.fetchval(sql):
            await asyncio.sleep(0.01)


async def _watched(server: Embedded) -> list[Gauge]:
    platform = Platform.of_database(Database(server), Vault(bytes(32)))
    try:
        async with platform.database.transaction(0) as transaction:
            return await condition(transaction, server.home, await read_lender(transaction))
    finally:
        await platform.close()


async def _export(server: Embedded, folder: Path) -> None:
    async with Database(server).loader() as connection:
        await export(connection, folder)


async def is_paused(database: Database) -> bool:
    async with database.transaction(0) as transaction:
        return bool(await transaction.fetchval("select usance.is_paused()"))


async def _paused_then_released(server: Embedded) -> tuple[bool, bool]:
    platform = Platform.of_database(Database(server), Vault(bytes(32)))
    before = await is_paused(platform.database)
    await release(platform)
    after = await is_paused(platform.database)
    await platform.close()
    return before, after


def test_a_damaged_backup_is_named_and_not_restored(lender: Embedded, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    base = take_base(lender, backup, datetime.now(UTC))
    file = next(path for path in (base.folder / "base").rglob("*")
                if path.is_file() and path.stat().st_size > 8192)  # fmt: skip
    content = file.read_bytes()
    file.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(BackupError, match=file.name):
        verify(backup)
    target = Embedded(tmp_path / "new")
    with pytest.raises(BackupError, match=file.name):
        restore_home(backup, target)
    assert not target.data.exists()
    with pytest.raises(BackupError, match="no base backup from before"):
        restore_home(backup, target, datetime(2020, 1, 1, tzinfo=UTC))


def test_a_disk_that_fills_leaves_no_backup(lender: Embedded, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        with pytest.raises(BackupError, match="No space left") as found:
            take_base(lender, disk, datetime.now(UTC))
        assert "Make room" in found.value.fix
        assert bases(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
