"""When a case may be worked: whether its next contact is allowed now, and else from when on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.platform.commands.command import Moment, act_as_platform
from usance.platform.principals import Principal
from usance.platform.records.case_record import Reach, action_of, reach_of, rules_in_force
from usance.service.collections.channels import route
from usance.service.collections.contact_rules import (
    Channel,
    Contact,
    ContactRule,
    ContactRules,
    Debtor,
    broken_rules,
    zone_of,
)
from usance.service.collections.contact_times import allowed_from

if TYPE_CHECKING:
    import asyncpg

    from usance.service.collections.strategy import Action

AGAIN = timedelta(minutes=30)
"""A case whose channels are down is put off so long."""
CHANNEL_DOWN = "channel_down"


class Timing(NamedTuple):
    """The next contact of a case: its channel, the rules that forbid it now, and when they end."""

    channel: Channel | None
    forbidden: tuple[str, ...]
    allowed_from: datetime | None
    """None if no waiting helps."""


@asynccontextmanager
async def as_platform(transaction: asyncpg.Connection, principal: Principal) -> AsyncIterator[None]:
    """Read as the platform itself: limits are those of a person, of whom others see a part."""
    await act_as_platform(transaction)
    try:
        yield
    finally:
        await transaction.execute(
            "select set_config('usance.principal', $1, true)", str(principal.principal_id)
        )


def timing_of(
    moment: Moment, row: Mapping[str, Any], reach: Reach, down: frozenset[Channel]
) -> Timing:
    """The channel of a case's next contact, and from when on it may be made."""
    action = action_of(moment, row)
    channel = route(action.channel, reach.debtor.consents, down)
    if channel is None:
        is_agreed = route(action.channel, reach.debtor.consents, ()) is not None
        if is_agreed:
            return Timing(None, (CHANNEL_DOWN,), moment.at + AGAIN)
        return Timing(None, (ContactRule.NO_CONSENT.value,), None)
    contact = Contact(moment.at, channel)
    broken = broken_rules(contact, reach.debtor, reach.calls, reach.rules)
    first = allowed_from(
        contact, reach.debtor, reach.calls, lambda day: rules_in_force(moment, day)
    )
    return Timing(channel, tuple(rule.value for rule in broken), first)


async def rests_until(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, row: Mapping[str, Any],
    down: frozenset[Channel],
) -> datetime | None:  # fmt: skip
    """The moment until which a case is not offered; None if it may be worked now.

    A contact of the caller that is under way is theirs to end. The hours of an action count too;
    what no waiting mends is looked at again on the next day.
    """
    user_id = row["user_id"]
    is_under_way = await transaction.fetchval(
        "select exists (select from usance.contact_attempts "
        "where user_id = $1 and agent = $2 and reached = 'open')", user_id, principal.principal_id,
    )  # fmt: skip
    if is_under_way:
        return None
    async with as_platform(transaction, principal):
        reach = await reach_of(transaction, moment, user_id)
    action = action_of(moment, row)
    timing = timing_of(moment, row, reach, down)
    if timing.channel is None or timing.allowed_from is None:
        return timing.allowed_from or _tomorrow(moment)
    found = allowed_from(
        Contact(moment.at, timing.channel), reach.debtor, reach.calls,
        lambda day: _hours_of(action, rules_in_force(moment, day)),
    )  # fmt: skip
    return None if found == moment.at else found


def _hours_of(action: Action, rules: ContactRules) -> ContactRules:
    """Limits with the hours of an action, where those lie inside."""
    opens, closes = max(action.earliest, rules.quiet_until), min(action.latest, rules.quiet_from)
    if opens >= closes:
        return rules
    return rules._replace(quiet_from=closes, quiet_until=opens)


def _tomorrow(moment: Moment) -> datetime:
    day = moment.business_date + timedelta(days=1)
    return datetime.combine(day, time(), moment.lender.zone).astimezone(UTC)


def after_promise(debtor: Debtor, made_on: date, due_on: date, rules: ContactRules) -> datetime:
    """The moment at which a promise no longer lets its debtor rest."""
    last = min(due_on, made_on + timedelta(days=rules.promise_cool_off_days))
    begun = datetime.combine(last + timedelta(days=1), time(), zone_of(debtor.time_zone))
    return begun.astimezone(UTC)


def later(one: datetime | None, other: datetime) -> datetime:
    """The later of two moments, of which the first may be none."""
    return other if one is None else max(one, other)
