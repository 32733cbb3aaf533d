"""The loans of a tape as a close sees them: each loan's last row by its day.

Months are read once and in order. A loan whose rows have ended keeps its last position; money that
was still with the providers then has come since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import FactKind
from usance.base.columns import arrays, arrow_schema
from usance.base.dates import first_of_month, from_day, last_of_month, to_day, to_month
from usance.base.segments import segment_codes
from usance.base.tables import table
from usance.books.close.scope import Pools, Scope
from usance.books.loans.changed_terms import ExactLoans
from usance.books.loans.cohorts import CohortOutcomes
from usance.books.loans.measurement import LoanColumns
from usance.books.loans.positions import FIELDS, NO_EVENT, PARTS
from usance.books.loans.positions import POSITION as P
from usance.books.loans.shards import Shard
from usance.books.policies import Policies
from usance.books.tape.book import TAPE, tape_shards
from usance.loan.columns import FactColumns, TermColumns
from usance.measure.triangles import Triangle, triangle

_PAID, _CLEARED = (
    slice(first, first + len(PARTS)) for first in (P.paid_principal, P.cleared_principal)
)
_POOL = 1 << 16
_LOW = _POOL - 1


class TapeLoans:
    """The loans of a book's tape, month by month."""

    def __init__(self, book: Book, notes: Sequence[str] = ()) -> None:
        self.book, self.notes = book, notes
        self._shards: dict[int, _ShardLoans] = {}

    def scope(self, scope: Scope) -> TapeScope:
        """The scope of a close, with the loans of the tape."""
        parts: dict[str, Any] = {each.name: getattr(scope, each.name) for each in fields(scope)}
        return TapeScope(**parts, tape=self)

    def shard(self, number: int, month: int) -> _ShardLoans:
        """A shard's loans at a month end."""
        held = self._shards.get(number)
        if held is None or held.month > month:
            held = self._shards[number] = _ShardLoans()
        for each in tape_shards(self.book)[number]:
            if held.month < each <= month:
                held.add(arrays(self.book.read(TAPE, month=each, shard=number)), each)
        held.settle(month)
        return held


class _ShardLoans:
    """Every loan of a shard that was there by a month, in order of its id."""

    def __init__(self) -> None:
        self.month = 0
        self.loan_id = np.empty(0, np.int64)
        self.positions = np.empty((0, len(FIELDS)), np.int64)
        self.cell, self.cohort = np.empty(0, np.int64), np.empty(0, np.int32)
        self.outcomes: list[tuple[I64, I64, I64, I64, I64]] = []
        """For the triangle: cell, cohort, month, kind and amount."""

    def add(self, rows: dict[str, NDArray[Any]], month: int) -> None:
        """Put a month's rows over the ones held."""
        self.settle(month)
        is_new = ~np.isin(rows["loan_id"], self.loan_id)
        for kind, name, when, which in (
            (FactKind.DISBURSED, "principal", rows["cohort"], is_new),
            (FactKind.COMPENSATED, "compensated_now", rows["month"], rows["compensated_now"] > 0),
            (FactKind.CHARGED_OFF, "charged_off_now", rows["month"], rows["charged_off_now"] > 0),
            (FactKind.RECOVERED, "recovered_minor", rows["month"], rows["recovered_minor"] > 0),
        ):
            self._tell(rows, int(kind), rows[name], when, which)
        here = np.stack([rows[name] for name in FIELDS], 1)
        stay = ~np.isin(self.loan_id, rows["loan_id"])
        ids = np.concatenate([self.loan_id[stay], rows["loan_id"]])
        order = np.argsort(ids, kind="stable")
        self.loan_id = ids[order]
        self.positions = np.concatenate([self.positions[stay], here])[order]
        self.cell = np.concatenate([self.cell[stay], rows["cell"]])[order]
        self.cohort = np.concatenate([self.cohort[stay], rows["cohort"]])[order].astype(np.int32)

    def settle(self, month: int) -> None:
        """Before a later month: what was under way has been handed over."""
        if month > self.month:
            at = self.positions
            at[:, _CLEARED] = at[:, _PAID]
            at[:, P.cleared_overpaid] = at[:, P.overpaid]
            at[:, P.event_cleared] = at[:, P.event] != NO_EVENT
            self.month = month

    def _tell(
        self,
        rows: dict[str, NDArray[Any]],
        kind: int,
        amount: I64,
        when: I64,
        which: NDArray[np.bool_],
    ) -> None:
        """Sums by cell, cohort and month."""
        wide = [each[which].astype(np.int64) for each in (rows["cell"], rows["cohort"], when)]
        keys, place = np.unique((wide[0] << 32) + (wide[1] << 16) + wide[2], return_inverse=True)
        sums = np.zeros(len(keys), np.int64)
        np.add.at(sums, place, amount[which])
        parts = keys >> 32, keys >> 16 & _LOW, keys & _LOW
        self.outcomes.append((*parts, np.full(len(keys), kind), sums))


@dataclass(frozen=True, slots=True)
class TapeShard(Shard):
    """A shard that has positions and no terms."""

    held: ExactLoans = field(kw_only=True)
    found: Triangle = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class TapeScope(Scope):
    """The scope of a close of a tape."""

    tape: TapeLoans = field(kw_only=True)

    def shards(self) -> list[int]:
        """The shards that have rows by the day of the close."""
        month = to_month(self.day)
        return [number for number, months in tape_shards(self.book).items() if months[0] <= month]

    def read(self, number: int) -> Shard:
        """One shard's loans."""
        held = self.tape.shard(number, to_month(self.day))
        cells = arrays(self.book.read("cells"))
        place = np.searchsorted(cells["cell"], held.cell)
        segments = segment_codes(cells).astype(np.int64)
        order = np.argsort(self.index.cells.cell)
        rows = order[np.searchsorted(self.index.cells.cell, held.cell, sorter=order)]
        loans = ExactLoans(
            held.loan_id, held.positions, rows.astype(np.int32), segments[place], held.cohort
        )
        found = _triangle(held, cells["cell"], segments, to_day(self.day))
        return TapeShard(self.day, self.known_at, **_NO_TERMS, held=loans, found=found)

    def triangle(self, shard: Shard) -> Triangle:
        """Outcomes of its loans by cohort and age."""
        assert isinstance(shard, TapeShard)
        return shard.found

    def exact(self, shard: Shard, _policies: Policies, _pools: Pools) -> ExactLoans:
        """Its loans, with their positions."""
        assert isinstance(shard, TapeShard)
        return shard.held


def _triangle(held: _ShardLoans, cells: I64, segments: I64, day: int) -> Triangle:
    """The triangle of the outcomes of a tape, a pool in the place of a loan."""
    cell, cohort, month, kind, amount = (
        np.concatenate(each) for each in zip(*held.outcomes, strict=True)
    )
    segment = segments[np.searchsorted(cells, cell)]
    pool = segment * _POOL + cohort
    pools = np.unique(pool)
    months = np.unique(np.concatenate([month, cohort]))
    starts = np.array([to_day(first_of_month(int(each))) for each in months], np.int32)
    ends = np.array([to_day(last_of_month(int(each))) for each in months], np.int32)
    size = len(pool)
    loans = pa.table({
        "loan_id": pools, "segment": pools // _POOL,
        "disbursed_on": pa.array(starts[np.searchsorted(months, pools % _POOL)]).view(pa.date32()),
    })  # fmt: skip
    facts = pa.table({
        "loan_id": pool, "kind": pa.array(kind, pa.int8()), "ref": np.arange(1, size + 1),
        "effective_on": pa.array(ends[np.searchsorted(months, month)]).view(pa.date32()),
        "amount_minor": amount, "arg": np.zeros(size, np.int64),
        "booked_at": pa.array(np.zeros(size, np.int64)).cast(pa.timestamp("us", "UTC")),
    })  # fmt: skip
    return triangle(loans, facts, as_of=from_day(day), segment=lambda columns: columns["segment"])


def _nothing() -> dict[str, Any]:
    """The parts of a shard without terms."""
    none, few = np.empty(0, np.int64), np.empty(0, np.int32)
    loans = LoanColumns(
        none, TermColumns.of([]), FactColumns.of([]), np.empty(0, np.int8), none, few, none, few,
        few, few,
    )  # fmt: skip
    terms, facts = (arrow_schema(table(name)).empty_table() for name in ("loans", "facts"))
    return {
        "loans": loans, "cutoffs": few, "cohort": few, "outcomes": CohortOutcomes.empty(),
        "exact": terms, "exact_facts": facts,
    }  # fmt: skip


_NO_TERMS = _nothing()
