"""History of a loan: terms, decision, routing, facts, tape and journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from usance.assess.flow.files import SHIPPED
from usance.assess.flow.reasons import Reasons, read_reasons
from usance.base.dates import last_of_month
from usance.base.ids import PER_USER, print_id, user_of
from usance.books.close.closes import effective_closes
from usance.books.loans.journal import LoanLine, loan_journal
from usance.books.tape.book import holds_tape
from usance.loan.loan import Loan, replay
from usance.loan.stored_rows import fact_of_row, terms_of_row
from usance.pages.site.book_view import BookView, Rows, group_by, rows_of

REASONS = SHIPPED / "consumer" / "reasons.yaml"


@dataclass(frozen=True)
class LoanHistory:
    """One loan: each part is empty where the book has none of it."""

    loan_id: int
    terms: Rows
    decisions: Rows
    request: Mapping[str, Any]
    routing: Rows
    shares: Rows
    facts: Rows
    tape: Rows
    journal: list[LoanLine]
    ref: str = ""
    as_of: date = date.min
    """Last day of the history: the end of the last month the book knows of it."""
    _loan: list[Loan] = field(default_factory=list, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Its printed id."""
        return print_id("ln", self.loan_id)

    @property
    def path(self) -> str:
        """Its page."""
        return f"/loans/{self.name}.html"

    @property
    def head(self) -> Mapping[str, Any]:
        """Its first terms; empty for a loan that came with a tape."""
        return self.terms[0] if self.terms else {}

    @cached_property
    def loan(self) -> Loan | None:
        """The loan as it stands, replayed from its terms and facts."""
        if not self.terms or not self.facts:
            return None
        versions = [terms_of_row(row) for row in self.terms]
        facts = [fact_of_row(row) for row in self.facts]
        # A few loans: the exact form answers before a kernel would be loaded.
        return replay(versions, facts, self.as_of, form="exact")


def loan_histories(view: BookView) -> Iterator[LoanHistory]:
    """The loans of the sample, in order."""
    book, ids = view.book, view.loans
    users = sorted({user_of(each) for each in ids})
    terms = group_by(rows_of(book, "loans", "loan_id", ids), "loan_id")
    facts = group_by(rows_of(book, "facts", "loan_id", ids), "loan_id")
    routing = group_by(rows_of(book, "routing", "loan_id", ids), "loan_id")
    requests = group_by(rows_of(book, "requests", "loan_id", ids), "loan_id")
    shares = group_by(rows_of(book, "shares", "loan_id", ids), "loan_id")
    refs = group_by(rows_of(book, "refs", "loan_id", ids), "loan_id")
    # The decision of a loan and the one its line came from, which is the user's first.
    wanted = {row["decision_id"] for rows in terms.values() for row in rows}
    wanted |= {user * PER_USER + 1 for user in users}
    decisions = group_by(rows_of(book, "decisions", "decision_id", sorted(wanted)), "decision_id")
    day = _as_of(view)
    for loan_id in ids:
        own = terms.get(loan_id, [])
        decided = {user_of(loan_id) * PER_USER + 1, *(row["decision_id"] for row in own)}
        if holds_tape(book):
            decided = set()
        yield LoanHistory(
            loan_id,
            own,
            [row for each in sorted(decided) for row in decisions.get(each, [])],
            (requests.get(loan_id) or [{}])[0],
            routing.get(loan_id, []),
            shares.get(loan_id, []),
            [row for row in facts.get(loan_id, []) if row["effective_on"] <= day],
            view.tape.get(loan_id, []),
            list(loan_journal(book, loan_id)) if effective_closes(book) else [],
            (refs.get(loan_id) or [{"loan_ref": ""}])[0]["loan_ref"],
            day,
        )


def _as_of(view: BookView) -> date:
    """The last day the book tells of: its last close, or its last month of anything."""
    if view.periods:
        return view.periods[-1].day
    months = [file.month for name in ("tape", "facts", "loans") for file in view.book.files(name)
              if file.month is not None]  # fmt: skip
    return last_of_month(max(months)) if months else date.max


def reasons() -> Reasons:
    """Texts of the reason codes, by the packaged flow."""
    return read_reasons(REASONS)
