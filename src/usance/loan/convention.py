"""A convention is every option that turns terms into a schedule and money into allocations.

It holds choices, never amounts. The platform's own products use the six named in `CONVENTIONS`,
which the kernel knows; every other combination is for the exact form.

>>> CONVENTIONS["level_monthly"].amortisation.value, CONVENTIONS["level_monthly"].day_count.value
('equal_instalment', 'monthly')
>>> print(CONVENTIONS["level_daily"].allocation)
interest, principal, guarantee_fee, service_fee by instalment; penalty after what is due
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from usance.base.calendars import Roll
from usance.base.codes import Component


class Amortisation(StrEnum):
    """Repayment profile of the principal."""

    EQUAL_INSTALMENT = "equal_instalment"
    EQUAL_PRINCIPAL = "equal_principal"
    INTEREST_ONLY = "interest_only"  # all principal with the last instalment
    BALLOON = "balloon"  # level instalments down to `balloon_minor`, due with the last
    FLAT = "flat"  # interest on the original principal throughout, principal in equal parts


class DayCount(StrEnum):
    """Day count: the length of an interest period as a fraction of a year."""

    MONTHLY = "monthly"  # a whole period is months/12; an odd first one counts 30E/360 days
    THIRTY_360 = "30/360"  # bond basis
    THIRTY_E_360 = "30E/360"
    ACTUAL_360 = "actual/360"
    ACTUAL_364 = "actual/364"
    ACTUAL_365 = "actual/365"
    ACTUAL_ACTUAL = "actual/actual"  # ISDA: leap days over 366


class PeriodUnit(StrEnum):
    """Unit of the distance between two instalments."""

    DAYS = "days"
    WEEKS = "weeks"
    MONTHS = "months"
    YEARS = "years"


class MonthEnd(StrEnum):
    """Month-end rule of due dates, for the 31st and for the last day of a shorter month."""

    ANCHOR_DAY = "anchor_day"  # 31 Jan, 29 Feb, 31 Mar: the first day asked for, when it exists
    LAST_DAY = "last_day"  # an anchor on a month's last day stays on last days


class Rounding(StrEnum):
    """Rounding of an amount to whole minor units."""

    HALF_UP = "half_up"
    HALF_EVEN = "half_even"
    UP = "up"
    DOWN = "down"


class RoundingDifference(StrEnum):
    """The instalment that takes the rounding difference."""

    LAST = "last"
    FIRST = "first"


class LevelBasis(StrEnum):
    """Period lengths the level instalment is computed from."""

    NOMINAL = "nominal"  # equal periods, whatever the calendar says
    DAYS = "days"  # the true length of every period


class EarlyPayment(StrEnum):
    """Treatment of a partial prepayment: more than is due, less than settles the loan."""

    NEXT = "next"  # pays the coming instalments in order
    LAST = "last"  # pays principal from the last instalment backwards
    REAMORTISE = "reamortise"  # lowers the principal of all coming instalments in equal parts
    REDUCE_AMOUNT = "reduce_amount"  # lowers the balance at once; same dates, smaller instalments
    REDUCE_INSTALMENTS = "reduce_instalments"  # lowers the balance at once; same amount, fewer


class SettlementInterest(StrEnum):
    """Interest an early settlement pays for the period it falls in."""

    TO_DAY = "to_day"  # the period's interest by days elapsed
    FULL_PERIOD = "full_period"


class DueStatus(StrEnum):
    """Position of an instalment's due date relative to the day of a payment."""

    PAST_DUE = "past_due"
    DUE = "due"
    IN_ADVANCE = "in_advance"


class Sweep(StrEnum):
    """Direction a payment takes through a group of buckets: across or down."""

    BY_INSTALMENT = "by_instalment"  # finish the oldest instalment, then the next
    BY_BUCKET = "by_bucket"  # finish a bucket in every instalment, then the next bucket


Bucket = tuple[DueStatus, Component]
"""One kind of claim: a component of instalments that stand in one way to the day."""

_SCHEDULED = (
    Component.INTEREST,
    Component.PRINCIPAL,
    Component.GUARANTEE_FEE,
    Component.SERVICE_FEE,
)


@dataclass(frozen=True, slots=True)
class Allocation:
    """The order in which money meets claims.

    `order` names each of the twelve buckets (three `DueStatus` by four scheduled components) once
    and the loan's penalties once, as `None`. Sweeping by instalment, neighbouring buckets of the
    same `DueStatus` form a group that is finished instalment by instalment; by bucket, each bucket
    is finished over all its instalments, oldest first.
    """

    order: tuple[Bucket | None, ...]
    sweep: Sweep = Sweep.BY_INSTALMENT

    def __str__(self) -> str:
        """A line a person can read."""
        if self == DEFAULT_ALLOCATION:
            names = ", ".join(c.name.lower() for c in _SCHEDULED)
            return f"{names} by instalment; penalty after what is due"
        names = ", ".join(
            "penalty" if b is None else f"{b[0]} {b[1].name.lower()}" for b in self.order
        )
        return f"{names} {self.sweep.replace('_', ' ')}"


def same_order(
    components: tuple[Component, ...],
    *,
    penalty: str = "after_due",
    sweep: Sweep = Sweep.BY_INSTALMENT,
) -> Allocation:
    """The same component order for what is past due, due and in advance.

    `penalty` is "first", "after_due" or "last".
    """
    due = [(when, c) for when in (DueStatus.PAST_DUE, DueStatus.DUE) for c in components]
    ahead = [(DueStatus.IN_ADVANCE, c) for c in components]
    parts: dict[str, list[Bucket | None]] = {
        "first": [None, *due, *ahead],
        "after_due": [*due, None, *ahead],
        "last": [*due, *ahead, None],
    }
    return Allocation(tuple(parts[penalty]), sweep)


DEFAULT_ALLOCATION = same_order(_SCHEDULED)
"""Ours: the funder's claim, then the guarantor's, then the platform's; penalties never make a
borrower late with an instalment."""


@dataclass(frozen=True, slots=True)
class Convention:
    """Every schedule, rounding and allocation option of a product."""

    name: str
    amortisation: Amortisation
    day_count: DayCount = DayCount.MONTHLY
    unit: PeriodUnit = PeriodUnit.MONTHS
    every: int = 1
    month_end: MonthEnd = MonthEnd.ANCHOR_DAY
    calendar: str = ""  # the name of a business-day calendar; none when empty
    roll: Roll = Roll.NONE
    level_basis: LevelBasis = LevelBasis.NOMINAL
    rounding: Rounding = Rounding.HALF_UP
    round_to_minor: int = 1  # the level instalment is a multiple of this
    difference: RoundingDifference = RoundingDifference.LAST
    early: EarlyPayment = EarlyPayment.NEXT
    settlement_interest: SettlementInterest = SettlementInterest.TO_DAY
    allocation: Allocation = field(default=DEFAULT_ALLOCATION)

    def named(self, name: str, **options: object) -> Convention:
        """The same convention with some options changed, under another name."""
        return replace(self, name=name, **options)  # type: ignore[arg-type]


def _convention(name: str, amortisation: Amortisation, day_count: DayCount) -> Convention:
    return Convention(name=name, amortisation=amortisation, day_count=day_count)


CONVENTIONS: dict[str, Convention] = {
    convention.name: convention
    for convention in (
        _convention("level_monthly", Amortisation.EQUAL_INSTALMENT, DayCount.MONTHLY),
        _convention("equal_principal_monthly", Amortisation.EQUAL_PRINCIPAL, DayCount.MONTHLY),
        _convention("interest_only_monthly", Amortisation.INTEREST_ONLY, DayCount.MONTHLY),
        _convention("level_daily", Amortisation.EQUAL_INSTALMENT, DayCount.ACTUAL_365),
        _convention("equal_principal_daily", Amortisation.EQUAL_PRINCIPAL, DayCount.ACTUAL_365),
        _convention("interest_only_daily", Amortisation.INTEREST_ONLY, DayCount.ACTUAL_365),
    )
}
"""The conventions of the platform's own products; their position, from 1, is their code."""

CONVENTION_CODES: dict[str, int] = {name: code for code, name in enumerate(CONVENTIONS, start=1)}
"""The number of a convention in the `convention` column of `loans`; only ever appended to."""

KERNEL_CONVENTIONS = 6
"""The kernel knows the conventions up to this code; one appended after them (a weekly product, say)
is served by the exact form until `usance.loan.kernel.plan` learns it."""
