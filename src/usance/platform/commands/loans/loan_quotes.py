"""Answers that change nothing and are asked for by POST: given once for a key, like all others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.match.mandates.file import parse_mandates
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.control.mandate_tester import tried

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class QuoteSettlement:
    """The amount that closes a loan on a day, valid that day."""

    loan: str
    on: date | None = None


@dataclass(frozen=True)
class QuoteWithdrawal:
    """The amount that undoes a loan on a day of its cooling-off time, and the last such day."""

    loan: str
    on: date | None = None


@dataclass(frozen=True)
class TryMandates:
    """Mandates that are tried on past loans: what they would have taken, and what kept it."""

    text: str


async def quote_settlement(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: QuoteSettlement
) -> Decided:
    """The amount that closes a loan on a day."""
    read = _reading(transaction, principal, moment)
    return _outcome(await read.settlement_quote(command.loan, command.on), command.loan)


async def quote_withdrawal(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: QuoteWithdrawal
) -> Decided:
    """The amount that undoes a loan on a day of its cooling-off time."""
    read = _reading(transaction, principal, moment)
    return _outcome(await read.withdrawal_quote(command.loan, command.on), command.loan)


async def try_mandates(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: TryMandates
) -> Decided:
    """Mandates tried on the past loans that the caller sees; nothing is proposed."""
    try:
        parsed = parse_mandates(command.text)
    except UsanceError as error:
        raise InvalidField(str(error), where="body.text", fix="Mend the mandates") from error
    return _outcome({"mandates": await tried(transaction, parsed)}, "mandates")


def _reading(transaction: asyncpg.Connection, principal: Principal, moment: Moment) -> Any:
    from usance.platform.reads.reading import Reading

    return Reading(transaction, principal, moment)


def _outcome(answer: dict[str, Any], subject: str) -> Decided:
    return Decided(answer, subject, is_new=False, status=DONE)
