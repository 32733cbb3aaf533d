"""The embedded server: whole or not at all, one owner, adopted by others, never left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.platform.databases import with_owner
from usance.platform.errors import ServerError
from usance.platform.store import server as module
from usance.platform.store.server import Embedded, role_password

OWNER = """
import sys, time
from pathlib import Path
from usance.platform.store.server import Embedded
Embedded(Path(sys.argv[1])).start()
print("ready", flush=True)
time.sleep(600)
"""


def pid(server: Embedded) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{number}/stat").read_text().split()[2]


def wait_for_end(number: int) -> None:
    for _ in range(1_000):
        if not is_running(number):
            return
        time.sleep(0.01)
    pytest.fail(f"the server {number} is still there")


async def one(connection: object) -> int:
    return int(await connection.fetchval("select 1"))  # type: ignore[attr-defined]


def test_it_starts_answers_and_stops(tmp_path: Path) -> None:
    with Embedded(tmp_path) as server:
        assert server.owns
        assert with_owner(server, "postgres", one) == 1
        number = pid(server)
    assert not is_running(number)
    with Embedded(tmp_path) as again:
        assert with_owner(again, "postgres", one) == 1


def test_another_that_uses_the_folder_adopts_it(server: Embedded) -> None:
    other = Embedded(server.home)
    other.start()
    assert not other.owns
    other.stop()  # not its own: nothing happens
    assert with_owner(server, "postgres", one) == 1


def test_a_killed_owner_leaves_no_server_and_its_work_is_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    with owner.stdout:
        assert owner.stdout.readline() == "ready\n"
    server = Embedded(tmp_path)
    number = pid(server)

    async def keep(connection: object) -> None:
        await connection.execute("create table kept as select 1 as it")  # type: ignore[attr-defined]

    with_owner(server, "postgres", keep)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    with Embedded(tmp_path) as after:
        assert after.owns
        wait_for_end(number)

        async def kept(connection: object) -> int:
            return int(await connection.fetchval("select it from kept"))  # type: ignore[attr-defined]

        assert with_owner(after, "postgres", kept) == 1


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_killed_server_recovers(tmp_path: Path, is_stopped: bool) -> None:
    with Embedded(tmp_path) as server:
        number = pid(server)
        os.kill(number, signal.SIGKILL)
        if is_stopped:
            server.stop()
        wait_for_end(number)
        server.start()
        assert with_owner(server, "postgres", one) == 1


def test_a_pid_file_of_another_process_is_not_believed(tmp_path: Path) -> None:
    with Embedded(tmp_path) as server:
        lines = (server.data / "postmaster.pid").read_text()
    (server.data / "postmaster.pid").write_text(
        lines.replace(lines.split()[0], str(os.getpid()), 1)
    )
    assert not server._is_alive()


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    server = Embedded(tmp_path / ("long" * 25))
    assert len(os.fsencode(server.socket)) < 60
    assert server.socket == Embedded(server.home).socket


def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "socket"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with pytest.raises(ServerError, match="belongs to somebody else"):
        module._private(folder)


def test_programs_below_a_private_folder_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    installed = module.binary("initdb").parents[1]
    package = installed.parent
    copied = private / package.name / installed.name
    shutil.copytree(installed, copied, symlinks=True)
    for libraries in package.parent.glob(f"{package.name}.libs"):
        (private / libraries.name).symlink_to(libraries)
    monkeypatch.setenv(module.BINARIES, str(copied / "bin"))
    with Embedded(tmp_path / "home") as server:
        assert with_owner(server, "postgres", one) == 1


def test_missing_binaries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.BINARIES, str(tmp_path))
    with pytest.raises(ServerError, match="there is no initdb") as caught:
        Embedded(tmp_path / "home").start()
    assert "USANCE_DATABASE_URL" in caught.value.fix


def test_a_server_that_cannot_start_says_what_its_log_says(tmp_path: Path) -> None:
    server = Embedded(tmp_path)
    server.start()
    server.stop()
    with (server.data / "postgresql.conf").open("a") as file:
        file.write("shared_buffers = nonsense\n")
    with pytest.raises(ServerError, match="ended while it was starting") as caught:
        server.start()
    assert "shared_buffers" in caught.value.fix or "configuration file" in caught.value.fix


def test_passwords_of_roles_follow_from_one_secret() -> None:
    assert role_password("x", "usance_owner") == "x"
    assert role_password("x", "usance_reader") != role_password("x", "usance_application")
