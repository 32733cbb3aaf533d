"""Where chosen loans stood on chosen days: the loan room's replay, asked many times at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.columns import arrays
from usance.loan.batch import ScheduleColumns, Views, replay_columns, schedule_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.facts import END_OF_TIME
from usance.loan.known import fact_columns, term_columns

I64 = NDArray[np.int64]
_PIECE = 1 << 18  # questions answered at a time: some 70 MB of views


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Loans with the facts known of them; `columns` are those of their first terms."""

    columns: dict[str, NDArray[Any]]
    terms: TermColumns
    facts: FactColumns

    @classmethod
    def of(cls, loans: pa.Table, facts: pa.Table, known_at: datetime = END_OF_TIME) -> Portfolio:
        """The portfolio of a `loans` and a `facts` table, both in key order."""
        first = loans.filter(pc.equal(loans.column("terms_no"), 1))
        columns = arrays(first)
        return cls(columns, term_columns(first), fact_columns(facts, columns["loan_id"], known_at))

    def __len__(self) -> int:
        return len(self.terms)

    def at(self, rows: I64, days: NDArray[Any]) -> Views:
        """A view for each pair of a loan (by its row) and a day; a loan may be asked often."""
        parts = [
            self._some(rows[start : start + _PIECE], days[start : start + _PIECE]).values
            for start in range(0, len(rows), _PIECE)
        ]
        return Views(np.concatenate(parts)) if parts else self._some(rows, days)

    def schedule(self) -> ScheduleColumns:
        """Every instalment of every loan."""
        return schedule_columns(self.terms)

    def _term_arrays(self) -> tuple[NDArray[Any], ...]:
        return self.terms.arrays

    def _some(self, rows: I64, days: NDArray[Any]) -> Views:
        given: list[Any] = [values[rows] for values in self._term_arrays()]
        terms = TermColumns(*[*given, self.terms.allocation])
        facts = self.facts
        counts = np.diff(facts.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        # Fact i of a question is its loan's first fact plus i less the question's first.
        at = np.arange(offsets[-1]) + np.repeat(facts.offsets[rows] - offsets[:-1], counts)
        chosen = FactColumns(
            offsets, facts.day[at], facts.kind[at], facts.amount_minor[at], facts.arg[at]
        )
        return replay_columns(terms, chosen, days.astype(np.int32))
