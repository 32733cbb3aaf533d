"""Files that appear whole or not at all, and one writer at a time.

A file is written beside its place, made durable, then renamed; the folder is made durable after.

One that cannot be written is named, with a fix.

>>> with naming_failures(Path("/")):
...     _ = Path("/").write_text("")
Traceback (most recent call last):
    ...
usance.base.errors.InputError: /: cannot be written: Is a directory. Name another file or folder.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from usance.base.errors import BookLocked, FileRefused, InputError


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock file while the block lasts; fails at once if another process has it."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BookLocked(
                "another process is writing", where=str(path.parent), fix="Wait until it is done"
            ) from None
        yield


def check_folder_place(folder: Path, where: str) -> None:
    """Refuse a folder that cannot be made or written in, before the work that would fill it.

    >>> check_folder_place(Path("/dev/null/out"), "--out")
    Traceback (most recent call last):
    usance.base.errors.FileRefused: --out: /dev/null is a file. Name a folder.
    """
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise FileRefused(f"{there} is a file", where=where, fix="Name a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        fix = "Check who may write there, or choose another place"
        raise FileRefused(f"{there} may not be written in", where=where, fix=fix)


def check_file_place(file: Path, where: str) -> None:
    """Refuse a file that cannot be written, before the work whose answer it is for."""
    if file.is_dir():
        raise FileRefused(f"{file} is a folder", where=where, fix="Name a file inside it")
    check_folder_place(file.absolute().parent, where)


def publish(temporary: Path, final: Path) -> None:
    """Move a finished file to its place, durably."""
    sync(temporary)
    _make_folders(final.parent)
    temporary.rename(final)
    sync(final.parent)


def replace(path: Path, content: bytes) -> None:
    """Replace a file's content in one step; a reader sees the old or the new, never a part.

    A device or a pipe is written to: a file in its place would be the end of it.
    """
    if path.is_dir():
        raise FileRefused(f"{path} is a folder", where=str(path), fix="Name a file inside it")
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_bytes(content)
        publish(new, path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _make_folders(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    folder.mkdir(exist_ok=True)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Make a file or a folder durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


FIX = "Name another file or folder"


@contextmanager
def naming_failures(path: Path) -> Iterator[None]:
    """Turn a failure to write a file or folder into an error with its name."""
    try:
        yield
    except OSError as error:
        # Arrow gives no reason apart from its whole message.
        what = f"cannot be written: {error.strerror or str(error).partition('. Detail')[0]}"
        raise InputError(what, where=str(error.filename or path), fix=FIX) from None


def check_writable(path: Path) -> None:
    """Raise, before long work, if a file cannot be where its results are to go."""
    if path.is_dir():
        raise InputError("is a folder", where=str(path), fix="Name a file inside it")
    if not path.parent.is_dir():
        what = f"the folder {path.parent} does not exist"
        raise InputError(what, where=str(path), fix="Make it first, or name another")
