"""Servicing of many loans at once: what falls due in half a day, by one step on their stored folds.

The events are those of `loan.serve`, found by the kernel that serves the twin's columns. Loans that
their folds do not tell all about are left to the command for one: changed terms, facts of the day
itself or a later one, and events that were made before and reversed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import FactKind, FundingModel, Status
from usance.base.dates import to_day
from usance.base.ids import print_id
from usance.books.loans.fact_amounts import fact_amounts, step_booked
from usance.loan.batch import States, view_columns
from usance.loan.columns import FactColumns
from usance.loan.facts import Fact
from usance.loan.kernel.state import IS_RECOVERY, META
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.commands.loans.loan_change import (
    compensated,
    fact_row,
    free,
    note_settled,
    poster,
)
from usance.platform.ledger.fact_postings import Books, post
from usance.platform.principals import SYSTEM, Principal
from usance.platform.reads.loans.loan import fact_answer
from usance.platform.records.loan_fold import (
    PackedLoan,
    packed_loans,
    packed_states,
    posted_amounts,
    unpack,
)
from usance.platform.records.user_record import UserRecord, load_users, owner_of
from usance.platform.store.write_set import Event, Owner, WriteSet
from usance.service.loan_servicing import MADE_BY_RULE, DayPart, in_part, is_made_by_rule
from usance.service.servicing_events import Holders, due_facts
from usance.service.servicing_kernel import FIRST_REF
from usance.service.servicing_rules import ServicingRules

if TYPE_CHECKING:
    import asyncpg

SERVED = "loan.served"
_COMMAND = "loan.serve"
_SERVED_THAT_DAY = (
    "select distinct f.loan_id from usance.facts f where f.loan_id = any($1) "
    "and f.effective_on = $2 and f.kind = any($5) and f.ref >= $3 and f.ref < 2 * $3 "
    "and not exists (select from usance.facts r where r.loan_id = f.loan_id and r.kind = $4 "
    "and r.arg = f.ref)"
)
_SHARED = "select distinct loan_id from usance.shares where loan_id = any($1)"
"""Co-funded loans, whose amounts are split by what came so far."""
_TAKEN = (
    "select distinct f.loan_id from unnest($1::bigint[], $2::bigint[]) g (loan_id, ref) "
    "join usance.facts f on f.loan_id = g.loan_id and f.ref = g.ref"
)


@dataclass(frozen=True)
class ServeLoans:
    """State what falls due on some loans in the morning or the evening of a day."""

    loans: tuple[int, ...]
    day: date
    part: str


class Due(NamedTuple):
    """A loan with events that fall due on it."""

    loan: PackedLoan
    facts: list[Fact]


async def serve_loans(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ServeLoans
) -> Decided:
    """Add the facts that the rules call for; loans whose folds do not tell come as those left."""
    day, part = command.day, DayPart(command.part)
    held = await packed_loans(transaction, command.loans)
    shared = {row["loan_id"] for row in await transaction.fetch(_SHARED, list(held))}
    alone = [each for each in held.values() if each.loan_id not in shared]
    folded = [each for each in alone if each.is_foldable and each.through < day]
    due = events_due_on(folded, ServicingRules.at(day, moment.lender.parameters), day, part)
    asked = [(each.loan.loan_id, fact.ref) for each in due for fact in each.facts]
    before = await transaction.fetch(_TAKEN, *map(list, zip(*asked, strict=True))) if asked else []
    again = {row["loan_id"] for row in before}
    due = [each for each in due if each.loan.loan_id not in again]
    left = again | set(command.loans) - {each.loan_id for each in folded}
    if left - again:
        left -= await _served(transaction, left - again, day)
    found = await load_users(transaction, {owner_of(each.loan.loan_id) for each in due})
    changes = WriteSet()
    _book(moment, due, {user.user_id: user for user in found}, changes)
    answer = {"day": day.isoformat(), "part": str(part), "served": len(due),
              "left": sorted(left)}  # fmt: skip
    return Decided(answer, f"loans/{day}/{part}", 0, changes, is_new=bool(due), status=DONE)


async def _served(transaction: asyncpg.Connection, loans: set[int], day: date) -> set[int]:
    """Loans with an event of the day: no rule makes two on one."""
    rows = await transaction.fetch(
        _SERVED_THAT_DAY,
        sorted(loans),
        day,
        FIRST_REF,
        int(FactKind.REVERSED),
        [int(each) for each in MADE_BY_RULE],
    )
    return {row["loan_id"] for row in rows}


def events_due_on(
    loans: Sequence[PackedLoan], rules: ServicingRules, day: date, part: DayPart
) -> list[Due]:
    """Loans that something falls due on in half a day, with the events; none has later facts."""
    if not loans:
        return []
    folds = unpack(loans).states
    eve = np.full(len(loans), to_day(day) - 1, np.int32)
    holders = Holders.of([FundingModel(each.model) for each in loans],
                         [each.trigger_days for each in loans])  # fmt: skip
    events = due_facts(States(folds.terms, folds.values, eve), holders, rules, day, workers=1)
    in_recovery = (folds.values[:, META] & IS_RECOVERY) != 0
    found = []
    for row in np.flatnonzero(np.diff(events.facts.offsets)).tolist():
        facts = [each for each in events.of(row)
                 if in_part(each.kind, part, in_recovery=bool(in_recovery[row]))]  # fmt: skip
        if facts:
            found.append(Due(loans[row], facts))
    return found


class Steps(NamedTuple):
    """Loans before and after the events of a day."""

    views: tuple[I64, I64]
    """Views of today."""
    moved: I64
    """Differences of fact amounts."""
    rows: list[PackedLoan]
    """The loans as they are stored after."""


def stepped(due: Sequence[Due], day: date, today: date) -> Steps:
    """One step on each loan."""
    loans, now = [each.loan for each in due], to_day(today)
    before = unpack(loans)
    after = step_booked(before, FactColumns.of([each.facts for each in due]), day)
    views = (view_columns(before.states, now, workers=1).values,
             view_columns(after.states, now, workers=1).values)  # fmt: skip
    held = fact_amounts(after)
    rows = [
        each._replace(is_open=status != int(Status.CLOSED), through=day, state=state,
                      posted=amounts.tobytes())
        for each, status, state, amounts in zip(
            loans, views[1][:, _STATUS].tolist(), packed_states(after), held.astype("<i8"),
            strict=True)
    ]  # fmt: skip
    return Steps(views, held - posted_amounts(loans), rows)


_STATUS, _OWED = 0, 3
"""Places of status and principal outstanding in a view."""


def _book(
    moment: Moment, due: Sequence[Due], users: Mapping[int, UserRecord], changes: WriteSet
) -> None:
    """Write the events of loans with journals, states, freed limits and what is told of them."""
    if not due:
        return
    today, day = moment.business_date, due[0].facts[0].effective_on
    steps = stepped(due, day, max(today, day))
    books = Books(moment.open_periods, moment.lender.cells)
    for n, (loan, moved) in enumerate(zip(steps.rows, steps.moved.tolist(), strict=True)):
        user, facts = users[owner_of(loan.loan_id)], due[n].facts
        made = [each._replace(booked_at=moment.at) for each in facts]
        assert all(map(is_made_by_rule, made)), "events of a rule are told from other facts"
        if any(moved):
            post(changes, poster(moment, user, _COMMAND), loan.loan_id, [loan.cell], books,
                 books.single(day, tuple(moved)))  # fmt: skip
        changes.facts += [fact_row(loan.loan_id, each) for each in made]
        changes.state_changes.append(loan)
        was, now = (view[n].tolist() for view in steps.views)
        free(moment, loan.source, was[_OWED] - now[_OWED], changes)
        note_settled(moment, loan.loan_id, was[_STATUS], now[_STATUS], changes)
        changes.events += [compensated(loan.loan_id, each) for each in made
                           if each.kind is FactKind.COMPENSATED]  # fmt: skip
        changes.events.append(_told(moment, loan.loan_id, made))
    for user in users.values():
        changes.user_changes.append(user.change())
        changes.owners.append(Owner(SYSTEM.principal_id, user.user_id))


def _told(moment: Moment, loan_id: int, made: Sequence[Fact]) -> Event:
    """The event that a loan was served, as the command for one tells it."""
    subject = print_id("ln", loan_id)
    told = {"loan": subject, "facts": [fact_answer(loan_id, each, moment.lender) for each in made]}
    return Event(SERVED, subject, owner_of(loan_id), json.dumps(told, separators=(",", ":")))
