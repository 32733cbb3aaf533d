"""The source files that can change what a compiled kernel does.

A kernel bakes in the functions it calls and the constants it reads, also those of other files.
So the set is every file below the package that contains a kernel, plus whatever of the package
these import, directly or through another file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

MARK = b"@kernel"


def package_root(file: Path, module: str) -> Path:
    """The folder of the top package a module belongs to, or the file itself if in none.

    >>> package_root(Path("lib/usance/base/draws.py"), "usance.base.draws").as_posix()
    'lib/usance'
    >>> package_root(Path("script.py"), "__main__").as_posix()
    'script.py'
    """
    depth = module.count(".") + (file.name == "__init__.py")
    return file.parents[depth - 1] if depth else file


def kernel_sources(root: Path) -> list[tuple[bytes, bytes]]:
    """Relative path and content of each file that can change a kernel, in a fixed order."""
    if root.is_file():
        return [(root.name.encode(), root.read_bytes())]
    contents = {path: path.read_bytes() for path in root.rglob("*.py")}
    found: set[Path] = set()
    waiting = [path for path, content in contents.items() if MARK in content]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [near for near in _imported(path, contents[path], root) if near in contents]
    return sorted((path.relative_to(root).as_posix().encode(), contents[path]) for path in found)


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
