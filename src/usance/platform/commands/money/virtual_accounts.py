"""Virtual accounts: numbers that a borrower transfers to, so that money finds its user or loan.

A number is given by the provider, or made from the prefix of its contract with a check digit.

>>> with_check_digit("622801000000001")
'6228010000000010'
>>> is_number("6228010000000010"), is_number("62 28"), is_number("NL91ABNA0417164300")
(True, False, True)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.payments import provider_of
from usance.platform.errors import InvalidField, NotFound
from usance.platform.principals import Principal
from usance.platform.reads.money.virtual_accounts import account_answer
from usance.platform.records.loan_record import load_loan
from usance.platform.records.order_record import provider_settings
from usance.platform.records.user_record import load_user, not_found, owner_of, read_id
from usance.platform.refusals import WrongState
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

_NUMBER = re.compile(r"[0-9A-Z]{6,34}")
_DIGITS = 16
_LOCK = "select pg_advisory_xact_lock(hashtextextended('virtual_accounts', $1))"


@dataclass(frozen=True)
class OpenVirtualAccount:
    """A number that a user, or one loan of theirs, is paid by; the same again is the same."""

    user: str
    provider: str
    loan: str | None = None
    number: str | None = None


@dataclass(frozen=True)
class CloseVirtualAccount:
    """A number that is used no more: what still comes waits for a person."""

    number: str


class AccountOwner(NamedTuple):
    """Whoever a virtual account is for."""

    user_id: int
    loan_id: int
    closed_at: datetime | None

    @property
    def loan(self) -> str | None:
        """The loan, where the account is for one."""
        return print_id("ln", self.loan_id) if self.loan_id else None

    @property
    def user(self) -> str | None:
        """The user, where the account is for all of their loans."""
        return None if self.loan_id else print_id("us", self.user_id)


async def find_account(
    transaction: asyncpg.Connection, provider: int, number: str
) -> AccountOwner | None:
    """The owner of a number at a provider; none if nobody has it."""
    if not number:
        return None
    row = await transaction.fetchrow(
        "select user_id, loan_id, closed_at from usance.virtual_accounts "
        "where number = $1 and provider = $2", number.replace(" ", "").upper(), provider,
    )  # fmt: skip
    return AccountOwner(*row) if row is not None else None


def is_number(text: str) -> bool:
    """True for digits and capitals, as banks number accounts."""
    return _NUMBER.fullmatch(text) is not None


def with_check_digit(digits: str) -> str:
    """Digits with the one that makes them pass Luhn's test."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return f"{digits}{-total % 10}"


async def open_account(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment,
    command: OpenVirtualAccount,
) -> Decided:  # fmt: skip
    """Give a user or loan a number to transfer to."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    loan_id = 0
    if command.loan is not None:
        loan_id = read_id(command.loan, "ln", "loan")
        if owner_of(loan_id) != user.user_id:
            raise not_found("ln", loan_id)
        await load_loan(transaction, loan_id)
    provider = provider_of(moment, principal, command.provider)
    await act_as_platform(transaction)
    await transaction.execute(_LOCK, provider)
    known = await transaction.fetchrow(
        "select * from usance.virtual_accounts where user_id = $1 and provider = $2 "
        "and loan_id = $3 and closed_at is null", user.user_id, provider, loan_id,
    )  # fmt: skip
    if known is not None:
        if command.number not in (None, known["number"]):
            raise WrongState("there is one already", where=known["number"],
                             fix="Close it before another is opened")  # fmt: skip
        return Decided(account_answer(moment.lender, dict(known)), command.user, user.user_id,
                       is_new=False, status=DONE, as_platform=True)  # fmt: skip
    number = await _number(transaction, moment, provider, command)
    row = {"number": number, "user_id": user.user_id, "provider": provider, "loan_id": loan_id,
           "opened_at": moment.at, "closed_at": None}  # fmt: skip
    changes = WriteSet(user_changes=[user.change()])
    changes.put("virtual_accounts", **row)
    return Decided(account_answer(moment.lender, row), command.user, user.user_id, changes,
                   as_platform=True)  # fmt: skip


async def _number(
    transaction: asyncpg.Connection, moment: Moment, provider: int, command: OpenVirtualAccount
) -> str:
    """The number that was given, or the next one of the provider's contract."""
    if command.number is not None:
        number = command.number
        if not is_number(number):
            raise InvalidField("is no number of an account", where="body.number",
                               fix="Give 6 to 34 digits and capitals")  # fmt: skip
    else:
        prefix = provider_settings(moment.lender, provider).get("virtual_accounts", "")
        if not (isinstance(prefix, str) and prefix.isdigit()):
            raise InvalidField(f"{command.provider} has no numbers of its own to give",
                               where="body.number", fix="Give the number that it has named"
                               )  # fmt: skip
        after = await transaction.fetchval("select usance.next_ids('virtual_account', 1)")
        number = with_check_digit(f"{prefix}{after:0{max(_DIGITS - 1 - len(prefix), 1)}d}")
    if await transaction.fetchval(
        "select exists (select from usance.virtual_accounts where number = $1)", number
    ):
        raise WrongState("the number was given before", where="body.number",
                         fix="Numbers are never used again; give another")  # fmt: skip
    return number


async def close_account(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment,
    command: CloseVirtualAccount,
) -> Decided:  # fmt: skip
    """Use a number no more."""
    row = await transaction.fetchrow(
        "select * from usance.virtual_accounts where number = $1", command.number
    )
    if row is None:
        raise NotFound("is not there", where=command.number[:40], fix="Give a number in use")
    after = {**dict(row), "closed_at": row["closed_at"] or moment.at}
    await act_as_platform(transaction)
    changes = WriteSet()
    changes.put("virtual_accounts", **after)
    return Decided(account_answer(moment.lender, after), print_id("us", row["user_id"]),
                   row["user_id"], changes, row["closed_at"] is None, DONE, as_platform=True
                   )  # fmt: skip
