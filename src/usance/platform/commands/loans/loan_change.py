"""Facts of one loan, added by a command: checked, folded, posted and cached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from usance.base.codes import FactKind, Status
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.loan.facts import Fact
from usance.loan.stored_rows import terms_of_row
from usance.loan.terms import Terms
from usance.match.reservation.limit_names import total_limit
from usance.platform.commands.command import Moment
from usance.platform.commands.loans.event_review import review
from usance.platform.errors import StaleRead
from usance.platform.ledger.fact_postings import Books, Poster, by_share, movements, post
from usance.platform.ledger.recompute import institution_fee, packed, packed_first
from usance.platform.records.loan_fold import posted_amounts
from usance.platform.records.loan_record import LoanRecord
from usance.platform.records.user_record import UserRecord, owner_of
from usance.platform.records.worst_days import RECEIPTS
from usance.platform.refusals import DateBeforeDisbursement, DateInFuture, TermsRefused
from usance.platform.store.write_set import Event, LimitChange, Row, WriteSet


def check_day(moment: Moment, loan: LoanRecord, day: date) -> None:
    """Refuse a day after the business date or before the loan."""
    if day > moment.business_date:
        raise DateInFuture(
            f"{day} is after the business date {moment.business_date}", where="body.effective_on",
            fix="Give a day that has been",
        )  # fmt: skip
    if day < loan.first["disbursed_on"]:
        raise DateBeforeDisbursement(
            f"the loan was disbursed on {loan.first['disbursed_on']}", where="body.effective_on",
            fix="Give that day or a later one",
        )  # fmt: skip


def fact(
    moment: Moment, kind: FactKind, day: date, amount_minor: int, ref: int, arg: int = 0
) -> Fact:
    """A fact that is booked now."""
    return Fact(kind, day, amount_minor, ref, arg, moment.at)


def book_facts(
    moment: Moment, user: UserRecord, loan: LoanRecord, changes: WriteSet, command: str
) -> None:
    """Write the facts a command has added to a loan, with journals, state and freed limits."""
    today = moment.business_date
    if not loan.facts and len(loan.added) == 1:
        book_first(moment, user, loan, changes, command)
        return
    note_lateness(user, loan)
    review(moment, loan, changes)
    try:
        after = loan.at(today).view()
    except UsanceError as error:
        raise cannot_take(error) from error
    fee_ppm = institution_fee(moment.lender, loan)
    books = Books(moment.open_periods, moment.lender.cells, fee_ppm)
    post(changes, poster(moment, user, command), loan.loan_id, loan.cells, books,
         movements(loan, books, today))  # fmt: skip
    for each in loan.added:
        changes.facts.append(fact_row(loan.loan_id, each))
    changes.state_changes.append(packed(loan, fee_ppm))
    before = loan.at(today, before=True).view()
    freed = before.principal_outstanding - after.principal_outstanding
    free(moment, loan.first["source"], freed, changes)
    note_settled(moment, loan.loan_id, before.status, after.status, changes)
    if before.days_past_due == 0 and after.days_past_due > 1:  # the first day is the evening's
        changes.events.append(overdue(loan.loan_id, after.days_past_due, after.past_due.total))
    for each in loan.added:
        if each.kind is FactKind.COMPENSATED:
            changes.events.append(compensated(loan.loan_id, each))


def note_lateness(user: UserRecord, loan: LoanRecord) -> None:
    """Count how late money came, as its loan stood before it: decisions rest on the worst."""
    for each in loan.added:
        if each.kind in RECEIPTS:
            late = loan.at(each.effective_on, before=True).view().days_past_due
            user.counters["worst_days"] = max(user.counters["worst_days"], late)


def book_first(
    moment: Moment, user: UserRecord, loan: LoanRecord, changes: WriteSet, command: str
) -> None:
    """Write the first fact of a loan."""
    book_new([NewLoan(moment, user, loan, terms_of_row(loan.first), changes)], command)


class NewLoan(NamedTuple):
    """A loan with the one fact that a command has added, and where it is to be written."""

    moment: Moment
    user: UserRecord
    loan: LoanRecord
    terms: Terms
    changes: WriteSet


def book_new(new: Sequence[NewLoan], command: str) -> None:
    """Write the first facts of loans, all of one day: one fold gives states and journals."""
    fees = [institution_fee(each.moment.lender, each.loan) for each in new]
    (day,) = {fact.effective_on for each in new for fact in each.loan.added}
    try:
        rows = packed_first([each.loan for each in new], [each.terms for each in new], fees, day)
    except UsanceError as error:
        raise cannot_take(error) from error
    for (moment, user, loan, _, changes), fee_ppm, row, moved in zip(
        new, fees, rows, posted_amounts(rows).tolist(), strict=True
    ):
        (first,) = loan.added
        books = Books(moment.open_periods, moment.lender.cells, fee_ppm)
        if any(moved):
            post(changes, poster(moment, user, command), loan.loan_id, loan.cells, books,
                 books.single(day, by_share(loan, tuple(moved))))  # fmt: skip
        changes.facts.append(fact_row(loan.loan_id, first))
        changes.state_changes.append(row)


def note_settled(moment: Moment, loan_id: int, before: int, after: int, changes: WriteSet) -> None:
    """Tell that a loan is closed which was not before."""
    if after != Status.CLOSED or before == Status.CLOSED:
        return
    shown = print_id("ln", loan_id)
    told = json.dumps({"loan": shown, "settled_on": moment.business_date.isoformat()})
    changes.events.append(Event("loan.settled", shown, owner_of(loan_id), told))


def overdue(loan_id: int, days: int, past_due_minor: int) -> Event:
    """The event that a loan is past due which was not the day before."""
    shown = print_id("ln", loan_id)
    told = {"loan": shown, "days_past_due": days, "past_due_minor": past_due_minor}
    return Event("loan.overdue", shown, owner_of(loan_id), json.dumps(told))


def compensated(loan_id: int, claim: Fact) -> Event:
    """The event that a loan was compensated."""
    shown = print_id("ln", loan_id)
    told = {"loan": shown, "amount_minor": claim.amount_minor,
            "effective_on": claim.effective_on.isoformat()}  # fmt: skip
    return Event("loan.compensated", shown, owner_of(loan_id), json.dumps(told))


def cannot_take(error: UsanceError) -> TermsRefused:
    """The refusal of a fact that a loan does not take."""
    return TermsRefused(f"the loan cannot take it: {error.what}", where=error.where, fix=error.fix)


def fact_row(loan_id: int, given: Fact) -> Row:
    """A row of `facts`."""
    return (loan_id, given.effective_on, int(given.kind), given.ref, given.amount_minor, given.arg,
            given.booked_at, None)  # fmt: skip


def poster(moment: Moment, user: UserRecord, command: str) -> Poster:
    """Who posts: a command for a user, now."""
    lender = moment.lender
    return Poster(user, moment.at, command, int(lender.currency), lender.platform_entity)


def free(moment: Moment, source: int, freed_minor: int, changes: WriteSet) -> None:
    """Let what a borrower repays be lent again where the source's money revolves.

    A reversed payment takes it back, whatever is left.
    """
    mandate = moment.lender.mandate(source, moment.business_date)
    if not freed_minor or mandate is None or mandate.structure is None:
        return
    name = total_limit(mandate)
    ceiling = mandate.budgets.total_minor
    if ceiling >= 0:
        changes.limit_changes.append(
            LimitChange(name, freed_minor=freed_minor, ceiling_minor=ceiling)
        )
    changes.releases.append((name, mandate.source, moment.business_date, freed_minor))


def own_ref(user: UserRecord, loan: LoanRecord) -> int:
    """A reference that no other fact of the loan has, for facts that the platform makes."""
    taken = {each.ref for each in loan.all_facts}
    ref = PLATFORM_REF + user.next("records")
    if ref in taken:  # facts were read after somebody else had numbered one
        raise StaleRead("a record has been numbered meanwhile", fix="Read again and decide again")
    return ref


PLATFORM_REF = 1 << 55
"""Above the months of a twin's payments and the events of servicing, below nothing that is hashed
often: a record of a user is below 2^53."""


def answer_of(
    loan: LoanRecord, added: Fact, moment: Moment, reference: str | None = None
) -> dict[str, Any]:
    """The fact, with its provider's reference, and the loan after it."""
    from usance.platform.reads.loans.loan import fact_answer, loan_answer
    from usance.platform.reads.shapes import moment_text

    after = loan_answer(loan, moment.lender, moment.business_date)
    after["known_at"] = moment_text(moment.at)
    return {"fact": fact_answer(loan.loan_id, added, moment.lender, reference), "loan": after}
