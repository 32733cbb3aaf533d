"""Cases of an evening, stops and complaints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.dates import from_day, to_day
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.commands.loans.loan_change import overdue
from usance.platform.desk.case_values import payments_of, values_of
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.loans.plans import complaint_answer
from usance.platform.records.user_record import load_user, not_found, owner_of, read_id
from usance.platform.refusals import WrongState
from usance.platform.security.sealed_values import (
    COMPLAINT,
    COMPLAINT_ANSWER,
    STOP,
    keep_words,
)
from usance.platform.store.write_set import WriteSet
from usance.service.collections.cases import Cases, LoanArrears, end_of_day
from usance.service.collections.contact_rules import Stop
from usance.service.collections.promises import (
    Payment,
    Promise,
    PromiseState,
    grace_days_at,
    settle,
)
from usance.service.collections.stages import Stages
from usance.service.help.complaints import Complaint, answered

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class ServeCases:
    """Open, move and close cases at the end of a day, and decide promises whose time is over."""

    day: date
    loans: tuple[tuple[int, int, int, int], ...] = ()
    """Loans past due: id, days past due, past due, principal."""


@dataclass(frozen=True)
class SetStop:
    """A reason for which contacts, and with most of them debits, rest at once."""

    user: str
    reason: str
    text: str = ""


@dataclass(frozen=True)
class EndStop:
    """The end of a stop."""

    stop: str


@dataclass(frozen=True)
class OpenComplaint:
    """A complaint of a borrower."""

    user: str
    subject: str
    text: str
    against: str = ""


@dataclass(frozen=True)
class AnswerComplaint:
    """The answer to a complaint."""

    complaint: str
    answer: str


async def serve(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ServeCases
) -> Decided:
    """Cases as all loans stand, by one fold; whoever works a case keeps it."""
    columns = zip(*command.loans, strict=True) if command.loans else ((), (), (), ())
    arrears = LoanArrears.of(*(np.array(column, np.int64) for column in columns))
    stages = Stages.at(command.day, moment.lender.parameters)
    rows = await transaction.fetch(
        "select user_id, days_past_due, past_due_minor, stage, opened_on from usance.cases "
        "where closed_on is null order by user_id"
    )
    run = end_of_day(arrears, _known(rows), to_day(command.day), stages)
    grace = grace_days_at(command.day, moment.lender.parameters)
    broken = await _settle_promises(transaction, command.day, grace)
    cases = run.cases
    own = await values_of(transaction, moment.lender.collections, cases, command.day, broken)
    await transaction.execute(
        "select usance.serve_cases($1, $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], "
        "$6::bigint[], $7::smallint[], $8::bigint[], $9::text[], $10::text[], $11::boolean[], "
        "$12::text[], $13)",
        command.day, cases.user_id.tolist(), cases.days_past_due.tolist(),
        cases.past_due_minor.tolist(), cases.principal_minor.tolist(), cases.loans.tolist(),
        cases.stage.tolist(), own.value_minor.tolist(), own.segment, own.arm, own.is_automatic,
        own.desk, moment.lender.collections.strategy.version,
    )  # fmt: skip
    answer = {"day": str(command.day), "cases": cases.size, "opened": len(run.opened),
              "moved": len(run.moved), "closed": len(run.closed),
              "broken_promises": len(broken)}  # fmt: skip
    changes = WriteSet(events=[
        overdue(loan_id, days, past_due) for loan_id, days, past_due, _ in command.loans
        if days == 1
    ])  # fmt: skip
    return Decided(answer, f"cases/{command.day}", 0, changes, status=DONE)


def _known(rows: list[Any]) -> Cases:
    """Open cases of the evening before, as columns."""

    def column(name: str) -> Any:
        return np.array([row[name] for row in rows], np.int64)

    nothing = np.zeros(len(rows), np.int64)
    opened = np.array([to_day(row["opened_on"]) for row in rows], np.int64)
    return Cases(column("user_id"), column("days_past_due"), column("past_due_minor"), nothing,
                 nothing, column("stage").astype(np.int8), opened)  # fmt: skip


async def _settle_promises(transaction: asyncpg.Connection, day: date, grace: int) -> set[int]:
    """Decide open promises by what was paid; the borrowers whose last one is broken.

    Earlier promises take their payments first, though they are decided: each counts once.
    """
    rows = await transaction.fetch(
        "select promise_id, user_id, made_on, due_on, amount_minor from usance.promises "
        "where user_id in (select user_id from usance.promises where state = 'open') "
        "order by promise_id"
    )
    given: dict[int, list[Promise]] = {}
    for row in rows:
        made = Promise(row["promise_id"], row["made_on"], row["due_on"], row["amount_minor"])
        given.setdefault(row["user_id"], []).append(made)
    paid = await payments_of(transaction, list(given))
    payments: dict[int, list[Payment]] = {}
    for user_id, number, amount in zip(*(each.tolist() for each in paid), strict=True):
        payments.setdefault(user_id, []).append(Payment(from_day(number), amount))
    states = {
        each.promise.promise_id: each.state.value
        for user_id, own in given.items()
        for each in settle(own, payments.get(user_id, []), day, grace)
        if each.state is not PromiseState.OPEN
    }
    await transaction.execute("select usance.decide_promises($1::bigint[], $2::text[])",
                              list(states), list(states.values()))  # fmt: skip
    found = await transaction.fetch(
        "select distinct on (user_id) user_id, state from usance.promises "
        "order by user_id, promise_id desc"
    )
    return {row["user_id"] for row in found if row["state"] == PromiseState.BROKEN.value}


async def stop(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: SetStop
) -> Decided:
    """Put a stop in force; who decides on a contact or a debit after this sees it."""
    if command.reason not in [each.value for each in Stop]:
        known = ", ".join(each.value for each in Stop)
        raise InvalidField("is no reason", where="body.reason", fix=f"Give {known}")
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    number = user.next("records")
    changes = WriteSet(user_changes=[user.change()])
    row = {"stop_id": number, "user_id": user.user_id, "reason": command.reason,
           "begun_at": moment.at, "ended_at": None, "text": ""}  # fmt: skip
    changes.put("stops", **row)
    place = STOP, number
    await keep_words(transaction, moment.vault, user.user_id, place, command.text, changes)
    answer = {"stop": print_id("st", number), "user": command.user, "reason": command.reason,
              "stops_debits": Stop(command.reason).stops_debits}  # fmt: skip
    return Decided(answer, print_id("st", number), user.user_id, changes)


async def end_stop(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: EndStop
) -> Decided:
    """End a stop, once."""
    number = read_id(command.stop, "st", "stop")
    row = await transaction.fetchrow("select * from usance.stops where stop_id = $1", number)
    if row is None:
        raise not_found("st", number)
    if row["ended_at"] is not None:
        raise WrongState("the stop has ended", where=command.stop, fix="Set another")
    user = await load_user(transaction, owner_of(number))
    changes = WriteSet(user_changes=[user.change()])
    changes.put("stops", **{**dict(row), "ended_at": moment.at})
    answer = {"stop": command.stop, "user": print_id("us", user.user_id), "reason": row["reason"]}
    return Decided(answer, command.stop, user.user_id, changes, status=DONE)


async def stops_debits(transaction: asyncpg.Connection, user_id: int) -> bool:
    """True while a stop in force lets debits of a borrower rest."""
    rows = await transaction.fetch(
        "select reason from usance.stops where user_id = $1 and ended_at is null", user_id
    )
    return any(Stop(row["reason"]).stops_debits for row in rows)


async def complain(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: OpenComplaint
) -> Decided:
    """Take a complaint, with the day by which it is acknowledged."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    if not command.text.strip():
        raise InvalidField("is empty", where="body.text", fix="Say what went wrong")
    number = user.next("records")
    try:
        made = Complaint(number, command.subject, moment.business_date, command.against)
    except UsanceError as error:
        raise InvalidField(error.what, where="body.subject", fix=error.fix) from error
    changes = WriteSet(user_changes=[user.change()])
    row = {**asdict(made), "user_id": user.user_id, "text": ""}
    changes.put("complaints", **row)
    place = COMPLAINT, number
    await keep_words(transaction, moment.vault, user.user_id, place, command.text, changes)
    answer = complaint_answer(moment.lender, row)
    return Decided(answer, print_id("cp", number), user.user_id, changes)


async def answer_complaint(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: AnswerComplaint
) -> Decided:
    """Answer a complaint; not by the person it is about."""
    number = read_id(command.complaint, "cp", "complaint")
    found = await transaction.fetchrow(
        "select * from usance.complaints where complaint_id = $1", number
    )
    if found is None:
        raise not_found("cp", number)
    row = dict(found)
    names = ("complaint_id", "subject", "received_on", "against", "acknowledged_on",
             "answered_on", "answer")  # fmt: skip
    known = Complaint(**{name: row[name] for name in names})
    try:
        told = answered(known, moment.business_date, by=principal.name, answer=command.answer)
    except UsanceError as error:
        raise WrongState(error.what, where=command.complaint, fix=error.fix) from error
    user = await load_user(transaction, owner_of(number))
    changes = WriteSet(user_changes=[user.change()])
    changes.put("complaints", **{**row, **asdict(told), "answer": ""})
    place = COMPLAINT_ANSWER, number
    await keep_words(transaction, moment.vault, user.user_id, place, command.answer, changes)
    answer = complaint_answer(moment.lender, {**row, **asdict(told)})
    return Decided(answer, command.complaint, user.user_id, changes, status=DONE,
                   echoed=("answer",))  # fmt: skip
