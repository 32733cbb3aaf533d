"""Orders on the wire: each step is booked before it is done, each answer after it came.

A worker may end anywhere between the two. What was booked as sent and has no answer is asked about
when its time has come, so that nothing is paid twice and nothing is forgotten.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import Moment
from usance.platform.commands.lending.placement import instant_provider, start_of_day
from usance.platform.commands.money.debits import OrderDebit
from usance.platform.commands.money.orders import AskOrder, NoteOrder, StepOrder
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import OutboundRefused
from usance.platform.partners.http_provider import HttpProvider, http_provider
from usance.platform.partners.simulated_provider import SimulatedProvider
from usance.platform.pause import is_paused
from usance.platform.principals import SYSTEM
from usance.platform.records.order_record import (
    BY_REFERENCE,
    OrderRecord,
    is_instant,
    load_order,
    load_orders,
    provider_settings,
)
from usance.platform.store.database import connection_failures
from usance.service.orders.debit_policy import DebitPolicy
from usance.service.orders.next_step import Step
from usance.service.orders.payment_order import OrderEvent
from usance.service.orders.provider_port import Notice, Provider
from usance.world.payment_provider import PaymentProvider, ProviderFaults

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.live import Platform

LOG = logging.getLogger("usance.orders")
POLL_SECONDS = 1.0
MAX_ORDERS = 10_000
"""Orders that one look at the queue moves."""
_DUE = (
    "select order_id, provider, state from usance.orders where next_at <= $1"
    " order by next_at, order_id limit $2"
)
_DEBTORS = (
    "select distinct a.user_id from usance.accounts a join usance.loan_states s"
    " on s.loan_id between a.user_id * 16384 and a.user_id * 16384 + 16383"
    " join usance.loans l on l.loan_id = s.loan_id and l.terms_no = 1"
    " where a.debit and a.is_verified and a.usable_from <= $1 and s.is_open"
    " and l.first_due_on <= $2 order by a.user_id"
)


class DebitAttemptOn(NamedTuple):
    """One attempt of the debit policy on a day."""

    day: date
    hour: int


async def order_loop(platform: Platform, stop: asyncio.Event) -> None:
    """Take notices and move orders until told to stop; one that fails is looked at again later."""
    while not stop.is_set():
        try:
            async with platform.database.transaction(SYSTEM.principal_id) as transaction:
                waits = await is_paused(transaction)
            if not waits:
                await take_notices(platform)
                await move_orders(platform)
        except UsanceError:
            LOG.warning("orders wait", exc_info=True)
        except connection_failures() as error:
            LOG.warning("orders wait for the database: %s", error)
        await asyncio.sleep(POLL_SECONDS)


async def move_orders(platform: Platform, limit: int = MAX_ORDERS) -> int:
    """Move every order whose time has come by one step; the number of orders.

    What was not sent yet waits while its provider is away; one whose provider cannot be opened
    stops no other.
    """
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        rows = await transaction.fetch(_DUE, moment.at, limit)
    moved = 0
    for row in rows:
        port = platform.providers.get(row["provider"])
        if row["state"] == "created" and isinstance(port, HttpProvider) and port.is_away():
            continue
        try:
            await move_order(platform, row["order_id"])
            moved += 1
        except OutboundRefused:
            LOG.warning("%s waits", print_id("or", row["order_id"]), exc_info=True)
    return moved


async def move_order(platform: Platform, order_id: int) -> None:
    """Book the next step of an order, do it, and book the answer.

    The provider is opened first: nothing is booked as sent where nothing can be sent.
    """
    shown = print_id("or", order_id)
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        record = await load_order(transaction, order_id)
        moment = await now(transaction, platform.services)
    port_of(platform, moment, record)
    outcome = await platform.do(SYSTEM, StepOrder(shown))
    step = Step(outcome.answer["step"])
    if step not in (Step.SEND, Step.SEND_AGAIN, Step.ASK):
        return
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        record = await load_order(transaction, order_id)
        moment = await now(transaction, platform.services)
    port = port_of(platform, moment, record)
    verb = port.status if step is Step.ASK else port.send
    try:
        answer = await asyncio.to_thread(verb, record.order)
    except OutboundRefused:  # nobody there: it is asked about when its time has come
        answer = None
    if answer is not None:
        await take_answer(platform, shown, answer)


async def ask_orders(
    platform: Platform, order_ids: Sequence[int], *, also_silent: bool = False
) -> list[str]:
    """Ask providers about orders and book what they say; the orders of whom nobody said anything.

    Nothing is booked of those, unless they are to be asked about again by the clock.
    """
    silent = []
    for order_id in order_ids:
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            record = await load_order(transaction, order_id)
            moment = await now(transaction, platform.services)
        if is_instant(moment.lender, record.order.provider):
            continue
        shown, answer = print_id("or", order_id), None
        try:
            port = connected(platform, moment, record.order.provider)
            answer = await asyncio.to_thread(port.status, record.order)
        except OutboundRefused as error:
            LOG.warning("%s could not be asked about: %s", shown, error)
        if answer is None:
            silent.append(shown)
        if answer is not None or also_silent:
            await platform.do(SYSTEM, AskOrder(shown))
        if answer is not None:
            await take_answer(platform, shown, answer)
    return silent


async def take_answer(platform: Platform, order: str, event: OrderEvent) -> None:
    """Book what a provider said."""
    await platform.do(SYSTEM, NoteOrder(
        order, event.kind.value, event.source, event.amount_minor, event.provider_ref, event.on
    ))  # fmt: skip


def port_of(platform: Platform, moment: Moment, record: OrderRecord) -> Provider:
    """The provider of an order, as the platform is connected to it."""
    provider = record.order.provider
    if is_instant(moment.lender, provider):
        return instant_provider(moment, moment.lender.business_date(record.order.created_at))
    return connected(platform, moment, provider)


def connected(platform: Platform, moment: Moment, provider: int) -> Provider:
    """A provider with a line of its own, opened when it is first spoken with."""
    given = provider_settings(moment.lender, provider)
    local = moment.at.astimezone(moment.lender.zone)
    if provider not in platform.providers:
        name = moment.lender.party_name("provider", provider)
        platform.providers[provider] = open_port(
            name, given, local, allow_private=moment.lender.is_sandbox
        )
    port = platform.providers[provider]
    if isinstance(port, SimulatedProvider):
        port.at = max(port.at, local)
    return port


def open_port(
    name: str, given: Mapping[str, Any], at: datetime, *, allow_private: bool
) -> Provider:
    """The port that a provider's contract names."""
    if given["port"] == "world":
        faults = ProviderFaults(**given.get("faults_ppm", {}))
        return SimulatedProvider(PaymentProvider(given.get("seed", 1), faults), at)
    if given["port"] == "http":
        return http_provider(name, given, allow_private=allow_private)
    raise OutboundRefused(
        f"there is no port {given['port']}", where="providers", fix="Give instant, world or http"
    )


async def take_notices(platform: Platform) -> int:
    """Take what providers have said since the last look; the number of notices."""
    count = 0
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
    for provider in sorted(platform.providers.keys() | _over_http(moment)):
        port = connected(platform, moment, provider)
        try:
            notices = await asyncio.to_thread(port.notices)
        except OutboundRefused as error:  # told again at the next look
            LOG.warning("no notices: %s", error)
            continue
        for notice in notices:
            count += await _take_notice(platform, provider, notice)
    return count


def _over_http(moment: Moment) -> set[int]:
    """Providers that are asked for notices even before an order was sent to them."""
    return {
        number for (kind, _), number in moment.lender.parties.items()
        if kind == "provider" and provider_settings(moment.lender, number).get("port") == "http"
    }  # fmt: skip


async def _take_notice(platform: Platform, provider: int, notice: Notice) -> bool:
    """Book a notice about an order of its provider; any other is left to the provider's file."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        found = await load_orders(transaction, BY_REFERENCE, [notice.reference])
    if not found or found[0].order.provider != provider:
        LOG.warning("a notice is about %r, no order of this provider", notice.reference[:64])
        return False
    await take_answer(platform, print_id("or", found[0].order_id), notice.event)
    return True


async def run_debits(platform: Platform, day: date, hour: int) -> int:
    """Order what is due of every borrower who may be debited; the number of new orders."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        rows = await transaction.fetch(_DEBTORS, moment.at, day)
    made = 0
    for row in rows:
        command = OrderDebit(print_id("us", row["user_id"]), day, hour)
        made += (await platform.do(SYSTEM, command)).is_new
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        await mark_run(transaction, day, f"debits/{hour:02d}", moment.at, {"orders": made})
    return made


async def mark_run(
    transaction: asyncpg.Connection, day: date, name: str, at: datetime, result: Mapping[str, Any]
) -> None:
    """Note that a part of a day was done; a run that was done stays done."""
    await transaction.execute(
        "insert into usance.money_runs values ($1, $2, $3, $4) on conflict do nothing",
        day, name, at, json.dumps(result),
    )  # fmt: skip


async def next_debits(
    transaction: asyncpg.Connection, moment: Moment, until: datetime
) -> tuple[datetime, DebitAttemptOn] | None:
    """The next attempt of the debit policy that was not run, if anybody can be debited."""
    if not await transaction.fetchval("select exists (select from usance.accounts where debit)"):
        return None
    done = await transaction.fetchrow(
        "select day, name from usance.money_runs where name like 'debits/%'"
        " order by day desc, name desc limit 1"
    )
    last = (done["day"], int(done["name"].partition("/")[2])) if done else None
    day = last[0] if last else moment.business_date
    while (start := start_of_day(moment.lender, day)) <= until:
        for attempt in DebitPolicy.at(day, moment.lender.parameters).attempts:
            at = start + timedelta(hours=attempt.hour)
            is_new = (day, attempt.hour) > last if last else at >= moment.at
            if is_new and at <= until:
                return at, DebitAttemptOn(day, attempt.hour)
        day += timedelta(days=1)
    return None
