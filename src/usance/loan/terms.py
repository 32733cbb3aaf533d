"""The terms of a loan: what was agreed, complete enough to schedule it without asking anyone.

A borrower pays a finance charge at `rate_ppm`. Of it the funder's coupon (`coupon_ppm`) is the
interest; what is left, and any flat fee, are fees. `guarantee_fee_minor` of the fees belongs to
the guarantor, in step with them; the rest is the service fee.

>>> from datetime import date
>>> from usance.loan.convention import CONVENTIONS
>>> terms = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=6,
...     disbursed_on=date(2023, 12, 31),
...     first_due_on=date(2024, 1, 31),
...     convention=CONVENTIONS["equal_principal_monthly"],
...     upfront_fee_minor=63_60,
... )
>>> terms.cash_to_borrower_minor
893640
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from usance.base.codes import Component
from usance.base.errors import raise_all
from usance.loan.convention import CONVENTIONS, Convention
from usance.loan.term_problems import problems


class FeeBasis(StrEnum):
    """Base of a percentage fee."""

    PRINCIPAL = "principal"  # of the original principal, with every instalment
    BALANCE = "balance"  # a year, of the balance, by the interest's own day count


@dataclass(frozen=True, slots=True)
class PercentFee:
    """A service or guarantee fee stated as a percentage."""

    component: Component
    basis: FeeBasis
    ppm: int


class LateBase(StrEnum):
    """Base of late interest."""

    PRINCIPAL = "principal"
    INSTALMENT = "instalment"


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRule:
    """Late charges of an overdue instalment that the terms state, without a fact.

    Once an instalment is overdue by more than `grace_days`, it costs `fee_minor` and late interest
    at `rate_ppm` a year (actual/365) on its overdue part from its due date; both together at most
    `cap_ppm` of the instalment. Nothing is charged when `cap_ppm` is 0.
    """

    rate_ppm: int = 0
    fee_minor: int = 0
    grace_days: int = 0
    cap_ppm: int = 1_000_000
    base: LateBase = LateBase.PRINCIPAL


class Change(StrEnum):
    """The reason a version of the terms replaced the one before."""

    NONE = ""
    RESCHEDULED = "rescheduled"
    RE_AGED = "re_aged"
    RE_AMORTISED = "re_amortised"
    HARDSHIP = "hardship"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """One version of a loan's terms; amounts in minor units, rates a year in parts per million."""

    principal_minor: int
    rate_ppm: int
    instalments: int
    disbursed_on: date
    first_due_on: date
    convention: Convention = CONVENTIONS["level_monthly"]
    currency: str = "CNY"
    coupon_ppm: int = -1  # the funder's part of the rate; all of it when -1
    flat_fee_minor: int = 0  # spread evenly over the instalments
    guarantee_fee_minor: int = 0  # the guarantor's part of all fees
    upfront_fee_minor: int = 0  # withheld from the disbursement
    vat_ppm: int = 60_000  # contained in every fee
    terms_no: int = 1
    change: Change = Change.NONE
    rate_steps: tuple[tuple[date, int], ...] = ()  # (from this day, this rate)
    tranches: tuple[tuple[date, int], ...] = ()  # disbursements after the first, within principal
    down_payment_minor: int = 0  # due on the day of disbursement
    balloon_minor: int = 0
    grace_principal: int = 0  # leading instalments without principal
    grace_interest: int = 0  # leading instalments whose interest waits for the one after them
    percent_fees: tuple[PercentFee, ...] = ()
    late: LateRule | None = None

    def __post_init__(self) -> None:
        if self.coupon_ppm == -1:
            object.__setattr__(self, "coupon_ppm", self.rate_ppm)
        raise_all(list(problems(self)), where="terms")

    @property
    def cash_to_borrower_minor(self) -> int:
        """The cash the borrower receives: principal less upfront fee and down payment."""
        return self.principal_minor - self.upfront_fee_minor - self.down_payment_minor

    def changed(self, **fields: object) -> Terms:
        """The same terms with some fields replaced, checked again."""
        return replace(self, **fields)  # type: ignore[arg-type]
