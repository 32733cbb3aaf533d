"""Public names of a room: listed once, in its stub, and imported when they are first used.

`__init__.pyi` beside a room's `__init__.py` says which names come from which module. Type checkers
read it; so does this module, which leaves the imports until somebody asks. Terms and facts can then
be had without waiting for Numba, and `dir()` shows everything: names and modules.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def public_names(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package, from the stub beside its file."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = sorted(homes)

    def attribute(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if name in module_names(file):
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*vars(import_module(package)), *names, *module_names(file)})

    return attribute, listed, names


def module_names(file: str) -> list[str]:
    """The modules and packages beside a package's `__init__.py`.

    >>> [name for name in module_names(__file__) if name.startswith("da")]
    ['dated_calendars', 'dates', 'daycount']
    """
    folder = Path(file).parent
    found = [each.stem for each in folder.glob("*.py")]
    found += [each.parent.name for each in folder.glob("*/__init__.py")]
    return sorted(name for name in found if not name.startswith("_"))
