"""The level instalment, rounded exactly, without a big number.

P·(1+i)^n / s with s = 1 + (1+i) + … + (1+i)^(n−1) is computed in doubles, which settles nearly
every case: the error is far smaller than the distance to the nearest half. The others are computed
again with twice the precision (a value as an unevaluated sum of two doubles). Closer than 1e-12 to
a half it is one: true ties happen (100.50 at 1 % a month in two instalments is 51.005 each).
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import i64
from usance.base.compiled import kernel

_SPLIT = 134217729.0  # 2^27 + 1: halves a double into two that multiply without error (Dekker)

_A_MONTH = 1.0 / 12_000_000.0  # parts per million a year, as a fraction a month

Pair = tuple[float, float]
"""A number as the sum of a double and a much smaller one."""


@kernel
def _sum(a: float, b: float) -> Pair:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def _product(a: float, b: float) -> Pair:
    scaled = _SPLIT * a
    a_high = scaled - (scaled - a)
    scaled = _SPLIT * b
    b_high = scaled - (scaled - b)
    a_low, b_low = a - a_high, b - b_high
    high = a * b
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def _add(a: Pair, b: Pair) -> Pair:
    high, low = _sum(a[0], b[0])
    return _sum(high, low + a[1] + b[1])


@kernel
def _multiply(a: Pair, b: Pair) -> Pair:
    high, low = _product(a[0], b[0])
    return _sum(high, low + (a[0] * b[1] + a[1] * b[0]))


@kernel
def _divide(a: Pair, b: Pair) -> Pair:
    first = a[0] / b[0]
    high, low = _multiply((first, 0.0), b)
    rest = _add(a, (-high, -low))
    second = rest[0] / b[0]
    high, low = _multiply((second, 0.0), b)
    rest = _add(rest, (-high, -low))
    high, low = _sum(first, second)
    return _sum(high, low + rest[0] / b[0])


@kernel
def _precise(principal: int, rate_ppm: int, count: int) -> Pair:
    """P·g/s, where g and s grow by the binary digits of n; all terms positive, no cancellation."""
    growth = _add((1.0, 0.0), _divide((float(rate_ppm), 0.0), (12_000_000.0, 0.0)))
    power, series = (1.0, 0.0), (0.0, 0.0)
    for bit in range(15, -1, -1):
        series = _multiply(series, _add(power, (1.0, 0.0)))
        power = _multiply(power, power)
        if (count >> bit) & 1:
            series = _add(_multiply(series, growth), (1.0, 0.0))
            power = _multiply(power, growth)
    return _divide(_multiply((float(principal), 0.0), power), series)


@kernel(inline=True)
def level_minor(principal: int, rate_ppm: int, count: int) -> int:
    """The level instalment of a loan at a yearly rate in equal months, half-up."""
    if rate_ppm == 0:
        return (2 * principal + count) // (2 * count)
    growth = 1.0 + rate_ppm * _A_MONTH
    power, series = 1.0, 0.0
    base, tail = growth, 1.0  # (1+i)^(2^b), and the series of that length
    left = count
    while left:
        if left & 1:
            series = series * base + tail
            power *= base
        tail = tail * (base + 1.0)
        base *= base
        left >>= 1
    amount = principal * power / series
    whole = np.floor(amount)
    if abs(amount - whole - 0.5) > 1e-4 + amount * 1e-13:
        return i64(whole) + (1 if amount - whole > 0.5 else 0)
    high, low = _precise(principal, rate_ppm, count)
    whole = np.floor(high)
    return i64(whole) + (1 if (high - whole - 0.5) + low > -1e-12 else 0)
