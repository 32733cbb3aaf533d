"""The same twelve-instalment schedules by other means: a Decimal loop, NumPy, QuantLib."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

CENT = Decimal("0.01")


def decimal_schedule(
    principal: Decimal, yearly_rate: Decimal, count: int
) -> list[tuple[Decimal, Decimal]]:
    """Principal and interest of each instalment, as one would write it down."""
    monthly = yearly_rate / 12
    level = (principal * monthly / (1 - (1 + monthly) ** -count)).quantize(CENT, ROUND_HALF_UP)
    rows, balance = [], principal
    for number in range(1, count + 1):
        interest = (balance * monthly).quantize(CENT, ROUND_HALF_UP)
        part = balance if number == count else level - interest
        rows.append((part, interest))
        balance -= part
    return rows


def numpy_schedules(
    principal: NDArray[np.int64], rate_ppm: NDArray[np.int64], drawn: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """All loans at once, instalment by instalment; near-ties of the level are left to floats."""
    monthly = rate_ppm / 12e6
    level = np.floor(principal * monthly / (1 - (1 + monthly) ** -count) + 0.5).astype(np.int64)
    principals = np.empty((len(principal), count), np.int64)
    interests = np.empty((len(principal), count), np.int64)
    dues = np.empty((len(principal), count), np.int32)
    month = drawn.astype("datetime64[D]").astype("datetime64[M]")
    day = drawn - month.astype("datetime64[D]").astype(np.int32)
    balance = principal.copy()
    for k in range(count):
        interests[:, k] = (balance * rate_ppm + 6_000_000) // 12_000_000
        principals[:, k] = balance if k == count - 1 else level - interests[:, k]
        balance -= principals[:, k]
        first = (month + (k + 1)).astype("datetime64[D]").astype(np.int32)
        after = (month + (k + 2)).astype("datetime64[D]").astype(np.int32)
        dues[:, k] = np.minimum(first + day, after - 1)
    return principals, interests, dues


def quantlib_schedules(loans: int, count: int) -> int:
    """Amortising bonds of QuantLib, each with its own dates, built and read; how many flows."""
    ql = import_module("QuantLib")
    today = ql.Date(1, 1, 2024)
    ql.Settings.instance().evaluationDate = today
    period, day_count = ql.Period(count, ql.Months), ql.Thirty360(ql.Thirty360.BondBasis)
    flows = 0
    for number in range(loans):
        rate = 0.12 + number % 100 / 1000
        schedule = ql.sinkingSchedule(today + number % 300, period, ql.Monthly, ql.NullCalendar())
        notionals = ql.sinkingNotionals(period, ql.Monthly, rate, 10_000.0 + number)
        bond = ql.AmortizingFixedRateBond(0, notionals, schedule, [rate], day_count)
        flows += len([(flow.date(), flow.amount()) for flow in bond.cashflows()])
    return flows
