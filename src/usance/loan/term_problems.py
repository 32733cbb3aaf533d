"""Everything that can be wrong with a loan's terms, each as its own error naming the field."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING

from usance.base.codes import Component, Currency
from usance.base.errors import UsanceError, unknown
from usance.loan.bounds import (
    LAST_DUE_YEAR,
    LAST_START_YEAR,
    MAX_INSTALMENTS,
    MAX_PRINCIPAL_MINOR,
    MAX_RATE_PPM,
)
from usance.loan.convention import (
    Amortisation,
    Convention,
    DayCount,
    EarlyPayment,
    PeriodUnit,
    RoundingDifference,
)
from usance.loan.errors import (
    FeeError,
    InstalmentsError,
    OptionError,
    PrincipalError,
    TermsDateError,
    TermsRateError,
)

if TYPE_CHECKING:
    from usance.loan.terms import Terms

_WHOLE = (
    "principal_minor", "rate_ppm", "instalments", "coupon_ppm", "flat_fee_minor", "vat_ppm",
    "guarantee_fee_minor", "upfront_fee_minor", "down_payment_minor", "balloon_minor",
    "grace_principal", "grace_interest", "terms_no",
)  # fmt: skip


_STEPS_A_YEAR = {
    PeriodUnit.DAYS: 365,
    PeriodUnit.WEEKS: 52,
    PeriodUnit.MONTHS: 12,
    PeriodUnit.YEARS: 1,
}


def problems(terms: Terms) -> Iterator[UsanceError]:
    """Everything wrong with the terms; values of a wrong kind first and alone."""
    wrong_kinds = [*_kinds(terms), *_whole_numbers(terms)]
    if wrong_kinds:
        yield from wrong_kinds
        return
    yield from _amounts(terms)
    yield from _rates(terms)
    yield from _dates(terms)
    yield from _options(terms)


def _kinds(terms: Terms) -> Iterator[UsanceError]:
    convention: object = terms.convention
    if not isinstance(convention, Convention):
        yield OptionError(
            f"the convention is {terms.convention!r}", where="convention",
            fix="Give a Convention, such as CONVENTIONS['level_monthly']",
        )  # fmt: skip
    if terms.currency not in Currency.__members__:
        yield unknown("currency", str(terms.currency), Currency.__members__, where="currency")
    days: list[tuple[str, object]] = [
        ("disbursed_on", terms.disbursed_on),
        ("first_due_on", terms.first_due_on),
    ]
    days += [("tranches", day) for day, _ in terms.tranches]
    days += [("rate_steps", day) for day, _ in terms.rate_steps]
    for name, day in days:
        if not isinstance(day, date) or isinstance(day, datetime):
            yield TermsDateError(f"{name} is {day!r}, not a day", where=name,
                                 fix="Give a datetime.date")  # fmt: skip


def _whole_numbers(terms: Terms) -> Iterator[UsanceError]:
    given = [(name, getattr(terms, name)) for name in _WHOLE]
    given += [("tranches", amount) for _, amount in terms.tranches]
    given += [("rate_steps", ppm) for _, ppm in terms.rate_steps]
    given += [("percent_fees", fee.ppm) for fee in terms.percent_fees]
    if terms.late:
        late = terms.late
        given += [
            ("late", n) for n in (late.rate_ppm, late.fee_minor, late.grace_days, late.cap_ppm)
        ]
    for name, value in given:
        if type(value) is not int:
            yield OptionError(
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
        not 1970 <= terms.disbursed_on.year <= LAST_START_YEAR
        or terms.first_due_on.year > LAST_START_YEAR
    ):
        yield TermsDateError(
            f"{terms.disbursed_on} to {terms.first_due_on} is out of range",
            where="disbursed_on",
            fix=f"Give dates from 1970 to {LAST_START_YEAR}",
        )
    years = terms.instalments * terms.convention.every // _STEPS_A_YEAR[terms.convention.unit]
    if terms.first_due_on.year + years > LAST_DUE_YEAR:
        yield TermsDateError(
            f"the last instalment falls due after the year {LAST_DUE_YEAR}",
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
    monthly = convention.unit in (PeriodUnit.MONTHS, PeriodUnit.YEARS)
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
        EarlyPayment.REDUCE_AMOUNT, EarlyPayment.REDUCE_INSTALMENTS,
    ):  # fmt: skip
        yield OptionError(
            "flat interest does not follow the balance, so early money cannot reduce it",
            where="convention",
            fix="Choose early: next or last",
        )
    if convention.difference is RoundingDifference.FIRST and (
        terms.tranches or terms.balloon_minor
    ):
        yield OptionError(
            "the rounding difference can go first only with one disbursement and no balloon",
            where="convention",
            fix="Let it go last",
        )
