"""Reading of a shard for a close: the loans that may have moved since the last close.

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

from usance.base.arrays import I32, I64, Bools
from usance.base.book import Book
from usance.base.codes import FundingModel
from usance.base.columns import arrays
from usance.base.dates import to_day
from usance.base.segments import segment_codes
from usance.books.close.carry_forward import CarryForward
from usance.books.effective_interest.loans import effective_rates
from usance.books.loans.cells import CellIndex, Sources
from usance.books.loans.cohorts import CohortOutcomes, cohort_outcomes
from usance.books.loans.files import LoanFiles, is_among
from usance.books.loans.loans_with_facts import LoansWithFacts
from usance.books.loans.measurement import LoanColumns
from usance.loan.columns import FactColumns
from usance.loan.errors import OrphanFacts
from usance.loan.visible_facts import term_columns


@dataclass(frozen=True, slots=True)
class Shard:
    """Loans of one shard as of a day: those for the kernel, and those for the exact form."""

    day: date
    known_at: datetime
    loans: LoanColumns
    cutoffs: I32
    cohort: I32
    outcomes: CohortOutcomes
    """Of all of them."""
    exact: pa.Table
    exact_facts: pa.Table
    reopened: Shard | None = None
    """Loans among these that were fully settled at the close before, as it knew them."""
    known: LoansWithFacts | None = None
    """All of them as they were read."""

    def __len__(self) -> int:
        return len(self.loans)

    def open_loans(self, settled: Bools) -> bytes:
        """Its open loans as a file for the next close; of a tape nothing."""
        if self.known is None:
            return b""
        return self.known.of(~is_among(self.known.ids, self.loans.loan_id[settled])).to_bytes()

    @property
    def size(self) -> int:
        """Its facts: what it costs to keep."""
        return int(self.loans.facts.offsets[-1] + self.exact_facts.num_rows)


@dataclass(frozen=True, slots=True)
class ShardReader:
    """Reads the shards of a close."""

    book: Book
    index: CellIndex
    sources: Sources
    lag_days: int
    carry_forward: CarryForward | None = None

    def read(self, number: int, day: date, known_at: datetime) -> Shard:
        """The loans of a shard drawn by a day, with the facts known at a moment."""
        shard = self._from_carry_forward(number, day, known_at)
        return shard if shard is not None else self._from_files(number, day, known_at)

    def _from_carry_forward(self, number: int, day: date, known_at: datetime) -> Shard | None:
        """The open loans of the close before and what came since; None if that is not enough."""
        before = self.carry_forward
        open_loans = before.open_loans_of(number, known_at) if before is not None else None
        if before is None or open_loans is None:
            return None
        files = LoanFiles.since(self.book, number, known_at, before, open_loans)
        try:
            return self._shard(files, _all(files), day, known_at)
        except OrphanFacts:  # a settled loan has moved, or a fact has no loan at all
            return None

    def _from_files(self, number: int, day: date, known_at: datetime) -> Shard:
        """All files of the shard, less the settled loans that have not moved."""
        before = self.carry_forward
        files = LoanFiles.of(self.book, number, known_at, before)
        if before is None:
            return self._shard(files, _all(files), day, known_at)
        settled, moved = files.settled_and_moved(before)
        reopened = None
        if (settled & moved).any():
            earlier = files.as_of(before)
            wanted = is_among(earlier.ids, files.ids[settled & moved])
            reopened = self._shard(earlier, wanted, before.day, before.known_at)
        return self._shard(files, ~settled | moved, day, known_at, reopened)

    def _shard(
        self, files: LoanFiles, wanted: Bools, day: date, known_at: datetime,
        reopened: Shard | None = None,
    ) -> Shard:  # fmt: skip
        known, changed = files.known(wanted, known_at), files.needs_exact_form()[wanted]
        own, exact = known.of(~changed), known.of(changed)
        facts = own.facts.unreversed(own.ids)
        columns = arrays(own.terms)
        cohort = _months(columns["disbursed_on"])
        segment = segment_codes(columns).astype(np.int32)
        outcomes = cohort_outcomes(own.ids, facts, segment, cohort, day)
        if len(exact.ids):
            outcomes = outcomes.joined(_exact_outcomes(exact, day))
        made, lag = self._columns(own.terms, columns, facts, segment)
        cutoffs = (to_day(day) - lag).astype(np.int32)
        exact_facts = files.fact_rows(exact.ids)
        return Shard(
            day,
            known_at,
            made,
            cutoffs,
            cohort,
            outcomes,
            exact.terms,
            exact_facts,
            reopened,
            known,
        )

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


def _all(files: LoanFiles) -> Bools:
    return np.ones(len(files.ids), np.bool_)


def _exact_outcomes(exact: LoansWithFacts, day: date) -> CohortOutcomes:
    """Outcomes of loans of the exact form, by the first of their terms."""
    columns = arrays(exact.terms)
    _, first = np.unique(columns["loan_id"], return_index=True)
    heads = {name: values[first] for name, values in columns.items()}
    segment = segment_codes(heads).astype(np.int32)
    facts = exact.facts.unreversed(exact.ids)
    return cohort_outcomes(exact.ids, facts, segment, _months(heads["disbursed_on"]), day)


def _effective(columns: Mapping[str, NDArray[Any]], terms: Any, upfront: I64) -> I64:
    """The stored effective rate of loans on the balance sheet, solved where it is not there."""
    rates = columns["eir_ppb"].copy()
    missing = np.flatnonzero((columns["model"] == FundingModel.ON_BALANCE_SHEET) & (rates == 0))
    if len(missing):
        rates[missing] = effective_rates(terms.take(missing), upfront[missing])
    return np.asarray(rates, np.int64)


def _months(days: NDArray[Any]) -> I32:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int32)
