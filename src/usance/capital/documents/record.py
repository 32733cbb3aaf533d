"""A capital document: an entity, a currency, and entries whose kinds decide their keys.

They are awards (`awards`), shares issued, bought back and retired, programmes, and dividends with
the dates of each market and the exchange's form, and their payments.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from usance.base.codes import Currency
from usance.base.errors import CodeError, DateError, raise_all, unknown
from usance.base.fields import (
    Fields,
    Reader,
    amount_of,
    day,
    file_fields,
    one_of,
    text,
    whole_of,
)
from usance.base.money import INT64_MAX, MILLION
from usance.base.parameters import Parameters
from usance.capital.awards import UnitKind
from usance.capital.dividends import Dividend, DividendForm, DividendPaid, Entitlement, Market
from usance.capital.documents.awards import read_change, read_estimate, read_grant
from usance.capital.documents.readers import build_or_none, clock, count, currency_of, price, share
from usance.capital.records import Capital, Record
from usance.capital.register import ShareChange, ShareKind
from usance.capital.repurchases import Programme

PAID_FOR = (ShareKind.ISSUED, ShareKind.REPURCHASED, ShareKind.REISSUED)
"""Changes that come with an amount of money."""


def read_shares(given: Fields, currency: str, kind: ShareKind) -> ShareChange | None:
    """A change of the register, in `shares` or in `ads` at the ratio of its day."""
    on, unit = given.need("on", day), currency_of(given, currency)
    shares = _shares(given, on)
    amount = given.take("amount", amount_of(unit, 0, INT64_MAX)) if kind in PAID_FOR else None
    programme = given.take("programme", text) if kind is ShareKind.REPURCHASED else None
    given.close()
    if not given.is_sound or shares is None:
        return None
    return build_or_none(given, lambda: ShareChange(
        kind, on, shares, unit, amount or 0, programme or "", where=given.where()))  # fmt: skip


def read_programme(given: Fields, currency: str) -> Programme | None:
    """Leave to buy back shares."""
    name, unit = given.need("name", text), currency_of(given, currency)
    opens_on, closes_on = given.need("on", day), given.need("until", day)
    limit = given.need("limit", amount_of(unit, 1, INT64_MAX))
    given.close()
    if not given.is_sound:
        return None
    return build_or_none(
        given, partial(Programme, name, unit, limit, opens_on, closes_on, given.where())
    )


def read_payment(given: Fields, currency: str) -> DividendPaid | None:
    """Money handed over for a dividend, in the currency it was declared in."""
    dividend, on = given.need("name", text), given.need("on", day)
    market, unit = given.need("market", one_of(Market)), currency_of(given, currency)
    amount = given.need("amount", amount_of(unit, 1, INT64_MAX))
    given.close()
    if not given.is_sound:
        return None
    return DividendPaid(dividend, on, market, unit, amount, given.where())


def ads_ratio(on: date) -> int:
    """Ordinary shares in one ADS on a day."""
    return _parameters().at("capital.ads_ratio", on).integer


@cache
def _parameters() -> Parameters:
    return Parameters.load()


def _shares(given: Fields, on: date | None) -> int | None:
    shares, ads = given.take("shares", count), given.take("ads", count)
    if ("shares" in given) == ("ads" in given):
        given.wrong("needs one of shares and ads", "Give the number in one of the two")
    if ads is not None and on is not None:
        return build_or_none(given, lambda: ads * ads_ratio(on))
    return shares


def read_dividend(given: Fields, currency: str) -> Dividend | None:
    """A dividend as it is declared."""
    name, on = given.need("name", text), given.need("on", day)
    per_share, unit = given.need("per_share", price), currency_of(given, currency)
    markets = [(market, given.inner(market.value)) for market in Market]
    terms = [_entitlement(inner, market, unit) for market, inner in markets if inner]
    inner = given.inner("form")
    form = _form(inner) if inner else None
    given.close()
    if not given.is_sound:
        return None
    entitled = tuple(filter(None, terms))
    return build_or_none(
        given, partial(Dividend, name, on, unit, per_share, entitled, form, given.where())
    )


def _entitlement(given: Fields, market: Market, currency: str) -> Entitlement | None:
    record_on, pays_on = given.need("record_on", day), given.need("pays_on", day)
    unit = currency_of(given, currency)
    rate = given.take("exchange_rate", price) or Decimal(1)
    ex_on, lodge_by = given.take("ex_on", day), given.take("lodge_by", clock)
    closed, withheld = given.take("closed", _days), given.take("withholding", share)
    given.close()
    if unit != currency and "exchange_rate" not in given:
        given.wrong(f"is paid in {unit} and declared in {currency}", "Give exchange_rate")
    if not given.has_needed:
        return None
    return Entitlement(market, record_on, pays_on, unit, rate, ex_on, lodge_by, closed,
                       int((withheld or 0) * MILLION))  # fmt: skip


def _form(given: Fields) -> DividendForm | None:
    """The form's own fields; each is read by the type it has there."""
    needed = ("issuer", "stock_code", "title", "announced_on", "year_end", "period_end",
              "registrar", "registrar_address")  # fmt: skip
    found: dict[str, Any] = {}
    for name, kind in get_type_hints(DividendForm).items():
        ask = given.need if name in needed else given.take
        found[name] = ask(name, _reader(kind))
    given.close()
    if not given.is_sound:
        return None
    return DividendForm(**{name: value for name, value in found.items() if value is not None})


def _reader(kind: Any) -> Reader[Any]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return one_of(kind)
    return day if kind in (date, date | None) else text


def _days(given: Any, where: str) -> tuple[date, date]:
    if isinstance(given, list) and len(given) == 2:
        return day(given[0], where), day(given[1], where)
    raise DateError("is no pair of days", where=where, fix="Write [first day, last day]")


class Kind(NamedTuple):
    """The reader of an entry, and the keys of its quantity and amount (empty if it has none)."""

    read: Callable[[Fields, str], Record | None]
    keys: tuple[str, str]


MAX_ENTITY = 2**15 - 1
"""Entities are numbered in 16 bits."""

_STATED = [kind for kind in ShareKind if kind is not ShareKind.DELIVERED]

KINDS: dict[str, Kind] = {
    "grant": Kind(read_grant, ("", "")),
    "vesting_estimate": Kind(read_estimate, ("", "")),
    **{kind.value: Kind(partial(read_change, kind=kind), ("units", "")) for kind in UnitKind},
    **{
        f"shares_{kind.value}": Kind(
            partial(read_shares, kind=kind), ("shares", "amount" if kind in PAID_FOR else "")
        )
        for kind in _STATED
    },
    "programme_opened": Kind(read_programme, ("", "limit")),
    "dividend_declared": Kind(read_dividend, ("", "")),
    "dividend_paid": Kind(read_payment, ("", "amount")),
}
"""Every kind of entry by its name."""


def read_record(given: Fields, currency: str) -> Record | None:
    """One entry, or None with the reasons kept."""
    kind = given.need("kind", text)
    if not given.has_needed:
        return None
    if kind not in KINDS:
        error: CodeError = unknown("kind", kind, KINDS, where=given.where("kind"))
        given.problems.append(error)
        return None
    return KINDS[kind].read(given, currency)


def read_capital(path: Path | str) -> Capital:
    """The records of a document, or everything that is wrong with it."""
    name = str(path)
    given = file_fields(path)
    entity = given.take("entity", whole_of(0, MAX_ENTITY)) or 0
    stated = given.take("currency", one_of(Currency))
    currency = Currency.USD if stated is None else stated
    if given.is_mapping and "facts" not in given:
        given.wrong("facts is missing", "List what happened under 'facts:'", "facts")
    records = [read_record(each, currency.label) for each in given.each("facts")]
    given.close()
    capital = Capital(entity, tuple(filter(None, records)))
    # Wrong entries are not in the records, so checks across them would name what is not wrong.
    raise_all(given.problems or capital.problems(), where=name)
    return capital
