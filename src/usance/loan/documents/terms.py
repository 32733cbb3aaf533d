"""Terms and conventions as people write them, in major units and per cent.

>>> found: list[UsanceError] = []
>>> given = {"principal": "10000", "rate": "18%", "instalments": 12, "disbursed_on": "2024-01-31"}
>>> terms = read_terms(Fields(given, lambda path: "", found))
>>> terms.principal_minor, terms.rate_ppm, str(terms.first_due_on), found
(1000000, 180000, '2024-02-29', [])
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields as fields_of
from datetime import date
from typing import Any

from usance.base.codes import Component, Currency
from usance.base.dates import Frequency
from usance.base.errors import Problems, UsanceError
from usance.base.fields import (
    Fields,
    Reader,
    amount_of,
    day,
    day_of,
    one_of,
    rate_of,
    whole,
    whole_of,
)
from usance.base.packs import CountryPack
from usance.base.parameters import Parameters
from usance.base.rates import PPM, Rate
from usance.loan.bounds import (
    LAST_START_YEAR,
    MAX_INSTALMENTS,
    MAX_PRINCIPAL_MINOR,
    MAX_RATE_PPM,
)
from usance.loan.convention import CONVENTIONS, Convention
from usance.loan.documents.convention import own_convention, read_convention
from usance.loan.errors import (
    FeeError,
    InstalmentsError,
    PrincipalError,
    TermsDateError,
    TermsRateError,
)
from usance.loan.terms import Change, FeeBasis, LateBase, LateRule, PercentFee, Terms

INHERITED = ("principal", "disbursed_on", "currency", "convention")
"""Keys a later version of the terms inherits from the first unless it states them."""

VAT = "tax.vat"
MAX_GRACE_DAYS = 36_500
"""A century: more than any loan waits before an overdue instalment costs something."""

_AMOUNTS = ("flat_fee", "guarantee_fee", "upfront_fee", "down_payment", "balloon")
_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(LAST_START_YEAR, 12, 31)
_FIELD = re.compile(r"\b([a-z_]+)_(?:minor|ppm)\b")
_RATE = rate_of(0, MAX_RATE_PPM, error=TermsRateError)
_SHARE = rate_of(0, PPM, error=TermsRateError)


def read_terms(
    given: Fields, *, first: Terms | None = None, number: int = 1, pack: CountryPack | None = None
) -> Terms | None:
    """One version of the terms, or None with the reasons kept among the problems of `given`.

    `first` is the first version, for a later one: see `INHERITED`. Currency and tax that it does
    not state are those of the pack.
    """
    before, rules = len(given.problems), pack or CountryPack.load()
    currency = given.take("currency", one_of(Currency))
    code = currency.label if currency is not None else first.currency if first else rules.currency
    values = dict(_scalar_fields(given, code, first, number)) | dict(_nested_fields(given, code))
    given.close()
    _check_coupon(given, values)
    if len(given.problems) > before or not given.is_mapping or (number > 1 and first is None):
        return None
    try:
        if "first_due_on" not in values:
            convention = values.get("convention", CONVENTIONS["level_monthly"])
            values["first_due_on"] = default_first_due(values["disbursed_on"], convention)
        if "vat_ppm" not in values:
            values["vat_ppm"] = vat_on(values["disbursed_on"], rules.parameters)
        return Terms(currency=code, terms_no=number, **values)
    except UsanceError as error:
        given.problems += [_placed(each, given) for each in _all(error)]
        return None


def default_first_due(start: date, convention: Convention) -> date:
    """The first due date where none is given: one instalment's distance after the disbursement."""
    return Frequency(convention.every, convention.unit.value.removesuffix("s")).step(start, 1)


def vat_on(day: date, parameters: Parameters) -> int:
    """The tax contained in fees where terms do not say: `tax.vat`, 0 before its first value.

    >>> chinese = CountryPack.load("cn").parameters
    >>> vat_on(date(2024, 1, 15), chinese), vat_on(date(2016, 4, 30), chinese)
    (60000, 0)
    """
    begun = parameters.by_name[VAT].entries[0].valid_from <= day
    return parameters.at(VAT, day).integer if begun else 0


def with_keys(message: str) -> str:
    """A message with the keys people write in place of the fields of `Terms`.

    >>> with_keys("Lower guarantee_fee_minor, or raise the rate")
    'Lower guarantee_fee, or raise the rate'
    """
    return _FIELD.sub(lambda found: document_key(found[0]) or found[0], message)


def document_key(field: str) -> str:
    """The key people use for a field of `Terms` (or what is inside it); empty for other names.

    >>> (
    ...     document_key("principal_minor"),
    ...     document_key("convention.calendar"),
    ...     document_key("pricing.rate_cap"),
    ... )
    ('principal', 'convention', '')
    """
    name = field.partition(".")[0]
    known = any(each.name == name for each in fields_of(Terms))
    return name.removesuffix("_minor").removesuffix("_ppm") if known else ""


def _scalar_fields(
    given: Fields, currency: str, first: Terms | None, number: int
) -> Iterator[tuple[str, Any]]:
    principal = amount_of(currency, 1, MAX_PRINCIPAL_MINOR, error=PrincipalError)
    fee = amount_of(currency, 0, MAX_PRINCIPAL_MINOR, error=FeeError)
    started = day_of(_FIRST_DAY, _LAST_DAY, error=TermsDateError)
    readers: dict[str, tuple[str, Reader[Any]]] = {
        "principal": ("principal_minor", principal),
        "rate": ("rate_ppm", _RATE),
        "instalments": ("instalments", whole_of(1, MAX_INSTALMENTS, error=InstalmentsError)),
        "disbursed_on": ("disbursed_on", started),
        "first_due_on": ("first_due_on", started),
        "coupon": ("coupon_ppm", _RATE),
        "vat": ("vat_ppm", _SHARE),
        "grace_principal": ("grace_principal", whole),
        "grace_interest": ("grace_interest", whole),
        "change": ("change", one_of(Change)),
    }
    readers |= {key: (f"{key}_minor", fee) for key in _AMOUNTS}
    by_number = {"principal", "disbursed_on"} if number == 1 else {"first_due_on"}
    needed = {"rate", "instalments"} | by_number
    for key, (field, read) in readers.items():
        value = given.need(key, read) if key in needed else given.take(key, read)
        if value is None and first and key in INHERITED:
            value = getattr(first, field)
        if value is not None:
            yield field, value
    convention = given.take(
        "convention", lambda each, where: _convention(given, each, where, currency)
    )
    if convention or first:
        yield "convention", convention or (first and first.convention)


def _check_coupon(given: Fields, values: dict[str, Any]) -> None:
    coupon, rate = values.get("coupon_ppm"), values.get("rate_ppm")
    if coupon is not None and rate is not None and coupon > rate:
        what = f"the coupon of {Rate(coupon)} is more than the rate of {Rate(rate)}"
        fix = f"Give 0% to {Rate(rate)}"
        given.problems.append(TermsRateError(what, where=given.where("coupon"), fix=fix))


def _convention(given: Fields, value: Any, where: str, currency: str) -> Convention | None:
    if not isinstance(value, dict):
        return own_convention(value, where)
    return read_convention(given.part(value, "convention"), currency)


def _nested_fields(given: Fields, currency: str) -> Iterator[tuple[str, Any]]:
    drawn = amount_of(currency, 1, MAX_PRINCIPAL_MINOR, error=PrincipalError)
    yield "rate_steps", _pairs(given, "rate_steps", ("from", day), ("rate", _RATE))
    yield "tranches", _pairs(given, "tranches", ("on", day), ("amount", drawn))
    yield "percent_fees", tuple(_percent_fees(given))
    late = given.inner("late")
    if late is not None:
        yield "late", _late(late, amount_of(currency, 0, MAX_PRINCIPAL_MINOR, error=FeeError))


def _percent_fees(given: Fields) -> Iterator[PercentFee]:
    for fee in given.each("percent_fees"):
        component = fee.need("component", one_of(Component))
        basis, ppm = fee.need("of", one_of(FeeBasis)), fee.need("rate", _RATE)
        fee.close()
        if fee.has_needed:
            yield PercentFee(component, basis, ppm)


def _late(given: Fields, amount: Reader[int]) -> LateRule:
    parts: dict[str, Any] = {
        "rate_ppm": given.take("rate", _RATE),
        "fee_minor": given.take("fee", amount),
        "grace_days": given.take("grace_days", whole_of(0, MAX_GRACE_DAYS)),
        "cap_ppm": given.take("cap", _RATE),
        "base": given.take("base", one_of(LateBase)),
    }
    given.close()
    return LateRule(**{key: part for key, part in parts.items() if part is not None})


def _pairs(
    given: Fields, key: str, left: tuple[str, Reader[Any]], right: tuple[str, Reader[Any]]
) -> tuple[tuple[Any, Any], ...]:
    pairs = []
    for each in given.each(key):
        pairs.append((each.need(*left), each.need(*right)))
        each.close()
    return tuple(pairs)


def _all(error: UsanceError) -> tuple[UsanceError, ...]:
    return error.errors if isinstance(error, Problems) else (error,)


def _placed(error: UsanceError, given: Fields) -> UsanceError:
    """The same error at the key a person wrote instead of the field of `Terms`."""
    key = document_key(error.where)
    where = given.where(key) if key else given.where()
    return type(error)(with_keys(error.what), where=where, fix=with_keys(error.fix))
