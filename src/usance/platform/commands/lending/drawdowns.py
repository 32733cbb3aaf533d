"""Drawdowns: decided, ranked, reserved, offered and paid out; and withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from usance.base.codes import DecisionKind, RoutingOutcome
from usance.base.documents import parse_json
from usance.base.errors import UsanceError
from usance.loan.convention import CONVENTION_CODES
from usance.platform.commands.command import (
    CREATED,
    DONE,
    WAITING,
    CommandCall,
    Decided,
    Ended,
    Moment,
    act_as_platform,
    only,
)
from usance.platform.commands.lending.applications import (
    answer_reasons,
    check_inputs,
    decide,
    known_inputs,
    product_of,
    record,
)
from usance.platform.commands.lending.drawdown_reads import DrawdownReads, read_drawdowns
from usance.platform.commands.lending.drawdown_terms import (
    check_asked,
    named_account,
    named_quote,
    payout_account,
    quote_in_force,
)
from usance.platform.commands.lending.placement import (
    Placement,
    ask_candidates,
    candidates,
    disburse,
    drawdown_answer,
    note,
    release,
    subject,
)
from usance.platform.commands.lending.quotes import MAX_GRADE, check_amount, line_among
from usance.platform.commands.people.screening import BLOCKED, is_stopped, is_user_stopped
from usance.platform.errors import NotFound
from usance.platform.lender import ProductTerms
from usance.platform.pricing import Request
from usance.platform.principals import Principal
from usance.platform.reads.lending.decisions import Line
from usance.platform.reads.people.users import is_verified
from usance.platform.records.user_record import UserRecord, load_user, not_found, owner_of, read_id
from usance.platform.refusals import (
    PersonNeeded,
    WrongState,
)
from usance.platform.security.sealed_values import inputs_of, new_key
from usance.platform.security.subject_keys import SubjectKey, key_of
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

MAX_JUDGED_MINOR = 10**10
"""The largest amount that flows look at; no line is as large, so more is judged like it."""
EVENTS = {"active": "loan.disbursed", "declined": "drawdown.declined",
          "no_source": "drawdown.unfunded", "payout_failed": "drawdown.payout_failed"}  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """A user draws on their line."""

    user: str
    product: str
    amount_minor: int
    months: int
    quote: str | None = None
    agreement: str | None = None
    account: str | None = None
    purpose: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    convention: str | None = None
    """One of the platform's own; the product's if left out."""


@dataclass(frozen=True)
class Withdraw:
    """A borrower gives up a drawdown before its payout is sent."""

    loan: str


def user_of(command: Draw) -> int:
    """The user who draws."""
    return read_id(command.user, "us", "user")


async def draw(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: Draw
) -> Decided:
    """Decide a drawdown and place it as far as answers and payout come at once."""
    return only(await draw_many(transaction, [CommandCall(principal, moment, command)]))


async def draw_many(transaction: asyncpg.Connection, calls: Sequence[CommandCall]) -> list[Ended]:
    """Decide drawdowns of different users; each is refused by itself.

    All are decided, then placed one after the other, then those that were paid out become loans.
    What fails after the router has taken a request fails the whole batch, which is rolled back.
    """
    moment = calls[0].moment
    reads = await read_drawdowns(transaction, moment, [each.command for each in calls])
    await moment.services.router.open(transaction, moment.lender)
    begun: list[_StartedDrawdown | UsanceError] = []
    for call in calls:
        try:
            begun.append(_begin(call.moment, reads, call.command))
        except UsanceError as error:
            begun.append(error)
    approved = [each for each in begun if isinstance(each, _StartedDrawdown) and each.is_approved]
    moment.services.router.feed([each.placement.request for each in approved])
    for each in approved:
        _place(each)
    disburse([(each.moment, each.placement) for each in approved])
    return [_ended(each) if isinstance(each, _StartedDrawdown) else each for each in begun]


@dataclass(frozen=True)
class _StartedDrawdown:
    """A drawdown that was decided."""

    moment: Moment
    placement: Placement
    is_approved: bool
    quoted: Mapping[str, Any] | None


def _begin(moment: Moment, reads: DrawdownReads, command: Draw) -> _StartedDrawdown:
    """Decide one drawdown on what was read."""
    read_id(command.user, "us", "user")
    product = product_of(moment, command.product)
    check_asked(command.amount_minor)
    check_inputs(moment, command.inputs)
    user = reads.user(command.user)
    found = named_quote(reads, command)
    named = named_account(reads, command, user)
    if user.row["is_erased"]:
        raise WrongState("the user was erased", where=command.user, fix="Register them again")
    product.check_months(command.months)
    quoted = quote_in_force(moment, reads, command, found)
    account = payout_account(moment, user, named)
    _check_person(moment, user)
    line = line_among(moment, user, reads.lines[user.user_id], int(product.product))
    inputs = drawdown_inputs(moment, reads, user, line, command)
    decision = decide(moment, user, DecisionKind.DRAWDOWN, inputs, {})
    placement = _placement(moment, command, user, product, line)
    row, has_person = placement.row, user.row["person_id"] is not None
    placement.is_stopped = is_stopped(moment, user.row["screening"], has_person=has_person)
    row |= {"decision_id": decision.decision_id, "account_id": account,
            "quote_id": quoted["quote_id"] if quoted else 0,
            "agreement_id": read_id(command.agreement, "ag", "agreement")
            if command.agreement else 0, "person_id": user.row["person_id"]}  # fmt: skip
    key = _key(moment, user, placement.changes)
    record(placement.changes, decision, decision.answer.outcome, key)
    if decision.answer.approved:
        check_amount(command.amount_minor)
        grade = reads.grades.get((user.user_id, line.line_id), decision.row()["grade"])
        _ask(moment, placement, grade)
    else:
        row["state"], row["reasons"] = "declined", list(answer_reasons(decision.answer))
    return _StartedDrawdown(moment, placement, decision.answer.approved, quoted)


def _key(moment: Moment, user: UserRecord, changes: WriteSet) -> SubjectKey:
    """The key of a user; one who came without a key gets one."""
    if user.row["wrapped"] is not None:
        return key_of(moment.vault, user.user_id, user.row["wrapped"])
    return new_key(moment.vault, user.user_id, changes)


def _placement(
    moment: Moment, command: Draw, user: UserRecord, product: ProductTerms, line: Line
) -> Placement:
    row: dict[str, Any] = {
        "loan_id": user.next("requests"), "user_id": user.user_id, "state": "pending",
        "product": int(product.product), "amount_minor": command.amount_minor,
        "currency": int(moment.lender.currency), "months": command.months,
        "line_id": line.line_id, "source": 0, "attempt": 0, "candidates": [], "terms": {},
        "reasons": [], "requested_at": moment.at, "disbursed_on": None,
    }  # fmt: skip
    convention = CONVENTION_CODES.get(command.convention or "", product.convention)
    request = {"rate_ppm": line.rate_ppm, "convention": convention}
    row["terms"] = {"convention": convention}
    return Placement(user, row, request)


def _ask(moment: Moment, placement: Placement, grade: int) -> None:
    """Make the request that the router ranks."""
    row, user = placement.row, placement.user
    request = {
        "requested_at": moment.at, "loan_id": placement.loan_id,
        "decision_id": row["decision_id"], "product": row["product"],
        "amount_minor": row["amount_minor"], "months": row["months"],
        "rate_ppm": placement.request["rate_ppm"], "grade": min(max(grade, 1), MAX_GRADE),
        "region": user.region, "channel": user.channel,
    }  # fmt: skip
    placement.changes.add("requests", **request)
    placement.request |= request


def _place(begun: _StartedDrawdown) -> None:
    """Rank the request and go through its candidates."""
    moment, placement, quoted = begun.moment, begun.placement, begun.quoted
    row, request = placement.row, placement.request
    asked = Request(row["amount_minor"], row["months"], request["rate_ppm"], request["convention"],
                    moment.lender.currency)  # fmt: skip
    candidates(moment, placement, asked, parse_json(quoted["terms"]) if quoted else None)
    ask_candidates(moment, placement, 0)


def _ended(begun: _StartedDrawdown) -> Decided:
    """The answer to a drawdown, after its row is saved."""
    moment, placement = begun.moment, begun.placement
    placement.save()
    state = placement.row["state"]
    status = {"active": CREATED, "pending": WAITING, "approved": WAITING}.get(state, DONE)
    return Decided(
        drawdown_answer(moment, placement.row), subject(placement), placement.user.user_id,
        placement.changes, status=status, event=EVENTS.get(state, ""),
    )  # fmt: skip


def _check_person(moment: Moment, user: UserRecord) -> None:
    """Refuse, in live, a user whose person is not known, or who has not consented."""
    if moment.lender.is_sandbox:
        return
    if user.row["person_id"] is None or not user.row["consent"]:
        what = "person is not known" if user.row["person_id"] is None else "consent is missing"
        raise PersonNeeded(f"the {what}", where="body.user",
                           fix="Give person and consent first")  # fmt: skip
    if moment.services.identity is not None and not is_verified(user.row["level"]):
        raise PersonNeeded("the identity is not verified", where="body.user",
                           fix="Give the person again, with a document that is valid")  # fmt: skip


def drawdown_inputs(
    moment: Moment, reads: DrawdownReads, user: UserRecord, line: Line, command: Draw
) -> dict[str, Any]:
    """Inputs that the last application told, the platform knows now, or the caller gives."""
    flow = moment.lender.decider.flow
    needed = flow.needed(DecisionKind.DRAWDOWN)
    stored = {
        name: declared.plain(code)
        for (name, declared), code in zip(
            flow.inputs.items(), inputs_of(moment.vault, user.user_id, user.row) or (),
            strict=False)
        if name in needed and code == code and not declared.parameter  # a NaN was not given
    }  # fmt: skip
    own = known_inputs(moment, user, reads.loans[user.user_id], user.row["consent"],
                       parse_json(user.row["elsewhere"] or "{}"))  # fmt: skip
    own |= {
        "drawdown_minor": min(command.amount_minor, MAX_JUDGED_MINOR),
        "line_available_minor": line.available_minor,
        "line_age_days": (moment.business_date - line.effective_on).days,
    }  # fmt: skip
    for name in ("list_hit", "device_users_30d"):
        own.pop(name, None) if name in stored else None
    given = check_inputs(moment, command.inputs)
    if user.row["screening"] == BLOCKED:
        given["list_hit"] = "block"
    return {name: value for name, value in {**stored, **own, **given}.items() if name in needed}


async def withdraw(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: Withdraw
) -> Decided:
    """Give up a drawdown; what it holds is free again."""
    placement = await load_placement(transaction, moment, read_id(command.loan, "ln", "loan"))
    row = placement.row
    if row["state"] == "withdrawn":
        return Decided(drawdown_answer(moment, row), command.loan, row["user_id"], is_new=False,
                       status=DONE)  # fmt: skip
    if row["state"] != "pending":
        raise WrongState(f"it is {row['state']}", where=command.loan,
                         fix="Only a drawdown that waits for an answer is withdrawn")  # fmt: skip
    await act_as_platform(transaction)
    await moment.services.router.open(transaction, moment.lender)
    release(placement, was="pending")
    await close_offer(transaction, moment, placement, "released")
    placement.attempts = await attempts(transaction, placement.loan_id)
    note(moment, placement, row["candidates"][row["attempt"]], int(RoutingOutcome.RELEASED))
    row["state"] = "withdrawn"
    placement.save()
    return Decided(drawdown_answer(moment, row), command.loan, row["user_id"], placement.changes,
                   status=DONE, as_platform=True)  # fmt: skip


async def load_placement(
    transaction: asyncpg.Connection, moment: Moment, loan_id: int
) -> Placement:
    """A drawdown as it was left, with its user and its request."""
    user = await _owner(transaction, loan_id)
    row = await transaction.fetchrow("select * from usance.placements where loan_id = $1", loan_id)
    if row is None:
        raise not_found("ln", loan_id)
    request = await transaction.fetchrow(
        "select * from usance.requests where loan_id = $1", loan_id
    )
    found = dict(row)
    found["candidates"], found["terms"] = parse_json(row["candidates"]), parse_json(row["terms"])
    placement = Placement(user, found, dict(request) if request else {})
    placement.is_stopped = await is_user_stopped(transaction, moment, user.user_id)
    return placement


async def _owner(transaction: asyncpg.Connection, loan_id: int) -> UserRecord:
    try:
        return await load_user(transaction, owner_of(loan_id))
    except NotFound:
        raise not_found("ln", loan_id) from None


async def attempts(transaction: asyncpg.Connection, loan_id: int) -> int:
    """Rows of `routing` that a drawdown has."""
    return int(await transaction.fetchval(
        "select count(*) from usance.routing where loan_id = $1", loan_id
    ))  # fmt: skip


async def close_offer(
    transaction: asyncpg.Connection, moment: Moment, placement: Placement, state: str,
    approved: bool | None = None, reason: str = "",
) -> dict[str, Any]:  # fmt: skip
    """End the open offer of a drawdown."""
    row = await transaction.fetchrow(
        "select * from usance.offers where loan_id = $1 and state = 'open'", placement.loan_id
    )
    assert row is not None, "a pending drawdown has an open offer"
    ended = {**dict(row), "state": state, "answered_at": moment.at, "approved": approved,
             "reason": reason, "report": parse_json(row["report"])}  # fmt: skip
    placement.changes.put("offers", **ended)
    return ended
