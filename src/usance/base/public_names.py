"""Public names of a room, each imported from its module when it is first used.

A room's `__init__` lists its names by module; terms and facts can then be had without waiting
for Numba, and `dir()` shows everything.

>>> attribute, names = public_names("usance.base", {"money": ("Money",), "rates": ("Rate",)})
>>> attribute("Money").__name__, names()
('Money', ['Money', 'Rate'])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def public_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names live in its modules."""
    homes = {name: module for module, names in modules.items() for name in names}

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return attribute, lambda: sorted(homes)
