"""The plan of a loan of the platform's own products, by instalment, on 64-bit integers.

Every function here is compiled; batches call them with one loan at a time. The terms of a loan
travel as a named tuple of integers, `Plan`, made by `plan_of`. Nothing is stored per instalment:
the next one follows from the balance before it.
"""

from __future__ import annotations

from usance.base.arrays import i64, u64
from usance.base.compiled import kernel
from usance.base.dates import month_starts
from usance.loan.bounds import MAX_KERNEL_FEES_MINOR
from usance.loan.kernel.arrays import Plan

LEVEL, EQUAL_PRINCIPAL, INTEREST_ONLY = 0, 1, 2

STARTS = month_starts(0, 12 * 181)
"""Day number of the first of every month; a look-up is four times faster than computing it."""


@kernel(inline=True)
def divide_half_up(numerator: int, denominator: int) -> int:
    """Half-up of a quotient of two non-negative integers."""
    return i64((u64(2) * u64(numerator) + u64(denominator)) // (u64(2) * u64(denominator)))


@kernel(inline=True)
def month_of(day: int) -> int:
    """The month number of a day: estimated by the mean month, at most one short, then corrected."""
    month: int = (day * 2153) >> 16
    return month + (STARTS[u64(month + 1)] <= day)


@kernel(inline=True)
def day_in_month(month: int, anchor: int) -> int:
    """The anchor day in a month, or its last day."""
    first = i64(STARTS[u64(month)])
    return first + min(anchor, STARTS[u64(month + 1)] - first) - 1


@kernel(inline=True)
def plan_of(
    principal: int, rate: int, coupon: int, count: int, disbursed: int, first: int, flat: int,
    guarantee: int, amortisation: int, daily: int,
) -> Plan:  # fmt: skip
    """The terms of a loan with what follows from its dates."""
    month = month_of(first)
    drawn_in = month_of(disbursed)
    drawn_day = disbursed - STARTS[u64(drawn_in)] + 1
    regular = month == drawn_in + 1 and first == day_in_month(month, drawn_day)
    due_day = first - STARTS[u64(month)] + 1
    stub = 30
    if not regular:  # 30E/360: every month has thirty days
        stub = 30 * (month - drawn_in) + min(due_day, 30) - min(drawn_day, 30)
    anchor = drawn_day if regular else due_day
    return Plan(
        i64(principal), i64(rate), i64(coupon), i64(count),
        i64(disbursed), i64(first), i64(flat), i64(guarantee),
        i64(amortisation), i64(daily), i64(anchor), i64(month), i64(stub),
    )  # fmt: skip


@kernel(inline=True)
def due_day(plan: Plan, k: int) -> int:
    """The due day of instalment k (from 0)."""
    return day_in_month(plan.first_month + k, plan.anchor_day)


@kernel(inline=True)
def period_start(plan: Plan, k: int) -> int:
    """The first day of the interest period of instalment k."""
    return plan.disbursed_day if k == 0 else due_day(plan, k - 1)


@kernel(inline=True)
def monthly_charge(balance: int, rate: int) -> int:
    """Interest on a balance for a whole month."""
    units = u64(balance) * u64(rate)
    return i64((units + u64(6_000_000)) // u64(12_000_000))


@kernel(inline=True)
def charge(plan: Plan, k: int, balance: int, rate: int) -> int:
    """Interest on a balance for period k."""
    if plan.is_daily == 1:
        days = due_day(plan, k) - period_start(plan, k)
        units = u64(balance) * u64(rate) * u64(days)
        return i64((units + u64(182_500_000)) // u64(365_000_000))
    if k == 0 and plan.first_days != 30:
        units = u64(balance) * u64(rate) * u64(plan.first_days)
        return i64((units + u64(180_000_000)) // u64(360_000_000))
    return monthly_charge(balance, rate)


@kernel(inline=True)
def share(total: int, k: int, count: int) -> int:
    """The share of instalment k in a total spread evenly, rounded cumulatively."""
    if total == 0:
        return 0
    whole = total // count
    rest = total - whole * count
    return whole + divide_half_up(rest * (k + 1), count) - divide_half_up(rest * k, count)


@kernel(inline=True)
def instalment(plan: Plan, k: int, balance: int, level: int) -> tuple[int, int, int]:
    """Principal, interest and fees of instalment k, given the balance before it."""
    whole = charge(plan, k, balance, plan.rate_ppm)
    interest = charge(plan, k, balance, plan.coupon_ppm)
    if k == plan.instalments - 1:
        principal = balance
    elif plan.amortisation == LEVEL:
        regular = whole
        if k == 0 and plan.is_daily == 0 and plan.first_days != 30:
            regular = monthly_charge(balance, plan.rate_ppm)
        principal = min(max(level - regular, 0), balance)
    elif plan.amortisation == EQUAL_PRINCIPAL:
        principal = share(plan.principal, k, plan.instalments)
    else:
        principal = i64(0)
    return principal, interest, whole - interest + share(plan.flat_fee, k, plan.instalments)


@kernel(inline=True)
def fees_of(plan: Plan, level: int) -> int:
    """All fees of the plan; the guarantor's instalments are a proportion of them."""
    if plan.coupon_ppm == plan.rate_ppm:
        return plan.flat_fee
    total = i64(0)
    balance = plan.principal
    for k in range(plan.instalments):
        principal, _, fee = instalment(plan, k, balance, level)
        balance -= principal
        total += fee
    return total


@kernel(inline=True)
def fees_exceed_range(plan: Plan, level: int) -> bool:
    """True if the fees do not fit 31 bits; a bound decides for all but very large loans."""
    years_up = plan.instalments // 12 + 3
    if (
        plan.principal * plan.rate_ppm // 1_000_000 * years_up + plan.flat_fee
        <= MAX_KERNEL_FEES_MINOR
    ):
        return False
    return fees_of(plan, level) > MAX_KERNEL_FEES_MINOR


@kernel(inline=True)
def guaranteed(plan: Plan, fees_so_far: int, fees: int) -> int:
    """The guarantor's part of the fees so far."""
    return divide_half_up(plan.guarantee_fee * fees_so_far, max(fees, 1))
