"""Unallocated cash by command: received for nobody, assigned to a loan, or sent back."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.loan_change import book_facts, check_day
from usance.platform.commands.loans.payment_booking import allocated, book, pay
from usance.platform.commands.loans.payments import (
    BookPayment,
    check_currency,
    check_form,
    provider_of,
    reference_of,
)
from usance.platform.commands.money.virtual_accounts import find_account
from usance.platform.principals import Principal
from usance.platform.reads.loans.payments import payment_answer
from usance.platform.reads.money.orders import unallocated_answer
from usance.platform.records.loan_record import load_loan
from usance.platform.records.order_record import new_order
from usance.platform.records.user_record import load_user, not_found, owner_of, read_id
from usance.platform.refusals import AmountBeyond, DateInFuture, ReferenceUsed, WrongState
from usance.platform.store.write_set import WriteSet
from usance.service.orders.payment_order import Purpose

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class ReceiveCash:
    """Money that a provider has received for nobody we know."""

    amount_minor: int
    currency: str
    effective_on: date
    ref: str
    provider: str | None = None
    payer: str = ""
    account: str = ""
    """The virtual account it was sent to."""


@dataclass(frozen=True)
class AssignCash:
    """Unallocated cash pays a loan, whole or in part."""

    unallocated: str
    loan: str
    amount_minor: int | None = None


@dataclass(frozen=True)
class ReturnCash:
    """Unallocated cash goes back to whoever sent it, whole or in part."""

    unallocated: str
    amount_minor: int | None = None


async def receive(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ReceiveCash
) -> Decided:
    """Keep money that cannot be attributed; told again, it is the same money.

    Sent to a virtual account, it is a payment of whoever the account is for.
    """
    provider = provider_of(moment, principal, command.provider)
    check_form(command.ref, command.amount_minor)
    check_currency(moment, command.currency)
    if command.effective_on > moment.business_date:
        raise DateInFuture("is in the future", where="body.effective_on", fix="Give what has been")
    await act_as_platform(transaction)
    known = await transaction.fetchrow(
        "select * from usance.unallocated where provider = $1 and reference = $2",
        provider, command.ref,
    )  # fmt: skip
    if known is not None:
        told = command.amount_minor, command.effective_on
        if (known["amount_minor"], known["received_on"]) != told:
            raise ReferenceUsed("this reference was told with other content", where="body.ref",
                                fix="Tell what was told, or give another reference")  # fmt: skip
        return _outcome(moment, dict(known), WriteSet(), is_new=False)
    owner = await find_account(transaction, provider, command.account)
    if owner is not None and owner.closed_at is None:
        paid = BookPayment(
            command.amount_minor, command.currency, command.effective_on, command.ref,
            loan=owner.loan, user=owner.user, provider=command.provider,
        )  # fmt: skip
        done = await book(transaction, principal, moment, paid)
        return replace(done, event="payment.booked" if done.is_new else "")
    row = {
        "unallocated_id": await transaction.fetchval("select usance.next_ids('unallocated', 1)"),
        "user_id": owner.user_id if owner else 0, "provider": provider, "reference": command.ref,
        "received_on": command.effective_on, "amount_minor": command.amount_minor,
        "used_minor": 0, "currency": int(moment.lender.currency),
        "party": moment.vault.index(command.payer) if command.payer.strip() else b"",
        "owner": "operations", "booked_at": moment.at,
    }  # fmt: skip
    changes = WriteSet()
    changes.put("unallocated", **row)
    return _outcome(moment, row, changes)


async def load_cash(
    transaction: asyncpg.Connection, given: str, amount: int | None
) -> dict[str, Any]:
    """The cash with its next number and the amount that is used now."""
    number = read_id(given, "un", "unallocated")
    row = await transaction.fetchrow(
        "select u.*, (select count(*) from usance.unallocated_uses o"
        " where o.unallocated_id = u.unallocated_id) as uses from usance.unallocated u"
        " where u.unallocated_id = $1", number,
    )  # fmt: skip
    if row is None:
        raise not_found("un", number)
    left = row["amount_minor"] - row["used_minor"]
    if left == 0:
        raise WrongState("nothing of it is left", where=given, fix="Look at what is open")
    wanted = left if amount is None else amount
    if not 0 < wanted <= left:
        raise AmountBeyond(f"there are {left} left", where="body.amount_minor",
                           fix=f"Give 1 to {left}")  # fmt: skip
    return {**dict(row), "wanted": wanted}


def use_cash(
    changes: WriteSet, moment: Moment, principal: Principal, row: dict[str, Any], kind: str,
    target: int, amount_minor: int, user_id: int,
) -> dict[str, Any]:  # fmt: skip
    """Note a use of cash; the cash with it."""
    changes.put(
        "unallocated_uses", unallocated_id=row["unallocated_id"], no=row["uses"] + 1,
        user_id=user_id, kind=kind, amount_minor=amount_minor,
        principal_id=principal.principal_id, target_id=target, at=moment.at,
    )  # fmt: skip
    return {**row, "used_minor": row["used_minor"] + amount_minor}


async def assign(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: AssignCash
) -> Decided:
    """Pay a loan with money that waited, on the day it was received."""
    await act_as_platform(transaction)
    row = await load_cash(transaction, command.unallocated, command.amount_minor)
    loan_id = read_id(command.loan, "ln", "loan")
    user = await load_user(transaction, owner_of(loan_id))
    loan = await load_loan(transaction, loan_id)
    day = max(row["received_on"], loan.first["disbursed_on"])
    check_day(moment, loan, day)
    reference = f"{command.unallocated}/{row['uses'] + 1}"
    ref = reference_of(moment, row["provider"], reference)
    taken = pay(moment, loan, day, row["wanted"], ref, row["provider"])
    if taken < row["wanted"]:
        raise AmountBeyond(f"the loan takes {taken}", where="body.amount_minor",
                           fix=f"Give at most {taken}, and return the rest")  # fmt: skip
    changes = WriteSet()
    allocation = allocated(loan, moment.business_date)
    book_facts(moment, user, loan, changes, "unallocated.assign")
    payment = {
        "payment_id": user.next("records"), "provider": row["provider"], "reference": reference,
        "loan_id": loan_id, "amount_minor": taken, "currency": row["currency"],
        "effective_on": day, "booked_at": moment.at, "ref": ref, "unallocated_minor": 0,
        "content": sha256(reference.encode()).digest(), "user_id": user.user_id,
        "allocation": json.dumps(allocation),
        "facts": json.dumps([{"loan": loan_id, "ref": str(ref)}]),
    }  # fmt: skip
    changes.payments.append(tuple(payment.values()))
    after = use_cash(changes, moment, principal, row, "allocated", payment["payment_id"], taken,
                 user.user_id)  # fmt: skip
    changes.user_changes.append(user.change())
    answer = {"unallocated": unallocated_answer(moment.lender, after, moment.business_date),
              "payment": payment_answer(moment.lender, payment, is_reversed=False)}  # fmt: skip
    return Decided(answer, command.unallocated, user.user_id, changes, status=DONE,
                   as_platform=True)  # fmt: skip


async def give_back(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ReturnCash
) -> Decided:
    """Make the order that sends money back through the provider it came from."""
    await act_as_platform(transaction)
    row = await load_cash(transaction, command.unallocated, command.amount_minor)
    number = await transaction.fetchval("select usance.next_ids('order', 1)")
    changes = WriteSet()
    record = new_order(
        moment.lender, number, kind=Purpose.REFUND,
        reference=f"{command.unallocated}-{row['uses'] + 1}", provider=row["provider"],
        amount_minor=row["wanted"], at=moment.at, settles_on=moment.business_date,
    )  # fmt: skip
    record.save(changes, moment.lender, moment.at)
    after = use_cash(changes, moment, principal, row, "returned", number, row["wanted"], 0)
    answer = {"unallocated": unallocated_answer(moment.lender, after, moment.business_date),
              "order": print_id("or", number)}  # fmt: skip
    return Decided(answer, command.unallocated, 0, changes, status=DONE, as_platform=True)


def _outcome(
    moment: Moment, row: dict[str, Any], changes: WriteSet, *, is_new: bool = True
) -> Decided:
    answer = unallocated_answer(moment.lender, row, moment.business_date)
    return Decided(answer, answer["unallocated"], row["user_id"], changes, is_new,
                   as_platform=True)  # fmt: skip
