"""Plans for borrowers in trouble: asked for, offered with their effect, and answered.

What an accepted plan books is decided again on the day it is accepted, by the same function that
made the offer, so that what was paid in between counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.loan.facts import Fact
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.loan_change import book_facts, own_ref
from usance.platform.commands.loans.loan_events import terms_row
from usance.platform.commands.loans.payment_booking import allocated
from usance.platform.commands.loans.payments import check_reference, provider_of, reference_of
from usance.platform.errors import Forbidden, InvalidField, MissingField
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.loans.plans import hardship_answer, plan_answer
from usance.platform.records.loan_record import LoanRecord, load_loan, open_loans
from usance.platform.records.user_record import UserRecord, load_user, not_found, owner_of, read_id
from usance.platform.refusals import PlanNotOffered, WrongState
from usance.platform.security.sealed_values import HARDSHIP, HARDSHIP_ANSWER, keep_words
from usance.platform.store.write_set import WriteSet
from usance.service.help.plan_offers import HelpedLoan, PlanOffer, PlanRequest, offer_plan, refusals
from usance.service.help.plan_rules import PlanKind, PlanRules

if TYPE_CHECKING:
    import asyncpg

ANSWER_DAYS = 14
REASONS = ("income", "illness", "family", "disaster", "other")
"""Reasons that borrowers give for not paying as agreed."""
TRUSTED, COLLECTOR = "operations", "collector"
_OPEN_REQUEST = (
    "select * from usance.hardship_requests where user_id = $1 and loan_id in (0, $2) "
    "and state = 'open' order by request_id limit 1"
)


@dataclass(frozen=True)
class AskForHelp:
    """A borrower says that paying as agreed is not possible."""

    user: str
    loan: str | None = None
    reason: str = "other"
    text: str = ""


@dataclass(frozen=True)
class DeclineHelp:
    """A request for help that no plan answers, with the reason."""

    request: str
    answer: str


@dataclass(frozen=True)
class OfferPlan:
    """A plan that is offered to a borrower in trouble, with its effect before and after."""

    user: str
    loan: str
    kind: str
    months: int = 0
    rate_ppm: int = 0
    pause_days: int = 0
    discount_ppm: int = 0


@dataclass(frozen=True)
class AnswerPlan:
    """The borrower's answer to a plan; a settlement is accepted by its payment."""

    plan: str
    accepted: bool
    provider: str | None = None
    ref: str | None = None


async def ask(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: AskForHelp
) -> Decided:
    """Take a request for help, with the day of its answer and the plans there may be."""
    if command.reason not in REASONS:
        fix = f"Give {', '.join(REASONS)}"
        raise InvalidField("is no reason", where="body.reason", fix=fix)
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    if command.loan is None:
        loans = await open_loans(transaction, [user.user_id])
    else:
        loans = [await _loan_of(transaction, user, command.loan)]
    number, today = user.next("records"), moment.business_date
    days = moment.lender.parameters.at("servicing.hardship_answered", today).integer
    row = {
        "request_id": number, "user_id": user.user_id,
        "loan_id": loans[0].loan_id if command.loan else 0, "reason": command.reason,
        "text": "", "received_on": today, "answer_by": today + timedelta(days=days),
        "plan_id": 0, "state": "open", "answer": "", "answered_on": None,
    }  # fmt: skip
    changes = WriteSet(user_changes=[user.change()])
    changes.put("hardship_requests", **row)
    place = HARDSHIP, number
    await keep_words(transaction, moment.vault, user.user_id, place, command.text, changes)
    rules = moment.lender.plan_rules
    possible = [each for loan in loans
                for each in await _possible(transaction, loan, today, rules)]  # fmt: skip
    answer = {**hardship_answer(row), "plans": possible}
    return Decided(answer, answer["case"], user.user_id, changes)


async def _possible(
    transaction: asyncpg.Connection, loan: LoanRecord, day: date, rules: PlanRules
) -> list[dict[str, Any]]:
    """Plans that the least of each kind would be offered for."""
    helped, view = await _helped(transaction, loan), loan.at(day).view()
    return [
        {"loan": print_id("ln", loan.loan_id), "kind": each.kind.value,
         "most": rules.of(each.kind).most}
        for each in _least(loan)
        if not refusals(helped, view, each, COLLECTOR, rules)
    ]  # fmt: skip


def _least(loan: LoanRecord) -> Iterator[PlanRequest]:
    """The least that can be asked for of each kind."""
    rate = loan.terms[-1].rate_ppm
    for kind in PlanKind:
        yield PlanRequest(kind, months=1, rate_ppm=rate - rate // 100, pause_days=1,
                          discount_ppm=1)  # fmt: skip


async def decline_help(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: DeclineHelp
) -> Decided:
    """Tell a borrower that there is no plan, and why."""
    number = read_id(command.request, "ha", "request")
    row = await transaction.fetchrow(
        "select * from usance.hardship_requests where request_id = $1", number
    )
    if row is None:
        raise not_found("ha", number)
    if row["state"] != "open":
        raise WrongState(f"it is {row['state']}", where=command.request, fix="Answer open requests")
    if not command.answer.strip():
        raise InvalidField("is empty", where="body.answer", fix="Say why there is no plan")
    user = await load_user(transaction, owner_of(number))
    after = {**dict(row), "state": "declined", "answer": command.answer,
             "answered_on": moment.business_date}  # fmt: skip
    changes = WriteSet(user_changes=[user.change()])
    changes.put("hardship_requests", **{**after, "answer": ""})
    place = HARDSHIP_ANSWER, number
    await keep_words(transaction, moment.vault, user.user_id, place, command.answer, changes)
    return Decided(hardship_answer(after), command.request, user.user_id, changes, status=DONE,
                   echoed=("answer",))  # fmt: skip


async def offer(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: OfferPlan
) -> Decided:
    """Offer a plan within the caller's authority; the borrower answers by a day."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    loan = await _loan_of(transaction, user, command.loan)
    try:
        kind = PlanKind(command.kind)
    except ValueError:
        known = ", ".join(each.value for each in PlanKind)
        raise InvalidField("is no plan", where="body.kind", fix=f"Give {known}") from None
    request = PlanRequest(kind, command.months, command.rate_ppm, command.pause_days,
                          command.discount_ppm)  # fmt: skip
    role = TRUSTED if _is_trusted(principal) else COLLECTOR
    made = _plan(await _helped(transaction, loan), moment, request, role)
    number, last = user.next("records"), moment.business_date + timedelta(days=ANSWER_DAYS)
    row: dict[str, Any] = {
        "plan_id": number, "user_id": user.user_id, "loan_id": loan.loan_id, "kind": kind.value,
        "request": {**request._asdict(), "kind": kind.value}, "before": _answer_of(made.before),
        "after": _answer_of(made.after), "offered_on": moment.business_date, "answer_by": last,
        "state": "offered", "granted_as": role, "pay_minor": made.pay_minor, "answered_on": None,
        "facts": [],
    }  # fmt: skip
    changes = WriteSet(user_changes=[user.change()])
    changes.put("plan_offers", **row)
    asked = await transaction.fetchrow(_OPEN_REQUEST, user.user_id, loan.loan_id)
    if asked is not None:
        changes.put("hardship_requests", **{**dict(asked), "plan_id": number, "state": "offered",
                                            "answered_on": moment.business_date})  # fmt: skip
    return Decided(plan_answer(row), print_id("pl", number), user.user_id, changes)


async def answer(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: AnswerPlan
) -> Decided:
    """Book a plan that the borrower accepts, or note that it was declined."""
    number = read_id(command.plan, "pl", "plan")
    found = await transaction.fetchrow(
        "select * from usance.plan_offers where plan_id = $1", number
    )
    if found is None:
        raise not_found("pl", number)
    row = {**dict(found), **{name: json.loads(found[name])
                             for name in ("request", "before", "after", "facts")}}  # fmt: skip
    wanted = "accepted" if command.accepted else "declined"
    if row["state"] == wanted:
        return Decided(plan_answer(row), command.plan, row["user_id"], is_new=False, status=DONE)
    if row["state"] != "offered" or moment.business_date > row["answer_by"]:
        state = "over" if row["state"] == "offered" else row["state"]
        raise WrongState(f"the offer is {state}", where=command.plan, fix="Offer another plan")
    await act_as_platform(transaction)
    user, changes = await load_user(transaction, row["user_id"]), WriteSet()
    row |= {"state": wanted, "answered_on": moment.business_date}
    if command.accepted:
        if row["pay_minor"] and principal.kind in (PrincipalKind.CHANNEL, PrincipalKind.BORROWER):
            raise Forbidden("a settlement is accepted with its payment", where=command.plan,
                            fix="Let operations book it")  # fmt: skip
        await _book(transaction, principal, moment, command, user, row, changes)
    changes.put("plan_offers", **row)
    changes.user_changes.append(user.change())
    return Decided(plan_answer(row), command.plan, row["user_id"], changes, status=DONE,
                   event=f"plan.{wanted}", as_platform=True)  # fmt: skip


async def _book(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: AnswerPlan,
    user: UserRecord, row: dict[str, Any], changes: WriteSet,
) -> None:  # fmt: skip
    """Book what the plan comes to today."""
    loan = await load_loan(transaction, row["loan_id"])
    given = row["request"]
    request = PlanRequest(**{**given, "kind": PlanKind(given["kind"])})
    made = _plan(await _helped(transaction, loan), moment, request, row["granted_as"])
    for terms in made.terms:
        new = terms_row(loan, terms, moment.business_date)
        changes.add("loans", **new)
        loan.rows.append(new)
    for each in made.facts:
        if each.kind is FactKind.PAID:
            added = _payment(principal, moment, command, each)
        else:
            added = each._replace(ref=own_ref(user, loan), booked_at=moment.at)
        loan.added.append(added)
    book_facts(moment, user, loan, changes, "plan.answer")
    if made.pay_minor:
        _keep_payment(moment, loan, user, command, changes)
    row |= {"after": _answer_of(made.after), "pay_minor": made.pay_minor,
            "facts": [str(each.ref) for each in loan.added]}  # fmt: skip


def _payment(principal: Principal, moment: Moment, command: AnswerPlan, paid: Fact) -> Fact:
    """The payment that a settlement is accepted by."""
    if not command.ref:
        raise MissingField("ref is missing", where="body.ref", fix="Give the payment's reference")
    provider = provider_of(moment, principal, command.provider)
    check_reference(command.ref)
    ref = reference_of(moment, provider, command.ref)
    return paid._replace(ref=ref, arg=provider, booked_at=moment.at)


def _keep_payment(
    moment: Moment, loan: LoanRecord, user: UserRecord, command: AnswerPlan, changes: WriteSet
) -> None:
    """Keep the payment once for ever, as any other."""
    paid = next(each for each in loan.added if each.kind is FactKind.PAID)
    assert command.ref is not None, "it has made the fact"
    changes.payments.append((
        user.next("records"), paid.arg, command.ref, loan.loan_id, paid.amount_minor,
        int(moment.lender.currency), paid.effective_on, moment.at, paid.ref, 0,
        sha256(command.ref.encode()).digest(), user.user_id,
        json.dumps(allocated(loan, moment.business_date)),
        json.dumps([{"loan": loan.loan_id, "ref": str(paid.ref)}]),
    ))  # fmt: skip


def _plan(loan: HelpedLoan, moment: Moment, request: PlanRequest, role: str) -> PlanOffer:
    rules = moment.lender.plan_rules
    try:
        return offer_plan(loan, moment.business_date, request, role=role, rules=rules)
    except UsanceError as error:
        raise PlanNotOffered(error.what, where=request.kind.value, fix=error.fix) from error


def _is_trusted(principal: Principal) -> bool:
    return bool(principal.scopes.intersection({"operations", "loan.reschedule"}))


async def _loan_of(transaction: asyncpg.Connection, user: UserRecord, given: str) -> LoanRecord:
    loan = await load_loan(transaction, read_id(given, "ln", "loan"))
    if loan.user_id != user.user_id:
        raise not_found("ln", loan.loan_id)
    return loan


async def _helped(transaction: asyncpg.Connection, loan: LoanRecord) -> HelpedLoan:
    """A loan with the number of plans it was given before."""
    before = await transaction.fetchval(
        "select count(*) from usance.plan_offers where loan_id = $1 and state = 'accepted'",
        loan.loan_id,
    )  # fmt: skip
    return HelpedLoan(tuple(loan.terms), tuple(loan.facts), before)


def _answer_of(position: Any) -> Mapping[str, Any]:
    return {name: str(value) if isinstance(value, date) else value
            for name, value in position._asdict().items()}  # fmt: skip
