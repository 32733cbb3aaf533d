"""The way of a clock: each moment at which something falls due, in order.

A sandbox's clock is moved from one such moment to the next. A live one goes by itself: what its
time has come for is done as soon as somebody looks, and its business date moves at the cut-off.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.ids import parse_id, print_id
from usance.platform.commands.control.clock import Done, check_advance, set_clock
from usance.platform.commands.lending.offers import ExpireOffer
from usance.platform.commands.unit_of_work import now
from usance.platform.day import HalfDay, next_half, serve_half
from usance.platform.desk.contact_desk import DeskRun, next_run, run_desk
from usance.platform.partners.dispatch import (
    DebitAttemptOn,
    move_order,
    next_debits,
    run_debits,
)
from usance.platform.partners.settle_day import end_evening
from usance.platform.pause import check_released
from usance.platform.principals import SYSTEM
from usance.platform.refusals import ClockBackwards
from usance.platform.store.locks import Lock

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.commands.command import Moment
    from usance.platform.live import Platform

LOG = logging.getLogger("usance.clock")
Due = tuple[datetime, Any]


class OrderDue(NamedTuple):
    """An order that the clock has to look at."""

    order_id: int


MAX_STEPS = 1_000_000
"""More than falls due in one advance of any sandbox."""


@asynccontextmanager
async def clock_turn(platform: Platform) -> AsyncIterator[None]:
    """A turn at the clock: whoever moves it waits for the one before.

    Within a process they wait without a connection, which the one before may need.
    """
    async with (
        platform.clock_lock,
        platform.database.transaction(SYSTEM.principal_id) as turn,
    ):
        await turn.execute("select pg_advisory_xact_lock($1)", Lock.CLOCK)
        yield


async def run_until(platform: Platform, to: datetime) -> list[Done]:
    """Do everything that falls due up to a moment, each at its own; the jobs by day and name.

    What falls due at the very moment takes the clock some microseconds beyond it.
    """
    states: dict[tuple[date, str], str] = {}
    for step in range(MAX_STEPS):
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            moment = await now(transaction, platform.services)
            if step == 0:
                await check_released(transaction)
                check_advance(moment, to)
            due = await _next(transaction, moment, to)
            if due is None:
                break
            at, what = due
            # A day that is taken up again keeps its date: commands have moved its clock by some
            # microseconds, perhaps beyond midnight.
            day = max(moment.lender.business_date(at), moment.business_date)
            await set_clock(transaction, max(at, moment.at), day)
        name, aside = await _serve(platform, what)
        own = (what.day if isinstance(what, HalfDay) else day, name)
        states[own] = "set_aside" if aside else states.get(own, "done")
    return [Done(day, name, state) for (day, name), state in states.items()]


async def _serve(platform: Platform, what: Any) -> tuple[str, int]:
    """Do one thing that fell due; its name, and how many loans of it were set aside."""
    if isinstance(what, HalfDay):
        return str(what.part), await serve_half(platform, what, end_evening)
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


async def run_due(platform: Platform) -> int:
    """Do everything that has fallen due in a live lender, and move its business date; the count.

    A machine whose clock was set back over a cut-off is refused: no day is lived twice. An offer
    that cannot be ended waits for the next look and does not stop the others.
    """
    failed: list[int] = []
    for done in range(MAX_STEPS):
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            await check_released(transaction)
            await transaction.execute("select usance.cut_off()")
            moment = await now(transaction, platform.services)
            check_clock(moment)
            due = await _next(transaction, moment, moment.at, failed)
        if due is None:
            return done
        _, what = due
        try:
            await _serve(platform, what)
        except Exception:
            if not isinstance(what, ExpireOffer):
                raise
            LOG.warning("%s cannot be ended", what.offer, exc_info=True)
            failed.append(parse_id(what.offer, "of"))
    return MAX_STEPS


def check_clock(moment: Moment) -> None:
    """Refuse to go on by a live clock that is before the business date."""
    day = moment.lender.business_date(datetime.now(UTC))
    if not moment.lender.is_sandbox and day < moment.business_date:
        raise ClockBackwards(
            f"the machine's clock says {day}, the business date is {moment.business_date}",
            where="the clock",
            fix="Set the machine's clock right: days go on when it has reached the business date",
        )


async def _next(
    transaction: asyncpg.Connection, moment: Moment, to: datetime,
    failed_offers: Sequence[int] = (),
) -> Due | None:  # fmt: skip
    """The first thing that falls due: half a day, an offer, an order, a debit or desk run.

    Orders of a live lender are moved by `order_loop`, whatever else there is to do.
    """
    offer = await transaction.fetchrow(
        "select offer_id, answer_by from usance.offers where state = 'open' and answer_by <= $1 "
        "and offer_id <> all($2) order by answer_by, offer_id limit 1", to, list(failed_offers),
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
    if order is not None and moment.lender.is_sandbox:
        found.append((order["next_at"], OrderDue(order["order_id"])))
    found += [each for each in (debits, desk) if each is not None]
    return min(found, key=lambda each: each[0], default=None)
