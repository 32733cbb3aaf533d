"""Three-way reconciliation of a provider up to a day: our movements, its files, the bank's lines.

Breaks are raised once, by key. A break that a later file explains is resolved by the same run; one
that people have cleared stays cleared.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.platform.business_calendars import business_days
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.payments import provider_of
from usance.platform.commands.money.breaks import Raised, raise_breaks
from usance.platform.principals import Principal
from usance.platform.reads.loans.payments import loan_of
from usance.platform.records.order_record import MOVED_ON, load_orders, provider_settings
from usance.platform.refusals import DateInFuture
from usance.platform.store.write_set import WriteSet
from usance.service.bank_files.statement import FileLine
from usance.service.orders.payment_order import Purpose
from usance.service.orders.provider_port import movement_number
from usance.service.reconciliation.lines import Lines
from usance.service.reconciliation.reconcile import ClearingTerms, Reconciliation, reconcile

if TYPE_CHECKING:
    import asyncpg

WINDOW_DAYS = 45
"""Days that are looked at again each evening: what is older than that is matched or a break."""
_PAID = (
    "select p.reference, p.amount_minor, p.effective_on, p.loan_id from usance.payments p"
    " left join usance.payment_reversals r using (payment_id)"
    " where p.provider = $1 and p.effective_on between $2 and $3 and r.payment_id is null"
    " and not exists (select from usance.orders o where o.own_reference = p.reference)"
    " and not exists (select from usance.unallocated_uses u where u.target_id = p.payment_id)"
    " union all select u.reference, u.amount_minor, u.received_on, 0 from usance.unallocated u"
    " where u.provider = $1 and u.received_on between $2 and $3 and not exists"
    " (select from usance.payments p where p.payment_id = u.unallocated_id)"
)
_FILED = (
    "select l.* from usance.file_lines l join usance.money_files f using (file_id)"
    " where f.in_force and f.provider = $1 and f.source = $2 and l.booked_on between $3 and $4"
    " order by l.file_id, l.no"
)


@dataclass(frozen=True)
class ReconcileDay:
    """Compare the three views of a provider's money up to a day."""

    provider: str
    day: date


async def reconcile_day(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ReconcileDay
) -> Decided:
    """Match what agrees, raise what does not, and resolve what has been explained meanwhile."""
    if command.day > moment.business_date:
        raise DateInFuture("is in the future", where="body.day", fix="Give a day that has been")
    await act_as_platform(transaction)
    provider = provider_of(moment, principal, command.provider)
    done = await _compared(transaction, moment, provider, command.day)
    found = [
        Raised(provider, each.leg.value, each.kind.value, each.reference, each.amount_minor,
               each.difference_minor, each.day, each.owner, each.command)
        for each in done.breaks
    ]  # fmt: skip
    changes = WriteSet()
    raised = await raise_breaks(transaction, moment, found, changes)
    resolved = await _resolve(transaction, moment, provider, {each.key for each in found}, changes)
    answer = {
        "provider": command.provider, "day": command.day.isoformat(),
        "matched": done.matched_lines, "breaks": len({each.key for each in found}),
        "raised": raised, "resolved": resolved, "in_transit_minor": done.in_transit_minor,
        "ties": not list(done.tie_problems()),
    }  # fmt: skip
    return Decided(answer, f"reconciliation/{command.provider}/{command.day}", 0, changes,
                   status=DONE, as_platform=True)  # fmt: skip


async def _compared(
    transaction: asyncpg.Connection, moment: Moment, provider: int, day: date
) -> Reconciliation:
    first = day - timedelta(days=WINDOW_DAYS)
    currency = moment.lender.currency.name
    given = provider_settings(moment.lender, provider)
    name = moment.lender.party_name("provider", provider)
    terms = replace(ClearingTerms.at(day, currency, moment.lender.parameters),
                    calendar=business_days(moment.lender, "provider", name),
                    fee_ppm=given.get("fee_ppm", 0))  # fmt: skip
    ours = await _own_lines(transaction, moment, provider, first, day)
    known = {each.reference for each in ours}
    file = [_numbered(_line(row), known) for row in
            await transaction.fetch(_FILED, provider, "provider", first, day)]  # fmt: skip
    bank = [_line(row) for row in await transaction.fetch(_FILED, provider, "bank", first, day)]
    return reconcile(Lines.of(ours), Lines.of(file), Lines.of(bank), terms, through=day)


def _numbered(line: FileLine, known: Collection[str]) -> FileLine:
    """A line by the number that its money was received under, where it names no order of ours."""
    number = movement_number(line)
    if line.reference in known or number not in known:
        return line
    return line._replace(reference=number)


async def _own_lines(
    transaction: asyncpg.Connection, moment: Moment, provider: int, first: date, day: date
) -> list[FileLine]:
    """Movements that our orders and payments state."""
    currency, found = moment.lender.currency.name, []
    for record in await load_orders(transaction, MOVED_ON, provider, first, day):
        order = record.order
        sign = 1 if order.purpose is Purpose.DEBIT else -1
        loan = order.splits[0].loan_id if len(order.splits) == 1 else 0
        for direction, movements in ((sign, order.settlements), (-sign, order.returns)):
            found += [
                FileLine(0, order.reference, direction * each.amount_minor, currency, each.on,
                         loan_id=loan)
                for each in movements if first <= each.on <= day
            ]  # fmt: skip
    for row in await transaction.fetch(_PAID, provider, first, day):
        found.append(FileLine(0, row["reference"], row["amount_minor"], currency,
                              row["effective_on"], loan_id=loan_of(row["loan_id"])))  # fmt: skip
    return found


def _line(row: Any) -> FileLine:
    return FileLine(
        row["no"], row["reference"], row["amount_minor"], row["currency"], row["booked_on"],
        row["value_on"], bytes(row["party"]).hex(), row["batch"], row["fee_minor"],
        row["loan_id"], row["bank_ref"], row["is_reversal"],
    )  # fmt: skip


async def _resolve(
    transaction: asyncpg.Connection, moment: Moment, provider: int, found: set[str],
    changes: WriteSet,
) -> int:  # fmt: skip
    """End the open breaks of files that are no longer there; the number of them."""
    rows = await transaction.fetch(
        "select * from usance.breaks where provider = $1 and leg <> 'order'"
        " and state in ('open', 'explained')", provider,
    )  # fmt: skip
    gone = [dict(row) for row in rows if row["key"] not in found]
    for row in gone:
        changes.put("breaks", **{**row, "state": "resolved", "ended_at": moment.at,
                                 "reason": row["reason"] or "a later file agrees"})  # fmt: skip
    return len(gone)
