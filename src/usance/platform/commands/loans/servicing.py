"""Servicing of one loan by rule: what falls due in half a day, and a second look after late news.

The rules are those of `service`; a loan that was served is served again without effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from usance.base.codes import FactKind
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.loan.facts import Fact, visible
from usance.platform.commands.command import DONE, CommandCall, Decided, Ended, Moment, only
from usance.platform.commands.loans.loan_change import book_facts
from usance.platform.principals import Principal
from usance.platform.reads.loans.loan import fact_answer
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.platform.records.user_record import UserRecord, load_users, not_found, owner_of, read_id
from usance.platform.store.write_set import WriteSet
from usance.service.loan_servicing import (
    ClaimHolder,
    DayPart,
    event_of,
    is_made_by_rule,
    loan_events,
)
from usance.service.servicing_rules import ServicingRules

if TYPE_CHECKING:
    import asyncpg

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class ServeLoan:
    """State what falls due on a loan in the morning or the evening of a day."""

    loan: str
    day: date
    part: str


async def serve(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ServeLoan
) -> Decided:
    """Add the facts that the rules call for and that are not there yet."""
    return only(await serve_many(transaction, [CommandCall(principal, moment, command)]))


def borrower_of(command: ServeLoan) -> int:
    """The borrower of the loan that is served."""
    return owner_of(read_id(command.loan, "ln", "loan"))


async def serve_many(transaction: asyncpg.Connection, asked: Sequence[CommandCall]) -> list[Ended]:
    """Serve loans of different borrowers: read together, each ends by itself."""
    ids = [read_id(each.command.loan, "ln", "loan") for each in asked]
    loans = {loan.loan_id: loan for loan in await load_loans(transaction, ids)}
    due: dict[int, list[Fact]] = {}
    failed: dict[int, UsanceError] = {}
    for each, loan_id in zip(asked, ids, strict=True):
        command = each.command
        try:
            if loan_id not in loans:
                raise not_found("ln", loan_id)
            due[loan_id] = events_due(loans[loan_id], each.moment, command.day,
                                      DayPart(command.part))  # fmt: skip
        except UsanceError as error:
            failed[loan_id] = error
    borrowers = [owner_of(loan_id) for loan_id, events in due.items() if events]
    users = {user.user_id: user for user in await load_users(transaction, borrowers)}
    ended: list[Ended] = []
    for each, loan_id in zip(asked, ids, strict=True):
        try:
            if loan_id in failed:
                raise failed[loan_id]
            user = users[owner_of(loan_id)] if due[loan_id] else None
            ended.append(_served(each.moment, loans[loan_id], due[loan_id], user))
        except UsanceError as error:
            ended.append(error)
    return ended


def _served(moment: Moment, loan: LoanRecord, due: list[Fact], user: UserRecord | None) -> Decided:
    """A loan with the facts that fell due on it."""
    subject, changes = print_id("ln", loan.loan_id), WriteSet()
    if user is None:
        return Decided({"loan": subject, "facts": []}, subject, loan.user_id, is_new=False,
                       status=DONE)  # fmt: skip
    loan.added += due
    book_facts(moment, user, loan, changes, "loan.serve")
    changes.user_changes.append(user.change())
    told = [fact_answer(loan.loan_id, each, moment.lender) for each in due]
    return Decided({"loan": subject, "facts": told}, subject, loan.user_id, changes, status=DONE)


def events_due(loan: LoanRecord, moment: Moment, day: date, part: DayPart) -> list[Fact]:
    """Events of half a day that are not there yet, booked now."""
    there = {(event_of(each.ref), each.effective_on)
             for each in visible(loan.facts, as_of=day) if is_made_by_rule(each)}  # fmt: skip
    rules = ServicingRules.at(day, moment.lender.parameters)
    holder = ClaimHolder(loan.model, loan.trigger_days)
    found = loan_events(loan.terms, loan.facts, holder, rules, day - _DAY, day, part=part)
    return [each._replace(booked_at=moment.at) for each in found
            if (event_of(each.ref), each.effective_on) not in there]  # fmt: skip


def is_late(loan: LoanRecord, day: date) -> bool:
    """True of a loan that something may fall due on: past due and not over."""
    view = loan.at(day).view()
    return view.days_past_due > 0 and FactKind.CHARGED_OFF not in {f.kind for f in loan.facts}
