"""The terms of a loan: what was agreed, complete enough to schedule it without asking anyone.

A borrower pays a finance charge at `rate_ppm`. Of it the funder's coupon (`coupon_ppm`) is the
interest; what is left, and any flat fee, are fees. `guarantee_fee_minor` of the fees belongs to
the guarantor, in step with them; the rest is the service fee.

>>> from datetime import date
>>> from usance.loan.convention import OWN
>>> terms = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=6,
...     disbursed_on=date(2023, 12, 31),
...     first_due_on=date(2024, 1, 31),
...     convention=OWN["equal_principal_monthly"],
...     upfront_fee_minor=63_60,
... )
>>> terms.cash_to_borrower_minor
893640
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from usance.base.codes import Component
from usance.base.errors import UsanceError, raise_all
from usance.loan.convention import (
    OWN,
    Amortisation,
    Convention,
    DayCount,
    Difference,
    Early,
    Unit,
)
from usance.loan.errors import (
    FeeError,
    InstalmentsError,
    OptionError,
    PrincipalError,
    TermsDateError,
    TermsRateError,
)

MAX_PRINCIPAL_MINOR = 10**15
"""Ten trillion major units: any loan, with room for its interest in 64 bits."""
MAX_RATE_PPM = 10_000_000
"""1,000 % a year; what may be *offered* is limited by the dated cap, not here."""
MAX_INSTALMENTS = 1_200
MAX_YEAR = 2150
LAST_YEAR = 9000
"""No instalment falls due later: a calendar ends with 9999, and calendars move due dates."""
_STEPS_A_YEAR = {Unit.DAYS: 365, Unit.WEEKS: 52, Unit.MONTHS: 12, Unit.YEARS: 1}


class FeeBasis(StrEnum):
    """What a percentage fee is a percentage of."""

    PRINCIPAL = "principal"  # of the original principal, with every instalment
    BALANCE = "balance"  # a year, of the balance, by the interest's own day count


@dataclass(frozen=True, slots=True)
class PercentFee:
    """A service or guarantee fee stated as a percentage."""

    component: Component
    basis: FeeBasis
    ppm: int


class LateBase(StrEnum):
    """What late interest runs on."""

    PRINCIPAL = "principal"
    INSTALMENT = "instalment"


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRule:
    """What an overdue instalment costs by itself, where the terms and not a fact say so.

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
    """Why a version of the terms replaced the one before."""

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
    convention: Convention = OWN["level_monthly"]
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
        """What reaches the borrower when the whole principal is disbursed."""
        return self.principal_minor - self.upfront_fee_minor - self.down_payment_minor

    def changed(self, **fields: object) -> Terms:
        """The same terms with some fields replaced, checked again."""
        return replace(self, **fields)  # type: ignore[arg-type]


def problems(terms: Terms) -> Iterator[UsanceError]:
    """Everything wrong with the terms, each as its own error naming the field."""
    _whole_numbers(terms)
    yield from _amounts(terms)
    yield from _rates(terms)
    yield from _dates(terms)
    yield from _options(terms)


def _whole_numbers(terms: Terms) -> None:
    for name in (
        "principal_minor", "rate_ppm", "instalments", "coupon_ppm", "flat_fee_minor", "vat_ppm",
        "guarantee_fee_minor", "upfront_fee_minor", "down_payment_minor", "balloon_minor",
        "grace_principal", "grace_interest", "terms_no",
    ):  # fmt: skip
        value = getattr(terms, name)
        if type(value) is not int:
            raise OptionError(
                f"{name} is {value!r}, not a whole number",
                where=name,
                fix="Give an int: minor units for money, ppm for rates",
            )


def _amounts(terms: Terms) -> Iterator[UsanceError]:
    principal = terms.principal_minor
    if not 0 < principal <= MAX_PRINCIPAL_MINOR:
        yield PrincipalError(
            f"the principal is {principal} minor units",
            where="principal_minor",
            fix=f"Give an amount between 1 and {MAX_PRINCIPAL_MINOR}",
        )
    for name in ("flat_fee_minor", "guarantee_fee_minor", "upfront_fee_minor",
                 "down_payment_minor", "balloon_minor"):  # fmt: skip
        value = getattr(terms, name)
        if not 0 <= value <= MAX_PRINCIPAL_MINOR:
            yield FeeError(f"{name} is {value}", where=name, fix="Give zero or more")
    if principal > 0 and terms.upfront_fee_minor + terms.down_payment_minor >= principal:
        yield FeeError(
            "upfront fee and down payment leave nothing to disburse",
            where="upfront_fee_minor",
            fix="Keep their sum below the principal",
        )
    if principal > 0 and terms.balloon_minor + terms.down_payment_minor > principal:
        yield FeeError(
            "balloon and down payment exceed the principal",
            where="balloon_minor",
            fix="Keep their sum at or below the principal",
        )
    for fee in terms.percent_fees:
        if fee.component not in (Component.SERVICE_FEE, Component.GUARANTEE_FEE) or fee.ppm < 0:
            yield FeeError(
                f"a percentage fee of {fee.ppm} ppm on {fee.component.label}",
                where="percent_fees",
                fix="Use service_fee or guarantee_fee and zero or more ppm",
            )
    late = terms.late
    if late and min(late.rate_ppm, late.fee_minor, late.grace_days, late.cap_ppm) < 0:
        yield FeeError("a late rule has a negative number", where="late", fix="Give zero or more")


def _rates(terms: Terms) -> Iterator[UsanceError]:
    for rate in (terms.rate_ppm, *(ppm for _, ppm in terms.rate_steps)):
        if not 0 <= rate <= MAX_RATE_PPM:
            yield TermsRateError(
                f"the rate is {rate} ppm a year",
                where="rate_ppm",
                fix=f"Give 0 to {MAX_RATE_PPM} (18 % is 180000)",
            )
    if not 0 <= terms.coupon_ppm <= max(terms.rate_ppm, 0):
        yield TermsRateError(
            f"the coupon of {terms.coupon_ppm} ppm is not within the rate of {terms.rate_ppm}",
            where="coupon_ppm",
            fix="Give a coupon between 0 and the borrower's rate",
        )
    if terms.rate_steps and terms.coupon_ppm != terms.rate_ppm:
        yield OptionError(
            "a stepped rate cannot be split by a coupon",
            where="rate_steps",
            fix="Leave coupon_ppm out, or the steps",
        )
    if not 0 <= terms.vat_ppm <= 1_000_000:
        yield TermsRateError(
            f"VAT is {terms.vat_ppm} ppm", where="vat_ppm", fix="Give 0 to 1000000 (6 % is 60000)"
        )


def _dates(terms: Terms) -> Iterator[UsanceError]:
    if terms.first_due_on <= terms.disbursed_on:
        yield TermsDateError(
            f"the first instalment is due {terms.first_due_on}, not after the disbursement on "
            f"{terms.disbursed_on}",
            where="first_due_on",
            fix="Give a first due date after the day of disbursement",
        )
    if (
        not 1970 <= terms.disbursed_on.year <= MAX_YEAR - 50
        or terms.first_due_on.year > MAX_YEAR - 50
    ):
        yield TermsDateError(
            f"{terms.disbursed_on} to {terms.first_due_on} is out of range",
            where="disbursed_on",
            fix=f"Give dates from 1970 to {MAX_YEAR - 50}",
        )
    years = terms.instalments * terms.convention.every // _STEPS_A_YEAR[terms.convention.unit]
    if terms.first_due_on.year + years > LAST_YEAR:
        yield TermsDateError(
            f"the last instalment falls due after the year {LAST_YEAR}",
            where="instalments",
            fix="Give fewer, or shorter steps",
        )
    days = [day for day, _ in terms.tranches]
    if days != sorted(set(days)) or (days and days[0] <= terms.disbursed_on):
        yield TermsDateError(
            "tranches are not in order after the disbursement",
            where="tranches",
            fix="List each later disbursement once, by date",
        )
    if any(amount <= 0 for _, amount in terms.tranches):
        yield PrincipalError("a tranche is not above zero", where="tranches", fix="Give an amount")
    if sum(amount for _, amount in terms.tranches) >= terms.principal_minor > 0:
        yield PrincipalError(
            "the tranches leave nothing for the first disbursement",
            where="tranches",
            fix="Keep their sum below the principal",
        )
    changes = [day for day, _ in terms.rate_steps]
    if changes != sorted(set(changes)):
        yield TermsDateError(
            "rate steps are not in order", where="rate_steps", fix="List each step once, by date"
        )


def _options(terms: Terms) -> Iterator[UsanceError]:
    convention = terms.convention
    count = terms.instalments
    if not 1 <= count <= MAX_INSTALMENTS:
        yield InstalmentsError(
            f"{count} instalments", where="instalments", fix=f"Give 1 to {MAX_INSTALMENTS}"
        )
    for name in ("grace_principal", "grace_interest"):
        if not 0 <= getattr(terms, name) < max(count, 1):
            yield InstalmentsError(
                f"{name} is {getattr(terms, name)} of {count} instalments",
                where=name,
                fix="Leave at least one instalment",
            )
    if convention.every < 1 or convention.round_to_minor < 1:
        yield OptionError(
            f"convention {convention.name} steps or rounds by less than one",
            where="convention",
            fix="Give whole numbers from 1",
        )
    monthly = convention.unit in (Unit.MONTHS, Unit.YEARS)
    if convention.day_count is DayCount.MONTHLY and not monthly:
        yield OptionError(
            "a monthly day count needs instalments by months or years",
            where="convention",
            fix="Choose another day count",
        )
    if (convention.amortisation is Amortisation.BALLOON) != (terms.balloon_minor > 0):
        yield OptionError(
            "a balloon amount and the balloon amortisation belong together",
            where="balloon_minor",
            fix="Give both or neither",
        )
    if convention.amortisation is Amortisation.FLAT and convention.early in (
        Early.REDUCE_AMOUNT, Early.REDUCE_INSTALMENTS,
    ):  # fmt: skip
        yield OptionError(
            "flat interest does not follow the balance, so early money cannot reduce it",
            where="convention",
            fix="Choose early: next or last",
        )
    if convention.difference is Difference.FIRST and (terms.tranches or terms.balloon_minor):
        yield OptionError(
            "the rounding difference can go first only with one disbursement and no balloon",
            where="convention",
            fix="Let it go last",
        )
