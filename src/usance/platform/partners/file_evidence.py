"""Lines of a provider's file as words about our orders, and as money for nobody we know.

Each line is a command of its own; a line that was taken before changes nothing, so a worker that
dies in the middle begins again.
"""

from __future__ import annotations

import logging
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.errors import InputError
from usance.base.ids import parse_id
from usance.platform.commands.money.money_files import TakeFile
from usance.platform.commands.money.orders import NoteOrder
from usance.platform.commands.money.reconciliation import ReconcileDay
from usance.platform.commands.money.unallocated import ReceiveCash
from usance.platform.commands.unit_of_work import now
from usance.platform.partners.dispatch import mark_run
from usance.platform.principals import SYSTEM
from usance.platform.records.order_record import BY_REFERENCE, load_orders
from usance.service.bank_files.statement import FileLine
from usance.service.orders.provider_port import evidence

if TYPE_CHECKING:
    from usance.platform.live import Platform

LOG = logging.getLogger("usance.day")
_LINES = (
    "select l.*, f.provider from usance.file_lines l join usance.money_files f using (file_id)"
    " where f.file_id = $1 and f.in_force and f.source = 'provider' order by l.no"
)
_BOOKED = "select reference from usance.payments where provider = $1 and reference = any($2)"


async def take_file(platform: Platform, command: TakeFile) -> dict[str, Any]:
    """Take a file and book what its lines say; the command's answer with what came of it."""
    outcome = await platform.do(SYSTEM, command)
    booked = {"noted": 0, "received": 0, "unknown": 0}
    for statement in outcome.answer["statements"]:
        if statement["outcome"] != "repeated":
            await _book(platform, command, parse_id(statement["file"], "fi"), booked)
    return {**outcome.answer, **booked}


async def _book(
    platform: Platform, command: TakeFile, file_id: int, booked: dict[str, int]
) -> None:
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        rows = await transaction.fetch(_LINES, file_id)
        if not rows:
            return
        provider, references = rows[0]["provider"], [row["reference"] for row in rows]
        known = {
            record.order.reference: record.order
            for record in await load_orders(transaction, BY_REFERENCE, references)
        }
        done = {row["reference"] for row in await transaction.fetch(_BOOKED, provider, references)}
    lines = [
        FileLine(row["no"], row["reference"], row["amount_minor"], row["currency"],
                 row["booked_on"], bank_ref=row["bank_ref"], account=row["account"])
        for row in rows if row["reference"] in known or row["reference"] not in done
    ]  # fmt: skip
    read = evidence(lines, known, provider=provider, source=command.name, at=moment.at)
    booked["unknown"] += len(read.unknown)
    for reference, events in read.events.items():
        for event in events:
            noted = await platform.do(SYSTEM, NoteOrder(
                reference, event.kind.value, event.source, event.amount_minor, event.provider_ref,
                event.on,
            ))  # fmt: skip
            booked["noted"] += noted.is_new
    for cash in read.unallocated:
        if cash.currency == moment.lender.currency.name:
            name = moment.lender.party_name("provider", provider)
            received = await platform.do(SYSTEM, ReceiveCash(
                cash.amount_minor, cash.currency, min(cash.received_on, moment.business_date),
                cash.key.partition("/")[2], name, account=cash.account,
            ))  # fmt: skip
            booked["received"] += received.is_new


async def reconcile_providers(platform: Platform, day: date) -> dict[str, Any]:
    """Reconcile every provider that has sent a file up to a day; what came of each, by its name.

    One whose calendar lacks a day that is needed is named and waits: the window of a later evening
    takes this day in.
    """
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        rows = await transaction.fetch("select distinct provider from usance.money_files")
    told: dict[str, Any] = {}
    for row in rows:
        name = moment.lender.party_name("provider", row["provider"])
        try:
            told[name] = (await platform.do(SYSTEM, ReconcileDay(name, day))).answer
        except InputError as error:  # its calendar lacks the year; the others go on
            LOG.error("%s is not reconciled: %s", name, error)
            told[name] = {"waits": str(error)}
            continue
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            await mark_run(transaction, day, f"reconcile/{name}", moment.at, told[name])
    return told
