"""The arrays and tuples that travel between Python and the kernel, by name."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from usance.base.arrays import I8, I16, I32, I64


class Plan(NamedTuple):
    """The terms of one loan with what follows from its dates; amounts in minor units."""

    principal: int
    rate_ppm: int
    coupon_ppm: int
    instalments: int
    disbursed_day: int
    first_due_day: int
    flat_fee: int
    guarantee_fee: int
    amortisation: int
    """`LEVEL`, `EQUAL_PRINCIPAL` or `INTEREST_ONLY`."""
    is_daily: int
    """1 for interest by days, 0 by months."""
    anchor_day: int
    """Day of the month of the due dates."""
    first_month: int
    """Month number of the first due date."""
    first_days: int
    """Length of the first period in 30ths of a month, where interest is by months."""


State: TypeAlias = I64
"""The eighteen slots of a loan, with work space behind them; `state` names the slots."""


class TermArrays(NamedTuple):
    """The terms of many loans."""

    principal: I64
    rate_ppm: I32
    coupon_ppm: I32
    instalments: I16
    disbursed_day: I32
    first_due_day: I32
    flat_fee: I64
    guarantee_fee: I64
    convention: I16


class FactArrays(NamedTuple):
    """The facts of many loans; loan i has `offsets[i]` to `offsets[i + 1]`, of one all 64 bits."""

    offsets: I64
    day: I32 | I64
    kind: I8 | I64
    amount: I64
    arg: I64


class AsOf(NamedTuple):
    """One day for all loans (`stride` 0) or a day each (1)."""

    days: I32
    stride: int


class StateArrays(NamedTuple):
    """The states of many loans, and the day each was stepped to."""

    values: I64
    through: I32


class ScheduleColumns(NamedTuple):
    """Every instalment of every loan; loan i has rows `offsets[i]` to `offsets[i + 1]`.

    If no loan has a fee, both fee columns are one zero seen many times.
    """

    offsets: I64
    due_on: I32
    principal: I64
    interest: I64
    guarantee_fee: I64
    service_fee: I64

    @property
    def total(self) -> I64:
        """The amount the borrower pays with each instalment."""
        return self.principal + self.interest + self.guarantee_fee + self.service_fee


class InstalmentColumns(NamedTuple):
    """Every instalment of every loan: amounts due, and paid or waived, by component."""

    offsets: I64
    due_on: I32
    due: I64
    covered: I64


Order: TypeAlias = I8
"""Thirteen buckets in order, `when * 4 + component` and 12 for penalties; then 1 if swept by
instalment; then the first bucket of coming instalments if what is due comes before it, else 0."""
