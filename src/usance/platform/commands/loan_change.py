"""Facts of one loan, added by a command: checked, folded, posted and cached."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind
from usance.base.errors import UsanceError
from usance.loan.facts import Fact
from usance.platform.commands.command import Moment
from usance.platform.commands.event_review import review
from usance.platform.errors import StaleRead
from usance.platform.ledger.fact_postings import post, read_books
from usance.platform.loan_record import LoanRecord
from usance.platform.refusals import DateBeforeDisbursement, DateInFuture, TermsRefused
from usance.platform.store.write_set import LimitChange, WriteSet
from usance.platform.user_record import UserRecord

if TYPE_CHECKING:
    import asyncpg


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


async def book_facts(
    transaction: asyncpg.Connection, moment: Moment, user: UserRecord, loan: LoanRecord,
    changes: WriteSet, command: str,
) -> None:  # fmt: skip
    """Write the facts a command has added to a loan, with journals, state and freed limits."""
    today = moment.business_date
    review(moment, loan, changes)
    try:
        after = loan.at(today).view()
    except UsanceError as error:
        raise TermsRefused(
            f"the loan cannot take it: {error.what}", where=error.where, fix=error.fix
        ) from error
    mandate = moment.lender.mandate(loan.first["source"], loan.first["disbursed_on"])
    fee_ppm = mandate.fee_ppm if mandate else 0
    books = await read_books(transaction, loan.cell, fee_ppm)
    posted = post(changes, user, loan, books, moment.lender, moment.at, today, command)
    for each in loan.added:
        changes.add(
            "facts", loan_id=loan.loan_id, effective_on=each.effective_on, kind=int(each.kind),
            ref=each.ref, amount_minor=each.amount_minor, arg=each.arg, booked_at=each.booked_at,
        )  # fmt: skip
    changes.state_changes.append(loan.state_change(today, posted))
    if loan.facts:
        before = loan.at(today, before=True).view()
        free(moment, loan, before.principal_outstanding - after.principal_outstanding, changes)


def free(moment: Moment, loan: LoanRecord, freed_minor: int, changes: WriteSet) -> None:
    """Let what a borrower repays be lent again where the source's money revolves.

    A reversed payment takes it back, whatever is left.
    """
    mandate = moment.lender.mandate(loan.first["source"], moment.business_date)
    if not freed_minor or mandate is None or mandate.structure is None:
        return
    name = f"{mandate.source}/total/all/{mandate.since.isoformat()}"
    ceiling = mandate.budgets.total_minor
    if ceiling >= 0:
        changes.limit_changes.append(
            LimitChange(name, freed_minor=freed_minor, ceiling_minor=ceiling)
        )
    changes.releases.append((mandate.source, moment.business_date, freed_minor))


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


def answer_of(loan: LoanRecord, added: Fact, moment: Moment) -> dict[str, Any]:
    """The fact and the loan after it."""
    from usance.platform.reads.loans import fact_answer, loan_answer

    after = loan_answer(loan, moment.lender, moment.business_date)
    return {"fact": fact_answer(loan.loan_id, added, moment.lender), "loan": after}
