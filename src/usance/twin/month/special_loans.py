"""Open loans that had an incident: every version of their terms, and every fact of them.

Changed terms, paused interest and payments that are taken back have no place in columns of states.
A loan that had any is served by itself until it is closed, from its facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.columns import arrays, arrow_schema, sort
from usance.base.dates import from_day
from usance.base.tables import table
from usance.loan.facts import Fact
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.open_loans import OpenLoans


@dataclass(frozen=True)
class SpecialLoans:
    """Loans in order of id, as they stand at a month's end."""

    loans: OpenLoans
    """Their columns; the states are not used."""
    rows: pa.Table
    """Their rows of `loans`: every version of their terms."""
    facts: FactRows

    @classmethod
    def none(cls) -> SpecialLoans:
        """No loans."""
        return cls(OpenLoans.none(), arrow_schema(table("loans")).empty_table(), FactRows.none())

    def __len__(self) -> int:
        return len(self.loans)

    def joined(self, other: SpecialLoans) -> SpecialLoans:
        """These loans and others."""
        if not len(other):
            return self
        rows = sort(pa.concat_tables([self.rows, other.rows]), table("loans"))
        return SpecialLoans(self.loans.joined(other.loans), rows,
                            self.facts.merged_with(other.facts))  # fmt: skip

    def take(self, wanted: NDArray[np.bool_]) -> SpecialLoans:
        """Some of the loans."""
        if wanted.all():
            return self
        loans = self.loans.take(wanted)
        own = pa.array(loans["loan_id"], pa.int64())
        return SpecialLoans(loans, self.rows.filter(pc.is_in(self.rows["loan_id"], own)),
                            self.facts.of_loans(loans["loan_id"]))  # fmt: skip

    def versions(self) -> Iterator[list[dict[str, Any]]]:
        """The rows of each loan, first terms first."""
        found: dict[int, list[dict[str, Any]]] = {}
        for row in self.rows.to_pylist():
            found.setdefault(row["loan_id"], []).append(row)
        for loan in self.loans["loan_id"].tolist():
            yield found[loan]

    def known(self) -> Iterator[list[Fact]]:
        """The facts of each loan."""
        for loan in self.loans["loan_id"]:
            yield list(facts_of(self.facts.of_loans(np.array([loan]))))


def facts_of(rows: FactRows) -> Iterator[Fact]:
    """Columns of facts as facts, known at any time."""
    columns = (rows.kind, rows.day, rows.amount, rows.ref, rows.arg)
    for kind, day, amount, ref, arg in zip(*(each.tolist() for each in columns), strict=True):
        yield Fact(FactKind(kind), from_day(day), amount, ref, arg)


def fact_rows(found: Mapping[int, list[tuple[Fact, int]]]) -> FactRows:
    """Facts of loans, each with the day it was booked, as columns in order."""
    told = [(loan, fact, booked) for loan, own in found.items() for fact, booked in own]
    rows = FactRows.of(
        loan_id=[loan for loan, _, _ in told],
        day=[(fact.effective_on - _EPOCH).days for _, fact, _ in told],
        kind=[int(fact.kind) for _, fact, _ in told], ref=[fact.ref for _, fact, _ in told],
        amount=[fact.amount_minor for _, fact, _ in told], arg=[fact.arg for _, fact, _ in told],
        booked=[booked for _, _, booked in told],
    )  # fmt: skip
    return rows.where(rows.in_order()) if told else rows


def stored_facts(facts: pa.Table) -> FactRows:
    """Rows of the table `facts` as columns in order; they count as booked on their day."""
    columns = arrays(sort(facts, table("facts")))
    day = columns["effective_on"]
    return FactRows.of(
        loan_id=columns["loan_id"], day=day, kind=columns["kind"], ref=columns["ref"],
        amount=columns["amount_minor"], arg=columns["arg"], booked=day,
    )  # fmt: skip


def owners(loans: OpenLoans, users: I64) -> dict[int, list[int]]:
    """Places of the loans of some users, by place of the user."""
    own = np.searchsorted(users, loans["loan_id"] >> 14)
    found: dict[int, list[int]] = {}
    for place, user in enumerate(own.tolist()):
        if user < len(users) and users[user] == int(loans["loan_id"][place]) >> 14:
            found.setdefault(user, []).append(place)
    return found


_EPOCH = from_day(0)
