"""Desks: who works cases, the morning's allocation, channels that are down, what was sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.codes import parse
from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.desk.case_times import later
from usance.platform.desk.outages import losses
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.records.case_record import LANGUAGES, channels_down, load_case, shown
from usance.platform.records.user_record import load_user, not_found, owner_of, read_id
from usance.platform.refusals import WrongState
from usance.platform.store.write_set import WriteSet
from usance.service.collections.allocation import AgencyTerms, Allocation, allocate
from usance.service.collections.candidates import Agent, Agents, CaseValues
from usance.service.collections.contact_rules import Channel
from usance.service.collections.stages import Stage
from usance.service.collections.strategy import DeskKind

if TYPE_CHECKING:
    import asyncpg

_PPM = 1_000_000
MAX_SLOTS = 10_000
CONTINUITY_MINOR = 500
"""Worth of the same agent again, in minor units [assumption]."""
UNFAIR_MINOR = 2_000
"""Cost of each case that an agency has below its fair share [assumption]."""


@dataclass(frozen=True)
class SetCollector:
    """Somebody who works cases: how many a day, which stages and languages, how well."""

    name: str
    slots: int
    desk: str = ""
    stages: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("zh",)
    skill_ppm: int = _PPM


@dataclass(frozen=True)
class AllocateCases:
    """Give every case that somebody can work today to the one with whom it brings most."""


@dataclass(frozen=True)
class MarkChannelDown:
    """A channel that does not work; its contacts go by others until it does."""

    channel: str
    reason: str


@dataclass(frozen=True)
class MarkChannelUp:
    """A channel that works again."""

    channel: str


@dataclass(frozen=True)
class NoteSent:
    """A contact that a machine has sent: what it was, and the reference of whoever carries it."""

    contact: str
    language: str
    content: str
    reference: str
    sha256: str = ""


async def set_collector(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: SetCollector
) -> Decided:
    """Keep what somebody can work; with no slots they get nothing."""
    number = await transaction.fetchval(
        "select principal_id from usance.principals where name = $1 and is_active "
        "and kind in ('operator', 'service')", command.name,
    )  # fmt: skip
    if number is None:
        raise InvalidField("is nobody who works here", where="body.name",
                           fix="Give the name of an operator")  # fmt: skip
    if not 0 <= command.slots <= MAX_SLOTS or not 0 <= command.skill_ppm <= 10 * _PPM:
        raise InvalidField("slots or skill are out of range", where="body.slots",
                           fix=f"Give 0 to {MAX_SLOTS} cases a day")  # fmt: skip
    stages = [parse(Stage, str(each), where="body.stages") for each in command.stages]
    languages = [str(each) for each in command.languages]
    if not languages or not set(languages) <= set(LANGUAGES):
        raise InvalidField("are no languages", where="body.languages",
                           fix=f"Give {' or '.join(LANGUAGES)}")  # fmt: skip
    desks = moment.lender.collections.strategy.desks
    if command.desk and command.desk not in desks:
        raise InvalidField("is no desk of the strategy", where="body.desk",
                           fix=f"Give {', '.join(desks)}")  # fmt: skip
    changes = WriteSet()
    row = {"principal_id": number, "desk": command.desk, "slots": command.slots,
           "stages": [int(each) for each in stages or Stage], "languages": languages,
           "skill_ppm": command.skill_ppm}  # fmt: skip
    changes.put("collectors", **row)
    answer = {**row, "stages": [each.label for each in stages or Stage], "name": command.name}
    del answer["principal_id"]
    return Decided(answer, f"collector/{number}", 0, changes, status=DONE)


async def allocate_cases(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, _command: AllocateCases
) -> Decided:
    """The best allocation of the cases of a day, to people and agencies; its gap is told."""
    staff = await transaction.fetch(
        "select c.*, p.name from usance.collectors c join usance.principals p using (principal_id)"
        " where c.slots > 0 and p.is_active order by principal_id"
    )
    agencies = await _agencies(transaction, moment)
    agents = [Agent(f"{row['principal_id']}", row["slots"], tuple(row["stages"]),
                    " ".join(row["languages"]), "", row["skill_ppm"]) for row in staff]  # fmt: skip
    stages = _agency_stages(moment)
    agents += [Agent(f"{number}", terms.max_cases, stages, " ".join(LANGUAGES), terms.name)
               for number, terms in agencies.items()]  # fmt: skip
    rows = await _open_cases(transaction, moment)
    told: dict[str, Any] = {"cases": len(rows), "allocated": 0, "placed": 0, "value_minor": 0,
                            "bound_minor": 0, "gap_ppm": 0}  # fmt: skip
    if not agents:
        await transaction.execute("select usance.assign_cases('{}', '{}')")
        return Decided(told, "cases", status=DONE)
    done = await asyncio.to_thread(_allocated, rows, Agents.of(agents), list(agencies.values()))
    given = [
        (row, int(agents[number].name), agents[number].agency)
        for row, number in zip(rows, done.agent.tolist(), strict=True) if number >= 0
    ]  # fmt: skip
    people = [(row["user_id"], who) for row, who, agency in given if not agency]
    users, owners = [each[0] for each in people], [each[1] for each in people]
    await transaction.execute(
        "select usance.assign_cases($1::bigint[], $2::bigint[])", users, owners
    )
    for number, terms in agencies.items():
        own = [row for row, who, agency in given if agency and who == number]
        await transaction.execute(
            "select usance.place_cases($1, $2::bigint[], $3::bigint[], $4, $5)", number,
            [row["user_id"] for row in own], [row["past_due_minor"] for row in own],
            moment.lender.collections.agencies[terms.name].get("target_ppm", 0),
            moment.business_date,
        )  # fmt: skip
    told |= {"allocated": len(people), "placed": len(given) - len(people),
             "value_minor": done.value_minor, "bound_minor": done.bound_minor,
             "gap_ppm": done.gap_ppm}  # fmt: skip
    return Decided(told, "cases", status=DONE)


def _allocated(rows: list[Any], agents: Agents, terms: list[AgencyTerms]) -> Allocation:
    last = [agents.names.index(str(row["agent"])) if str(row["agent"]) in agents.names else -1
            for row in rows]  # fmt: skip
    cases = CaseValues.of(
        [row["user_id"] for row in rows], [row["priority_minor"] for row in rows],
        [row["stage"] for row in rows], [row["language"] for row in rows], last, CONTINUITY_MINOR,
    )  # fmt: skip
    return allocate(cases, agents, terms, unfair_minor=UNFAIR_MINOR if terms else 0)


async def _open_cases(transaction: asyncpg.Connection, moment: Moment) -> list[Any]:
    """Cases that can be given to somebody on a day: with no agency, not in work, stopped, put off.

    One in work stays with whoever works it; an agency would take it out of their hands.
    """
    until = datetime.combine(moment.business_date + timedelta(days=1), time(), moment.lender.zone)
    rows: list[Any] = await transaction.fetch(
        "select c.user_id, c.priority_minor, c.stage, c.agent, c.past_due_minor,"
        " coalesce(p.language, 'zh') as language from usance.cases c"
        " left join usance.contact_profiles p using (user_id)"
        " where c.closed_on is null and not c.is_automatic and c.agency = 0"
        " and (c.locked_until is null or c.locked_until <= $2)"
        " and (c.next_at is null or c.next_at < $1) and not exists (select from usance.stops s"
        " where s.user_id = c.user_id and s.ended_at is null) order by c.user_id",
        until.astimezone(UTC), moment.at,
    )  # fmt: skip
    return rows


async def _agencies(transaction: asyncpg.Connection, moment: Moment) -> dict[int, AgencyTerms]:
    """Agencies by principal: cases that each may still take, and its fair share."""
    contracts = moment.lender.collections.agencies
    rows = await transaction.fetch(
        "select p.principal_id, p.name, (select count(*) from usance.agency_placements a"
        " where a.agency = p.principal_id and a.recalled_on is null) as held"
        " from usance.principals p where p.kind = 'agency' and p.is_active"
        " and p.name = any($1::text[]) order by p.principal_id", list(contracts),
    )  # fmt: skip
    found = {}
    for row in rows:
        own = contracts[row["name"]]
        left = max(own["max_cases"] - row["held"], 0)
        fair = min(max(own["fair_cases"] - row["held"], 0), left)
        found[row["principal_id"]] = AgencyTerms(row["name"], left, fair)
    return {number: terms for number, terms in found.items() if terms.max_cases}


def _agency_stages(moment: Moment) -> tuple[int, ...]:
    """Stages that the champion gives to a desk of agencies."""
    strategy = moment.lender.collections.strategy
    return tuple(sorted({
        int(stage) for (_, stage), action in strategy.arms[0].actions.items()
        if strategy.desks[action.desk].kind is DeskKind.AGENCY
    }))  # fmt: skip


async def mark_down(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: MarkChannelDown
) -> Decided:
    """Take a channel out; once, however often it is said. The loss that it costs a day is told."""
    channel = channel_named(command.channel)
    down = await channels_down(transaction)
    if channel in down:
        answer = {"channel": channel.value, "is_down": True}
        return Decided(answer, f"channel/{channel.value}", is_new=False, status=DONE)
    changes = WriteSet()
    number = await transaction.fetchval("select usance.next_ids('outage', 1)")
    changes.put("channel_outages", outage_id=number, channel=channel.value, began_at=moment.at,
                ended_at=None, reason=command.reason)  # fmt: skip
    [loss] = (await losses(transaction, moment, down | {channel}, only=channel)).values()
    told = {"channel": channel.value, "is_down": True, "since": shown(moment.at), "outage": loss}
    return Decided(told, f"channel/{channel.value}", 0, changes, status=DONE)


async def mark_up(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: MarkChannelUp
) -> Decided:
    """Take a channel back in."""
    channel = channel_named(command.channel)
    row = await transaction.fetchrow(
        "select * from usance.channel_outages where channel = $1 and ended_at is null",
        channel.value,
    )
    if row is None:
        raise WrongState("the channel is not down", where="body.channel", fix="Leave it")
    changes = WriteSet()
    changes.put("channel_outages", **{**dict(row), "ended_at": moment.at})
    answer = {"channel": channel.value, "is_down": False}
    return Decided(answer, f"channel/{channel.value}", 0, changes, status=DONE)


def channel_named(name: str) -> Channel:
    """The channel of a name."""
    try:
        return Channel(name)
    except ValueError:
        fix = f"Give {', '.join(each.value for each in Channel)}"
        raise InvalidField("is no channel", where="body.channel", fix=fix) from None


async def note_sent(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: NoteSent
) -> Decided:
    """Keep what a machine has sent; the case is offered again by its strategy."""
    from usance.platform.records.case_record import action_of

    attempt = read_id(command.contact, "ct", "contact")
    found = await transaction.fetchrow(
        "select * from usance.contact_attempts where attempt_id = $1 and reached = 'open'", attempt
    )
    if found is None:
        raise not_found("ct", attempt)
    user = await load_user(transaction, owner_of(attempt))
    row = {**dict(found), "reached": "connected", "ended_at": moment.at,
           "local_time": str(found["local_time"])}  # fmt: skip
    changes = WriteSet(user_changes=[user.change()])
    changes.put("contact_attempts", **row)
    changes.put(
        "outgoing", attempt_id=attempt, user_id=user.user_id, channel=row["channel"],
        language=command.language, content=command.content, sha256=command.sha256,
        reference=command.reference,
    )  # fmt: skip
    case = await load_case(transaction, user.user_id)
    if case is not None and case["closed_on"] is None:
        again = moment.at + timedelta(days=action_of(moment, case).every_days)
        changes.put("cases", **{**case, "locked_until": None,
                                "next_at": later(case["next_at"], again)})  # fmt: skip
    answer = {"contact": command.contact, "user": print_id("us", user.user_id),
              "channel": row["channel"], "reference": command.reference}  # fmt: skip
    return Decided(answer, command.contact, user.user_id, changes, status=DONE)
