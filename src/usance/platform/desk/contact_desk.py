"""The automatic desk: contacts that a machine makes, each logged before it is sent.

A channel that fails is marked down, and the contact goes at once by the next one that the debtor
has agreed to. Work that no channel can take is offered again at the next run.
"""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.errors import UsanceError
from usance.base.ids import parse_id, print_id
from usance.base.money import Money
from usance.platform.commands.collections.contacts import BeginContact, EndContact
from usance.platform.commands.collections.desks import AllocateCases, MarkChannelDown, NoteSent
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import Refused
from usance.platform.partners.dispatch import mark_run
from usance.platform.principals import SYSTEM
from usance.platform.records.case_record import (
    action_of,
    channels_down,
    debtor_of,
    load_case,
    person_of,
)
from usance.service.collections.channels import LocalChannel, Outgoing, route
from usance.service.collections.contact_rules import Channel
from usance.service.collections.scripts import words_of

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.commands.command import Moment
    from usance.platform.live import Platform
    from usance.service.collections.channels import ChannelPort

LOG = logging.getLogger("usance.desk")
RUNS = (10, 16)
"""Hours of the business day at which the machine works."""
PIECE = 200
AGAIN = timedelta(minutes=30)
"""A case is put off so long before its contact is made, and after one that was refused."""
ALLOCATION_HOUR = 7
POLL_SECONDS = 30.0


class DeskRun(NamedTuple):
    """A run of a business day: the allocation of the morning, or the machine's contacts."""

    day: date
    hour: int


class Sending(NamedTuple):
    """A contact that is to be made by a channel."""

    user_id: int
    channel: Channel
    language: str
    script: str
    text: str
    letter: dict[str, Any]


async def next_run(
    transaction: asyncpg.Connection, moment: Moment, until: datetime
) -> tuple[datetime, DeskRun] | None:
    """The next run that was not made, if there is any case to work."""
    if not await transaction.fetchval(
        "select exists (select from usance.cases where closed_on is null)"
    ):
        return None
    done = await transaction.fetchrow(
        "select day, name from usance.money_runs where name like 'desk/%' "
        "order by day desc, name desc limit 1"
    )
    last = (done["day"], int(done["name"].partition("/")[2])) if done else None
    day = max(last[0], moment.business_date) if last else moment.business_date
    while (start := datetime.combine(day, time(), moment.lender.zone)).astimezone(UTC) <= until:
        for hour in (ALLOCATION_HOUR, *RUNS):
            at = (start + timedelta(hours=hour)).astimezone(UTC)
            if at <= until and (last is None or (day, hour) > last):
                return at, DeskRun(day, hour)
        day += timedelta(days=1)
    return None


async def contact_loop(platform: Platform, stop: asyncio.Event) -> None:
    """Make each run of a live lender when its hour has come; a sandbox's clock makes its own."""
    while not stop.is_set():
        try:
            async with platform.database.transaction(SYSTEM.principal_id) as transaction:
                moment = await now(transaction, platform.services)
                due = await next_run(transaction, moment, moment.at)
            if due is not None and not moment.lender.is_sandbox:
                await run_desk(platform, due[1])
        except UsanceError:
            LOG.warning("contacts wait", exc_info=True)
        try:
            await asyncio.wait_for(stop.wait(), POLL_SECONDS)
        except TimeoutError:
            continue


async def run_desk(platform: Platform, run: DeskRun) -> dict[str, int]:
    """The allocation of a morning, or every contact of a machine that is due."""
    told: dict[str, int] = {}
    if run.hour == ALLOCATION_HOUR:
        outcome = await platform.do(SYSTEM, AllocateCases())
        told = {name: outcome.answer[name] for name in ("cases", "allocated", "placed")}
    else:
        told = await send_due(platform)
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        await mark_run(transaction, run.day, f"desk/{run.hour:02d}", moment.at, told)
    return told


async def send_due(platform: Platform) -> dict[str, int]:
    """Make every contact of a machine that is due; how many were sent, re-routed, refused."""
    told = {"sent": 0, "rerouted": 0, "refused": 0, "waiting": 0}
    while True:
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            moment = await now(transaction, platform.services)
            users = await transaction.fetchval(
                "select usance.take_automatic($1, $2, $3)", moment.at, moment.at + AGAIN, PIECE
            )
        if not users:
            return told
        for user_id in users:
            told[await _contact(platform, user_id)] += 1


async def _contact(platform: Platform, user_id: int) -> str:
    """One contact, by the first channel that works."""
    is_first = True
    while True:
        sending = await _prepared(platform, user_id)
        if sending is None:
            return "waiting"
        begin = BeginContact(print_id("us", user_id), sending.channel.value, sending.script)
        try:
            begun = await platform.do(SYSTEM, begin)
        except Refused as error:
            LOG.info("user %d is not contacted: %s", user_id, error.code)
            return "refused"
        contact = str(begun.answer["contact"])
        try:
            await _send(platform, contact, sending)
        except ConnectionError as error:
            await platform.do(SYSTEM, EndContact(contact, connected=False))
            await platform.do(SYSTEM, MarkChannelDown(sending.channel.value, str(error)))
            is_first = False
            continue
        return "sent" if is_first and await _is_wanted(platform, sending) else "rerouted"


async def _is_wanted(platform: Platform, sending: Sending) -> bool:
    """True if a contact went by the channel that its strategy wants."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        case = await load_case(transaction, sending.user_id)
    return case is None or action_of(moment, case).channel is sending.channel


async def _prepared(platform: Platform, user_id: int) -> Sending | None:
    """The channel and the words for a case now; none if every channel of its debtor is down."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        case = await load_case(transaction, user_id)
        if case is None or case["closed_on"] is not None:
            return None
        action = action_of(moment, case)
        _, users = await person_of(transaction, user_id)
        debtor = await debtor_of(transaction, moment, users)
        channel = route(action.channel, debtor.consents, await channels_down(transaction))
        if channel is None:
            return None
        language = await transaction.fetchval(
            "select language from usance.contact_profiles where user_id = $1", user_id
        )
    currency = moment.lender.currency.name
    amount = str(Money(case["past_due_minor"], currency))
    text = words_of(action.script, language or "zh", amount, case["days_past_due"])
    letter = {
        "lender": "Usance", "borrower": print_id("us", user_id), "loan": print_id("ca", user_id),
        "as_of": moment.business_date.isoformat(), "past_due": case["past_due_minor"],
        "days_past_due": case["days_past_due"], "penalty": 0, "currency": currency,
        "pay_by": (moment.business_date + timedelta(days=14)).isoformat(), "help": text,
    }  # fmt: skip
    return Sending(user_id, channel, language or "zh", action.script, text, letter)


async def _send(platform: Platform, contact: str, sending: Sending) -> None:
    """Hand a logged contact to its port and keep what was sent; a letter is written first."""
    content, digest = sending.text, ""
    if sending.channel is Channel.LETTER:
        content = json.dumps(sending.letter, ensure_ascii=False, sort_keys=True)
        pdf = await asyncio.to_thread(letter_of, content, sending.language)
        digest = sha256(pdf).hexdigest()
    port: ChannelPort = platform.channels.get(sending.channel) or _LOCAL
    number = parse_id(contact, "ct")
    outgoing = Outgoing(number, sending.user_id, sending.script, sending.language, content)
    reference = await asyncio.to_thread(port.send, outgoing)
    await platform.do(SYSTEM, NoteSent(contact, sending.language, content, reference, digest))


class _Outbox(LocalChannel):
    """The local adapter: what it would send is kept by the command that notes it."""

    def send(self, outgoing: Outgoing) -> str:
        """The reference of a contact."""
        return f"local-{outgoing.attempt_id}"


_LOCAL = _Outbox()


def letter_of(content: str, language: str) -> bytes:
    """The file of a letter from what was kept of it; the same bytes each time."""
    from usance.service.documents.letters import DocumentKind, write_letter

    given = json.loads(content)
    currency = given.pop("currency")
    for name in ("past_due", "penalty"):
        given[name] = Money(given[name], currency)
    for name in ("as_of", "pay_by"):
        given[name] = date.fromisoformat(given[name])
    return write_letter(DocumentKind.OVERDUE_NOTICE, language, given).pdf
