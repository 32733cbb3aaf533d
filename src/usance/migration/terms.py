"""Terms of a loan on its source system: its amounts and every option of its computation.

Each option is a name from a closed set with its meaning beside it;
`docs/reference/migration-conventions.md` says who uses which.

>>> from datetime import date
>>> terms = MigratedTerms(disbursed_on=date(2024, 1, 1), rate_pct=Decimal(7), instalments=6)
>>> terms.days_in_year.value, terms.leap_year.value, terms.digits
('360', 'full_leap_year', 19)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum

from usance.base.codes import Component
from usance.loan.convention import (
    Amortisation,
    Bucket,
    DueStatus,
    EarlyPayment,
    PeriodUnit,
    Rounding,
    Sweep,
)


class PlanMethod(StrEnum):
    """Method by which a change reaches the instalments still to come."""

    PROGRESSIVE = "progressive"  # the running plan is corrected, period by period, as facts arrive
    CUMULATIVE = "cumulative"  # the plan is made once, and made anew as a whole


class DaysInYear(StrEnum):
    """The divisor of a day count."""

    D360 = "360"
    D364 = "364"
    D365 = "365"
    ACTUAL = "actual"  # 366 in a leap year; a period across New Year is split there


class DaysInMonth(StrEnum):
    """The dividend of a day count."""

    THIRTY = "30"  # a whole month counts 30 days, a part of it in proportion
    ACTUAL = "actual"


class LeapYearRule(StrEnum):
    """The days of a leap year that count one 366th under `DaysInYear.ACTUAL`."""

    FULL_LEAP_YEAR = "full_leap_year"  # all of them
    FEB_29_PERIOD_ONLY = "feb_29_period_only"  # those of the period that holds 29 February


class YearSplit(StrEnum):
    """On which day a period across New Year passes into the new year."""

    LAST_DAY = "last_day"  # 31 December already counts by the new year
    FIRST_DAY = "first_day"  # 1 January


class InterestMethod(StrEnum):
    """Base of interest."""

    DECLINING = "declining"  # the principal still outstanding
    FLAT = "flat"  # all principal drawn so far, whatever is repaid


class InterestBasis(StrEnum):
    """Length of a period for interest."""

    DAILY = "daily"  # by its days
    REPAYMENT_PERIOD = "repayment_period"  # a whole period counts as one, whatever its days


class RateBasis(StrEnum):
    """Period of the quoted rate."""

    YEAR = "year"
    MONTH = "month"  # twelve of them make a year


class TrancheTerm(StrEnum):
    """Term of a later disbursement's own plan."""

    REMAINING_TERM = "remaining_term"  # levels what is then outstanding over what is left
    FULL_TERM = "full_term"  # brings its own full number of instalments, added to the others


class PreClosureInterest(StrEnum):
    """To which day a settlement pays interest on what is overdue."""

    TILL_DAY = "till_day"
    TILL_REST = "till_rest"  # to the next rest date, here the end of the running period


class RestFrequency(StrEnum):
    """Frequency at which balances are updated for recalculated interest."""

    DAILY = "daily"
    REPAYMENT_PERIOD = "repayment_period"


class ChargeOff(StrEnum):
    """Interest after a charge-off."""

    REGULAR = "regular"  # it runs on
    ZERO_INTEREST = "zero_interest"  # none after that day
    ACCELERATE_MATURITY = "accelerate_maturity"  # none after that day, and all falls due then


class ReAgeInterest(StrEnum):
    """Interest that a re-ageing spreads over its new instalments."""

    DEFAULT = "default"  # none: the new plan bears interest like any other
    PAYABLE = "payable"  # what has accrued to that day, in equal parts; nothing runs after
    FULL = "full"  # what the old plan would have charged to its end, in equal parts


FEE, PENALTY = Component.SERVICE_FEE, Component.PENALTY


def same_order_for_all(*components: Component) -> tuple[Bucket, ...]:
    """The same order of components for what is past due, due and in advance."""
    return tuple((when, component) for when in DueStatus for component in components)


PENALTIES_FIRST = same_order_for_all(PENALTY, FEE, Component.PRINCIPAL, Component.INTEREST)
"""The order that most systems with twelve buckets start from."""


@dataclass(frozen=True, slots=True)
class AllocationRule:
    """Allocation of one kind of transaction."""

    buckets: tuple[Bucket, ...] = PENALTIES_FIRST
    future: EarlyPayment = EarlyPayment.NEXT


DEFAULT_TRANSACTION = "default"
"""The order of every kind of transaction that has none of its own."""


@dataclass(frozen=True, slots=True)
class Recalculation:
    """Interest follows what is really outstanding: overdue principal goes on bearing it."""

    pre_closure: PreClosureInterest = PreClosureInterest.TILL_DAY
    rest: RestFrequency = RestFrequency.DAILY
    past_due_bears: bool = True


@dataclass(frozen=True, slots=True)
class MigratedTerms:
    """One loan on its source system: what was agreed, and every option of its computation."""

    disbursed_on: date
    rate_pct: Decimal
    instalments: int
    every: int = 1
    unit: PeriodUnit = PeriodUnit.MONTHS
    plan: PlanMethod = PlanMethod.PROGRESSIVE
    rate_basis: RateBasis = RateBasis.YEAR
    amortisation: Amortisation = Amortisation.EQUAL_INSTALMENT
    method: InterestMethod = InterestMethod.DECLINING
    basis: InterestBasis = InterestBasis.DAILY
    part_periods: bool = True  # under `REPAYMENT_PERIOD`, a part of a period bears its part
    days_in_year: DaysInYear = DaysInYear.D360
    days_in_month: DaysInMonth = DaysInMonth.THIRTY
    leap_year: LeapYearRule = LeapYearRule.FULL_LEAP_YEAR
    year_split: YearSplit = YearSplit.LAST_DAY
    rounding: Rounding = Rounding.HALF_EVEN
    digits: int = 19  # significant digits of every rate factor and product
    decimals: int = 2  # of the currency
    multiple_of: int = 0  # whole units the level instalment is a multiple of; 0 for none
    levelling: bool = True  # spread a large last difference over all level instalments
    grace_principal: int = 0
    grace_interest: int = 0
    interest_free: int = 0
    first_due_on: date | None = None
    fixed_length: int = 0  # the last due date is this many units after disbursement; 0 for none
    down_payment_pct: Decimal = Decimal(0)
    down_payment_auto: bool = False
    tranches: TrancheTerm = TrancheTerm.REMAINING_TERM
    sweep: Sweep = Sweep.BY_INSTALMENT
    orders: Mapping[str, AllocationRule] = field(default_factory=dict)
    recalculation: Recalculation | None = None
    charge_off: ChargeOff = ChargeOff.REGULAR
    chargeback: tuple[Component, ...] = ()  # in which order it comes back; all principal if none
    refunds_interest: bool = False  # a merchant's refund gives back the interest it bore

    def changed(self, **options: object) -> MigratedTerms:
        """The same loan with some options changed."""
        return replace(self, **options)  # type: ignore[arg-type]

    def order(self, kind: str) -> AllocationRule:
        """The allocation order of a kind of transaction."""
        return self.orders.get(kind) or self.orders.get(DEFAULT_TRANSACTION) or AllocationRule()
