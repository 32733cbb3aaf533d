"""A fact of the group as a room states it: the books give it a number and a booking time.

Rooms before the books state such facts and post nothing: what a deal raised, what a bank statement
says, shares that were issued.

>>> from datetime import date
>>> StatedFact("shares_issued", 1, date(2024, 1, 2), "USD", quantity=100).amount_minor
0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import date
from typing import Any


@dataclass(frozen=True, slots=True)
class StatedFact:
    """One row of `group_facts`, its kind as a word and its detail as plain JSON values."""

    kind: str
    entity: int
    effective_on: date
    currency: str
    amount_minor: int = 0
    _: KW_ONLY
    party: int = 0
    quantity: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)
