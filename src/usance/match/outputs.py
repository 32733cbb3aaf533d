"""Files that matching writes: one that cannot be written is named, with a fix.

>>> with naming_failures(Path("/")):
...     _ = Path("/").write_text("")
Traceback (most recent call last):
    ...
usance.base.errors.InputError: /: cannot be written: Is a directory. Name another file or folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from usance.base.errors import InputError

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
