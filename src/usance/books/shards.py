"""The loans of a shard as a close reads them: those that may have moved since the close before.

Loans of our own conventions go through the kernel; one whose terms have changed, or whose interest
was paused, is set aside for the exact form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.codes import Model
from usance.base.columns import arrays
from usance.base.dates import to_day
from usance.books.carried import Carried
from usance.books.cohorts import Told, told_of
from usance.books.effective import effective_rates
from usance.books.loan_books import CellIndex, Sources
from usance.books.loan_files import LoanFiles, among
from usance.books.measurement import LoanColumns
from usance.loan.columns import FactColumns
from usance.loan.known import term_columns
from usance.measure.triangles import model_and_product

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Shard:
    """Loans of one shard as of a day: those for the kernel, and those for the exact form."""

    day: date
    known_at: datetime
    loans: LoanColumns
    cutoffs: I32
    cohort: I32
    told: Told
    """What became of all of them by cohort and age."""
    exact: pa.Table
    exact_facts: pa.Table
    then: Shard | None = None
    """Loans among these that were over at the close before, as it knew them."""

    def __len__(self) -> int:
        return len(self.loans)

    @property
    def size(self) -> int:
        """Its facts: what it costs to keep."""
        return int(self.loans.facts.offsets[-1] + self.exact_facts.num_rows)


@dataclass(frozen=True, slots=True)
class ShardReader:
    """What all shards of a close are read with."""

    book: Book
    index: CellIndex
    sources: Sources
    lag_days: int
    carried: Carried | None = None

    def read(self, number: int, day: date, known_at: datetime) -> Shard:
        """The loans of a shard drawn by a day, with the facts known at a moment."""
        carried = self.carried
        files = LoanFiles.of(self.book, number, known_at, carried)
        if carried is None:
            return self._shard(files, np.ones(len(files.ids), np.bool_), day, known_at)
        over, woken = files.over(carried)
        then = None
        if (over & woken).any():
            earlier = files.as_of(carried)
            was = among(earlier.ids, files.ids[over & woken])
            then = self._shard(earlier, was, carried.day, carried.known_at)
        return self._shard(files, ~over | woken, day, known_at, then)

    def _shard(
        self, files: LoanFiles, wanted: Mask, day: date, known_at: datetime,
        then: Shard | None = None,
    ) -> Shard:  # fmt: skip
        apart = files.apart() & wanted
        loans, exact = files.loans(wanted & ~apart), files.loans(apart)
        facts = files.facts(wanted & ~apart, known_at)
        columns = arrays(loans)
        cohort = _months(columns["disbursed_on"])
        segment = model_and_product(columns).astype(np.int32)
        told = told_of(columns["loan_id"], facts, segment, cohort, day)
        if exact.num_rows:
            told = told.joined(self._told_apart(files, exact, apart, day, known_at))
        made, lag = self._columns(loans, columns, facts, segment)
        cutoffs = (to_day(day) - lag).astype(np.int32)
        exact_facts = files.fact_rows(apart)
        return Shard(day, known_at, made, cutoffs, cohort, told, exact, exact_facts, then)

    def _told_apart(
        self, files: LoanFiles, exact: pa.Table, apart: Mask, day: date, known_at: datetime
    ) -> Told:
        """What became of loans of the exact form, by the first of their terms."""
        columns = arrays(exact)
        ids, first = np.unique(columns["loan_id"], return_index=True)
        heads = {name: values[first] for name, values in columns.items()}
        segment = model_and_product(heads).astype(np.int32)
        facts = files.facts(apart, known_at)
        return told_of(ids, facts, segment, _months(heads["disbursed_on"]), day)

    def _columns(
        self, loans: pa.Table, columns: Mapping[str, NDArray[Any]], facts: FactColumns, segment: I32
    ) -> tuple[LoanColumns, I32]:
        """Loans for the kernel, and each one's days to settlement."""
        terms = term_columns(loans)
        fee_ppm, lag = self.sources.terms_of(
            columns["source"], columns["disbursed_on"], self.lag_days
        )
        upfront = columns["upfront_fee_minor"]
        made = LoanColumns(
            columns["loan_id"], terms, facts, columns["model"], upfront, fee_ppm,
            _effective(columns, terms, upfront), self.index.of(columns), segment,
            np.zeros(len(terms), np.int32),
        )  # fmt: skip
        return made, lag


def _effective(columns: Mapping[str, NDArray[Any]], terms: Any, upfront: I64) -> I64:
    """The stored effective rate of our own loans, solved where it is not there."""
    rates = columns["eir_ppb"].copy()
    missing = np.flatnonzero((columns["model"] == Model.ON_BALANCE_SHEET) & (rates == 0))
    if len(missing):
        rates[missing] = effective_rates(terms.take(missing), upfront[missing])
    return np.asarray(rates, np.int64)


def _months(days: NDArray[Any]) -> I32:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int32)
