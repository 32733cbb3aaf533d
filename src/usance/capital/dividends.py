"""A dividend from its declaration to its payment, to holders of shares and of ADSs.

It is owed from the day it is declared, in the currency it is declared in: on the shares then
outstanding, and from the record date on those of that day. Each market has its own dates.

>>> dividend = Dividend(
...     "2023H2",
...     date(2024, 3, 12),
...     "USD",
...     Decimal("0.29"),
...     (
...         Entitlement(Market.ORDINARY, date(2024, 4, 15), date(2024, 5, 21), "USD"),
...         Entitlement(Market.ADS, date(2024, 4, 15), date(2024, 5, 24), "USD"),
...     ),
... )
>>> str(dividend.per_ads(2)), dividend.amount_minor(310_000_000)
('0.58', 8990000000)

The exchange's form for a cash dividend says what the dividend says, so it takes amounts and dates
from there; it adds only what the exchange asks beyond. `Not applicable` is printed for what is not
there.

>>> printed_day(date(2024, 3, 3)), or_none(None)
('3 March 2024', 'Not applicable')
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from usance.base.errors import UsanceError, raise_all
from usance.base.money import MILLION, half_up
from usance.capital.errors import DividendError
from usance.capital.prices import amount_minor, exact
from usance.capital.register import Register


class Status(Enum):
    """The status of an announcement: the first of its dividend, or a later one."""

    NEW = "New announcement"
    UPDATE = "Update to previous announcement"


class DividendType(Enum):
    """The period a dividend is paid for."""

    INTERIM = "Interim"
    SEMI_ANNUAL = "Interim (Semi-annual)"
    QUARTERLY = "Interim (Quarterly)"
    FINAL = "Final"
    OTHER = "Other"


class Nature(Enum):
    """The nature of a dividend: ordinary or special."""

    ORDINARY = "Ordinary"
    SPECIAL = "Special"


@dataclass(frozen=True, slots=True)
class DividendForm:
    """Particulars the exchange asks for beyond amount and dates."""

    issuer: str
    stock_code: str
    title: str
    announced_on: date
    year_end: date
    period_end: date
    registrar: str
    registrar_address: str
    status: Status = Status.NEW
    dividend_type: DividendType = DividendType.SEMI_ANNUAL
    nature: Nature = Nature.ORDINARY
    counters: str | None = None
    related_codes: str | None = None
    approved_on: date | None = None
    withholding: str | None = None
    warrants: str | None = None
    other: str | None = None
    directors: str | None = None


def printed_day(day: date) -> str:
    """A day as the form prints it."""
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


def or_none(text: str | None) -> str:
    """The value, or the form's words for nothing."""
    return text or "Not applicable"


class Market(Enum):
    """The market where a holder is registered."""

    ORDINARY = "ordinary"
    ADS = "ads"


@dataclass(frozen=True, slots=True)
class Entitlement:
    """The entitlement of one market's holders: record and payment dates, and the currency.

    `exchange_rate` is units of the currency paid for one of the currency declared; `lodge_by` is
    a time of the register's own clock.
    """

    market: Market
    record_on: date
    pays_on: date
    currency: str
    exchange_rate: Decimal = Decimal(1)
    ex_on: date | None = None
    lodge_by: datetime | None = None
    closed: tuple[date, date] | None = None
    withholding_ppm: int = 0


class Payment(NamedTuple):
    """The payment to a market's holders on the payment date, in the currency paid."""

    gross_minor: int
    withheld_minor: int
    net_minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class Dividend:
    """So much for every ordinary share, declared on a day."""

    name: str
    declared_on: date
    currency: str
    per_share: Decimal
    entitlements: tuple[Entitlement, ...]
    form: DividendForm | None = None
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        raise_all(list(self._problems()), where=self.where)

    @property
    def record_on(self) -> date:
        """The last day on which a register decides who is entitled."""
        return max(each.record_on for each in self.entitlements)

    def per_ads(self, ads_ratio: int) -> Decimal:
        """The amount for one ADS."""
        return self.per_share * ads_ratio

    def amount_minor(self, shares: int) -> int:
        """The dividend on so many shares, in the currency declared."""
        return amount_minor(shares, self.per_share, self.currency)

    def declared_minor(self, register: Register, day: date) -> int:
        """The liability for it by a day, before any payment: zero until it is declared."""
        if day < self.declared_on:
            return 0
        counted_on = self.record_on if day >= self.record_on else self.declared_on
        return self.amount_minor(register.outstanding(counted_on))

    def entitlement(self, market: Market) -> Entitlement | None:
        """The dates and currency of a market, if the dividend has them."""
        return next((each for each in self.entitlements if each.market is market), None)

    def payment(self, market: Market, shares: int) -> Payment:
        """The payment to the holders of so many ordinary shares (or ADSs for as many)."""
        terms = self.entitlement(market)
        if terms is None:
            what = f"dividend {self.name!r} is not paid to holders of {market.value} shares"
            raise DividendError(what, where=self.where, fix="Give that market's dates")
        price = exact(self.per_share) * exact(terms.exchange_rate)
        gross = amount_minor(shares, price, terms.currency)
        withheld = half_up(gross * terms.withholding_ppm, MILLION)
        return Payment(gross, withheld, gross - withheld, terms.currency)

    def _problems(self) -> Iterator[UsanceError]:
        def wrong(what: str, fix: str) -> DividendError:
            return DividendError(f"dividend {self.name!r}: {what}", where=self.where, fix=fix)

        if self.per_share <= 0:
            yield wrong(f"{self.per_share} per share", "Give an amount above zero")
        markets = [each.market for each in self.entitlements]
        if not markets or len(set(markets)) != len(markets):
            yield wrong("has no market, or one twice", "Give ordinary, ads, or both, once each")
        for each in self.entitlements:
            lodged = each.lodge_by.date() if each.lodge_by else None
            order = [self.declared_on, each.ex_on, lodged, each.record_on, each.pays_on]
            days = [day for day in order if day is not None]
            if days != sorted(days):
                fix = "Declare, go ex, lodge, record and pay in that order"
                yield wrong(f"{each.market.value}: the days are out of order", fix)
            if each.closed and not each.closed[0] <= each.closed[1]:
                yield wrong("the book opens before it closes", "Give the first and the last day")
            if each.exchange_rate <= 0 or not 0 <= each.withholding_ppm <= MILLION:
                fix = "Give a rate above zero, and a tax from 0% to 100%"
                yield wrong(f"{each.market.value}: exchange rate or withholding is wrong", fix)


@dataclass(frozen=True, slots=True)
class DividendPaid:
    """Money handed over for a dividend, in the currency it was declared in, tax included."""

    dividend: str
    on: date
    market: Market
    currency: str
    amount_minor: int
    where: str = field(default="", compare=False)


def payable_minor(
    dividend: Dividend, payments: Iterable[DividendPaid], register: Register, day: date
) -> int:
    """The dividend payable at the end of a day."""
    paid = sum(each.amount_minor for each in payments
               if each.dividend == dividend.name and each.on <= day)  # fmt: skip
    return dividend.declared_minor(register, day) - paid


def payout(dividend_minor: int, net_income_minor: int) -> Fraction:
    """A dividend as a share of the income of its half year, both in one currency.

    >>> payout(25, 100)
    Fraction(1, 4)
    """
    if net_income_minor <= 0:
        fix = "A policy by share of income has nothing to say of a loss"
        raise DividendError("there is no income to pay out of", fix=fix)
    return Fraction(dividend_minor, net_income_minor)
