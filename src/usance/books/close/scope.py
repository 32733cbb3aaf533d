"""Scope of a close: the loans it sees, and the pools of their expectations and loss rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I32, I64
from usance.base.book import Book
from usance.base.columns import arrays
from usance.books.close.carry_forward import CarryForward
from usance.books.loans.cells import CellIndex, Sources
from usance.books.loans.changed_terms import ExactLoans, exact_loans
from usance.books.loans.files import shards_of
from usance.books.loans.measurement import LoanColumns
from usance.books.loans.shards import Shard, ShardReader
from usance.books.policies import Policies
from usance.measure.triangles import Triangle

MAX_CACHED_FACTS = 100_000_000
"""Facts, with their loans, that stay in memory between the passes: some 3 GB."""

Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is."""


def no_progress(_what: str, _done: int, _whole: int) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The loans a close sees, and how it groups them."""

    book: Book
    day: date
    known_at: datetime
    new_months: tuple[int, ...]
    index: CellIndex
    sources: Sources
    lag_days: int
    shares: Mapping[int, dict[int, int]]
    """Of co-funded loans: principal by row of the share's cell."""
    carry_forward: CarryForward | None = None
    """Sums of the loans that are not read again; None if all are."""
    cached: dict[int, Shard] = field(default_factory=dict)
    """Shards that the first pass has left in memory for the second."""

    @property
    def shared_ids(self) -> I64:
        """The co-funded loans."""
        return np.array(sorted(self.shares), np.int64)

    def shards(self) -> list[int]:
        """The shards that have loans."""
        return shards_of(self.book)

    def read(self, number: int) -> Shard:
        """One shard's loans."""
        reader = ShardReader(self.book, self.index, self.sources, self.lag_days, self.carry_forward)
        return reader.read(number, self.day, self.known_at)

    def shard(self, number: int) -> Shard:
        """The same; what was kept is given away."""
        return self.cached.pop(number) if number in self.cached else self.read(number)

    def cache(self, number: int, shard: Shard) -> None:
        """Keep a shard in memory if there is room: reading it costs as much as its amounts."""
        held = sum(each.size for each in self.cached.values())
        if held + shard.size <= MAX_CACHED_FACTS:
            self.cached[number] = shard

    def triangle(self, shard: Shard) -> Triangle:
        """Outcomes of its loans by cohort and age."""
        return shard.outcomes.triangle(self.day)

    def exact(self, shard: Shard, policies: Policies, pools: Pools) -> ExactLoans:
        """Its loans for the exact form."""
        return exact_loans(
            shard.exact, shard.exact_facts, self.index, self.sources, policies, shard.day,
            shard.known_at, self.lag_days, pools.segments,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pools:
    """Pools of loans with one set of expectations and loss rates: segments × cohorts."""

    segments: I64
    cohorts: I64

    @classmethod
    def of(cls, found: Triangle) -> Pools:
        """The pools of a triangle, or one where there is none yet."""
        if len(found.segments) == 0:
            return cls(np.zeros(1, np.int64), np.zeros(1, np.int64))
        return cls(found.segments.astype(np.int64), found.cohorts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.segments) * len(self.cohorts)

    def segment(self, number: NDArray[Any]) -> I32:
        """The row of each loan's segment."""
        place = np.searchsorted(self.segments, number).clip(0, len(self.segments) - 1)
        return np.asarray(place, np.int32)

    def pool(self, segment: I32, cohort: NDArray[Any]) -> I32:
        """The row of each loan's pool."""
        age = (cohort - self.cohorts[0]).clip(0, len(self.cohorts) - 1)
        return np.asarray(segment * len(self.cohorts) + age, np.int32)

    def with_pools(self, loans: LoanColumns, cohort: I32) -> LoanColumns:
        """Loans with their rows instead of their segment numbers."""
        segment = self.segment(loans.segment)
        return replace(loans, segment=segment, pool=self.pool(segment, cohort))


def shares_of(book: Book, index: CellIndex) -> dict[int, dict[int, int]]:
    """Of every co-funded loan, the principal of each share by the row of its cell."""
    rows = arrays(book.read("shares"))
    if len(rows["loan_id"]) == 0:
        return {}
    heads = arrays(book.read("loans", ["loan_id", "model", "product"]))
    at = np.searchsorted(heads["loan_id"], rows["loan_id"])
    cells = index.of({**rows, "model": heads["model"][at], "product": heads["product"][at]})
    found: dict[int, dict[int, int]] = {}
    for loan_id, cell, principal in zip(
        rows["loan_id"].tolist(), cells.tolist(), rows["principal_minor"].tolist(), strict=True
    ):
        found.setdefault(loan_id, {})[cell] = principal
    return found
