"""The few roundings of the books, on 64-bit integers."""

from __future__ import annotations

from usance.base.compiled import kernel
from usance.loan.kernel.plan import divide_half_up

PPM, PPB = 1_000_000, 1_000_000_000
_SPLIT = 100_000
"""At most 10^11 minor units at 10^9 ppb overflow 64 bits in one product, not in two."""
_MAX_PPB = 1000 * PPB
"""At a thousand times 10^11 minor units two products still hold; no loan earns that in arrears."""
_PART = 1 << 10
"""Likewise 2^31 minor units of fees over thirty years of days."""


@kernel(inline=True)
def share_of(amount: int, ppm: int) -> int:
    """A share of an amount of either sign, half away from zero."""
    if amount < 0:
        return -divide_half_up(-amount * ppm, PPM)
    return divide_half_up(amount * ppm, PPM)


@kernel(inline=True)
def tax_in(gross: int, vat_ppm: int) -> int:
    """The value-added tax inside a gross amount."""
    if gross < 0:
        return -divide_half_up(-gross * vat_ppm, PPM + vat_ppm)
    return divide_half_up(gross * vat_ppm, PPM + vat_ppm)


@kernel(inline=True)
def at_rate(exposure: int, rate_ppb: int) -> int:
    """An exposure at a rate; nothing for an exposure below zero."""
    if exposure <= 0 or rate_ppb == 0:
        return 0
    high, low = exposure // _SPLIT, exposure % _SPLIT
    product = high * rate_ppb
    whole, rest = product // (PPB // _SPLIT), product % (PPB // _SPLIT)
    return whole + divide_half_up(rest * _SPLIT + low * rate_ppb, PPB)


@kernel(inline=True)
def rate_of_days(month_ppb: int, days: int) -> int:
    """A rate a month over some days of a year of 365, in ppb."""
    return min(divide_half_up(12 * days * month_ppb, 365), _MAX_PPB)


@kernel(inline=True)
def earned_of(price: int, at_once_ppm: int, days: int, term_days: int) -> int:
    """Part of a price earned: a share at once, the rest by days of the term."""
    if term_days == 0:
        return price
    weight = at_once_ppm * term_days + (PPM - at_once_ppm) * days
    whole = PPM * term_days
    high, low = price // _PART, price % _PART
    product = high * weight
    quotient, rest = product // whole, product % whole
    return quotient * _PART + divide_half_up(rest * _PART + low * weight, whole)


@kernel(inline=True)
def part_of(carrying: int, later: int, remaining: int) -> int:
    """The part of a carrying amount that belongs to what falls due later, by whole ppm."""
    if carrying <= 0 or later <= 0 or remaining <= 0:
        return 0
    return divide_half_up(carrying * min(PPM, later * PPM // remaining), PPM)
