"""A column of loans of the platform's own products: terms and facts as arrays for the kernel.

Made from `Terms` and `Fact` objects, or from the `loans` and `facts` tables of a book. What the
kernel does not know (another convention, a loan too large for 64 bits) is refused here by name and
row; nothing falls back to another form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from operator import attrgetter, gt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.dates import to_day
from usance.loan.bounds import (
    MAX_KERNEL_FEES_MINOR,
    MAX_KERNEL_FIRST_DAYS,
    MAX_KERNEL_INSTALMENTS,
    MAX_KERNEL_PRINCIPAL_MINOR,
    MAX_KERNEL_RATE_PPM,
)
from usance.loan.convention import (
    CONVENTION_CODES,
    CONVENTIONS,
    DEFAULT_ALLOCATION,
    KERNEL_CONVENTIONS,
    Allocation,
    Convention,
    DueStatus,
    Sweep,
)
from usance.loan.errors import ConventionNotInKernel, FactError, KernelRange
from usance.loan.facts import Fact
from usance.loan.kernel.arrays import FactArrays, TermArrays
from usance.loan.terms import Terms

_WHEN = {DueStatus.PAST_DUE: 0, DueStatus.DUE: 1, DueStatus.IN_ADVANCE: 2}
_EXACT_ONLY = (
    "rate_steps", "tranches", "down_payment_minor", "balloon_minor", "grace_principal",
    "grace_interest", "percent_fees", "late",
)  # fmt: skip
_exact_only_values = attrgetter(*_EXACT_ONLY)  # all at once, for one loan in microseconds


def convention_code(convention: Convention) -> int | None:
    """The code of a convention the kernel knows, whatever its allocation order; else None.

    >>> (
    ...     convention_code(CONVENTIONS["level_daily"]),
    ...     convention_code(CONVENTIONS["level_daily"].named("x", every=2)),
    ... )
    (4, None)
    """
    code = CONVENTION_CODES.get(convention.name, 0)
    if CONVENTIONS.get(convention.name) is not convention:
        same = (
            CONVENTION_CODES[name]
            for name, own in CONVENTIONS.items()
            if own == convention.named(name, allocation=DEFAULT_ALLOCATION)
        )
        code = next(same, 0)
    return code if 1 <= code <= KERNEL_CONVENTIONS else None


def unsupported_term(terms: Terms) -> str:
    """The first of these terms that only the exact form knows; empty if there is none."""
    if convention_code(terms.convention) is None:
        return f"convention {terms.convention.name}"
    beyond = _exact_only_values(terms)
    if any(beyond):
        return next(name for name, value in zip(_EXACT_ONLY, beyond, strict=True) if value)
    first_days = terms.first_due_on.toordinal() - terms.disbursed_on.toordinal()
    if first_days > MAX_KERNEL_FIRST_DAYS:
        return f"a first period of {first_days} days"
    limited = _values_limited(terms)
    if any(map(gt, limited, _HIGHEST)):
        found = zip(_LIMITED, limited, _HIGHEST, strict=True)
        return next(f"{name} above {top}" for name, value, top in found if value > top)
    return ""


@dataclass(frozen=True, slots=True)
class TermColumns:
    """The terms of many loans, one array per term, in one allocation order."""

    principal_minor: NDArray[np.int64]
    rate_ppm: NDArray[np.int32]
    coupon_ppm: NDArray[np.int32]
    instalments: NDArray[np.int16]
    disbursed_on: NDArray[np.int32]
    first_due_on: NDArray[np.int32]
    flat_fee_minor: NDArray[np.int64]
    guarantee_fee_minor: NDArray[np.int64]
    convention: NDArray[np.int16]
    allocation: Allocation = DEFAULT_ALLOCATION

    def __post_init__(self) -> None:
        arrays: tuple[NDArray[Any], ...] = self.arrays
        _refuse_shapes("terms", arrays, _TERM_TYPES)
        for (name, lowest, highest), values in zip(_RANGES, arrays, strict=True):
            _check_range(name, values, lowest, highest)
        first_days = self.first_due_on.astype(np.int64) - self.disbursed_on
        _check_range("first_due_on − disbursed_on (days)", first_days, 1, MAX_KERNEL_FIRST_DAYS)
        _check_range(
            "rate_ppm − coupon_ppm", self.rate_ppm - self.coupon_ppm, 0, MAX_KERNEL_RATE_PPM
        )

    @property
    def arrays(self) -> TermArrays:
        """The columns as the kernel takes them."""
        return TermArrays(
            self.principal_minor, self.rate_ppm, self.coupon_ppm, self.instalments,
            self.disbursed_on, self.first_due_on, self.flat_fee_minor, self.guarantee_fee_minor,
            self.convention,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.principal_minor)

    def take(self, rows: NDArray[np.intp]) -> TermColumns:
        """Some of the loans, by row."""
        return TermColumns(
            self.principal_minor[rows], self.rate_ppm[rows], self.coupon_ppm[rows],
            self.instalments[rows], self.disbursed_on[rows], self.first_due_on[rows],
            self.flat_fee_minor[rows], self.guarantee_fee_minor[rows], self.convention[rows],
            self.allocation,
        )  # fmt: skip

    @classmethod
    def of(cls, loans: Sequence[Terms]) -> TermColumns:
        """Columns of terms; refuses what only the exact form knows, naming the loan."""
        for row, terms in enumerate(loans):
            why = unsupported_term(terms)
            if why:
                raise ConventionNotInKernel(f"the kernel does not know {why}", where=f"loan {row}",
                                            fix="Replay this loan with form='exact'")  # fmt: skip
        orders = {terms.convention.allocation for terms in loans} or {DEFAULT_ALLOCATION}
        if len(orders) > 1:
            raise ConventionNotInKernel(
                "the loans have different allocation orders",
                where="terms",
                fix="Make one batch of each order",
            )
        return cls(
            np.array([terms.principal_minor for terms in loans], np.int64),
            np.array([terms.rate_ppm for terms in loans], np.int32),
            np.array([terms.coupon_ppm for terms in loans], np.int32),
            np.array([terms.instalments for terms in loans], np.int16),
            np.array([to_day(terms.disbursed_on) for terms in loans], np.int32),
            np.array([to_day(terms.first_due_on) for terms in loans], np.int32),
            np.array([terms.flat_fee_minor for terms in loans], np.int64),
            np.array([terms.guarantee_fee_minor for terms in loans], np.int64),
            np.array([convention_code(terms.convention) for terms in loans], np.int16),
            orders.pop(),
        )


_RANGES = (
    ("principal_minor", 1, MAX_KERNEL_PRINCIPAL_MINOR),
    ("rate_ppm", 0, MAX_KERNEL_RATE_PPM),
    ("coupon_ppm", 0, MAX_KERNEL_RATE_PPM),
    ("instalments", 1, MAX_KERNEL_INSTALMENTS),
    ("disbursed_on", 0, to_day(date(2100, 12, 31))),
    ("first_due_on", 0, to_day(date(2100, 12, 31))),
    ("flat_fee_minor", 0, MAX_KERNEL_FEES_MINOR),
    ("guarantee_fee_minor", 0, MAX_KERNEL_FEES_MINOR),
    ("convention", 1, KERNEL_CONVENTIONS),
)


_LIMITED, _, _HIGHEST = zip(*_RANGES[:4], *_RANGES[6:8], strict=True)
_values_limited = attrgetter(*_LIMITED)

_TERM_TYPES = (
    np.int64, np.int32, np.int32, np.int16, np.int32, np.int32, np.int64, np.int64, np.int16,
)  # fmt: skip
_FACT_TYPES = (np.int32, np.int8, np.int64, np.int64)


def _refuse_shapes(
    what: str, columns: tuple[NDArray[Any], ...], types: tuple[type[np.integer[Any]], ...]
) -> None:
    """Refuse what is no array of the right integers, or columns of different lengths."""
    for number, (column, wanted) in enumerate(zip(columns, types, strict=True), start=1):
        given = getattr(column, "dtype", type(column).__name__)
        if given != wanted or column.ndim != 1 or not column.flags.c_contiguous:
            raise KernelRange(
                f"column {number} is {given}, not one row of {wanted.__name__} in one piece",
                where=what,
                fix="Give whole numbers: minor units, ppm, days since 1970-01-01, codes",
            )
    if len({len(column) for column in columns}) != 1:
        raise KernelRange("columns have different lengths", where=what, fix="Align them")


def _check_range(name: str, values: NDArray[Any], lowest: int, highest: int) -> None:
    """Refuse a column with a value outside its range, naming the first row."""
    if len(values) == 0 or (values.min() >= lowest and values.max() <= highest):
        return
    row = int(np.flatnonzero((values < lowest) | (values > highest))[0])
    kind = ConventionNotInKernel if name == "convention" else KernelRange
    raise kind(
        f"{name} is {values[row]}; the kernel takes {lowest} to {highest}",
        where=f"row {row}",
        fix="Correct the row, or replay it with form='exact'",
    )


@dataclass(frozen=True, slots=True)
class FactColumns:
    """The facts of many loans, each loan's in canonical order; see `usance.loan.visible_facts`."""

    offsets: NDArray[np.int64]
    day: NDArray[np.int32]
    kind: NDArray[np.int8]
    amount_minor: NDArray[np.int64]
    arg: NDArray[np.int64]

    def __post_init__(self) -> None:
        columns: tuple[NDArray[Any], ...] = self.arrays[1:]
        _refuse_shapes("facts", columns, _FACT_TYPES)
        _refuse_shapes("facts", (self.offsets,), (np.int64,))
        ends = self.offsets
        if len(ends) == 0 or ends[0] != 0 or ends[-1] != len(self.day) or (np.diff(ends) < 0).any():
            raise FactError(
                "offsets do not run from 0 to the number of facts",
                where="offsets",
                fix="Give the first fact of every loan, and the number of facts",
            )

    @property
    def arrays(self) -> FactArrays:
        """The columns as the kernel takes them."""
        return FactArrays(self.offsets, self.day, self.kind, self.amount_minor, self.arg)

    @classmethod
    def of(cls, loans: Iterable[Sequence[Fact]]) -> FactColumns:
        """Columns of facts that `visible()` has put in order."""
        by_loan = list(loans)
        flat = [fact for facts in by_loan for fact in facts]
        return cls(
            np.cumsum([0, *map(len, by_loan)], dtype=np.int64),
            np.array([to_day(fact.effective_on) for fact in flat], np.int32),
            np.array([fact.kind for fact in flat], np.int8),
            np.array([fact.amount_minor for fact in flat], np.int64),
            np.array([fact.arg for fact in flat], np.int64),
        )


def allocation_codes(allocation: Allocation) -> NDArray[np.int8]:
    """An allocation order as the kernel reads it."""
    buckets = [12 if b is None else 4 * _WHEN[b[0]] + b[1] for b in allocation.order]
    ahead = range(8, 12)
    coming = next((at for at, bucket in enumerate(buckets) if bucket in ahead), 0)
    due_first = all(bucket >= 8 for bucket in buckets[coming:])
    by_instalment = allocation.sweep == Sweep.BY_INSTALMENT
    return np.array([*buckets, by_instalment, coming if due_first else 0], np.int8)
