"""Answers of institutions, offers that nobody answered, and payouts that end later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usance.base.codes import RoutingOutcome
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.drawdowns import (
    EVENTS,
    attempts,
    close_offer,
    load_placement,
)
from usance.platform.commands.placement import (
    Placement,
    approve,
    disburse,
    drawdown_answer,
    fail,
    go_on,
    limit_changes,
    note,
    subject,
)
from usance.platform.principals import Principal
from usance.platform.reads.drawdowns import offer_answer
from usance.platform.refusals import OfferClosed, WrongState
from usance.platform.user_record import not_found, read_id

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


@dataclass(frozen=True)
class EndPayout:
    """A provider says that a payout has settled, or has failed for good."""

    order: str
    settled: bool
    reference: str = ""


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
    placement = await load_placement(transaction, row["loan_id"])
    await moment.services.desk.open(transaction, moment.lender)
    placement.attempts = await attempts(transaction, placement.loan_id)
    _complete(moment, placement)
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
        return
    note(moment, placement, candidate, int(otherwise))
    placement.changes.limit_changes += limit_changes(candidate, held=-1)
    go_on(moment, placement, index + 1)


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
    placement = await load_placement(transaction, row["loan_id"])
    await moment.services.desk.open(transaction, moment.lender)
    placement.attempts = await attempts(transaction, placement.loan_id)
    _complete(moment, placement)
    ended = await close_offer(transaction, moment, placement, "timed_out")
    _answered(moment, placement, False, RoutingOutcome.TIMED_OUT)
    placement.save()
    return Decided(offer_answer(ended), command.offer, row["user_id"], placement.changes,
                   status=DONE)  # fmt: skip


async def end_payout(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: EndPayout
) -> Decided:
    """A payout that was sent ends: the loan begins, or its quota is given back."""
    number = read_id(command.order, "or", "order")
    await act_as_platform(transaction)
    found = await transaction.fetchrow("select * from usance.orders where order_id = $1", number)
    if found is None:
        raise not_found("or", number)
    placement = await load_placement(transaction, found["loan_id"])
    wanted = "settled" if command.settled else "failed"
    if found["state"] == wanted:
        return Decided(drawdown_answer(moment, placement.row), subject(placement),
                       found["user_id"], is_new=False, status=DONE, as_platform=True)  # fmt: skip
    if found["state"] != "sent":
        raise WrongState(f"the order has {found['state']}", where=command.order,
                         fix="An order ends once")  # fmt: skip
    _complete(moment, placement)
    order: dict[str, Any] = {**dict(found), "state": wanted, "ended_at": moment.at,
                             "reference": command.reference}  # fmt: skip
    if command.settled:
        disburse(moment, placement)
    else:
        fail(placement, placement.row["attempt"])
    placement.changes.put("orders", **order)
    placement.save()
    return Decided(
        drawdown_answer(moment, placement.row), subject(placement), found["user_id"],
        placement.changes, status=DONE, event=EVENTS[placement.row["state"]], as_platform=True,
    )  # fmt: skip


def _complete(moment: Moment, placement: Placement) -> None:
    """Add to a stored request what only the product knows."""
    product = next(p for p in moment.lender.products.values()
                   if p.product == placement.row["product"])  # fmt: skip
    placement.request["convention"] = placement.row["terms"].get("convention", product.convention)
    placement.row["nothing"] = {}
