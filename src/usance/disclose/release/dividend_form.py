"""The exchange's form for a cash dividend, as facts that print as the form does.

Lines are short and stable; the texts say what the form calls each, and under which heading.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from usance.base.errors import unknown
from usance.capital.dividends import (
    Dividend,
    DividendForm,
    Entitlement,
    Market,
    or_none,
    printed_day,
)
from usance.disclose.errors import FormError
from usance.disclose.facts import NO_CURRENCY
from usance.disclose.release.corporate_actions import LODGE, CorporateActions, dividend_period
from usance.disclose.release.figure import Figure, printed_currency

FORM = "dividend_form"
Field = tuple[str, str, str, str]
"""Line, unit, text and currency."""


def dividend_form_figures(actions: CorporateActions, name: str) -> list[Figure]:
    """Every field of the form of a dividend, in the form's order."""
    named = {each.name: each for each in actions.dividends}
    if name not in named:
        raise unknown("dividend", name, named, where="dividend")
    dividend = named[name]
    register = dividend.entitlement(Market.ORDINARY)
    if dividend.form is None or register is None:
        lacks = "form" if dividend.form is None else "ordinary"
        fix = f"Give it under '{lacks}' of the dividend; the reference of capital lists its keys"
        where = dividend.where or f"dividend {name!r}"
        raise FormError(f"the dividend says nothing of its {lacks}", where=where, fix=fix)
    period = dividend_period(dividend) or dividend.form.period_end.isoformat()
    return [
        Figure(FORM, line, "", period, currency, unit, text)
        for line, unit, text, currency in (
            *_issuer(dividend.form), *_terms(dividend, dividend.form),
            *_register(dividend, register), *_other_fields(dividend.form),
        )
    ]  # fmt: skip


def _text(line: str, text: str | None) -> Field:
    return line, "text", or_none(text), NO_CURRENCY


def _day(line: str, day: date | None) -> Field:
    """A day as the form prints it; its words for nothing are no date."""
    if day is None:
        return _text(line, None)
    return line, "date", printed_day(day), NO_CURRENCY


def _issuer(form: DividendForm) -> Iterator[Field]:
    yield _text("Issuer name", form.issuer)
    yield _text("Stock code", form.stock_code)
    yield _text("Multi-counter stock code and currency", form.counters)
    yield _text("Other related stock codes and names", form.related_codes)
    yield _text("Title of announcement", form.title)
    yield _day("Announcement date", form.announced_on)
    yield _text("Status", form.status.value)


def _terms(dividend: Dividend, form: DividendForm) -> Iterator[Field]:
    yield _text("Dividend type", form.dividend_type.value)
    yield _text("Dividend nature", form.nature.value)
    yield _day("Financial year end", form.year_end)
    yield _day("Reporting period end", form.period_end)
    yield (
        "Dividend declared",
        "per_share",
        f"{dividend.per_share:f}",
        printed_currency(dividend.currency),
    )
    yield _day("Date of shareholders' approval", form.approved_on)


def _register(dividend: Dividend, terms: Entitlement) -> Iterator[Field]:
    price = dividend.per_share * terms.exchange_rate
    paid = price if terms.exchange_rate != 1 else dividend.per_share
    unit = printed_currency(terms.currency)
    yield "Default currency and amount", "per_share", _plain(paid), unit
    line = f"Exchange rate {unit} per {printed_currency(dividend.currency)}"
    yield line, "rate", _plain(terms.exchange_rate), unit
    yield _day("Ex-dividend date", terms.ex_on)
    if terms.lodge_by:
        shown = f"{printed_day(terms.lodge_by.date())} {terms.lodge_by:%H:%M}"
        yield LODGE, "date", shown, NO_CURRENCY
    else:
        yield _text(LODGE, None)
    closed = " to ".join(map(printed_day, terms.closed)) if terms.closed else None
    yield _text("Book close period", closed)
    yield _day("Record date", terms.record_on)
    yield _day("Payment date", terms.pays_on)


def _other_fields(form: DividendForm) -> Iterator[Field]:
    yield _text("Share registrar", form.registrar)
    yield _text("Address of the share registrar", form.registrar_address)
    yield _text("Withholding tax", form.withholding)
    yield _text("Listed warrants and convertible securities", form.warrants)
    yield _text("Other information", form.other)
    yield _text("Directors of the issuer", form.directors)


def _plain(number: Decimal) -> str:
    return f"{number:f}"
