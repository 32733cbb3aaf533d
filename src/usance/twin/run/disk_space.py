"""Checks that a folder can be written to, and that its disk has space enough."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from usance.base.book_step import MANIFEST
from usance.base.errors import UsanceError
from usance.twin.errors import RunError

ELSEWHERE = "Choose another folder with --out"


def unwritable(folder: Path) -> Iterator[UsanceError]:
    """Reasons nothing can be written to a folder; what is tried is removed at once."""
    there = _nearest(folder)
    if not there.is_dir():
        yield RunError("is no folder", where=str(there), fix=ELSEWHERE)
        return
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            (folder / MANIFEST).stat()  # a name may be too long
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        yield RunError(what, where=str(folder), fix=f"{ELSEWHERE}, one you may write to")


def free_if_too_small(folder: Path, needed: int) -> int | None:
    """The bytes that are free, if they and those the folder holds are fewer than are needed."""
    free = shutil.disk_usage(_nearest(folder)).free
    return free if free + _held(folder) < needed else None


def _nearest(folder: Path) -> Path:
    """The folder itself, or the nearest above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if os.path.lexists(each))


def _held(folder: Path) -> int:
    """The bytes a folder holds; another process may be at work in it, so a file may be gone."""
    held = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                held += (Path(place) / name).stat().st_size
    return held


def readable_sizes(*counts: int) -> list[str]:
    """Bytes as people read them, in the largest unit that tells them apart.

    >>> readable_sizes(62_000_000, 1_500_000), readable_sizes(1_040_000_000, 1_020_000_000)
    (['62.0 MB', '1.5 MB'], ['1,040.0 MB', '1,020.0 MB'])
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        shown = [f"{each / unit:,.1f} {name}" for each in counts]
        if max(counts) >= unit and len(set(shown)) == len(counts):
            return shown
    return [f"{each:,} bytes" for each in counts]
