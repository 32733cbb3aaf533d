"""Positions of chosen loans on chosen days: many replays at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.columns import arrays
from usance.base.dates import from_day, to_day
from usance.loan import exact
from usance.loan.batch import Views, replay_columns, schedule_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.stored_rows import EXACT_KINDS, fact_of_row, terms_of_row, view_values
from usance.loan.terms import Terms
from usance.loan.views import VIEW_FIELDS
from usance.loan.visible_facts import fact_columns, term_columns

_BATCH = 1 << 18  # pairs of a loan and a day at a time: some 70 MB of views


class Dues(NamedTuple):
    """Principal as it falls due; loan i has rows `offsets[i]` to `offsets[i + 1]`."""

    offsets: I64
    due_on: NDArray[np.int32]
    principal: I64


@dataclass(frozen=True)
class ExactLoan:
    """A loan that only the exact form replays: with changed terms or paused interest."""

    versions: list[Terms]
    facts: list[Fact]

    def at(self, day: int) -> list[int]:
        """Its view on a day."""
        return view_values(exact.replay(self.versions, self.facts, from_day(day)).view())

    @cached_property
    def dues(self) -> list[tuple[int, int]]:
        """Days and principal: each plan's own until the day it was replaced."""
        changes = sorted({f.effective_on for f in self.facts if f.kind == FactKind.TERMS_CHANGED})
        last = max(fact.effective_on for fact in self.facts)
        found, begun = list[tuple[int, int]](), -1
        for day in (*changes, None):
            facts = [each for each in self.facts if day is None or each.effective_on < day]
            rows = exact.replay(self.versions, facts, day or last).rows()
            over = to_day(day) if day else np.iinfo(np.int32).max
            found += [
                (to_day(row.due_on), row.due.principal)
                for row in rows
                if begun < to_day(row.due_on) <= over
            ]
            begun = int(over)
        return found


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Loans with the facts known of them; `columns` are those of their first terms."""

    columns: dict[str, NDArray[Any]]
    terms: TermColumns
    facts: FactColumns
    changed: Mapping[int, ExactLoan] = field(default_factory=dict)
    """By row, the loans that the kernel does not replay."""

    @classmethod
    def of(cls, loans: pa.Table, facts: pa.Table, known_at: datetime = END_OF_TIME) -> Portfolio:
        """The portfolio of a `loans` and a `facts` table, both in key order."""
        first = loans.filter(pc.equal(loans.column("terms_no"), 1))
        columns = arrays(first)
        known = fact_columns(facts, columns["loan_id"], known_at)
        changed = dict(_exact_loans(loans, facts, columns["loan_id"], known_at))
        return cls(columns, term_columns(first), known, changed)

    def __len__(self) -> int:
        return len(self.terms)

    def at(self, rows: I64, days: NDArray[Any]) -> Views:
        """A view for each pair of a loan (by its row) and a day; a loan may come often."""
        parts = [
            self._some(rows[start : start + _BATCH], days[start : start + _BATCH]).values
            for start in range(0, len(rows), _BATCH)
        ]
        return Views(np.concatenate(parts)) if parts else self._some(rows, days)

    def dues(self) -> Dues:
        """Principal of every instalment of every loan."""
        plain = np.setdiff1d(np.arange(len(self)), list(self.changed))
        plan = schedule_columns(self.terms.take(plain))
        if not self.changed:
            return Dues(plan.offsets, plan.due_on, plan.principal)
        more = [(row, *due) for row, loan in self.changed.items() for due in loan.dues]
        rows, days, principal = np.array(more, np.int64).reshape(-1, 3).T
        owner = np.concatenate([np.repeat(plain, np.diff(plan.offsets)), rows])
        due_on = np.concatenate([plan.due_on, days.astype(np.int32)])
        order = np.lexsort((due_on, owner))
        offsets = np.searchsorted(owner[order], np.arange(len(self) + 1))
        amounts = np.concatenate([plan.principal, principal])
        return Dues(offsets.astype(np.int64), due_on[order], amounts[order])

    def _some(self, rows: I64, days: NDArray[Any]) -> Views:
        slow = np.isin(rows, list(self.changed))
        if not slow.any():
            return self._in_kernel(rows, days)
        values = np.empty((len(rows), len(VIEW_FIELDS)), np.int64)
        values[~slow] = self._in_kernel(rows[~slow], days[~slow]).values
        for place in np.flatnonzero(slow).tolist():
            values[place] = self.changed[int(rows[place])].at(int(days[place]))
        return Views(values)

    def _in_kernel(self, rows: I64, days: NDArray[Any]) -> Views:
        facts = self.facts
        counts = np.diff(facts.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        # Fact i of a pair is its loan's first fact plus i less the pair's first.
        at = np.arange(offsets[-1]) + np.repeat(facts.offsets[rows] - offsets[:-1], counts)
        chosen = FactColumns(
            offsets, facts.day[at], facts.kind[at], facts.amount_minor[at], facts.arg[at]
        )
        return replay_columns(self.terms.take(rows), chosen, days.astype(np.int32))


def _exact_loans(
    loans: pa.Table, facts: pa.Table, ids: I64, known_at: datetime
) -> Iterator[tuple[int, ExactLoan]]:
    """Loans with several versions of terms, or with facts that only the exact form replays."""
    apart = facts.filter(pc.is_in(facts.column("kind"), pa.array(EXACT_KINDS, pa.int8())))
    later = loans.filter(pc.greater(loans.column("terms_no"), 1))
    wanted = pa.concat_arrays(
        [each.column("loan_id").combine_chunks() for each in (apart, later)]
    ).unique()
    if not len(wanted):
        return
    versions, known = (
        {
            loan: list(rows)
            for loan, rows in groupby(
                each.filter(pc.is_in(each.column("loan_id"), wanted)).to_pylist(), _loan_id
            )
        }
        for each in (loans, facts)
    )
    for loan, rows in versions.items():
        given = [fact_of_row(row) for row in known.get(loan, [])]
        seen = visible(given, as_of=date.max, known_at=known_at)
        if seen:
            place = int(np.searchsorted(ids, loan))
            yield place, ExactLoan([terms_of_row(row) for row in rows], seen)


def _loan_id(row: Mapping[str, Any]) -> int:
    return int(row["loan_id"])
