"""The collection case of a borrower as the database holds it, and the debtor behind it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from usance.base.ids import print_id
from usance.platform.commands.command import Moment
from usance.platform.refusals import WrongState
from usance.service.collections.channels import route
from usance.service.collections.contact_rules import (
    Attempt,
    Channel,
    ContactOutcome,
    ContactRules,
    Debtor,
    Stop,
    local_moment,
    zone_of,
)
from usance.service.collections.stages import Stage
from usance.service.collections.strategy import Action

if TYPE_CHECKING:
    import asyncpg

FIRST_HOUR, LAST_HOUR = time(8), time(22)
"""The window that the database holds, whatever a country's parameters say beyond it."""
MAX_CALLS = 3
"""Places of a person's day that the database has."""
LANGUAGES = ("zh", "en")
"""Languages that debtors are addressed in."""
MOVED = timedelta(hours=24)
"""Time for which the zone that a debtor had before counts as well, so that saying where somebody
lives opens no hour that was shut."""


class Reach(NamedTuple):
    """The person behind a user as contacts see them now, over all their users."""

    person: int
    debtor: Debtor
    local: datetime
    """Now, on the debtor's own clock."""
    taken: tuple[int, ...]
    """Places of the person's day that calls have."""
    rules: ContactRules

    @property
    def calls(self) -> list[Attempt]:
        """Calls of the day that reached the person, or may have."""
        return [Attempt(self.local, Channel.VOICE, ContactOutcome.OPEN)] * len(self.taken)


async def load_case(transaction: asyncpg.Connection, user_id: int) -> dict[str, Any] | None:
    """The row of a borrower's case, open or closed; None if there never was one."""
    row = await transaction.fetchrow("select * from usance.cases where user_id = $1", user_id)
    return None if row is None else dict(row)


async def open_case(transaction: asyncpg.Connection, user_id: int) -> dict[str, Any]:
    """The row of a borrower's open case."""
    row = await load_case(transaction, user_id)
    if row is None or row["closed_on"] is not None:
        fix = "Work borrowers with something past due"
        raise WrongState("there is no open case", where=print_id("us", user_id), fix=fix)
    return row


def case_answer(row: dict[str, Any]) -> dict[str, Any]:
    """A case as it is told."""
    return {
        "case": print_id("ca", row["user_id"]), "user": print_id("us", row["user_id"]),
        "stage": Stage(row["stage"]).label, "days_past_due": row["days_past_due"],
        "past_due_minor": row["past_due_minor"], "principal_minor": row["principal_minor"],
        "loans": row["loans"], "priority_minor": row["priority_minor"],
        "segment": row["segment"] or None, "arm": row["arm"] or None,
        "opened_on": row["opened_on"].isoformat(),
        "closed_on": row["closed_on"].isoformat() if row["closed_on"] else None,
        "locked_until": shown(row["locked_until"]), "next_at": shown(row["next_at"]),
    }  # fmt: skip


def action_of(moment: Moment, row: Mapping[str, Any]) -> Action:
    """The action of the strategy in force for a case, for the segment and arm it had last."""
    segment, arm = where_of(moment, row)
    return moment.lender.collections.strategy.action(arm, segment, Stage(row["stage"]))


def where_of(moment: Moment, row: Mapping[str, Any]) -> tuple[str, str]:
    """Segment and arm of a case; those of another strategy are found anew."""
    strategy = moment.lender.collections.strategy
    arm = strategy.arms[int(strategy.arm_column(np.array([row["user_id"]]))[0])].name
    names = [each.name for each in strategy.segments]
    if row["segment"] in names:
        return row["segment"], arm
    owed = np.array([row["past_due_minor"]])
    return names[int(strategy.segment_column(owed, np.zeros(1, np.int64))[0])], arm


async def channels_down(transaction: asyncpg.Connection) -> frozenset[Channel]:
    """Channels that are down now."""
    rows = await transaction.fetch(
        "select channel from usance.channel_outages where ended_at is null"
    )
    return frozenset(Channel(row["channel"]) for row in rows)


def next_action(
    moment: Moment, row: Mapping[str, Any], down: frozenset[Channel] = frozenset(),
    consents: frozenset[Channel] = frozenset(Channel),
) -> dict[str, Any]:  # fmt: skip
    """The action of a case as it is told: how, with which words, how often, and why this one.

    A channel that is down gives its work to the next that the debtor has agreed to; if there is
    none, the case waits and the channel is null.
    """
    strategy, action = moment.lender.collections.strategy, action_of(moment, row)
    segment, arm = where_of(moment, row)
    channel = route(action.channel, consents, down)
    return {
        "strategy": strategy.name, "segment": segment, "arm": arm,
        "channel": channel.value if channel else None, "wanted_channel": action.channel.value,
        "desk": action.desk, "script": action.script, "tone": action.tone.value,
        "every_days": action.every_days, "cost_minor": action.cost_minor,
        "earliest": action.earliest.isoformat("minutes"),
        "latest": action.latest.isoformat("minutes"),
    }  # fmt: skip


async def consents_of(transaction: asyncpg.Connection, user_id: int) -> frozenset[Channel]:
    """Channels that a user agreed to."""
    given = await transaction.fetchval(
        "select channels from usance.contact_profiles where user_id = $1", user_id
    )
    return frozenset(Channel(each) for each in given or ())


def shown(at: datetime | None) -> str | None:
    """A moment as it is told."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


async def reach_of(transaction: asyncpg.Connection, moment: Moment, user_id: int) -> Reach:
    """The person behind a user, with the calls of their day and the limits of it."""
    person, users = await person_of(transaction, user_id)
    debtor = await debtor_of(transaction, moment, users)
    local = local_clock(moment, debtor)
    begun = datetime.combine(local.date(), time(), local.tzinfo).astimezone(UTC)
    taken = await transaction.fetchval(
        "select usance.calls_of_person($1, $2, $3)", person, local.date(), begun
    )
    return Reach(person, debtor, local, tuple(taken), rules_in_force(moment, local.date()))


async def person_of(transaction: asyncpg.Connection, user_id: int) -> tuple[int, list[int]]:
    """The person of a user with all users of theirs; a user without one stands for themselves."""
    person = await transaction.fetchval(
        "select person_id from usance.user_persons where user_id = $1", user_id
    )
    if person is None:
        return -user_id, [user_id]
    users = await transaction.fetchval("select usance.users_of_person($1)", person)
    return person, list(users)


async def debtor_of(transaction: asyncpg.Connection, moment: Moment, users: list[int]) -> Debtor:
    """The debtor behind some users: one zone, every stop, the youngest open promise of all."""
    profiles = await transaction.fetch(
        "select time_zone, channels, zone_before, zone_changed_at from usance.contact_profiles "
        "where user_id = any($1) order by user_id", users,
    )  # fmt: skip
    stops = await transaction.fetch(
        "select reason from usance.stops where user_id = any($1) and ended_at is null", users
    )
    promise = await transaction.fetchrow(
        "select made_on, due_on from usance.promises where user_id = any($1) and state = 'open' "
        "order by made_on desc, promise_id desc limit 1", users,
    )  # fmt: skip
    agreed = [set(row["channels"]) for row in profiles]
    channels = set.intersection(*agreed) if agreed else set()
    zones = [row["time_zone"] for row in profiles] or [str(moment.lender.zone)]
    zones += [row["zone_before"] for row in profiles
              if row["zone_before"] and moment.at < row["zone_changed_at"] + MOVED]  # fmt: skip
    return Debtor(
        zones[0],
        frozenset(Channel(each) for each in channels),
        frozenset(Stop(row["reason"]) for row in stops),
        promise["made_on"] if promise else None, promise["due_on"] if promise else None,
        frozenset(zones[1:]) - {zones[0]},
    )  # fmt: skip


def rules_in_force(moment: Moment, day: date) -> ContactRules:
    """Limits of a day, never wider than those that the database holds."""
    rules = ContactRules.at(day, moment.lender.parameters)
    return rules._replace(
        connected_calls_per_day=min(rules.connected_calls_per_day, MAX_CALLS),
        quiet_from=min(rules.quiet_from, LAST_HOUR), quiet_until=max(rules.quiet_until, FIRST_HOUR),
    )  # fmt: skip


def local_clock(moment: Moment, debtor: Debtor) -> datetime:
    """Now, on the debtor's own clock."""
    return local_moment(moment.at, zone_of(debtor.time_zone))
