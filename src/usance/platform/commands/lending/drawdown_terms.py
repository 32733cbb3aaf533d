"""Amount, quote, agreement and account that a drawdown names: there, its own, and in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usance.platform.commands.command import Moment
from usance.platform.commands.lending.applications import product_of
from usance.platform.commands.lending.drawdown_reads import DrawdownReads
from usance.platform.errors import InvalidField
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import UserRecord, not_found, read_id
from usance.platform.refusals import (
    AccountNeeded,
    AccountWaits,
    QuoteExpired,
    QuoteMismatch,
    QuoteNeeded,
)

if TYPE_CHECKING:
    from usance.platform.commands.lending.drawdowns import Draw

MAX_ASKED_MINOR = 10**15
"""Beyond it, an amount is a mistake and no wish."""


def check_asked(amount_minor: int) -> None:
    """Refuse what is no amount; one that is beyond every line is declined like any other."""
    if not 1 <= amount_minor <= MAX_ASKED_MINOR:
        fix = f"Give 1 to {MAX_ASKED_MINOR}"
        raise InvalidField("is no amount of a loan", where="body.amount_minor", fix=fix)


def named_quote(reads: DrawdownReads, command: Draw) -> Mapping[str, Any] | None:
    """The quote that a drawdown names, whose agreement is there too if it names one."""
    if command.agreement is not None:
        agreement = read_id(command.agreement, "ag", "agreement")
        if agreement not in reads.agreements:
            raise not_found("ag", agreement)
    if command.quote is None:
        return None
    number = read_id(command.quote, "qu", "quote")
    if number not in reads.quotes:
        raise not_found("qu", number)
    return reads.quotes[number]


def quote_in_force(
    moment: Moment, reads: DrawdownReads, command: Draw, row: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The quote that a drawdown is bound to, if there is one; live there has to be."""
    if row is None:
        if not moment.lender.is_sandbox:
            raise QuoteNeeded("there is no quote", where="body.quote", fix="Quote and agree first")
        return None
    if row["valid_until"] < moment.at:
        raise QuoteExpired("the quote is over", where="body.quote", fix="Ask for a new one")
    product = product_of(moment, command.product).product
    wanted = (read_id(command.user, "us", "user"), int(product), command.amount_minor,
              command.months)  # fmt: skip
    if (row["user_id"], row["product"], row["amount_minor"], row["months"]) != wanted:
        raise QuoteMismatch("the quote is for another loan", where="body.quote",
                            fix="Draw what was quoted, or ask for a new quote")  # fmt: skip
    if command.agreement is not None:
        if reads.agreements[read_id(command.agreement, "ag", "agreement")] != row["quote_id"]:
            raise QuoteMismatch("the agreement is to another quote", where="body.agreement",
                                fix="Give the agreement to this quote")  # fmt: skip
    elif not moment.lender.is_sandbox:
        raise QuoteNeeded("there is no agreement", where="body.agreement", fix="Agree first")
    return row


def named_account(
    reads: DrawdownReads, command: Draw, user: UserRecord
) -> Mapping[str, Any] | None:
    """The account of the user that a drawdown names."""
    if command.account is None:
        return None
    number = read_id(command.account, "ac", "account")
    row = reads.accounts.get(number)
    if row is None or row["user_id"] != user.user_id:
        raise not_found("ac", number)
    return row


def payout_account(moment: Moment, user: UserRecord, row: Mapping[str, Any] | None) -> int:
    """The account that is paid to: the one that is named, else the latest that can be used."""
    if row is None:
        if user.row["payout_account"] is None and not moment.lender.is_sandbox:
            raise AccountNeeded("there is no account to pay to", where="body.account",
                                fix="Add one in the person's name")  # fmt: skip
        return int(user.row["payout_account"] or 0)
    if not row["is_verified"]:
        raise AccountNeeded("the account is not in the person's name", where="body.account",
                            fix="Give one whose holder is the person")  # fmt: skip
    if row["usable_from"] > moment.at:
        raise AccountWaits(f"it is paid to from {moment_text(row['usable_from'])} on",
                           where="body.account", fix="Wait, or give the one before")  # fmt: skip
    return int(row["account_id"])
