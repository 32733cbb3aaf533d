"""Internal rates of return of a column of loans with flows at equal periods.

The compiled loop proves each rate: the equation changes its sign between the two half-ppb
neighbours by more than its own rounding errors. What it cannot prove goes to the exact function,
so a column gives what `irr_by_periods` gives, to the last ppb.

>>> import numpy as np
>>> table = np.array([[1000_00, -510_00, -520_20], [1000_00, -500_00, -500_00]])
>>> nominal_rates_ppb(table).tolist(), effective_rates_ppb(table).tolist()
([240000000, 0], [268241795, 0])
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.compiled import in_threads, kernel
from usance.base.errors import AmountError
from usance.loan.rates.annual import RateBasis, irr_by_periods
from usance.loan.rates.equation import RateNotFound

# Beyond these a float64 no longer holds an amount, or half a ppb of a rate, exactly.
MAX_AMOUNT = 2.0**53
MAX_PPB = 2.0**50
# Nearer to -100 % the sum 1 + rate loses digits that the bound below counts on.
MIN_RATE = -0.5
NEWTON_STEPS = 40
UNIT_ROUNDOFF = 2.0**-53
PPB = 1e9


def nominal_rates_ppb(amounts_minor: I64, offsets: I64 | None = None, per_year: int = 12) -> I64:
    """`per_year` times the rate a period: a table of a loan per row, or flat with offsets.

    Loan k's flows are `amounts_minor[offsets[k] : offsets[k + 1]]`, one a period, the first at
    once; positive is what the borrower receives.
    """
    return _rates(amounts_minor, offsets, per_year, RateBasis.NOMINAL_MONTHLY)


def effective_rates_ppb(amounts_minor: I64, offsets: I64 | None = None, per_year: int = 12) -> I64:
    """The rate a period compounded over a year; the same arguments."""
    return _rates(amounts_minor, offsets, per_year, RateBasis.EFFECTIVE)


def _rates(amounts_minor: I64, offsets: I64 | None, per_year: int, basis: RateBasis) -> I64:
    flat, bounds = _flat(amounts_minor, offsets)
    count = len(bounds) - 1
    rates = np.empty(count, np.int64)
    proved = np.zeros(count, np.bool_)
    compounded = basis is RateBasis.EFFECTIVE
    in_threads(
        lambda start, stop: _solve_rows(
            flat, bounds, float(per_year), compounded, start, stop, rates, proved
        ),
        count,
    )
    for row in np.flatnonzero(~proved).tolist():
        amounts = flat[bounds[row] : bounds[row + 1]].tolist()
        try:
            rates[row] = irr_by_periods(amounts, per_year, basis)
        except RateNotFound as error:
            raise type(error)(error.what, where=f"row {row}", fix=error.fix) from None
    return rates


def _flat(amounts_minor: I64, offsets: I64 | None) -> tuple[I64, I64]:
    if amounts_minor.dtype != np.int64:
        raise AmountError(
            f"amounts of type {amounts_minor.dtype}", fix="Give whole minor units as int64"
        )
    if amounts_minor.ndim == 2 and offsets is None:
        rows, width = amounts_minor.shape
        return np.ascontiguousarray(amounts_minor).ravel(), np.arange(rows + 1) * width
    if amounts_minor.ndim != 1 or offsets is None or not _is_partition(offsets, amounts_minor.size):
        raise AmountError(
            "the shape is neither a table nor a list with offsets",
            fix="Give rows of flows, or all flows in one list and offsets rising from 0 to its end",
        )
    return np.ascontiguousarray(amounts_minor), offsets.astype(np.int64)


def _is_partition(offsets: I64, size: int) -> bool:
    if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != size:
        return False
    return bool((np.diff(offsets) >= 0).all())


@kernel
def _solve_rows(
    flat: I64,
    bounds: I64,
    per_year: float,
    compounded: bool,
    start: int,
    stop: int,
    rates: I64,
    proved: NDArray[np.bool_],
) -> None:
    for row in range(start, stop):
        first, last = bounds[row], bounds[row + 1]
        discount = _first_guess(flat, first, last)
        if discount <= 0.0:
            continue
        for _ in range(NEWTON_STEPS):
            value, slope, _ = _value(flat, first, last, discount)
            step = value / slope
            discount -= step
            if not abs(step) > 1e-14 * discount:
                break
        if not discount > 0.0:
            continue
        if compounded:
            rate = math.floor((discount**-per_year - 1.0) * PPB + 0.5)
        else:
            rate = math.floor((1.0 / discount - 1.0) * per_year * PPB + 0.5)
        if not abs(rate) < MAX_PPB:
            continue
        below = _sign(flat, first, last, rate - 0.5, per_year, compounded)
        above = _sign(flat, first, last, rate + 0.5, per_year, compounded)
        if below < 0 and above > 0:
            rates[row] = int(rate)
            proved[row] = True


@kernel(inline=True)
def _first_guess(flat: I64, first: int, last: int) -> float:
    """The discount of a period if all payments came at their average time; 0 if not plain.

    By convexity it is at or above the true one where there is one advance, so that Newton's steps
    come down to it from one side.
    """
    received = paid = received_time = paid_time = 0.0
    for k in range(first, last):
        amount = float(flat[k])
        if abs(amount) > MAX_AMOUNT or (amount > 0.0 and paid > 0.0):
            return 0.0
        if amount > 0.0:
            received += amount
            received_time += amount * (k - first)
        else:
            paid -= amount
            paid_time -= amount * (k - first)
    if received <= 0.0 or paid <= 0.0:
        return 0.0
    distance = paid_time / paid - received_time / received
    return math.exp(-math.log(paid / received) / distance)


@kernel(inline=True)
def _value(flat: I64, first: int, last: int, discount: float) -> tuple[float, float, float]:
    """Value of the flows, its slope by the discount, and the value of their sizes."""
    value = slope = size = 0.0
    for k in range(last - 1, first - 1, -1):
        slope = slope * discount + value
        value = value * discount + flat[k]
        size = size * discount + abs(flat[k])
    return value, slope, size


@kernel(inline=True)
def _sign(flat: I64, first: int, last: int, ppb: float, per_year: float, compounded: bool) -> int:
    """The sign of the value at an annual rate, 0 where rounding errors could hide it."""
    base = ppb / PPB if compounded else ppb / (PPB * per_year)
    if base < MIN_RATE:
        return 0
    discount = (1.0 + base) ** (-1.0 / per_year) if compounded else 1.0 / (1.0 + base)
    value, _, size = _value(flat, first, last, discount)
    # Per flow two roundings of Horner's rule, and the error of the discount (its base, its power)
    # once per period; 12 of them is more than both.
    doubt = 12.0 * (last - first + 1) * UNIT_ROUNDOFF * size
    if abs(value) <= doubt:
        return 0
    return 1 if value > 0.0 else -1
