"""Re-ageing: all that is open is spread over new instalments."""

from __future__ import annotations

from datetime import date

from usance.loan.foreign.account import Account
from usance.loan.foreign.facts import Ageing


def re_age(account: Account, day: date, ageing: Ageing) -> None:
    """Spread what is open on a day over new instalments."""
    del account, day, ageing
    raise ValueError("re-age")
