"""Service: what falls due by rule while a loan lives.

`due_facts` says of one loan or a column of them what the days after a state bring if nobody pays:
late fees, compensation at the trigger, buy-out and charge-off. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.service.rules import Rules
    from usance.service.servicing_events import DueFacts, Holders, due_facts

__all__ = ["DueFacts", "Holders", "Rules", "due_facts"]

_MODULES = {"servicing_events": ("DueFacts", "Holders", "due_facts"), "rules": ("Rules",)}

__getattr__, __dir__ = public_names(__name__, _MODULES)
