"""Service: what falls due by rule while a loan lives.

`due_facts` says of one loan or a column of them what the days after a state bring if nobody pays:
late fees, compensation at the trigger, buy-out and charge-off. Names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from usance.service.rules import Rules
    from usance.service.servicing_events import DueFacts, Holders, due_facts

__all__ = ["DueFacts", "Holders", "Rules", "due_facts"]

_HOMES = {"servicing_events": ("DueFacts", "Holders", "due_facts"), "rules": ("Rules",)}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"usance.service.{home}"), name)
    raise AttributeError(f"module 'usance.service' has no attribute {name!r}")
