"""A bank's or provider's file once it is read: its identity, its balances and its lines.

>>> line = FileLine(
...     number=12,
...     reference="OR1",
...     amount_minor=1_500_00,
...     currency="CNY",
...     booked_on=date(2024, 7, 1),
... )
>>> statement = Statement("CN01", "S-1", "CNY", (line,), opening_minor=0, closing_minor=1_500_00)
>>> statement.total_minor, list(statement.balance_problems("s1.xml"))
(150000, [])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from usance.service.errors import BankFileError


class FileLine(NamedTuple):
    """One movement of a file; money that came in is positive."""

    number: int
    """Line of the file it begins on."""
    reference: str
    amount_minor: int
    currency: str
    booked_on: date
    value_on: date | None = None
    party: str = ""
    batch: str = ""
    fee_minor: int = 0
    """Withheld by the provider: the bank sees the amount less the fee."""
    loan_id: int = 0
    bank_ref: str = ""
    """The bank's or provider's own number of the movement."""
    is_reversal: bool = False
    return_reason: str = ""
    text: str = ""
    account: str = ""
    """The virtual account that the money was sent to, where the file names one."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The lines of one account and what the file says of its balances."""

    account: str
    identity: str
    """The file's own number: a file sent again has the same."""
    currency: str
    lines: tuple[FileLine, ...]
    opening_minor: int | None = None
    closing_minor: int | None = None
    closing_on: date | None = None

    @property
    def total_minor(self) -> int:
        """Sum of its lines."""
        return sum(line.amount_minor for line in self.lines)

    def balance_problems(self, where: str) -> Iterator[BankFileError]:
        """The balance that does not roll, if both are stated."""
        if self.opening_minor is None or self.closing_minor is None:
            return
        own = sum(each.amount_minor for each in self.lines if each.currency == self.currency)
        gap = self.closing_minor - self.opening_minor - own
        if gap:
            yield BankFileError(
                f"statement {self.identity} closes {gap} minor units above its opening and entries",
                where=where,
                fix="Ask the bank for the whole statement, or set balances: free in its profile",
            )
