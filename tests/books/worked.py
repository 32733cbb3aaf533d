"""The worked loans of the specification as terms, facts and estimates, and what the books show.

A table of expected movements is written as in the specification: an event a row, an account a
column, debit positive, in minor units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from usance.base.codes import Kind, Model
from usance.base.dates import to_month
from usance.books.effective import effective_rates
from usance.books.kernel.policy_places import RATE_COUNT
from usance.books.measurement import LoanColumns, amounts
from usance.books.policies import Policies
from usance.books.postings import Lines, cells_of, post
from usance.books.rules import load_rules
from usance.loan import OWN, Fact, Terms, schedule
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.facts import visible

DRAWN = date(2023, 12, 31)
COMMON = {
    "principal_minor": 9_000_00, "instalments": 6, "disbursed_on": DRAWN,
    "first_due_on": date(2024, 1, 31), "convention": OWN["equal_principal_monthly"],
}  # fmt: skip
HEAVY = Terms(**COMMON, rate_ppm=60_000, flat_fee_minor=381_60, guarantee_fee_minor=254_40)  # type: ignore[arg-type]
OWN_BOOK = Terms(**COMMON, rate_ppm=180_000, upfront_fee_minor=63_60)  # type: ignore[arg-type]
LIGHT = Terms(**COMMON, rate_ppm=60_000, flat_fee_minor=190_80)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Worked:
    """A loan, its facts, and what is expected of it by close."""

    model: Model
    terms: Terms
    facts: Sequence[Fact]
    fee_ppm: int = 0


def paid_on_time(terms: Terms, count: int) -> list[Fact]:
    rows = schedule(terms)[:count]
    return [Fact(Kind.PAID, row.due_on, row.total, ref=10 + row.number) for row in rows]


def drawn(terms: Terms) -> Fact:
    return Fact(Kind.DISBURSED, DRAWN, terms.principal_minor, ref=1)


def columns(loans: Sequence[Worked], day: date) -> LoanColumns:
    """The loans as columns, with the facts of each up to a day."""
    size = len(loans)
    terms = TermColumns.of([loan.terms for loan in loans])
    upfront = np.array([loan.terms.upfront_fee_minor for loan in loans], np.int64)
    zeros = np.zeros(size, np.int32)
    return LoanColumns(
        np.arange(1, size + 1, dtype=np.int64),
        terms,
        FactColumns.of([visible(list(loan.facts), as_of=day) for loan in loans]),
        np.array([int(loan.model) for loan in loans], np.int8),
        upfront,
        np.array([loan.fee_ppm for loan in loans], np.int32),
        effective_rates(terms, upfront),
        zeros, zeros, zeros,
    )  # fmt: skip


def policies(
    day: date, *, lost_ppm: int = 0, survival: Sequence[int] | None = None, **rates_ppb: int
) -> Policies:
    """Policies of a day with one share lost to prepayment and loss rates by place."""
    from usance.books.kernel import policy_places as places

    rates = np.zeros((1, RATE_COUNT), np.int64)
    for name, rate in rates_ppb.items():
        rates[0, getattr(places, name.upper())] = rate
    found = Policies.at(day)
    return replace(
        found,
        lost_ppm=np.full((1, 1), lost_ppm, np.int64),
        first_month=to_month(day),
        rates_ppb=rates,
        survival_ppm=None if survival is None else np.array([survival], np.int64),
    )


def books_of(loan: Worked, movement: np.ndarray) -> Lines:  # type: ignore[type-arg]
    return post(movement, cells_of([1], [loan.model], [1]), load_rules(), platform=1)
