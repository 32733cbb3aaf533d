"""Files appear whole or not at all; one writer at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from usance.base.atomic_files import lock, publish, replace
from usance.base.errors import BookLocked


def test_publish_makes_folders_and_moves(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("x")
    publish(tmp_path / "new", tmp_path / "a" / "b" / "file")
    assert (tmp_path / "a" / "b" / "file").read_text() == "x"
    assert not (tmp_path / "new").exists()


def test_replace_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "manifest.json"
    replace(file, b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace(file, b"new")
    assert file.read_bytes() == b"old"


def test_a_second_writer_is_turned_away_until_the_first_is_done(tmp_path: Path) -> None:
    with lock(tmp_path / "lock"):
        with (
            pytest.raises(BookLocked, match="Wait until it is done") as caught,
            lock(tmp_path / "lock"),
        ):
            pass
        assert caught.value.where == str(tmp_path)
    with lock(tmp_path / "lock"):
        pass


def test_the_lock_holds_between_processes_and_ends_with_them(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from usance.base.atomic_files import lock\n"
        "with lock(pathlib.Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()\n"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(BookLocked), lock(tmp_path / "lock"):
            pass
        other.kill()
    with lock(tmp_path / "lock"):
        pass


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """What is no file is written to; a file in the place of a device would be the end of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    replace(pipe, b"whole")
    assert os.read(reader, 9) == b"whole"
    assert pipe.is_fifo()
    os.close(reader)
