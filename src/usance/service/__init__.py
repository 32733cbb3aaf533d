"""Service: facts that fall due by rule while a loan lives, and payments as providers report them.

`due_facts` gives, for one loan or a column of them, the late fees, compensation at the trigger,
buy-out and charge-off of the days after a state if nobody pays. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.service.payment_file import PaymentFileIntake, PaymentNotice
    from usance.service.rules import ServicingRules, late_fee
    from usance.service.servicing_events import DueFacts, Holders, due_facts

__all__ = [
    "DueFacts",
    "Holders",
    "PaymentFileIntake",
    "PaymentNotice",
    "ServicingRules",
    "due_facts",
    "late_fee",
]

_MODULES = {
    "payment_file": ("PaymentFileIntake", "PaymentNotice"),
    "rules": ("ServicingRules", "late_fee"),
    "servicing_events": ("DueFacts", "Holders", "due_facts"),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
