"""Usance is an open credit platform: one loan or fifty million, from the same records."""

from importlib import import_module
from typing import Any

from usance.base.public_names import module_names

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in module_names(__file__):
        return import_module(f"usance.{name}")
    raise AttributeError(f"module 'usance' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *module_names(__file__)})
