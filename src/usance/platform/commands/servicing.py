"""Servicing of one loan by rule: what falls due in half a day, and a second look after late news.

The rules are those of `service`; a loan that was served is served again without effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from usance.base.codes import FactKind
from usance.base.ids import print_id
from usance.loan.facts import Fact, visible
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.commands.loan_change import book_facts
from usance.platform.loan_record import LoanRecord, load_loan
from usance.platform.principals import Principal
from usance.platform.reads.loans import fact_answer
from usance.platform.store.write_set import WriteSet
from usance.platform.user_record import load_user, owner_of, read_id
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
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ServeLoan
) -> Decided:
    """Add the facts that the rules call for and that are not there yet."""
    loan = await load_loan(transaction, read_id(command.loan, "ln", "loan"))
    subject = print_id("ln", loan.loan_id)
    due = events_due(loan, moment, command.day, DayPart(command.part))
    if not due:
        return Decided({"loan": subject, "facts": []}, subject, loan.user_id, is_new=False,
                       status=DONE)  # fmt: skip
    user, changes = await load_user(transaction, owner_of(loan.loan_id)), WriteSet()
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
