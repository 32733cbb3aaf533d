"""Loans to measure with: our own products, plain or with split fees, and their payments."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np

from usance.base.codes import FactKind
from usance.base.dates import to_day
from usance.loan import FactColumns, ScheduleColumns, TermColumns, schedule

DRAWN, FIRST_DUE = to_day(date(2023, 12, 31)), to_day(date(2024, 1, 31))
AFTER_ALL = to_day(date(2025, 6, 30))


def portfolio(loans: int, *, split: bool, instalments: int = 12) -> TermColumns:
    """Loans of 1,000 to 50,000 at 12–24 %; `split` has a coupon, service and guarantee fees."""
    number = np.arange(loans, dtype=np.int64)
    principal = 1_000_00 + number * 7919 % 49_000_00
    rate = (120_000 + number * 101 % 120_000).astype(np.int32)
    return TermColumns(
        principal_minor=principal,
        rate_ppm=rate,
        coupon_ppm=(rate // 3).astype(np.int32) if split else rate,
        instalments=np.full(loans, instalments, np.int16),
        disbursed_on=np.full(loans, DRAWN, np.int32),
        first_due_on=np.full(loans, FIRST_DUE, np.int32),
        flat_fee_minor=np.zeros(loans, np.int64),
        guarantee_fee_minor=principal // 50 if split else np.zeros(loans, np.int64),
        convention=np.full(loans, 1, np.int16),
    )


def payments(terms: TermColumns, count: int) -> FactColumns:
    """A disbursement and the first `count` instalments paid on their days."""
    plan: ScheduleColumns = schedule(terms)
    loans, instalments = len(terms), int(terms.instalments[0])
    width = count + 1
    day = np.empty((loans, width), np.int32)
    amount = np.empty((loans, width), np.int64)
    kind = np.full((loans, width), FactKind.PAID, np.int8)
    day[:, 0], amount[:, 0], kind[:, 0] = (
        terms.disbursed_on,
        terms.principal_minor,
        FactKind.DISBURSED,
    )
    day[:, 1:] = plan.due_on.reshape(loans, instalments)[:, :count]
    amount[:, 1:] = plan.total.reshape(loans, instalments)[:, :count]
    offsets = np.arange(0, loans * width + 1, width, dtype=np.int64)
    return FactColumns(offsets, day.ravel(), kind.ravel(), amount.ravel(),
                       np.zeros(loans * width, np.int64))  # fmt: skip


def uneven(facts: FactColumns, count: int) -> FactColumns:
    """The same money, but every first payment of two is half and the second one and a half."""
    amount = facts.amount_minor.reshape(-1, count + 1).copy()
    held_back = amount[:, 1:count:2] // 2
    amount[:, 1:count:2] -= held_back
    amount[:, 2::2] += held_back
    return replace(facts, amount_minor=amount.ravel())


def months(facts: FactColumns, width: int) -> list[FactColumns]:
    """The same facts, one column of them at a time."""
    loans = len(facts.offsets) - 1
    offsets = np.arange(loans + 1, dtype=np.int64)
    return [
        FactColumns(offsets, facts.day[m::width].copy(), facts.kind[m::width].copy(),
                    facts.amount_minor[m::width].copy(), facts.arg[m::width].copy())
        for m in range(width)
    ]  # fmt: skip


def in_another_order(terms: TermColumns) -> TermColumns:
    """The same loans under an order no product of ours has: buckets, principal before interest."""
    from usance.base.codes import Component
    from usance.loan.convention import Sweep, same_order

    components = (Component.SERVICE_FEE, Component.PRINCIPAL, Component.INTEREST,
                  Component.GUARANTEE_FEE)  # fmt: skip
    order = same_order(components, penalty="first", sweep=Sweep.BY_BUCKET)
    return replace(terms, allocation=order)
