"""Commissions of channels: what the lines and the income of a month earn by contract."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from usance.acquire.channels import AttributionRule, Channel, Channels, Contract, Programme
from usance.acquire.funnel import Event, Step, acquisition_funnel
from usance.base.codes import ChannelKind
from usance.platform.lender import Lender

if TYPE_CHECKING:
    import asyncpg

ALWAYS = date(1990, 1, 1)
_LINES = (
    "select u.channel, u.user_id, min(l.effective_on) as first_on from usance.lines l "
    "join usance.users u on u.user_id = l.line_id / 16384 group by 1, 2 "
    "having min(l.effective_on) between $1 and $2"
)
_INCOME = (
    "select u.channel, u.user_id, sum(m.amount)::bigint as amount_minor from ("
    "  select p.user_id, (a->>'amount_minor')::bigint as amount "
    "  from usance.payments p, jsonb_array_elements(p.allocation) a "
    "  where a->>'component' <> 'principal' and p.effective_on between $1 and $2 "
    "  union all "
    "  select p.user_id, -(a->>'amount_minor')::bigint "
    "  from usance.payment_reversals r join usance.payments p using (payment_id), "
    "    jsonb_array_elements(p.allocation) a "
    "  where a->>'component' <> 'principal' and r.effective_on between $1 and $2"
    ") m join usance.users u using (user_id) group by 1, 2"
)
"""Interest and fees that borrowers paid in a month, less what bounced in it."""


def contracts(lender: Lender) -> Channels:
    """The channels of a lender with their contracts; one without a contract is paid nothing."""
    given = lender.document.get("contracts", {})
    entries = []
    for (kind, name), number in lender.parties.items():
        if kind != "channel":
            continue
        entries.append(_channel(number, name, ALWAYS, {}))
        entries += [_channel(number, name, date.fromisoformat(str(each["from"])), each)
                    for each in given.get(name, ())]  # fmt: skip
    return Channels(tuple(entries), AttributionRule.LAST_TOUCH, 30, lender.currency.name)


def _channel(number: int, name: str, first: date, given: dict[str, Any]) -> Channel:
    contract = Contract(
        per_line_minor=given.get("per_approved_line_minor", 0),
        revenue_ppm=given.get("revenue_share_ppm", 0),
    )
    kind = ChannelKind(given.get("kind", "partner"))
    return Channel(number, name, kind, first, None, contract, Programme())


async def commissions(
    transaction: asyncpg.Connection, lender: Lender, first: date, last: date
) -> list[dict[str, Any]]:
    """The month of each channel that the principal sees, by name."""
    channels = contracts(lender)
    lines = await transaction.fetch(_LINES, first, last)
    income = await transaction.fetch(_INCOME, first, last)
    events = [Event(row["channel"], row["user_id"], Step.APPROVED, row["first_on"])
              for row in lines]  # fmt: skip
    events += [Event(row["channel"], row["user_id"], Step.INCOME, last, row["amount_minor"])
               for row in income if row["amount_minor"]]  # fmt: skip
    cells = acquisition_funnel(channels, events).by_channel
    return [
        {"channel": name, "month": f"{first:%Y-%m}", "currency": lender.currency.name,
         "approved": cell.counts[Step.APPROVED.value], "income_minor": cell.income_minor,
         "commission_minor": cell.cost_minor}
        for (name,), cell in sorted(cells.items())
    ]  # fmt: skip
