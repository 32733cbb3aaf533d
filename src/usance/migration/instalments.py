"""Instalments of a migrated loan: due, paid, in advance, late, open."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from usance.base.codes import Component


class InstalmentOrigin(StrEnum):
    """Origin of an instalment."""

    DOWN_PAYMENT = "down_payment"  # due on the day of a disbursement
    REGULAR = "regular"  # a period of the plan
    EXTRA = "extra"  # what falls due after the last period


def _zeros() -> list[int]:
    return [0] * len(Component)


@dataclass(slots=True)
class Instalment:
    """One instalment; `due` and `paid` hold an amount for every component."""

    start: date
    end: date
    origin: InstalmentOrigin = InstalmentOrigin.REGULAR
    due: list[int] = field(default_factory=_zeros)
    paid: list[int] = field(default_factory=_zeros)
    credited: int = 0  # principal that came back by chargebacks within it
    in_advance: int = 0
    late: int = 0
    settled_on: date | None = None

    @property
    def principal(self) -> int:
        """Principal due with it."""
        return self.due[Component.PRINCIPAL]

    @property
    def interest(self) -> int:
        """Interest due with it."""
        return self.due[Component.INTEREST]

    @property
    def total(self) -> int:
        """All that is due with it."""
        return sum(self.due)

    @property
    def total_paid(self) -> int:
        """All that was paid for it."""
        return sum(self.paid)

    @property
    def outstanding(self) -> int:
        """The open amount."""
        return sum(max(0, due - paid) for due, paid in zip(self.due, self.paid, strict=True))

    @property
    def is_open(self) -> bool:
        """True if anything is still to be paid."""
        return self.outstanding > 0

    def open(self, component: Component) -> int:
        """The open amount of one component."""
        return max(0, self.due[component] - self.paid[component])

    def pay(self, component: Component, day: date, amount: int) -> int:
        """Pay as much of a component as is open; what was paid."""
        portion = min(self.open(component), amount)
        self.paid[component] += portion
        if day < self.end:
            self.in_advance += portion
        elif day > self.end:
            self.late += portion
        self.settle(day)
        return portion

    def settle(self, day: date) -> None:
        """Note the day on which nothing is open any more, or forget it."""
        if self.is_open:
            self.settled_on = None
        elif self.settled_on is None:
            self.settled_on = day
