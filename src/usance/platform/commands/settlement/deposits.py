"""Deposits with third-party guarantors by command: placed, returned, and called each evening."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.books.group.fact_kinds import GroupFactKind
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.commands.control.in_force import group_fact_row
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.settlement.guarantors import guarantor_answer
from usance.platform.refusals import AmountBeyond, DateInFuture, ReferenceUsed
from usance.platform.settlement.guarantors import (
    Deposit,
    guaranteed_minor,
    guarantor_name,
    guarantors_of,
    load_deposit,
    terms_of,
)
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

ACCOUNT = "security_deposits"
PLACED, RETURNED = "placed", "returned"
_MAX_MINOR = 2**50
_CALL = "select * from usance.deposit_calls where guarantor = $1 and state = 'open'"


@dataclass(frozen=True)
class MoveDeposit:
    """Money that was placed with a guarantor, or has come back from it."""

    guarantor: str
    kind: str
    amount_minor: int
    ref: str
    effective_on: date | None = None


@dataclass(frozen=True)
class WatchDeposit:
    """The evening's look at a deposit: its level, and a call when it lies below."""

    guarantor: int
    day: date
    guaranteed_minor: int


def number_of(moment: Moment, name: str) -> int:
    """The number of a guarantor by its name."""
    known = {guarantor_name(moment.lender, each): each for each in guarantors_of(moment.lender)}
    if name not in known:
        raise InvalidField(f"{name[:40]!r} is no guarantor", where="body.guarantor",
                           fix=f"Give {', '.join(known) or 'none: no mandate names one'}"
                           )  # fmt: skip
    return known[name]


async def move(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: MoveDeposit
) -> Decided:
    """Move a deposit; the same reference again is the same money."""
    who, on = number_of(moment, command.guarantor), command.effective_on or moment.business_date
    if command.kind not in (PLACED, RETURNED):
        raise InvalidField("is no movement", where="body.kind", fix=f"Give {PLACED} or {RETURNED}")
    if not 1 <= command.amount_minor <= _MAX_MINOR:
        raise InvalidField("is no amount", where="body.amount_minor", fix=f"Give 1 to {_MAX_MINOR}")
    if not 1 <= len(command.ref) <= 100:
        raise InvalidField("has no fit length", where="body.ref", fix="Give 1 to 100 characters")
    if on > moment.business_date:
        raise DateInFuture("is in the future", where="body.effective_on", fix="Give what has been")
    amount = command.amount_minor if command.kind == PLACED else -command.amount_minor
    known = await transaction.fetchrow(
        "select * from usance.deposit_moves where guarantor = $1 and reference = $2",
        who, command.ref,
    )  # fmt: skip
    if known is not None:
        if (known["amount_minor"], known["effective_on"]) != (amount, on):
            raise ReferenceUsed("this reference was told with other content", where="body.ref",
                                fix="Tell what was told, or give another reference")  # fmt: skip
        return await _outcome(transaction, moment, who, WriteSet(), is_new=False)
    deposit = await load_deposit(transaction, who)
    if amount < 0:
        guaranteed = (await guaranteed_minor(transaction, moment.lender, on)).get(who, 0)
        level = terms_of(moment.lender, who).required(guaranteed)
        if deposit.balance_minor + amount < level:
            raise AmountBeyond(f"{level} have to lie there", where="body.amount_minor",
                               fix=f"Take back at most {max(deposit.balance_minor - level, 0)}"
                               )  # fmt: skip
    changes = WriteSet()
    await move_deposit(transaction, moment, principal, deposit, changes, kind=command.kind,
                       amount_minor=amount, on=on, reference=command.ref)  # fmt: skip
    await _meet(transaction, moment, who, deposit.balance_minor + amount, changes)
    return await _outcome(transaction, moment, who, changes, deposit.balance_minor + amount)


async def _meet(
    transaction: asyncpg.Connection, moment: Moment, who: int, balance: int, changes: WriteSet
) -> None:
    """End an open call that the deposit now meets."""
    row = await transaction.fetchrow(_CALL, who)
    if row is not None and balance >= row["required_minor"]:
        changes.put("deposit_calls", **{**dict(row), "state": "met",
                                        "ended_on": moment.business_date})  # fmt: skip


async def _outcome(
    transaction: asyncpg.Connection, moment: Moment, who: int, changes: WriteSet,
    balance: int | None = None, *, is_new: bool = True,
) -> Decided:  # fmt: skip
    answer = await guarantor_answer(transaction, moment.lender, who, moment.business_date)
    if balance is not None:
        answer = {**answer, "balance_minor": balance,
                  "short_minor": max(answer["required_minor"] - balance, 0)}  # fmt: skip
    return Decided(answer, f"guarantor/{answer['guarantor']}", 0, changes, is_new, DONE,
                   as_platform=True)  # fmt: skip


async def watch(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: WatchDeposit
) -> Decided:
    """Open a call where the deposit lies below its level; end one that is met."""
    terms, changes = terms_of(moment.lender, command.guarantor), WriteSet()
    deposit = await load_deposit(transaction, command.guarantor)
    required = terms.required(command.guaranteed_minor)
    short = terms.call(command.guaranteed_minor, deposit.balance_minor)
    row = await transaction.fetchrow(_CALL, command.guarantor)
    if short and row is None:
        changes.put(
            "deposit_calls", guarantor=command.guarantor, day=command.day,
            guaranteed_minor=command.guaranteed_minor, required_minor=required,
            balance_minor=deposit.balance_minor, amount_minor=short,
            due_on=command.day + timedelta(days=terms.call_days), state="open", ended_on=None,
        )  # fmt: skip
    elif not short and row is not None:
        changes.put("deposit_calls", **{**dict(row), "state": "met", "ended_on": command.day})
    name = guarantor_name(moment.lender, command.guarantor)
    answer: dict[str, Any] = {
        "guarantor": name, "day": command.day.isoformat(), "required_minor": required,
        "balance_minor": deposit.balance_minor, "short_minor": short,
    }  # fmt: skip
    return Decided(answer, f"guarantor/{name}/{command.day}", 0, changes,
                   bool(changes.live_rows), DONE, as_platform=True,
                   event="deposit.called" if short else "deposit.met")  # fmt: skip


async def move_deposit(
    transaction: asyncpg.Connection, moment: Moment, principal: Principal, deposit: Deposit,
    changes: WriteSet, *, kind: str, amount_minor: int, on: date, reference: str,
) -> Deposit:  # fmt: skip
    """Move a deposit and state it for the close: what lies with a guarantor is no cash."""
    placed = amount_minor > 0
    fact = await state_fact(
        transaction, moment, changes, on, abs(amount_minor),
        GroupFactKind.DEPOSIT_PLACED if placed else GroupFactKind.DEPOSIT_RETURNED,
        {"as": ACCOUNT},
    )  # fmt: skip
    changes.put("deposit_balances", guarantor=deposit.guarantor, balance_minor=0)
    changes.put(
        "deposit_moves", guarantor=deposit.guarantor, no=deposit.moves + 1, kind=kind,
        amount_minor=amount_minor, effective_on=on, reference=reference, fact_id=fact,
        principal_id=principal.principal_id, at=moment.at,
    )  # fmt: skip
    return Deposit(deposit.guarantor, deposit.balance_minor + amount_minor, deposit.moves + 1)


async def state_fact(
    transaction: asyncpg.Connection, moment: Moment, changes: WriteSet, on: date,
    amount_minor: int, kind: GroupFactKind, detail: Mapping[str, Any],
) -> int:  # fmt: skip
    """State a fact of the group; its number."""
    number: int = await transaction.fetchval("select usance.next_ids('group_fact', 1)")
    changes.add("group_facts", **group_fact_row(
        number, moment, entity=moment.lender.platform_entity, kind=int(kind), effective_on=on,
        currency=int(moment.lender.currency), amount_minor=amount_minor, party=0, detail=detail,
    ))  # fmt: skip
    return number
