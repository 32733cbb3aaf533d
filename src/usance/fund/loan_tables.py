"""Loans with all their facts, in the tables of the data contract: seen on any day, as then known.

Columns go through the kernel; loans with changed terms or paused interest through the exact form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I64, Bools
from usance.base.codes import FactKind
from usance.base.columns import arrays
from usance.base.dates import to_day
from usance.base.ids import PER_USER
from usance.fund.pool_columns import PoolColumns, pool_of_table
from usance.loan import exact
from usance.loan.batch import Views, replay_columns
from usance.loan.columns import FactColumns
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.stored_rows import EXACT_KINDS, fact_of_row, terms_of_row, view_values
from usance.loan.terms import Terms
from usance.loan.views import VIEW_FIELDS
from usance.loan.visible_facts import fact_columns, known_at_bound, term_columns

_POOL = ("rate_ppm", "grade", "region", "product")
ByUser = Callable[[I64], I64]
"""A function from users, rising, to what each owes on all loans."""


@dataclass(frozen=True, eq=False)
class LoanTables:
    """Loans in order of their ids, with every fact of them."""

    first: pa.Table
    """Their first terms."""
    facts: pa.Table
    versions: Mapping[int, list[Terms]] = field(default_factory=dict)
    """By row, the terms of loans that only the exact form replays."""

    @classmethod
    def of(cls, loans: pa.Table, facts: pa.Table) -> LoanTables:
        """Loans of a `loans` and a `facts` table, both in key order."""
        first = loans.filter(pc.equal(loans.column("terms_no"), 1))
        return cls(first, facts, _versions(loans, facts, _ids(first)))

    def __len__(self) -> int:
        return int(self.first.num_rows)

    @property
    def ids(self) -> I64:
        """Their ids, rising."""
        return _ids(self.first)

    def among(self, ids: I64) -> LoanTables:
        """Some of the loans, by id."""
        rows = np.searchsorted(self.ids, ids)
        versions = {place: self.versions[row] for place, row in enumerate(rows.tolist())
                    if row in self.versions}  # fmt: skip
        return LoanTables(self.first.take(rows), among(self.facts, ids), versions)

    def views(self, day: date, known_at: datetime = END_OF_TIME) -> Views:
        """Views on a day, as known at a moment."""
        if not len(self):
            return Views(np.zeros((0, len(VIEW_FIELDS)), np.int64))
        known = fact_columns(self.facts, self.ids, known_at)
        if not self.versions:
            return replay_columns(term_columns(self.first), known, day)
        values = np.zeros((len(self), len(VIEW_FIELDS)), np.int64)
        slow = np.zeros(len(values), np.bool_)
        slow[list(self.versions)] = True
        plain = np.flatnonzero(~slow)
        if len(plain):
            terms = term_columns(self.first.take(plain))
            values[plain] = replay_columns(terms, _some(known, plain), day).values
        for row, versions in self.versions.items():
            facts = visible(self._facts_of(row), as_of=day, known_at=known_at)
            if facts:
                values[row] = view_values(exact.replay(versions, facts, day).view())
        return Views(values)

    def bought_out(self, day: date, known_at: datetime = END_OF_TIME) -> Bools:
        """Loans with a fact that they were bought out by a day, as known at a moment."""
        known = fact_columns(self.facts, self.ids, known_at)
        owner = np.repeat(np.arange(len(self)), np.diff(known.offsets))
        told = known.kind == int(FactKind.BOUGHT_OUT)
        told &= known.day <= to_day(day)
        found = np.zeros(len(self), np.bool_)
        found[owner[told]] = True
        return found

    def restated(self, day: date, after: datetime, until: datetime) -> LoanTables:
        """Loans whose past up to a day was told otherwise between two moments.

        A reversal, whatever its own day, takes back what it names.
        """
        facts = arrays(self.facts.select(["effective_on", "kind", "booked_at"]))
        booked = facts["booked_at"]
        told = (booked > known_at_bound(after)) & (booked <= known_at_bound(until))
        past = (facts["effective_on"] <= to_day(day)) | (facts["kind"] == int(FactKind.REVERSED))
        return self.among(np.unique(_ids(self.facts.filter(pa.array(told & past)))))

    def _facts_of(self, row: int) -> list[Fact]:
        mine = pc.equal(self.facts.column("loan_id"), int(self.ids[row]))
        return [fact_of_row(each) for each in self.facts.filter(mine).to_pylist()]

    def pool(
        self, day: date, known_at: datetime = END_OF_TIME, *, owed_by: ByUser | None = None,
        default_rates: Callable[[I64], I64] | None = None, deal: str = "",
    ) -> PoolColumns:  # fmt: skip
        """Loans that owe principal at the end of a day; borrowers may owe on other loans too."""
        views = self.views(day, known_at)
        begun = arrays(self.first.select(["disbursed_on"]))["disbursed_on"] <= to_day(day)
        rows = np.flatnonzero(begun & (views.column("principal_outstanding") > 0))
        loans = self.first.take(rows)
        paid, late, owed = (
            views.column(name)[rows]
            for name in ("instalments_paid", "days_past_due", "principal_outstanding")
        )
        columns = arrays(loans.select(["loan_id", "instalments", "decision_id", *_POOL]))
        users, place = np.unique(columns["loan_id"] // PER_USER, return_inverse=True)
        sums = np.zeros(len(users), np.int64)
        np.add.at(sums, place, owed)
        if owed_by is not None and len(users):
            sums = np.maximum(sums, owed_by(users))
        values: dict[str, Any] = {name: columns[name].astype(np.int64) for name in _POOL}
        values |= {
            "loan_id": columns["loan_id"], "principal_minor": owed, "instalments_paid": paid,
            "months_left": np.maximum(columns["instalments"].astype(np.int64) - paid, 0),
            "dpd": late, "borrower_minor": sums[place],
            "deal": pa.array([deal] * len(rows), pa.string()),
        }  # fmt: skip
        if default_rates is not None:
            values["pd_ppm"] = default_rates(columns["decision_id"])
        return pool_of_table(pa.table(values), "loans")


def among(rows: pa.Table, ids: I64) -> pa.Table:
    """Rows whose loan is one of some, whose ids rise."""
    if not len(ids):
        return rows.slice(0, 0)
    owner = _ids(rows)
    return rows.filter(pa.array(ids[np.searchsorted(ids, owner).clip(0, len(ids) - 1)] == owner))


def _ids(rows: pa.Table) -> I64:
    found: I64 = arrays(rows.select(["loan_id"]))["loan_id"]
    return found


def _some(facts: FactColumns, rows: I64) -> FactColumns:
    """The facts of some loans, by row."""
    counts = np.diff(facts.offsets)[rows]
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    at = np.arange(offsets[-1]) + np.repeat(facts.offsets[rows] - offsets[:-1], counts)
    return FactColumns(
        offsets, facts.day[at], facts.kind[at], facts.amount_minor[at], facts.arg[at]
    )


def _versions(loans: pa.Table, facts: pa.Table, ids: I64) -> dict[int, list[Terms]]:
    """By row, all terms of the loans that the kernel does not replay."""
    apart = facts.filter(pc.is_in(facts.column("kind"), pa.array(EXACT_KINDS, pa.int8())))
    later = loans.filter(pc.greater(loans.column("terms_no"), 1))
    changed = np.union1d(_ids(apart), _ids(later))
    found: dict[int, list[Terms]] = {}
    for row in among(loans, changed).to_pylist():
        place = int(np.searchsorted(ids, row["loan_id"]))
        found.setdefault(place, []).append(terms_of_row(row))
    return found
