"""The disk cache of a compiled kernel: a damaged or full one costs time, never the call.

It holds for the source files that can change what a kernel does. A kernel bakes in the functions it
calls and the constants it reads, also those of other files. So the set is every file below the
package that contains a kernel, plus whatever of the package these import, directly or through
another file.
"""

from __future__ import annotations

import ast
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
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


MARK = b"@kernel"
_END = "end of list"


def package_root(file: Path, module: str) -> Path:
    """The folder of the top package a module belongs to, or the file itself if in none.

    >>> package_root(Path("lib/usance/base/draws.py"), "usance.base.draws").as_posix()
    'lib/usance'
    >>> package_root(Path("script.py"), "__main__").as_posix()
    'script.py'
    """
    depth = module.count(".") + (file.name == "__init__.py")
    return file.parents[depth - 1] if depth else file


def kept_kernel_sources(root: Path, home: Path) -> list[tuple[bytes, bytes]]:
    """`kernel_sources`, with the list of their paths kept in a folder from call to call.

    The list is found again whenever any file of the package has changed: parsing a hundred files
    takes longer than many a command.
    """
    if root.is_file():
        return kernel_sources(root)
    contents = _contents(root)
    mark = blake2b(digest_size=12)
    for path in sorted(contents):
        for part in (path.relative_to(root).as_posix().encode(), contents[path]):
            mark.update(len(part).to_bytes(8, "big") + part)
    kept = home / f"{mark.hexdigest()}.sources"
    with suppress(OSError, ValueError, KeyError):  # never kept, or damaged: found again
        check_private(home)
        names = kept.read_text("utf-8").splitlines()
        if names[-1:] == [_END]:
            return [(name.encode(), contents[root / name]) for name in names[:-1]]
    found = kernel_sources(root)
    with suppress(OSError):  # whether the folder can be written is said of the kernels themselves
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept.write_text("\n".join([*(name.decode() for name, _ in found), _END]), "utf-8")
    return found


def kernel_sources(root: Path) -> list[tuple[bytes, bytes]]:
    """Relative path and content of each file that can change a kernel, in a fixed order."""
    if root.is_file():
        return [(root.name.encode(), root.read_bytes())]
    contents = _contents(root)
    found: set[Path] = set()
    waiting = [path for path, content in contents.items() if MARK in content]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [near for near in _imported(path, contents[path], root) if near in contents]
    return sorted((path.relative_to(root).as_posix().encode(), contents[path]) for path in found)


def _contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*.py")}


def _imported(path: Path, content: bytes, root: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(root.parent, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if node.level else root.parent
            parts = node.module.split(".") if node.module else []
            yield from _files(base, parts)
            for alias in node.names:
                yield from _files(base, [*parts, alias.name])


def _files(base: Path, parts: list[str]) -> list[Path]:
    place = base.joinpath(*parts)
    return [place.with_suffix(".py"), place / "__init__.py"]
