"""Grants, expectations and what became of units, as people write them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Any

from usance.base.errors import DocumentError
from usance.base.fields import Fields, day, one_of, text
from usance.base.money import MILLION, split
from usance.capital.attribution import retained_share, units_granted
from usance.capital.awards import (
    Award,
    CostFunction,
    Estimate,
    Grant,
    Source,
    Tranche,
    UnitChange,
    UnitKind,
)
from usance.capital.documents.readers import build_or_none, count, currency_of, price, share
from usance.capital.options import Pricing, option_value


def read_grant(given: Fields, currency: str) -> Grant | None:
    """A grant; its value is given, or follows from `pricing`."""
    name, granted_on = given.need("name", text), given.need("on", day)
    award = given.need("award", one_of(Award))
    unit = currency_of(given, currency)
    exercise_price = given.take("exercise_price", price) or Decimal(0)
    fair_value = _fair_value(given, exercise_price)
    tranches = _tranches(given)
    functions = _functions(given)
    given.close()
    if not given.is_sound or fair_value is None:
        return None
    return build_or_none(given, lambda: Grant(name, award, granted_on, unit, fair_value, tranches,
                                     exercise_price, functions, given.where()))  # fmt: skip


def read_estimate(given: Fields, currency: str) -> Estimate | None:
    """An estimate of what vests: `shares` of the grant, or `leavers` before it vests."""
    currency_of(given, currency)
    grant, on = given.need("grant", text), given.need("on", day)
    shares, leavers = given.take("shares", _shares), given.take("leavers", share)
    given.close()
    if (shares is None) == (leavers is None) and given.is_sound:
        given.wrong("needs one of shares and leavers", "Give what vests, or who leaves")
    if leavers is not None:
        shares = (retained_share(leavers * 100),)
    if not given.is_sound or shares is None:
        return None
    return build_or_none(given, partial(Estimate, grant, on, shares, given.where()))


def read_change(given: Fields, currency: str, kind: UnitKind) -> UnitChange | None:
    """Units that vested, were exercised, lapsed or were forfeited."""
    currency_of(given, currency)
    grant, on, units = given.need("grant", text), given.need("on", day), given.need("units", count)
    delivers = kind in (UnitKind.VESTED, UnitKind.EXERCISED)
    source = (given.take("source", one_of(Source)) if delivers else None) or Source.NEW
    given.close()
    if not given.is_sound:
        return None
    return build_or_none(given, partial(UnitChange, kind, grant, on, units, source, given.where()))


def _fair_value(given: Fields, exercise_price: Decimal) -> Decimal | None:
    stated, inner = given.take("fair_value", price), given.inner("pricing")
    if ("fair_value" in given) == ("pricing" in given):
        given.wrong("needs one of fair_value and pricing", "Give the value, or how to find it")
    if inner is None or stated is not None:
        return stated
    names = ("share_price", "volatility", "years", "rate")
    spot, volatility, years, rate = (inner.need(name, _number) for name in names)
    dividend_yield = inner.take("dividend_yield", _number) or Decimal(0)
    inner.close()
    if not inner.has_needed:
        return None
    return build_or_none(inner, lambda: option_value(
        Pricing(spot, exercise_price, volatility, years, rate, dividend_yield)))  # fmt: skip


def _tranches(given: Fields) -> tuple[Tranche, ...]:
    """Vesting by units, or by shares of all units."""
    rows, units = given.each("tranches"), _units(given)
    if "tranches" not in given:
        given.wrong("tranches is missing", "List the days on which it vests", "tranches")
    days = [row.need_or_none("on", day) for row in rows]
    if any("share" in row for row in rows):
        sizes = _by_share(given, [row.need_or_none("share", share) for row in rows], units)
    else:
        sizes = [row.need_or_none("units", count) or 0 for row in rows]
        if units not in (None, sum(sizes)):
            given.wrong("the units do not sum to those that vest", "Correct one of them", "units")
    for row in rows:
        row.close()
    return tuple(Tranche(on, size) for on, size in zip(days, sizes, strict=True) if on)


def _by_share(given: Fields, shares: list[Fraction | None], units: int | None) -> list[int]:
    """Units split by shares, by largest remainder."""
    known = [each for each in shares if each is not None]
    if units is None or sum(known) != 1 or len(known) != len(shares):
        fix = "Give units of the grant, and shares that sum to 100%"
        given.wrong("vesting by shares leaves something out", fix, "tranches")
        return [0] * len(shares)
    scale = lcm(*(each.denominator for each in known))
    return split(units, [int(each * scale) for each in known])


def _units(given: Fields) -> int | None:
    units, holders = given.take("units", count), given.take("holders", count)
    each = given.take("units_each", count)
    if units is not None or holders is None or each is None:
        return units
    return units_granted(holders, each)


def _functions(given: Fields) -> tuple[tuple[CostFunction, int], ...]:
    inner = given.inner("functions")
    if inner is None:
        return ((CostFunction.ADMINISTRATION, MILLION),)
    found = [(each, inner.take(each.value, share)) for each in CostFunction]
    inner.close()
    return tuple((each, int(part * MILLION)) for each, part in found if part is not None)


def _shares(given: Any, where: str) -> tuple[Fraction, ...]:
    each = given if isinstance(given, list) else [given]
    return tuple(share(item, where) for item in each)


def _number(given: Any, where: str) -> Decimal:
    """A plain number, or a rate in per cent."""
    text_given = str(given)
    if text_given.endswith("%"):
        return price(text_given[:-1].strip(), where) / 100
    if isinstance(given, bool) or not isinstance(given, int | Decimal | str):
        raise DocumentError(f"{given} is not a number", where=where, fix="Write such as 0.45")
    sign = -1 if text_given.startswith("-") else 1
    return price(text_given.removeprefix("-"), where) * sign
