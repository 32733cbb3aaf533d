"""A loan as one command sees it: its terms, its facts, and what the ledger holds of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind, FundingModel, Status
from usance.loan.facts import END_OF_TIME, Fact
from usance.loan.loan import Loan, replay
from usance.loan.stored_rows import fact_of_row, terms_of_row
from usance.loan.terms import Terms
from usance.platform.installation import cell_of
from usance.platform.records.loan_fold import stored_fee
from usance.platform.records.user_record import not_found, own_ranges
from usance.platform.store.write_set import NEW

if TYPE_CHECKING:
    import asyncpg


@dataclass
class LoanRecord:
    """Terms by version, facts in the order they were booked, and the cached state."""

    loan_id: int
    rows: list[dict[str, Any]]
    facts: list[Fact]
    version: int = NEW
    cell: int = 0
    trigger_days: int = 0
    fee_ppm: int | None = None
    """The fee of its institution, as stored with its fold."""
    added: list[Fact] = field(default_factory=list)
    """Facts that the command adds."""
    shares: dict[int, int] = field(default_factory=dict)
    """Principal by the cell of each source, of a co-funded loan."""

    @property
    def first(self) -> dict[str, Any]:
        """The row of the first terms."""
        return self.rows[0]

    @property
    def user_id(self) -> int:
        """The borrower."""
        return self.loan_id >> 14

    @property
    def model(self) -> FundingModel:
        """Who bears its credit risk."""
        return FundingModel(self.first["model"])

    @property
    def cells(self) -> list[int]:
        """The cells that its journals go to: one, or that of each share."""
        return list(self.shares) or [self.cell]

    @property
    def terms(self) -> list[Terms]:
        """All versions of its terms."""
        return [terms_of_row(row) for row in self.rows]

    @property
    def all_facts(self) -> list[Fact]:
        """Facts that were there, and those the command adds."""
        return [*self.facts, *self.added]

    def at(self, day: date, known_at: datetime = END_OF_TIME, *, before: bool = False) -> Loan:
        """The loan on a day, as known at a moment; `before` leaves out what the command adds."""
        facts = self.facts if before else self.all_facts
        return replay(self.terms, facts, day, known_at)

    def due_by(self, day: date) -> int:
        """The amount that has to be paid by a day, and is not."""
        view = self.at(day).view()
        return view.past_due.total + (view.next_due if view.next_due_on == day else 0)

    def is_gone(self, ref: int) -> bool:
        """True of a fact that was reversed."""
        return any(each.kind is FactKind.REVERSED and each.arg == ref for each in self.all_facts)

    def find(self, ref: int) -> Fact | None:
        """The fact of a reference."""
        return next((each for each in self.all_facts if each.ref == ref), None)

    def is_closed_by(self, paid: Fact, day: date) -> bool:
        """True if the loan is closed on a day with this payment among the facts."""
        view = replay(self.terms, [*self.all_facts, paid], day).view()
        return view.status is Status.CLOSED

    def least_that_closes(self, whole: Fact, day: date, low: int) -> int:
        """The smallest part of a payment, from `low` on, that closes the loan as all of it does.

        Payments of one day count in the order of their references, so that one which settles the
        loan may come before others that paid ahead: its excess is then not what remains of it.
        """
        high = low if self.is_closed_by(whole._replace(amount_minor=low), day) else (
            whole.amount_minor
        )  # fmt: skip
        while low < high:
            middle = (low + high) // 2
            if self.is_closed_by(whole._replace(amount_minor=middle), day):
                high = middle
            else:
                low = middle + 1
        return low

    def first_day_of(self, fact: Fact) -> date:
        """The first day that a fact changes; a reversal changes what its target did."""
        if fact.kind is FactKind.REVERSED:
            target = self.find(fact.arg)
            assert target is not None, "a reversal names a fact that is there"
            return target.effective_on
        return fact.effective_on


async def load_loan(transaction: asyncpg.Connection, loan_id: int) -> LoanRecord:
    """A loan that the principal of the transaction sees."""
    found = await load_loans(transaction, [loan_id])
    if not found:
        raise not_found("ln", loan_id)
    return found[0]


async def load_loans(transaction: asyncpg.Connection, loan_ids: Iterable[int]) -> list[LoanRecord]:
    """Loans by their ids, in order; the version of each is read before its facts."""
    ids = list(loan_ids)
    states = await transaction.fetch(
        "select loan_id, version, cell, trigger_days, terms from usance.loan_states "
        "where loan_id = any($1) order by loan_id", ids,
    )  # fmt: skip
    rows = await transaction.fetch(
        "select * from usance.loans where loan_id = any($1) order by loan_id, terms_no", ids
    )
    facts = await transaction.fetch(
        "select * from usance.facts where loan_id = any($1) order by loan_id, booked_at, ref", ids
    )
    shares = await transaction.fetch(
        "select * from usance.shares where loan_id = any($1) order by loan_id, source", ids
    )
    by_loan: dict[int, LoanRecord] = {
        row["loan_id"]: LoanRecord(row["loan_id"], [], [], row["version"], row["cell"],
                                   row["trigger_days"], stored_fee(row["terms"]))
        for row in states
    }  # fmt: skip
    for row in rows:
        if row["loan_id"] in by_loan:
            by_loan[row["loan_id"]].rows.append(dict(row))
    for row in facts:
        if row["loan_id"] in by_loan:
            by_loan[row["loan_id"]].facts.append(fact_of_row(row))
    for row in shares:
        if (loan := by_loan.get(row["loan_id"])) is not None and loan.rows:
            loan.shares[cell_of(row["source"], loan.first["product"])] = row["principal_minor"]
    return list(by_loan.values())


async def open_loans(transaction: asyncpg.Connection, user_ids: Iterable[int]) -> list[LoanRecord]:
    """The loans of some users that are not closed."""
    rows = await transaction.fetch(
        "select s.loan_id from unnest($1::bigint[], $2::bigint[]) g (low, high) "
        "join usance.loan_states s on s.loan_id between g.low and g.high "
        "where s.is_open order by 1", *own_ranges(user_ids),
    )  # fmt: skip
    return await load_loans(transaction, [row["loan_id"] for row in rows])
