"""A dividend with the dates of each market and the exchange's form, as people write it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, get_type_hints

from usance.base.errors import DateError
from usance.base.fields import Fields, Reader, day, one_of, text
from usance.base.money import MILLION
from usance.capital.dividend_form import DividendForm
from usance.capital.dividends import Dividend, Entitlement, Market
from usance.capital.documents.readers import build_or_none, clock, currency_of, price, share


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
