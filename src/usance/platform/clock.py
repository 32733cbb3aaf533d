"""The way of a sandbox's clock: each moment at which something falls due, in order."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.clock import check_advance, set_clock, start_of
from usance.platform.commands.offers import EndPayout, ExpireOffer
from usance.platform.commands.unit_of_work import now
from usance.platform.day import HalfDay, next_half, serve_half
from usance.platform.principals import SYSTEM

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

Due = tuple[datetime, Any]
MAX_STEPS = 1_000_000
"""More than falls due in one advance of any sandbox."""


async def run_until(platform: Platform, to: datetime) -> None:
    """Do everything that falls due up to a moment, each at its own."""
    for _ in range(MAX_STEPS):
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            moment = await now(transaction, platform.services)
            due = await _next(transaction, moment, to)
            if due is None:
                return
            at, what = due
            await set_clock(transaction, moment, max(at, moment.at))
        if isinstance(what, HalfDay):
            await serve_half(platform, what)
        else:
            await platform.do(SYSTEM, what)


async def _next(transaction: asyncpg.Connection, moment: Any, to: datetime) -> Due | None:
    """The first thing that falls due: half a day, an offer's end, a payout on its day."""
    check_advance(moment, to)
    offer = await transaction.fetchrow(
        "select offer_id, answer_by from usance.offers where state = 'open' and answer_by <= $1 "
        "order by answer_by, offer_id limit 1", to,
    )  # fmt: skip
    last = moment.lender.business_date(to)
    order = await transaction.fetchrow(
        "select order_id, settles_on from usance.orders where state = 'sent' and settles_on <= $1 "
        "order by settles_on, order_id limit 1", last,
    )  # fmt: skip
    half = await next_half(transaction, moment)
    found: list[Due] = [(half.at(moment), half)] if half.at(moment) <= to else []
    if offer is not None:
        found.append((offer["answer_by"], ExpireOffer(print_id("of", offer["offer_id"]))))
    if order is not None:
        at = start_of(moment, order["settles_on"])
        found.append((at, EndPayout(print_id("or", order["order_id"]), settled=True)))
    return min(found, key=lambda each: each[0], default=None)
