"""Effective interest of loans on the balance sheet, in whole numbers: a plan's present value.

Interest grows at simple interest inside a period and compounds between periods; a period's length
in months follows the loan's own day count, so that without a fee the effective rate is the agreed
one. A value is kept in 2^-24 of a minor unit, a discount or a chance to stay in 2^-63; nothing is
decided by a float. Only the search for a rate uses them, and it proves what it finds.

What a fee has earned by a day is the fee less what the balance is above the value of what is
still to come. A chance to stay below one makes that value an expected one.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from usance.base.arrays import F64, I32, I64, U64, i64, u64
from usance.base.compiled import kernel
from usance.loan.kernel.arrays import Plan, TermArrays
from usance.loan.kernel.batch import plan_at
from usance.loan.kernel.level import level_minor
from usance.loan.kernel.plan import (
    LEVEL,
    due_day,
    instalment,
    period_start,
)

PPB = 1_000_000_000
MAX_EFFECTIVE_PPB = 10**13
"""A million per cent a month: beyond it a discount does not fit the division below."""
ONE = 1 << 63
"""A discount of nothing, and a certain stay."""
VALUE_BITS = 24
_HALF = 1 << (VALUE_BITS - 1)
_LOW = 0xFFFFFFFF
_WIDE = 1 << 43
NEWTON_STEPS = 40
_LAST_STEP = 1e-8
"""The error after a step is of the order of its square, far below half a ppb."""
_ROUNDOFF = 2.0**-53

NO_CURVE: U64 = np.empty((1, 0), np.uint64)
"""Every borrower stays to the last instalment: contractual flows."""

Stays: TypeAlias = U64
"""By segment and instalment, the chance to be there after it for who was there before it."""


@kernel(inline=True)
def high_product(a: int, b: int) -> int:
    """The upper half of the 128 bits of a product of two unsigned integers."""
    a_high, a_low = u64(a) >> u64(32), u64(a) & u64(_LOW)
    b_high, b_low = u64(b) >> u64(32), u64(b) & u64(_LOW)
    middle = a_high * b_low + ((a_low * b_low) >> u64(32))
    lower = (middle & u64(_LOW)) + a_low * b_high
    return a_high * b_high + (middle >> u64(32)) + (lower >> u64(32))


@kernel(inline=True)
def period_months(plan: Plan, k: int) -> tuple[int, int]:
    """The length of period k in months of the loan's day count, as a fraction; never nothing."""
    if plan.is_daily == 1:
        return 12 * (due_day(plan, k) - period_start(plan, k)), i64(365)
    if k == 0 and plan.first_days != 30:
        return max(plan.first_days, i64(1)), i64(30)
    return i64(1), i64(1)


@kernel(inline=True)
def discount(rate_ppb: int, months: int, parts: int) -> int:
    """1 / (1 + rate × months / parts) in 2^-63, by long division in whole numbers."""
    rest = u64(PPB) * u64(parts)
    whole = rest + u64(rate_ppb) * u64(months)
    bits = u64(21) if whole < u64(_WIDE) else u64(9)
    result, left = u64(0), u64(63)
    while left > u64(0):
        rest <<= bits
        digit = rest // whole
        rest -= digit * whole
        result = (result << bits) | digit
        left -= bits
    return result


@kernel(inline=True)
def period_discount(plan: Plan, k: int, rate_ppb: int, month: int) -> int:
    """The discount of period k, given that of a whole month."""
    months, parts = period_months(plan, k)
    return u64(month) if months == parts else u64(discount(rate_ppb, months, parts))


@kernel
def worth_from(
    plan: Plan, k: int, balance: int, level: int, rate_ppb: int, stays: Stays, segment: int
) -> int:
    """Value of instalments k and later when period k begins, to 2^-24 minor units."""
    month = discount(rate_ppb, i64(1), i64(1))
    weight, worth = u64(ONE), u64(0)
    for j in range(k, plan.instalments):
        principal, interest, fee = instalment(plan, j, balance, level)
        balance -= principal
        weight = high_product(weight, period_discount(plan, j, rate_ppb, month)) << u64(1)
        worth += high_product(u64(principal + interest + fee) << u64(VALUE_BITS + 1), weight)
        if j < stays.shape[1] and stays[segment, j] != u64(ONE):
            staying = high_product(weight, stays[segment, j]) << u64(1)
            worth += high_product(u64(balance) << u64(VALUE_BITS + 1), weight - staying)
            weight = staying
        if weight == u64(0):
            break
    return i64(worth)


@kernel(inline=True)
def earned_linearly(opening: int, closing: int, elapsed: int, days: int) -> int:
    """A point between two values in 2^-24 minor units, in whole ones, half away from zero."""
    a_day = (closing - opening) // days
    rest = (closing - opening) - a_day * days
    earned = opening + a_day * elapsed + rest * elapsed // days
    if earned < 0:
        return -((_HALF - earned) >> VALUE_BITS)
    return (earned + _HALF) >> VALUE_BITS


@kernel
def expected_fee_earned(
    plan: Plan, level: int, upfront_minor: int, rate_ppb: int, day: int, stays: Stays, segment: int
) -> int:
    """Fee earned by a day of a loan that is there then, by the flows then expected.

    After an instalment, the fee less what the balance is above the value of what is to come;
    before the first, nothing; between two of them linear by day. The whole fee when all are due.
    """
    if (upfront_minor == 0 and plan.flat_fee == 0) or day <= plan.disbursed_day:
        return i64(0)
    k, balance = i64(0), plan.principal
    while k < plan.instalments and due_day(plan, k) <= day:
        principal, _, _ = instalment(plan, k, balance, level)
        balance -= principal
        k += 1
    if k == plan.instalments:
        return i64(upfront_minor)
    principal, interest, fee = instalment(plan, k, balance, level)
    after = balance - principal
    worth = worth_from(plan, k + 1, after, level, rate_ppb, stays, segment)
    fee_units = i64(upfront_minor) << VALUE_BITS
    opening, closing = i64(0), fee_units - (after << VALUE_BITS) + worth
    if k > 0:
        if k < stays.shape[1] and stays[segment, k] != u64(ONE):
            # Of those who are there now some repay the balance with this instalment.
            above = (after << VALUE_BITS) - worth
            kept = i64(high_product(u64(abs(above)) << u64(1), stays[segment, k]))
            worth = (after << VALUE_BITS) - (kept if above >= 0 else -kept)
        month = discount(rate_ppb, i64(1), i64(1))
        whole = worth + ((principal + interest + fee) << VALUE_BITS)
        now = high_product(u64(whole) << u64(1), period_discount(plan, k, rate_ppb, month))
        opening = fee_units - (balance << VALUE_BITS) + i64(now)
    start = period_start(plan, k)
    return earned_linearly(opening, closing, day - start, due_day(plan, k) - start)


@kernel(inline=True)
def fee_earned(plan: Plan, level: int, upfront_minor: int, rate_ppb: int, day: int) -> int:
    """Fee earned by a day, by contractual flows."""
    return expected_fee_earned(plan, level, upfront_minor, rate_ppb, day, NO_CURVE, i64(0))


@kernel(inline=True)
def level_of(plan: Plan) -> int:
    """The level instalment of a plan that has one."""
    if plan.amortisation == LEVEL:
        return level_minor(plan.principal, plan.rate_ppm, plan.instalments)
    return i64(0)


@kernel
def fee_rows(
    start: int, stop: int, terms: TermArrays, upfront: I64, rates: I64, days: I32, day_stride: int,
    stays: Stays, segments: I64, out: I64,
) -> None:  # fmt: skip
    """The fee each loan has earned; one day for all (`day_stride` 0) or a day each (1)."""
    for row in range(start, stop):
        plan = plan_at(terms, row)
        out[row] = expected_fee_earned(
            plan, level_of(plan), upfront[row], rates[row], i64(days[row * day_stride]), stays,
            segments[row] if len(segments) else 0,
        )  # fmt: skip


@kernel(inline=True)
def scheduled_ppb(rate_ppm: int) -> int:
    """The agreed rate a month, in ppb."""
    return (i64(rate_ppm) * 1_000 + 6) // 12


@kernel
def lay_out_flows(plan: Plan, stays: Stays, segment: int, work: F64) -> None:
    """Expected flow and months of every period, side by side."""
    balance, level, there = plan.principal, level_of(plan), 1.0
    for k in range(plan.instalments):
        principal, interest, fee = instalment(plan, k, balance, level)
        balance -= principal
        months, parts = period_months(plan, k)
        flow = there * (principal + interest + fee)
        if k < stays.shape[1]:
            staying = there * (stays[segment, k] * 2.0**-63)
            flow += (there - staying) * balance
            there = staying
        work[2 * k], work[2 * k + 1] = flow, months / parts


@kernel(inline=True)
def flow_value(work: F64, count: int, is_daily: bool, rate: float) -> tuple[float, float]:
    """The value of the flows laid out, and its slope by the rate."""
    value = slope = 0.0
    months, factor = 1.0, 1.0 / (1.0 + rate)
    for k in range(count - 1, -1, -1):
        if is_daily or k == 0:
            months = work[2 * k + 1]
            factor = 1.0 / (1.0 + rate * months)
        value = (value + work[2 * k]) * factor
        slope = slope * factor - value * months * factor
    return value, slope


@kernel(inline=True)
def unproved(rate_ppb: int) -> int:
    """A rate that was found and not proved, as a number below zero; its own inverse."""
    return -1 - rate_ppb


@kernel(inline=True)
def solved_ppb(work: F64, count: int, is_daily: bool, advance: float, rate: float) -> int:
    """The rate in ppb; where the signs half a ppb beside it do not prove it, `unproved` of it.

    The value falls and is convex in the rate, so steps from below come up to it from one side.
    """
    for _ in range(NEWTON_STEPS):
        value, slope = flow_value(work, count, is_daily, rate)
        step = (advance - value) / slope
        rate += step
        if not abs(step) > _LAST_STEP * (1.0 + rate):
            break
    if not 0.0 <= rate < MAX_EFFECTIVE_PPB / PPB:
        return unproved(i64(0))
    found = math.floor(rate * PPB + 0.5)
    below, _ = flow_value(work, count, is_daily, (found - 0.5) / PPB)
    above, _ = flow_value(work, count, is_daily, (found + 0.5) / PPB)
    # Per period a flow is rounded twice by staying, three times by its discount and once by the
    # sum; making it takes less than sixteen.
    doubt = (6.0 * count + 16.0) * _ROUNDOFF * (advance + below)
    if below - advance > doubt and advance - above > doubt:
        return i64(found)
    return unproved(i64(found))


@kernel
def rate_rows(
    start: int, stop: int, terms: TermArrays, upfront: I64, stays: Stays, segments: I64, work: F64,
    rates: I64,
) -> None:  # fmt: skip
    """The effective rate a month of each loan; `unproved` below zero."""
    for row in range(start, stop):
        plan = plan_at(terms, row)
        if upfront[row] == 0 and plan.flat_fee == 0:
            rates[row] = scheduled_ppb(plan.rate_ppm)
            continue
        lay_out_flows(plan, stays, segments[row] if len(segments) else 0, work)
        rates[row] = solved_ppb(
            work, plan.instalments, plan.is_daily == 1, float(plan.principal - upfront[row]),
            scheduled_ppb(plan.rate_ppm) / PPB,
        )  # fmt: skip
