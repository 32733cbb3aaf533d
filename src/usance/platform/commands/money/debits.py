"""Scheduled debits: one order for a borrower and a provider, split over the loans that owe.

The run of an attempt looks at every borrower with an account that may be debited; each borrower is
a command of its own, so that what is owed and which orders are open is read in one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.collections.cases import stops_debits
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.money.orders import order_answer
from usance.platform.records.loan_record import open_loans
from usance.platform.records.order_record import (
    BY_REFERENCE,
    OPEN_OF_USER,
    load_orders,
    new_order,
    provider_settings,
)
from usance.platform.records.user_record import load_user, read_id
from usance.platform.store.write_set import WriteSet
from usance.service.orders.debit_policy import DebitPolicy
from usance.service.orders.debit_run import DebitColumns, debit_run
from usance.service.orders.payment_order import Purpose

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class OrderDebit:
    """Ask a borrower for everything due on a day, at one attempt of the policy."""

    user: str
    day: date
    hour: int


async def order_debit(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: OrderDebit
) -> Decided:
    """Make the order of an attempt; none if nothing is owed, stopped, or already on its way."""
    policy = DebitPolicy.at(command.day, moment.lender.parameters)
    attempt = next((each for each in policy.attempts if each.hour == command.hour), None)
    if attempt is None:
        hours = ", ".join(str(each.hour) for each in policy.attempts)
        raise InvalidField("is no attempt of the policy", where="body.hour", fix=f"Give {hours}")
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    account = await transaction.fetchval(_ACCOUNT, user.user_id, moment.at)
    if account is None or await stops_debits(transaction, user.user_id):
        return _nothing(command)
    open_ids = {
        split.loan_id
        for each in await load_orders(transaction, OPEN_OF_USER, user.user_id, "debit")
        for split in each.order.splits
    }
    loans = await open_loans(transaction, [user.user_id])
    views = [loan.at(command.day).view() for loan in loans]
    provider = debit_provider(moment)
    columns = DebitColumns.of(
        loan_id=[loan.loan_id for loan in loans], provider=[provider] * len(loans),
        due_minor=[view.past_due.total - view.past_due.penalty for view in views],
        penalty_minor=[view.past_due.penalty for view in views],
        is_open=[loan.loan_id in open_ids for loan in loans],
    )  # fmt: skip
    run = debit_run(columns, attempt, policy.minimum_minor)
    made = list(run.orders(command.day, command.hour, moment.lender.currency.name, 0, moment.at,
                           moment.at))  # fmt: skip
    if not made or await load_orders(transaction, BY_REFERENCE, [made[0].reference]):
        return _nothing(command)
    [wanted] = made
    changes = WriteSet()
    record = new_order(
        moment.lender, user.next("records"), kind=Purpose.DEBIT, reference=wanted.reference,
        provider=provider, amount_minor=wanted.amount_minor, at=moment.at,
        settles_on=command.day, user_id=user.user_id, account_id=account,
        loan_id=wanted.splits[0].loan_id if len(wanted.splits) == 1 else 0, splits=wanted.splits,
    )  # fmt: skip
    record.save(changes, moment.lender, moment.at)
    changes.user_changes.append(user.change())
    answer = {"order": order_answer(moment.lender, record.row)}
    return Decided(answer, print_id("or", record.order_id), user.user_id, changes, as_platform=True)


_ACCOUNT = (
    "select account_id from usance.accounts where user_id = $1 and debit and is_verified"
    " and usable_from <= $2 order by account_id desc limit 1"
)


def debit_provider(moment: Moment) -> int:
    """The provider of debits: the one whose contract says so, else that of payouts."""
    for kind, name in moment.lender.parties:
        if kind == "provider":
            number = moment.lender.parties[kind, name]
            if provider_settings(moment.lender, number).get("debits"):
                return number
    return moment.lender.payout.provider


def _nothing(command: OrderDebit) -> Decided:
    answer: dict[str, Any] = {"order": None}
    return Decided(answer, command.user, 0, is_new=False, status=DONE, as_platform=True)
