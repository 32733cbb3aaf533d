"""Backups with PostgreSQL's own tools: base backups, the log as it is written, restore to a moment.

    DIR/base/20240801T160000Z/    a base backup, with PostgreSQL's manifest of it
    DIR/wal/                      the write-ahead log, received while it is written

A base backup appears under its name when it is whole and checked. A restore makes a new home of the
latest base before the moment and the log after it, also of the piece that was not finished. Keys of
personal data are not in a backup: they are kept apart.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from usance.base.atomic_files import replace
from usance.platform.errors import BackupError, ServerError
from usance.platform.store.server import OWNER, PORT, Embedded, binary, ending_with_caller

BASE, WAL = "base", "wal"
STAMP = "%Y%m%dT%H%M%SZ"
SLOT = "usance_backup"
MANIFEST = "backup_manifest"
LAST = "last_backup.json"
"""The file of a home that says when its last base backup was taken, and where it is."""
_SENDER = "select active_pid from pg_replication_slots where slot_name = 'usance_backup' and active"
_NOTICE_SECONDS, _POLL_SECONDS = 5.0, 0.1
EPOCH_TRANSACTIONS, PAGE_TRANSACTIONS = 1 << 26, 1 << 20
"""Numbers of transactions that a restore leaves out, so that none is given twice, and how many one
file of PostgreSQL's commit log holds: the next number has to begin one."""


@dataclass(frozen=True)
class BaseBackup:
    """One base backup: its folder, and the moment it was taken at."""

    folder: Path
    taken_at: datetime


def take_base(server: Embedded, folder: Path, at: datetime) -> BaseBackup:
    """Take a base backup of a running server; it is checked before it gets its name."""
    name = at.astimezone(UTC).strftime(STAMP)
    place, new = folder / BASE / name, folder / BASE / f"{name}.new"
    shutil.rmtree(new, ignore_errors=True)
    new.parent.mkdir(parents=True, exist_ok=True)
    try:
        _run(["pg_basebackup", "-D", str(new), "--wal-method=fetch", "--checkpoint=fast",
              "--manifest-checksums=SHA256", *_to(server)], new, server)  # fmt: skip
        check_base(new)
        new.rename(place)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    told = {"base": str(place.absolute()), "taken_at": at.astimezone(UTC).isoformat()}
    replace(server.home / LAST, json.dumps(told).encode())
    return BaseBackup(place, at)


def last_backup(home: Path) -> BaseBackup | None:
    """The last base backup that was taken of a home; none if there was none."""
    try:
        told = json.loads((home / LAST).read_bytes())
    except FileNotFoundError:
        return None
    return BaseBackup(Path(told["base"]), datetime.fromisoformat(told["taken_at"]))


def check_base(folder: Path) -> None:
    """Raise what is wrong with a base backup: a file that is missing or damaged, or its manifest.

    The manifest is PostgreSQL's own; its checker ends with a fault where there is no OpenSSL.
    """
    try:
        content = (folder / MANIFEST).read_bytes()
        manifest = json.loads(content)
    except (OSError, ValueError) as error:
        raise _damaged(MANIFEST, folder) from error
    body = content[: content.rindex(b'"Manifest-Checksum"')]
    if sha256(body).hexdigest() != manifest["Manifest-Checksum"]:
        raise _damaged(MANIFEST, folder)
    for each in manifest["Files"]:
        if not _is_whole(folder / each["Path"], each):
            raise _damaged(each["Path"], folder)


def _is_whole(path: Path, entry: Mapping[str, Any]) -> bool:
    try:
        with path.open("rb") as file:
            return bool(file_digest(file, "sha256").hexdigest() == entry["Checksum"])
    except OSError:
        return False


def _damaged(name: str, folder: Path) -> BackupError:
    return BackupError(f"{name} is missing or damaged", where=str(folder),
                       fix="Use an older base backup, and take a new one")  # fmt: skip


def bases(folder: Path) -> list[BaseBackup]:
    """The whole base backups of a folder, the oldest first."""
    found = [path for path in (folder / BASE).glob("*Z") if path.is_dir()]
    moments = [datetime.strptime(path.name, STAMP).replace(tzinfo=UTC) for path in found]
    return sorted(map(BaseBackup, found, moments), key=lambda each: each.taken_at)


def verify(folder: Path) -> list[BaseBackup]:
    """Every base backup of a folder, checked file by file, and the log without gaps."""
    found = bases(folder)
    if not found:
        raise BackupError("has no base backup", where=str(folder), fix="Take one: usance db backup")
    for each in found:
        check_base(each.folder)
    for before, after in _gaps(folder / WAL):
        raise BackupError(f"the log lacks what follows {before}; it goes on with {after}",
                          where=str(folder / WAL),
                          fix="Take a new base backup: moments after the gap need one")  # fmt: skip
    return found


def _gaps(folder: Path) -> list[tuple[str, str]]:
    """Neighbours in the log, of one history, that do not follow each other."""
    names = sorted(path.name.partition(".")[0] for path in folder.glob("?" * 24 + "*"))
    numbers = [(name[:8], int(name[8:16], 16) * 256 + int(name[16:], 16)) for name in names]
    return [
        (names[n], names[n + 1])
        for n, (one, other) in enumerate(pairwise(numbers))
        if one[0] == other[0] and other[1] > one[1] + 1
    ]


class LogReceiver:
    """The log of a server, received into a backup folder while it is written.

    There is one receiver of a server: without `follow` it is left to another that is at it.
    """

    def __init__(self, server: Embedded, folder: Path, *, follow: bool = True) -> None:
        self.server, self.folder, self._follow = server, folder / WAL, follow
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LogReceiver:
        self.folder.mkdir(parents=True, exist_ok=True)
        slot = ["pg_receivewal", "-D", str(self.folder), f"--slot={SLOT}", *_to(self.server)]
        _run([*slot, "--create-slot", "--if-not-exists"], self.folder, self.server)
        other = self._other()
        if other and self._follow:
            raise BackupError(f"process {other} receives the log already", where=str(self.folder),
                              fix="End it first, or leave --follow out: one is enough")  # fmt: skip
        if other:
            return self
        command = [str(binary(slot[0])), *slot[1:], "--synchronous", "--status-interval=1"]
        self._said = TemporaryFile()
        self._process = subprocess.Popen(  # noqa: S603 -- programs and arguments of our own
            ending_with_caller(command), env=_environment(self.server), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self._said,
        )  # fmt: skip
        return self

    def _other(self) -> str:
        """The process of the server that sends the log to somebody else; empty if none does.

        One whose receiver was killed has a moment to see it.
        """
        until = time.monotonic() + _NOTICE_SECONDS
        while True:
            found = _run(["psql", "-XAtq", *_to(self.server, "-d", "postgres"), "-c", _SENDER],
                         self.folder, self.server).strip()  # fmt: skip
            if not found or not self._follow or time.monotonic() > until:
                return found
            time.sleep(_POLL_SECONDS)

    def wait(self) -> None:
        """Wait until the receiver ends; raises unless it was stopped."""
        assert self._process is not None, "it is received within the block"
        ended = self._process.wait()
        if ended > 0:
            self._said.seek(0)
            raise _refused(self._said.read().decode(errors="replace"), ended, self.folder)

    def kill(self) -> None:
        """End it at once, as a machine does that loses its power."""
        assert self._process is not None, "it is received within the block"
        self._process.kill()

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._said.close()


def restore(folder: Path, server: Embedded, target: datetime | None = None) -> BaseBackup:
    """Make the server of an empty home from a backup, as it was at a moment or as far as it goes.

    The server is left stopped, with a password of its own and its transactions numbered on.
    """
    base = base_for(folder, target)
    check_base(base.folder)
    check_empty(server)
    new = server.adopt(base.folder)
    hba = new / "pg_hba.conf"
    kept = hba.read_text()
    hba.write_text(
        "local all all trust\n"
    )  # until the new password is set, behind a private socket
    (new / "recovery.signal").touch()
    settings = {"restore_command": _restore_command(folder / WAL), "hot_standby": "off"}
    if target is not None:
        settings |= {"recovery_target_time": target.astimezone(UTC).isoformat(),
                     "recovery_target_action": "promote"}  # fmt: skip
    with (new / "postgresql.auto.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    server.finish_adoption(new)
    _recover(server, folder, target)
    try:
        _run(
            [
                "psql",
                "-X",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                *_to(server, "-d", "postgres"),
                "-c",
                f"alter role {OWNER} password '{server.password()}'",
            ],
            server.data,
            server,
        )
    finally:
        server.stop()
    (server.data / "pg_hba.conf").write_text(kept)
    _run(server.as_account([str(binary("pg_resetwal")), f"--next-transaction-id={_next(server)}",
                            str(server.data)]), server.data)  # fmt: skip
    return base


def _recover(server: Embedded, folder: Path, target: datetime | None) -> None:
    """Replay the log; a moment behind its end is named."""
    try:
        server.start()
    except ServerError as error:
        if target is None or "before configured recovery target" not in (
            server.log.read_text(errors="replace")
        ):
            raise
        raise BackupError(
            f"the log ends before {target.isoformat()}", where=str(folder / WAL),
            fix="Give an earlier moment, or leave --to out: it is replayed as far as it goes",
        ) from error  # fmt: skip


def check_empty(server: Embedded) -> None:
    """Refuse a home that has a database."""
    if server.data.exists():
        raise BackupError("has a database", where=str(server.home),
                          fix="Restore into an empty --home; you move it into place")  # fmt: skip


def _next(server: Embedded) -> int:
    """A number for the next transaction that the database never reached before."""
    shown = _run(["pg_controldata", str(server.data)], server.data)
    line = next(line for line in shown.splitlines() if "NextXID" in line)
    reached = int(line.rpartition(":")[2])
    return (reached + EPOCH_TRANSACTIONS) // PAGE_TRANSACTIONS * PAGE_TRANSACTIONS


def base_for(folder: Path, target: datetime | None) -> BaseBackup:
    """The base backup that a moment, or the end of the log, is restored from."""
    found = [each for each in bases(folder) if target is None or each.taken_at <= target]
    if not found:
        moment = "" if target is None else f" from before {target.isoformat()}"
        raise BackupError(f"has no base backup{moment}", where=str(folder),
                          fix="See those it has: usance db verify")  # fmt: skip
    return found[-1]


def _restore_command(wal: Path) -> str:
    """Fetch a piece of the log; the last one has not been finished."""
    place = str(wal.absolute()).replace("'", "''").replace("%", "%%")
    return f'cp "{place}/%f" "%p" 2>/dev/null || cp "{place}/%f.partial" "%p"'


def _to(server: Embedded, *more: str) -> list[str]:
    return ["-h", str(server.socket), "-p", str(PORT), "-U", OWNER, *more]


def _environment(server: Embedded | None) -> dict[str, str]:
    own = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return own if server is None else {**own, "PGPASSWORD": server.password()}


def _run(command: Sequence[str], where: Path, server: Embedded | None = None) -> str:
    """The output of one of PostgreSQL's programs, or what it says is wrong."""
    first = command[0] if "/" in command[0] else str(binary(command[0]))
    done = subprocess.run(  # noqa: S603 -- programs and arguments of our own
        [first, *command[1:]], env=_environment(server), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise _refused(done.stderr, done.returncode, where)
    return done.stdout


def _refused(errors: str, code: int, where: Path) -> BackupError:
    """The error that one of PostgreSQL's programs told."""
    said = [line.partition("error: ")[2] or line for line in errors.splitlines() if line]
    told = "; ".join(said[:3]) or f"it ended with {code}"
    is_full = "No space left" in errors
    fix = "Make room on that disk, and do it again" if is_full else (
        "Take another base backup, or mend what it says")  # fmt: skip
    return BackupError(told, where=str(where), fix=fix)
