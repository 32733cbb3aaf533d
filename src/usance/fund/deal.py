"""A deal as data: classes, fees, accounts, triggers and the steps of its waterfall.

A class is a layer of the deal's debt, senior first; an account holds money between payment dates
(`collection` is always there); a step pays from an account what is due, at most an amount, when a
condition holds. Formulas are those of `base.formulas`, in minor units.

>>> Status.ACCELERATED.follows(Status.AMORTISING), Status.AMORTISING.follows(Status.DEFAULTED)
(True, False)
>>> at([10_000, 15_000, 20_000], 2), at([10_000, 15_000, 20_000], 9)
(15000, 20000)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum

from usance.base.dates import add_months
from usance.base.daycount import DayCount
from usance.base.formulas import Formula

COLLECTION = "collection"
"""The account that takes what the pool pays, and from which a step pays unless it says `from`."""


class Status(Enum):
    """The stage of a deal; it only moves on."""

    REVOLVING = "revolving"
    AMORTISING = "amortising"
    ACCELERATED = "accelerated"
    DEFAULTED = "defaulted"

    def follows(self, other: Status) -> bool:
        """True if a deal can move here from the other."""
        order = list(Status)
        return order.index(self) > order.index(other)


class TriggerMoment(Enum):
    """The moment of a payment date at which a trigger is looked at."""

    COLLECTION = "collection"
    """Before the steps: the new status pays this date already."""
    DISTRIBUTION = "distribution"
    """After the steps: the new status pays from the next date on."""


class StepKind(Enum):
    """The payments a waterfall can make."""

    FEE = "fee"
    INTEREST = "interest"
    PRINCIPAL = "principal"
    MOVE = "move"
    BUY = "buy"
    RESIDUAL = "residual"


class Amortisation(Enum):
    """The way a pool's loans repay."""

    LEVEL = "level"
    EQUAL_PRINCIPAL = "equal_principal"


@dataclass(frozen=True, slots=True)
class NoteClass:
    """One class of a deal; without a rate it lives on the residual."""

    name: str
    balance_minor: int
    rate_ppm: int = 0
    targets_minor: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee: so much a date, and shares of a base, by the year or of the whole."""

    name: str
    fixed_minor: int = 0
    annual_ppm: int = 0
    share_ppm: int = 0
    base: Formula | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """A condition that moves the deal to a later status."""

    name: str
    at: TriggerMoment
    when: Formula
    to: Status


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The right to call what is left of the pool, at a price."""

    when: Formula
    price: Formula


@dataclass(frozen=True, slots=True)
class Step:
    """One payment of the waterfall, to the fee, classes or account in `payees`."""

    kind: StepKind
    payees: tuple[str, ...] = ()
    source: str = COLLECTION
    amount: Formula | None = None
    when: Formula | None = None
    pro_rata: bool = False


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """How loans of one kind repay, prepay, default and recover, month by month of their age."""

    rate_ppm: int
    months: int
    amortisation: Amortisation
    smm_ppm: tuple[int, ...] = (0,)
    mdr_ppm: tuple[int, ...] = (0,)
    recovery_ppm: int = 0
    recovery_lag: int = 0


@dataclass(frozen=True, slots=True)
class MonthFlows:
    """Interest, principal, defaulted and recovered of one month."""

    interest_minor: int = 0
    principal_minor: int = 0
    defaulted_minor: int = 0
    recovered_minor: int = 0

    def __add__(self, other: MonthFlows) -> MonthFlows:
        return MonthFlows(
            self.interest_minor + other.interest_minor,
            self.principal_minor + other.principal_minor,
            self.defaulted_minor + other.defaulted_minor,
            self.recovered_minor + other.recovered_minor,
        )


@dataclass(frozen=True, slots=True)
class Pool:
    """The loans at closing: terms to project them by, or their flows by month."""

    balance_minor: int
    terms: PoolTerms | None = None
    flows: tuple[MonthFlows, ...] = ()


@dataclass(frozen=True, slots=True)
class Purchase:
    """Loans the deal may buy on each date, and the price of a unit of principal."""

    terms: PoolTerms
    price_ppm: int
    supply_minor: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Multiples of default, prepayment and recovery in hundredths, with a weight.

    Its own vectors by month stand for those of every pool; the multiples apply to them too.
    """

    weight_ppm: int = 1_000_000
    default_hundredths: int = 100
    prepayment_hundredths: int = 100
    recovery_hundredths: int = 100
    mdr_ppm: tuple[int, ...] = ()
    smm_ppm: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Deal:
    """Everything a payment date needs to know about a deal."""

    closing_on: date
    first_month: int
    periods: int
    pay_day: int
    day_count: DayCount
    status: Status
    pool: Pool
    classes: tuple[NoteClass, ...]
    waterfall: Mapping[Status, tuple[Step, ...]]
    months_per_period: int = 1
    purchase: Purchase | None = None
    fees: tuple[Fee, ...] = ()
    accounts: Mapping[str, int] = field(default_factory=dict)
    triggers: tuple[Trigger, ...] = ()
    clean_up: CleanUp | None = None
    scenarios: tuple[Scenario, ...] = ()
    price_minor: int | None = None
    """Paid to the originator at closing; the rest of the proceeds stands in the accounts."""
    name: str = ""
    warnings: tuple[str, ...] = ()

    def paid_on(self, period: int) -> date:
        """The payment date of a period, counted from 1: a day of the month after it.

        A `pay_day` the month does not have is its last day.
        """
        month = self.first_month + period * self.months_per_period
        return add_months(date(2000, 1, self.pay_day), month - _JANUARY_2000)

    def class_named(self, name: str) -> NoteClass:
        """The class of that name."""
        return next(each for each in self.classes if each.name == name)


_JANUARY_2000 = 360


def at(vector: Sequence[int], number: int) -> int:
    """The value of a vector at a period or month counted from 1; the last one repeats."""
    return vector[min(number, len(vector)) - 1]
