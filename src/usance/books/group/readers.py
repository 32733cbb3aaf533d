"""Readers of the keys in details of group facts: accounts, prices, entry lines, tranches.

>>> price("8.6525", "fair_value")
Decimal('8.6525')
>>> lines_of("CNY")([{"account": "cash", "amount": "100.00"}], "lines")
(EntryLine(account='cash', minor=10000, currency=<Currency.CNY: 0>, entity=0),)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from usance.base.codes import Currency, IfrsAdjustment
from usance.base.daycount import DayCount
from usance.base.errors import AmountError, DocumentError, unknown
from usance.base.fields import Reader, amount_of, day, one_of, rate_of, text, whole_of
from usance.base.money import MILLION, Money
from usance.books.chart import load_chart
from usance.books.group.entities import currency
from usance.capital.attribution import units_granted
from usance.capital.awards import CostFunction, Tranche

ACT_365 = DayCount.ACT_365
NOTHING = Decimal(0)
ALL_ADMINISTRATION = ((CostFunction.ADMINISTRATION, MILLION),)
_KEYS = frozenset({"account", "amount", "currency", "entity"})
_HIGHEST_PRICE = Decimal(10**12)
_share = rate_of(0, MILLION)
MAX_DAYS = 120
"""Ten years of months."""
_RATIO = re.compile(r"[0-9]{1,9}/[1-9][0-9]{0,8}")


class CostDriver(Enum):
    """The driver of a cost: the event or amount it is charged by."""

    PROVIDER_FEE = "provider_fee"
    BUREAU_FEE = "bureau_fee"
    COLLECTION_COMMISSION = "collection_commission"
    CHANNEL_COST = "channel_cost"


class PaymentPurpose(Enum):
    """The purpose of a payment on notes or a bond."""

    COUPON = "coupon"
    FACE = "face"
    WHOLE = "whole"
    """Early redemption: the whole carrying amount is derecognised for this payment."""


class WrittenDown(Enum):
    """The part of a claim that the investors of a deal lose."""

    PRINCIPAL = "principal"
    INTEREST = "interest"


cost_driver = one_of(CostDriver)
tag = one_of(IfrsAdjustment)


@dataclass(frozen=True, slots=True)
class EntryLine:
    """One line of a manual entry: debit positive."""

    account: str
    minor: int
    currency: Currency
    entity: int
    """0 for the entity of the fact."""


def account_of(*names: str) -> Reader[str]:
    """A reader of some accounts of the chart."""

    def account(given: Any, where: str) -> str:
        name = text(given, where)
        if name not in names:
            raise unknown("account", name, names, where=where)
        return load_chart()[name].name

    return account


def price(given: Any, where: str) -> Decimal:
    """A decimal number of zero or more, such as a price, a rate of exchange."""
    plain = isinstance(given, int | Decimal) and not isinstance(given, bool)
    try:
        value = Decimal(given) if plain or isinstance(given, str) else Decimal("NaN")
    except ArithmeticError:
        value = Decimal("NaN")
    if not value.is_finite() or not 0 <= value <= _HIGHEST_PRICE:
        what = f"{given!r} is no price"
        raise AmountError(what, where=where, fix="Write a plain decimal such as 8.65")
    return value


def money(given: Any, where: str) -> Money:
    """An amount with its currency, such as `720.00 CNY`."""
    words = str(given).split()
    if len(words) != 2:
        what = f"{given!r} is no amount with a currency"
        raise AmountError(what, where=where, fix="Write it as 720.00 CNY")
    code = currency(words[1], where).label
    return Money(amount_of(code, 1)(words[0], where), code)


def day_count(given: Any, where: str) -> DayCount:
    """A day count by its name."""
    return DayCount.parse(text(given, where), where=where)


def lines_of(code: str) -> Reader[tuple[EntryLine, ...]]:
    """A reader of the lines of an entry, by default in one currency."""

    def lines(given: Any, where: str) -> tuple[EntryLine, ...]:
        return tuple(_line(each, code, f"{where}[{n}]") for n, each in _listed(given, where))

    return lines


def _line(given: dict[str, Any], code: str, where: str) -> EntryLine:
    for key in given.keys() - _KEYS:
        raise unknown("key", str(key), sorted(_KEYS), where=where)
    name = text(given.get("account"), f"{where}.account")
    accounts = load_chart().accounts
    if name not in accounts:
        raise unknown("account", name, accounts, where=f"{where}.account")
    own = currency(given.get("currency", code), f"{where}.currency")
    minor = amount_of(own.label)(given.get("amount"), f"{where}.amount")
    entity = whole_of(0, 2**15 - 1)(given.get("entity", 0), f"{where}.entity")
    return EntryLine(name, minor, own, entity)


def tranches(given: Any, where: str) -> tuple[Tranche, ...]:
    """Units that vest, each with its day: so many, or the same for each of some holders."""
    return tuple(
        Tranche(_vesting_day(each, f"{where}[{n}]"), _units(each, f"{where}[{n}]"))
        for n, each in _listed(given, where)
    )


def _units(given: dict[str, Any], where: str) -> int:
    read = whole_of(1, 2**53)
    if "holders" not in given:
        return read(given.get("units"), f"{where}.units")
    holders = read(given["holders"], f"{where}.holders")
    return units_granted(holders, read(given.get("units_each"), f"{where}.units_each"))


def _vesting_day(given: dict[str, Any], where: str) -> date:
    return day(given.get("on"), f"{where}.on")


def days(given: Any, where: str) -> tuple[date, ...]:
    """Days in order, each once."""
    listed = given if isinstance(given, list) else [given]
    found = tuple(day(each, where) for each in listed)
    if list(found) != sorted(set(found)) or not 0 < len(found) <= MAX_DAYS:
        fix = f"List 1 to {MAX_DAYS} days, each once, the earliest first"
        raise DocumentError("is no list of days in order", where=where, fix=fix)
    return found


def amounts_of(code: str) -> Reader[tuple[int, ...]]:
    """A reader of amounts of zero or more in one currency."""
    read = amount_of(code, 0)

    def amounts(given: Any, where: str) -> tuple[int, ...]:
        listed = given if isinstance(given, list) else [given]
        return tuple(read(each, f"{where}[{n}]") for n, each in enumerate(listed, start=1))

    return amounts


def functions(given: Any, where: str) -> tuple[tuple[CostFunction, int], ...]:
    """The share of a cost by function."""
    if not isinstance(given, dict) or not given:
        fix = "Write general_and_administrative: 100%"
        raise DocumentError("is no list of functions with shares", where=where, fix=fix)
    read = one_of(CostFunction)
    borne = {read(name, where): _share(share, where) for name, share in given.items()}
    # In the order of the list: the odd cent must not depend on the order in the document.
    return tuple((each, borne[each]) for each in CostFunction if each in borne)


def shares(given: Any, where: str) -> tuple[Fraction, ...]:
    """Shares expected to vest: one, or one for each tranche; a ratio such as 2/3 is exact."""
    listed = given if isinstance(given, list) else [given]
    return tuple(_ratio(each, where) for each in listed)


def _ratio(given: Any, where: str) -> Fraction:
    if isinstance(given, str) and _RATIO.fullmatch(given):
        return Fraction(given)
    return Fraction(_share(given, where), MILLION)


def passed_through(given: Any, where: str) -> Any:
    """A value that another package has already read; kept as it is."""
    del where
    return given


def _listed(given: Any, where: str) -> list[tuple[int, dict[str, Any]]]:
    if not isinstance(given, list) or not given or not all(isinstance(e, dict) for e in given):
        fix = "Write a list, each with its keys and values"
        raise DocumentError("is no list of keys and values", where=where, fix=fix)
    return list(enumerate(given, start=1))
