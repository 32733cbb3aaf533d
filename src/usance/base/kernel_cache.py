"""The disk cache of a compiled kernel: a damaged or full one costs time, never the call."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

_COMPILING = "compiling kernels, kept for later runs …"
_said: set[str] = set()


class GuardedCache:
    """Numba's cache of one function; what it cannot read is compiled and kept again."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled code, or None: then it is compiled now, which is said once."""
        found = None
        try:
            found = self._kept.load_overload(signature, context)
        except Exception as error:  # noqa: BLE001  # damaged bytes unpickle to any error
            say_once("damaged", f"dropping damaged compiled kernels ({_named(error)})")
            self._forget()
        if found is None:
            say_once("compiling", _COMPILING)
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code if that is possible; the function is ready in any case."""
        try:
            self._kept.save_overload(signature, compiled)
        except Exception as error:  # noqa: BLE001  # a full disk, or a damaged index read first
            say_not_kept(_named(error))

    def _forget(self) -> None:
        try:
            self._kept.flush()  # an empty index: its files are written over
        except OSError as error:
            say_not_kept(_named(error))


def say_once(topic: str, text: str) -> None:
    """One line on standard error, the first time in this process."""
    if topic not in _said:
        _said.add(topic)
        sys.stderr.write(f"usance: {text}\n")


def say_not_kept(reason: str) -> None:
    """Say that kernels are compiled in every process, and how to change that."""
    fix = "set USANCE_CACHE to a folder that only you can write"
    say_once(
        "not kept", f"cannot keep compiled kernels ({reason}), compiling in every process; {fix}"
    )


def check_private(folder: Path) -> None:
    """Raise `PermissionError` if a folder is another user's, or others can write into it."""
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"other users can write to {folder}")


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")
