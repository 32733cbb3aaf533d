"""Answers of institutions, and offers that nobody answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usance.base.codes import RoutingOutcome
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.lending.drawdowns import attempts, close_offer, load_placement
from usance.platform.commands.lending.placement import (
    Placement,
    approve,
    ask_candidates,
    complete,
    disburse,
    limit_changes,
    note,
)
from usance.platform.principals import Principal
from usance.platform.reads.lending.drawdowns import offer_answer
from usance.platform.records.user_record import not_found, read_id
from usance.platform.refusals import OfferClosed, WrongState

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True)
class AnswerOffer:
    """An institution approves or declines an offer."""

    offer: str
    approved: bool
    reason: str = ""


@dataclass(frozen=True)
class ExpireOffer:
    """Nobody answered in time."""

    offer: str


async def answer(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: AnswerOffer
) -> Decided:
    """Take an answer: approved goes to payout, declined to the next candidate."""
    number = read_id(command.offer, "of", "offer")
    row = await transaction.fetchrow("select * from usance.offers where offer_id = $1", number)
    if row is None:
        raise not_found("of", number)
    await act_as_platform(transaction)
    if row["approved"] == command.approved and row["state"] in ("approved", "declined"):
        return Decided(offer_answer(row), command.offer, row["user_id"], is_new=False, status=DONE,
                       as_platform=True)  # fmt: skip
    if row["state"] != "open" or row["answer_by"] <= moment.at:
        raise OfferClosed(f"the offer is {row['state']}", where=command.offer,
                          fix="Answer offers while they are open")  # fmt: skip
    placement = await load_placement(transaction, moment, row["loan_id"])
    await moment.services.router.open(transaction, moment.lender)
    placement.attempts = await attempts(transaction, placement.loan_id)
    complete(moment, placement)
    state = "approved" if command.approved else "declined"
    ended = await close_offer(transaction, moment, placement, state, command.approved,
                              command.reason)  # fmt: skip
    _answered(moment, placement, command.approved, RoutingOutcome.DECLINED)
    placement.save()
    return Decided(offer_answer(ended), command.offer, row["user_id"], placement.changes,
                   status=DONE, as_platform=True)  # fmt: skip


def _answered(
    moment: Moment, placement: Placement, approved: bool, otherwise: RoutingOutcome
) -> None:
    index = placement.row["attempt"]
    candidate = placement.row["candidates"][index]
    if approved:
        note(moment, placement, candidate, int(RoutingOutcome.APPROVED))
        placement.changes.limit_changes += limit_changes(candidate, held=-1, taken=1)
        approve(moment, placement, index)
        disburse([(moment, placement)])
        return
    note(moment, placement, candidate, int(otherwise))
    placement.changes.limit_changes += limit_changes(candidate, held=-1)
    ask_candidates(moment, placement, index + 1)
    disburse([(moment, placement)])


async def expire(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ExpireOffer
) -> Decided:
    """End an offer that is past its time, and go to the next candidate."""
    number = read_id(command.offer, "of", "offer")
    row = await transaction.fetchrow("select * from usance.offers where offer_id = $1", number)
    if row is None:
        raise not_found("of", number)
    if row["state"] != "open":
        return Decided(offer_answer(row), command.offer, row["user_id"], is_new=False, status=DONE)
    if row["answer_by"] > moment.at:
        raise WrongState("it still has time", where=command.offer, fix="Wait for its answer_by")
    placement = await load_placement(transaction, moment, row["loan_id"])
    await moment.services.router.open(transaction, moment.lender)
    placement.attempts = await attempts(transaction, placement.loan_id)
    complete(moment, placement)
    ended = await close_offer(transaction, moment, placement, "timed_out")
    _answered(moment, placement, False, RoutingOutcome.TIMED_OUT)
    placement.save()
    return Decided(offer_answer(ended), command.offer, row["user_id"], placement.changes,
                   status=DONE)  # fmt: skip
