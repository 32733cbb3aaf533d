"""The way of a sandbox's clock: each moment at which something falls due, in order."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.ids import print_id
from usance.platform.commands.clock import Done, check_advance, set_clock
from usance.platform.commands.offers import ExpireOffer
from usance.platform.commands.unit_of_work import now
from usance.platform.contact_desk import DeskRun, next_run, run_desk
from usance.platform.day import HalfDay, next_half, serve_half
from usance.platform.partners.dispatch import (
    DebitAttemptOn,
    move_order,
    next_debits,
    run_debits,
)
from usance.platform.partners.file_evidence import reconcile_providers
from usance.platform.principals import SYSTEM
from usance.service.events_of_loan import DayPart

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

Due = tuple[datetime, Any]


class OrderDue(NamedTuple):
    """An order that the clock has to look at."""

    order_id: int


MAX_STEPS = 1_000_000
"""More than falls due in one advance of any sandbox."""


async def run_until(platform: Platform, to: datetime) -> list[Done]:
    """Do everything that falls due up to a moment, each at its own; the jobs by day and name."""
    states: dict[tuple[date, str], str] = {}
    for _ in range(MAX_STEPS):
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            moment = await now(transaction, platform.services)
            due = await _next(transaction, moment, to)
            if due is None:
                break
            at, what = due
            await set_clock(transaction, moment, max(at, moment.at))
            day = moment.lender.business_date(max(at, moment.at))
        name, aside = await _serve(platform, what)
        own = (what.day if isinstance(what, HalfDay) else day, name)
        states[own] = "set_aside" if aside else states.get(own, "done")
    return [Done(day, name, state) for (day, name), state in states.items()]


async def _serve(platform: Platform, what: Any) -> tuple[str, int]:
    """Do one thing that fell due; its name, and how many loans of it were set aside."""
    if isinstance(what, HalfDay):
        aside = await serve_half(platform, what)
        if what.part is DayPart.EVENING:
            await reconcile_providers(platform, what.day)
        return str(what.part), aside
    if isinstance(what, DeskRun):
        await run_desk(platform, what)
        return "desk", 0
    if isinstance(what, DebitAttemptOn):
        await run_debits(platform, *what)
        return "debits", 0
    if isinstance(what, OrderDue):
        await move_order(platform, what.order_id)
        return "orders", 0
    await platform.do(SYSTEM, what)
    return "offers", 0


async def _next(transaction: asyncpg.Connection, moment: Any, to: datetime) -> Due | None:
    """The first thing that falls due: half a day, an offer, an order, a debit or desk run."""
    check_advance(moment, to)
    offer = await transaction.fetchrow(
        "select offer_id, answer_by from usance.offers where state = 'open' and answer_by <= $1 "
        "order by answer_by, offer_id limit 1", to,
    )  # fmt: skip
    order = await transaction.fetchrow(
        "select order_id, next_at from usance.orders where next_at <= $1 "
        "order by next_at, order_id limit 1", to,
    )  # fmt: skip
    debits = await next_debits(transaction, moment, to)
    desk = await next_run(transaction, moment, to)
    half = await next_half(transaction, moment)
    found: list[Due] = [(half.at(moment), half)] if half.at(moment) <= to else []
    if offer is not None:
        found.append((offer["answer_by"], ExpireOffer(print_id("of", offer["offer_id"]))))
    if order is not None:
        found.append((order["next_at"], OrderDue(order["order_id"])))
    found += [each for each in (debits, desk) if each is not None]
    return min(found, key=lambda each: each[0], default=None)
