"""Shares issued, bought back and retired, programmes, and dividends paid, as people write them."""

from __future__ import annotations

from datetime import date
from functools import cache, partial

from usance.base.fields import Fields, amount_of, day, one_of, text
from usance.base.money import INT64_MAX
from usance.base.parameters import Parameters
from usance.capital.dividends import DividendPaid, Market
from usance.capital.documents.readers import build_or_none, count, currency_of
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
