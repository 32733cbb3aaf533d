"""Claims on third-party guarantors by command: answered, disputed, closed; recoveries passed on.

What a guarantor pays out of our deposit comes back to us as cash; what it bears itself is income,
and its part of every later receipt is owed to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.books.group.fact_kinds import GroupFactKind
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.loan_change import book_facts
from usance.platform.commands.loans.payments import reversal
from usance.platform.commands.settlement.deposits import move_deposit, state_fact
from usance.platform.errors import InvalidField, MissingField
from usance.platform.principals import Principal
from usance.platform.reads.settlement.settlements import claim_answers, recovered_of
from usance.platform.records.loan_record import load_loan, load_loans
from usance.platform.records.order_record import new_order
from usance.platform.records.user_record import load_user, not_found, owner_of, read_id
from usance.platform.refusals import AmountBeyond, WrongState
from usance.platform.settlement.guarantors import (
    claim_of,
    guarantor_name,
    guarantor_of,
    load_deposit,
    terms_of,
)
from usance.platform.settlement.owed_amounts import Compensation
from usance.platform.store.write_set import WriteSet
from usance.service.errors import ClaimRefused
from usance.service.guarantees.claim import Claim
from usance.service.orders.payment_order import Purpose

if TYPE_CHECKING:
    import asyncpg

_ONE = (
    "select c.*, (select count(*) from usance.claim_events e where e.claim_id = c.claim_id) as told"
    " from usance.claims c where c.claim_id = $1"
)
_PAID_ON = (
    "select c.*,"
    " (select count(*) from usance.claim_events e where e.claim_id = c.claim_id) as told,"
    " (select sum(amount_minor)::bigint from usance.claims o where o.loan_id = c.loan_id"
    " and o.fact_ref = c.fact_ref) as whole_minor"
    " from usance.claims c where c.guarantor = $1 and c.own_minor > 0 order by c.claim_id"
)


@dataclass(frozen=True)
class AnswerClaim:
    """The guarantor's answer to a claim: what it pays, and why not the rest."""

    claim: str
    amount_minor: int
    reason: str = ""
    effective_on: date | None = None


@dataclass(frozen=True)
class DisputeClaim:
    """Our contradiction to what a guarantor has declined."""

    claim: str
    reason: str


@dataclass(frozen=True)
class CloseClaim:
    """The platform bears the part that a guarantor has declined."""

    claim: str
    reason: str


@dataclass(frozen=True)
class WithdrawClaim:
    """A compensation that was not warranted is undone; what was paid on its claim goes back."""

    claim: str
    reason: str


@dataclass(frozen=True)
class PassOnRecoveries:
    """The guarantor's part of what was recovered on its claims goes to it."""

    guarantor: int
    day: date


async def load_claim(transaction: asyncpg.Connection, given: str) -> dict[str, Any]:
    """The row of a claim on a third party, with the number of its events."""
    number = read_id(given, "cl", "claim")
    row = await transaction.fetchrow(_ONE, number)
    if row is None:
        raise not_found("cl", number)
    if not row["guarantor"]:
        raise WrongState("the platform itself has guaranteed it", where=given,
                         fix="Give a claim on a third party")  # fmt: skip
    return dict(row)


async def answer(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: AnswerClaim
) -> Decided:
    """Book what a guarantor pays on a claim: out of our deposit, and what it bears itself."""
    await act_as_platform(transaction)
    row = await load_claim(transaction, command.claim)
    on = command.effective_on or moment.business_date
    if not row["made_on"] <= on <= moment.business_date:
        raise InvalidField("is no day between claim and today", where="body.effective_on",
                           fix=f"Give {row['made_on']} to {moment.business_date}")  # fmt: skip
    claim, amount = claim_of(row), command.amount_minor
    if not 0 <= amount <= claim.left_minor:
        raise AmountBeyond(f"{claim.left_minor} are left", where="body.amount_minor",
                           fix=f"Give 0 to {claim.left_minor}")  # fmt: skip
    from_deposit, own = terms_of(moment.lender, row["guarantor"]).parts(amount)
    deposit = await load_deposit(transaction, row["guarantor"])
    short = max(from_deposit - deposit.balance_minor, 0)
    from_deposit, own = from_deposit - short, own + short
    after = _decided(command.claim, lambda: claim.answered(
        deposit_minor=from_deposit, own_minor=own, reason=command.reason))  # fmt: skip
    changes = WriteSet()
    if from_deposit:
        await move_deposit(
            transaction, moment, principal, deposit, changes, kind="claim",
            amount_minor=-from_deposit, on=on, reference=f"{command.claim}/{row['told'] + 1}",
        )  # fmt: skip
    if own:
        await state_fact(transaction, moment, changes, on, own, GroupFactKind.SUNDRY, {})
    kind = "declined" if after.left_minor else "paid"
    _note(changes, moment, principal, row, after, kind, on, (from_deposit, own))
    return await _outcome(transaction, moment, row, after, changes, f"claim.{kind}")


async def dispute(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: DisputeClaim
) -> Decided:
    """Contradict a guarantor; it has its days to answer again."""
    await act_as_platform(transaction)
    row = await load_claim(transaction, command.claim)
    after = _decided(command.claim, lambda: claim_of(row).disputed(command.reason))
    changes, today = WriteSet(), moment.business_date
    row["answer_by"] = today + (row["answer_by"] - row["made_on"])
    _note(changes, moment, principal, row, after, "disputed", today)
    return await _outcome(transaction, moment, row, after, changes, "claim.disputed")


async def close(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: CloseClaim
) -> Decided:
    """Take upon ourselves what a guarantor has declined."""
    await act_as_platform(transaction)
    row = await load_claim(transaction, command.claim)
    after = _decided(command.claim, lambda: claim_of(row).closed(command.reason))
    changes = WriteSet()
    _note(changes, moment, principal, row, after, "closed", moment.business_date)
    return await _outcome(transaction, moment, row, after, changes, "claim.closed")


async def undo(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: WithdrawClaim
) -> Decided:
    """Undo a compensation: the loan goes on as before it, its institution gives it back."""
    await act_as_platform(transaction)
    number = read_id(command.claim, "cl", "claim")
    row = await transaction.fetchrow("select * from usance.claims where claim_id = $1", number)
    if row is None:
        raise not_found("cl", number)
    if row["state"] == "withdrawn":
        raise WrongState("it is withdrawn", where=command.claim, fix="A claim is withdrawn once")
    if not command.reason.strip():
        raise MissingField("reason is missing", where="body.reason", fix="Say why it was wrong")
    user = await load_user(transaction, owner_of(row["loan_id"]))
    loan, changes = await load_loan(transaction, row["loan_id"]), WriteSet()
    if not loan.is_gone(row["fact_ref"]):
        loan.added.append(reversal(moment, user, loan, row["fact_ref"], moment.business_date))
        book_facts(moment, user, loan, changes, "claim.withdraw")
    others = await transaction.fetch(
        "select * from usance.claims where loan_id = $1 and fact_ref = $2", row["loan_id"],
        row["fact_ref"],
    )  # fmt: skip
    for each in others:
        await withdraw(transaction, moment, principal, dict(each), changes)
    changes.user_changes.append(user.change())
    [told] = claim_answers(moment.lender, [{**row, "state": "withdrawn", "deposit_minor": 0,
                                            "own_minor": 0, "passed_minor": 0}], {})  # fmt: skip
    return Decided(told, command.claim, user.user_id, changes, status=DONE, as_platform=True)


async def pass_on(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment,
    command: PassOnRecoveries,
) -> Decided:  # fmt: skip
    """Order what is due to a guarantor of later receipts; what was passed on too much is kept."""
    await transaction.execute("select pg_advisory_xact_lock(hashtextextended('guarantor', $1))",
                              command.guarantor)  # fmt: skip
    rows = [dict(row) for row in await transaction.fetch(_PAID_ON, command.guarantor)]
    loans = await load_loans(transaction, {row["loan_id"] for row in rows})
    recovered = recovered_of(loans, command.day)
    changes, total = WriteSet(), 0
    for row in rows:
        whole = row.pop("whole_minor")
        mine = recovered.get(row["loan_id"], 0) * row["amount_minor"] // whole
        due = claim_of(row).due_to_guarantor(mine)
        if due:
            total += due
            row["passed_minor"] += due
            _note(changes, moment, principal, row, claim_of(row), "passed_on", command.day,
                  (0, due))  # fmt: skip
    order = await _pay(transaction, moment, changes, command, total) if total > 0 else None
    if total <= 0:  # nothing, or less than before: it is kept back of what comes next
        changes = WriteSet()
    answer = {
        "guarantor": guarantor_name(moment.lender, command.guarantor),
        "day": command.day.isoformat(),
        "passed_minor": max(total, 0),
        "order": order,
    }
    return Decided(answer, f"guarantor/{answer['guarantor']}/{command.day}", 0, changes,
                   total > 0, DONE, as_platform=True)  # fmt: skip


async def _pay(
    transaction: asyncpg.Connection, moment: Moment, changes: WriteSet, command: PassOnRecoveries,
    total: int,
) -> str:  # fmt: skip
    number = await transaction.fetchval("select usance.next_ids('order', 1)")
    record = new_order(
        moment.lender, number, kind=Purpose.PARTY_PAYOUT,
        reference=f"recoveries-{command.guarantor}-{number}",
        provider=moment.lender.payout.provider, amount_minor=total, at=moment.at,
        settles_on=moment.business_date, party=-command.guarantor,
    )  # fmt: skip
    record.save(changes, moment.lender, moment.at)
    await state_fact(transaction, moment, changes, moment.business_date, -total,
                     GroupFactKind.SUNDRY, {})  # fmt: skip
    return print_id("or", number)


def file_claim(
    moment: Moment, principal: Principal, paid: Compensation, changes: WriteSet, *, claim_id: int,
    institution: int, settlement_id: int,
) -> None:  # fmt: skip
    """File a claim of a compensation: ours is paid by ourselves, a third party has to answer."""
    who = guarantor_of(moment.lender, paid.loan.first["source"])
    row = {
        "claim_id": claim_id, "loan_id": paid.loan.loan_id, "institution": institution,
        "guarantor": who, "fact_ref": paid.ref, "amount_minor": paid.amount_minor,
        "made_on": paid.effective_on, "settlement_id": settlement_id, "answer_by": None,
    }  # fmt: skip
    if not who:
        changes.put("claims", **row, state="paid", deposit_minor=0, own_minor=0, passed_minor=0,
                    reason="")  # fmt: skip
        return
    days = terms_of(moment.lender, who).answer_days
    row["answer_by"] = moment.business_date + timedelta(days=days)
    _note(changes, moment, principal, {**row, "told": 0}, Claim(paid.amount_minor), "filed",
          moment.business_date)  # fmt: skip


async def withdraw(
    transaction: asyncpg.Connection, moment: Moment, principal: Principal, row: Mapping[str, Any],
    changes: WriteSet,
) -> None:  # fmt: skip
    """Withdraw a claim whose compensation was undone: what was paid on it goes back."""
    if not row["guarantor"]:
        changes.put("claims", **{**row, "state": "withdrawn"})
        return
    claim, today = claim_of(row), moment.business_date
    told = await transaction.fetchval(
        "select count(*) from usance.claim_events where claim_id = $1", row["claim_id"]
    )
    own = {**row, "told": told}
    if claim.deposit_minor:
        deposit = await load_deposit(transaction, row["guarantor"])
        await move_deposit(
            transaction, moment, principal, deposit, changes, kind="claim_undone",
            amount_minor=claim.deposit_minor, on=today,
            reference=f"{print_id('cl', row['claim_id'])}/{told + 1}",
        )  # fmt: skip
    if back := claim.own_minor - claim.passed_minor:
        await state_fact(transaction, moment, changes, today, -back, GroupFactKind.SUNDRY, {})
    _note(changes, moment, principal, own, claim.withdrawn(), "withdrawn", today,
          (-claim.deposit_minor, -claim.own_minor))  # fmt: skip


def _note(
    changes: WriteSet, moment: Moment, principal: Principal, row: Mapping[str, Any], after: Claim,
    kind: str, on: date, moved: tuple[int, int] = (0, 0),
) -> None:  # fmt: skip
    kept = {name: value for name, value in row.items() if name != "told"}
    changes.put("claims", **{
        **kept, "state": after.state.value, "deposit_minor": after.deposit_minor,
        "own_minor": after.own_minor, "passed_minor": after.passed_minor, "reason": after.reason,
    })  # fmt: skip
    changes.put(
        "claim_events", claim_id=row["claim_id"], no=row["told"] + 1, kind=kind, effective_on=on,
        deposit_minor=moved[0], own_minor=moved[1], reason=after.reason,
        principal_id=principal.principal_id, at=moment.at,
    )  # fmt: skip


def _decided(claim: str, change: Any) -> Claim:
    try:
        found: Claim = change()
    except ClaimRefused as error:
        raise WrongState(error.what, where=claim, fix=error.fix) from error
    return found


async def _outcome(
    transaction: asyncpg.Connection, moment: Moment, row: Mapping[str, Any], after: Claim,
    changes: WriteSet, event: str,
) -> Decided:  # fmt: skip
    loans = await load_loans(transaction, [row["loan_id"]])
    shown = {**row, "state": after.state.value, "deposit_minor": after.deposit_minor,
             "own_minor": after.own_minor, "reason": after.reason}  # fmt: skip
    [told] = claim_answers(moment.lender, [shown], recovered_of(loans, moment.business_date))
    return Decided(told, told["claim"], 0, changes, status=DONE, event=event, as_platform=True)
