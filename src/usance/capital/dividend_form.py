"""The exchange's form for a cash dividend, field by field, as it is printed.

The form says what the dividend says, so it takes amounts and dates from there; it adds only what
the exchange asks beyond. `Not applicable` is printed for what is not there.

>>> printed_day(date(2024, 3, 3)), printed_price(Decimal("0.29"), "USD"), or_none(None)
('3 March 2024', 'USD 0.29 per share', 'Not applicable')
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from usance.capital.dividends import Dividend, Entitlement


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


_LODGE = (
    "Latest time to lodge transfer documents for registration with share registrar for "
    "determining entitlement to the dividend"
)

Row = tuple[str, str]
"""A label of the form and what is printed beside it."""


def form_rows(dividend: Dividend, form: DividendForm, register: Entitlement) -> tuple[Row, ...]:
    """Every row of the form, in its order; `register` is the entitlement of ordinary shares."""
    return (*_issuer(form), *_terms(dividend, form), *_register(dividend, form, register),
            *_rest(form))  # fmt: skip


def printed_day(day: date) -> str:
    """A day as the form prints it."""
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


def printed_price(price: Decimal, currency: str) -> str:
    """An amount for each share as the form prints it."""
    return f"{currency} {price} per share"


def or_none(text: str | None) -> str:
    """The value, or the form's words for nothing."""
    return text or "Not applicable"


def _issuer(form: DividendForm) -> tuple[Row, ...]:
    return (
        ("Issuer name", form.issuer),
        ("Stock code", form.stock_code),
        ("Multi-counter stock code and currency", or_none(form.counters)),
        ("Other related stock code(s) and name(s)", or_none(form.related_codes)),
        ("Title of announcement", form.title),
        ("Announcement date", printed_day(form.announced_on)),
        ("Status", form.status.value),
    )


def _terms(dividend: Dividend, form: DividendForm) -> tuple[Row, ...]:
    approved = printed_day(form.approved_on) if form.approved_on else None
    return (
        ("Dividend type", form.dividend_type.value),
        ("Dividend nature", form.nature.value),
        ("For the financial year end", printed_day(form.year_end)),
        ("Reporting period end for the dividend declared", printed_day(form.period_end)),
        ("Dividend declared", printed_price(dividend.per_share, dividend.currency)),
        ("Date of shareholders' approval", or_none(approved)),
    )


def _register(dividend: Dividend, form: DividendForm, terms: Entitlement) -> tuple[Row, ...]:
    price = dividend.per_share * terms.exchange_rate
    rate = f"{dividend.currency} 1 : {terms.currency} {terms.exchange_rate}"
    ex_on = printed_day(terms.ex_on) if terms.ex_on else None
    closed = " to ".join(map(printed_day, terms.closed)) if terms.closed else None
    return (
        ("Default currency and amount in which the dividend will be paid",
         printed_price(price, terms.currency)),
        ("Exchange rate", rate),
        ("Ex-dividend date", or_none(ex_on)),
        (_LODGE, or_none(_moment(terms.lodge_by))),
        ("Book close period", or_none(closed)),
        ("Record date", printed_day(terms.record_on)),
        ("Payment date", printed_day(terms.pays_on)),
        ("Share registrar and its address", form.registrar),
        ("", form.registrar_address),
    )  # fmt: skip


def _rest(form: DividendForm) -> tuple[Row, ...]:
    return (
        ("Details of withholding tax applied to the dividend declared", or_none(form.withholding)),
        ("Details of listed warrants / convertible securities issued by the issuer",
         or_none(form.warrants)),
        ("Other information", or_none(form.other)),
        ("Directors of the issuer", or_none(form.directors)),
    )  # fmt: skip


def _moment(at: datetime | None) -> str | None:
    return f"{printed_day(at.date())} {at:%H:%M}" if at else None
