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

from usance.base.arrays import I32, I64, Bools
from usance.base.book import Book
from usance.base.codes import FundingModel
from usance.base.columns import arrays
from usance.base.dates import to_day
from usance.base.segments import segment_codes
from usance.books.close.carry_forward import Carried
from usance.books.effective_interest.columns import effective_rates
from usance.books.loans.cells import CellIndex, Sources
from usance.books.loans.cohorts import Told, told_of
from usance.books.loans.files import LoanFiles, among
from usance.books.loans.measurement import LoanColumns
from usance.books.loans.shard_loans import KnownLoans
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
    told: Told
    """What became of all of them by cohort and age."""
    exact: pa.Table
    exact_facts: pa.Table
    then: Shard | None = None
    """Loans among these that were over at the close before, as it knew them."""
    known: KnownLoans | None = None
    """All of them as they were read."""

    def __len__(self) -> int:
        return len(self.loans)

    def left_open(self, over: Bools) -> bytes:
        """The loans for the next close, all but the kernel's that are over; of a tape nothing."""
        if self.known is None:
            return b""
        return self.known.of(~among(self.known.ids, self.loans.loan_id[over])).to_bytes()

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
        shard = self._from_left(number, day, known_at)
        return shard if shard is not None else self._from_files(number, day, known_at)

    def _from_left(self, number: int, day: date, known_at: datetime) -> Shard | None:
        """What the close before has left open and what came since; None if that is not enough."""
        left = self.carried.left_open(number, known_at) if self.carried is not None else None
        if self.carried is None or left is None:
            return None
        files = LoanFiles.since(self.book, number, known_at, self.carried, left)
        try:
            return self._shard(files, _all(files), day, known_at)
        except OrphanFacts:  # a loan that was over has moved, or a fact has no loan at all
            return None

    def _from_files(self, number: int, day: date, known_at: datetime) -> Shard:
        """All files of the shard, less the loans that were over and have not moved."""
        carried = self.carried
        files = LoanFiles.of(self.book, number, known_at, carried)
        if carried is None:
            return self._shard(files, _all(files), day, known_at)
        over, woken = files.over(carried)
        then = None
        if (over & woken).any():
            earlier = files.as_of(carried)
            was = among(earlier.ids, files.ids[over & woken])
            then = self._shard(earlier, was, carried.day, carried.known_at)
        return self._shard(files, ~over | woken, day, known_at, then)

    def _shard(
        self, files: LoanFiles, wanted: Bools, day: date, known_at: datetime,
        then: Shard | None = None,
    ) -> Shard:  # fmt: skip
        known, apart = files.known(wanted, known_at), files.apart()[wanted]
        own, exact = known.of(~apart), known.of(apart)
        facts = own.facts.unreversed(own.ids)
        columns = arrays(own.terms)
        cohort = _months(columns["disbursed_on"])
        segment = segment_codes(columns).astype(np.int32)
        told = told_of(own.ids, facts, segment, cohort, day)
        if len(exact.ids):
            told = told.joined(_told_apart(exact, day))
        made, lag = self._columns(own.terms, columns, facts, segment)
        cutoffs = (to_day(day) - lag).astype(np.int32)
        exact_facts = files.fact_rows(exact.ids)
        return Shard(
            day, known_at, made, cutoffs, cohort, told, exact.terms, exact_facts, then, known
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


def _told_apart(exact: KnownLoans, day: date) -> Told:
    """What became of loans of the exact form, by the first of their terms."""
    columns = arrays(exact.terms)
    _, first = np.unique(columns["loan_id"], return_index=True)
    heads = {name: values[first] for name, values in columns.items()}
    segment = segment_codes(heads).astype(np.int32)
    facts = exact.facts.unreversed(exact.ids)
    return told_of(exact.ids, facts, segment, _months(heads["disbursed_on"]), day)


def _effective(columns: Mapping[str, NDArray[Any]], terms: Any, upfront: I64) -> I64:
    """The stored effective rate of our own loans, solved where it is not there."""
    rates = columns["eir_ppb"].copy()
    missing = np.flatnonzero((columns["model"] == FundingModel.ON_BALANCE_SHEET) & (rates == 0))
    if len(missing):
        rates[missing] = effective_rates(terms.take(missing), upfront[missing])
    return np.asarray(rates, np.int64)


def _months(days: NDArray[Any]) -> I32:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int32)
