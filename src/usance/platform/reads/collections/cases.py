"""Cases as they are read: lists, one case with all that happened, promises, desks, results."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.arrays import I64
from usance.base.ids import print_id
from usance.base.money import Money
from usance.platform.commands.collections.contacts import contact_answer
from usance.platform.desk.case_times import timing_of
from usance.platform.desk.case_values import reasons_of
from usance.platform.desk.outages import losses
from usance.platform.records.case_record import (
    case_answer,
    channels_down,
    load_case,
    next_action,
    reach_of,
    shown,
)
from usance.platform.records.user_record import not_found
from usance.service.collections.action_value import action_value
from usance.service.collections.cases import Cases
from usance.service.collections.contact_rules import Channel, needs_consent
from usance.service.collections.scripts import words_of
from usance.service.collections.stages import Stage

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.commands.command import Moment

HISTORY = 50
"""Contacts and promises of a case that are told."""


async def cases(
    transaction: asyncpg.Connection, *, state: str = "open", stage: str | None = None,
    after: int = 0, limit: int = 50, best_first: bool = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """Cases that the principal sees, by id or the best first."""
    number = None if stage is None else int(Stage[stage.upper()])
    rows = await transaction.fetch(
        "select * from usance.cases where user_id > $1 and ($2 = 'all' or "
        "(closed_on is null) = ($2 = 'open')) and ($3::smallint is null or stage = $3) "
        "order by case when $5 then -priority_minor end, user_id limit $4",
        after, state, number, limit, best_first,
    )  # fmt: skip
    return [case_answer(dict(row)) for row in rows]


async def one_case(transaction: asyncpg.Connection, moment: Moment, user_id: int) -> dict[str, Any]:
    """One case: who, what, when, the next action with its words and why, and what happened."""
    row = await load_case(transaction, user_id)
    if row is None:
        raise not_found("ca", user_id)
    profile = await transaction.fetchrow(
        "select * from usance.contact_profiles where user_id = $1", user_id
    )
    language = profile["language"] if profile else "zh"
    consents = frozenset(Channel(each) for each in profile["channels"]) if profile else frozenset()
    down = await channels_down(transaction)
    # Of other accounts of the person an agency sees nothing, so what they forbid is left out.
    timing = timing_of(moment, row, await reach_of(transaction, moment, user_id), down)
    action = next_action(moment, row, down, consents)
    owed = Money(row["past_due_minor"], moment.lender.currency.name)
    contacts = await contacts_of(transaction, user_id)
    return {
        **case_answer(row), "language": language,
        "time_zone": profile["time_zone"] if profile else str(moment.lender.zone),
        "consents": sorted(each.value for each in consents),
        "action": {**action, "words": words_of(action["script"], language, str(owed),
                                               row["days_past_due"]),
                   **await _worth(transaction, moment, row, action)},
        "forbidden": list(timing.forbidden),
        "allowed_from": shown(timing.allowed_from) if timing.forbidden else None,
        "contacts": contacts, "promises": await promises_of(transaction, user_id),
        "stops": await stops_of(transaction, user_id),
    }  # fmt: skip


async def _worth(
    transaction: asyncpg.Connection, moment: Moment, row: dict[str, Any], action: dict[str, Any]
) -> dict[str, Any]:
    """Reasons for an action: the probability it adds times what is owed, less its cost."""
    channel = Channel(action["channel"] or action["wanted_channel"])
    case = _as_column(row)
    told = await reasons_of(
        transaction, moment.lender.collections, case, channel, moment.business_date
    )
    value = action_value([told["added_ppm"]], [row["past_due_minor"]], [action["cost_minor"]])
    return {**told, "value_minor": int(value[0])}


def _as_column(row: dict[str, Any]) -> Cases:
    """A case as the cases of an evening are."""

    def of(name: str) -> I64:
        return np.array([row[name]], np.int64)

    return Cases(of("user_id"), of("days_past_due"), of("past_due_minor"), of("principal_minor"),
                 of("loans"), of("stage").astype(np.int8), np.zeros(1, np.int64))  # fmt: skip


async def contacts_of(transaction: asyncpg.Connection, user_id: int) -> list[dict[str, Any]]:
    """Attempts to reach a borrower, newest first, with what a machine sent."""
    rows = await transaction.fetch(
        "select a.*, o.content, o.reference, o.sha256, p.name from usance.contact_attempts a "
        "left join usance.outgoing o using (attempt_id) "
        "left join usance.principals p on p.principal_id = a.agent "
        "where a.user_id = $1 order by a.began_at desc, a.attempt_id desc limit $2",
        user_id, HISTORY,
    )  # fmt: skip
    return [
        {**contact_answer(dict(row)), "by": row["name"], "content": row["content"],
         "reference": row["reference"], "sha256": row["sha256"] or None}
        for row in rows
    ]  # fmt: skip


async def promises_of(transaction: asyncpg.Connection, user_id: int) -> list[dict[str, Any]]:
    """Promises of a borrower, newest first."""
    rows = await transaction.fetch(
        "select p.*, w.name from usance.promises p left join usance.principals w "
        "on w.principal_id = p.agent where p.user_id = $1 order by promise_id desc limit $2",
        user_id, HISTORY,
    )  # fmt: skip
    return [promise_answer(row) for row in rows]


async def promises(
    transaction: asyncpg.Connection, state: str | None = None, after: int = 0, limit: int = 50
) -> list[dict[str, Any]]:
    """Promises that the principal sees, by id."""
    rows = await transaction.fetch(
        "select p.*, w.name from usance.promises p left join usance.principals w "
        "on w.principal_id = p.agent where ($1::text is null or p.state = $1) "
        "and p.promise_id > $2 "
        "order by p.promise_id limit $3", state, after, limit,
    )  # fmt: skip
    return [promise_answer(row) for row in rows]


def promise_answer(row: Any) -> dict[str, Any]:
    """A promise as it is told."""
    return {
        "promise": print_id("pr", row["promise_id"]), "user": print_id("us", row["user_id"]),
        "case": print_id("ca", row["user_id"]), "made_on": row["made_on"].isoformat(),
        "due_on": row["due_on"].isoformat(), "amount_minor": row["amount_minor"],
        "channel": row["channel"], "by": row["name"], "state": row["state"],
    }  # fmt: skip


async def stops_of(transaction: asyncpg.Connection, user_id: int) -> list[dict[str, Any]]:
    """Stops of a borrower, newest first."""
    rows = await transaction.fetch(
        "select * from usance.stops where user_id = $1 order by stop_id desc", user_id
    )
    return [
        {"stop": print_id("st", row["stop_id"]), "reason": row["reason"],
         "begun_at": shown(row["begun_at"]), "ended_at": shown(row["ended_at"])}
        for row in rows
    ]  # fmt: skip


async def team(transaction: asyncpg.Connection, moment: Moment) -> list[dict[str, Any]]:
    """Everybody who works cases: what they were given, worked and brought today."""
    rows = await transaction.fetch(
        "select c.*, p.name, "
        "(select count(*) from usance.cases x where x.assigned = c.principal_id "
        " and x.closed_on is null) as assigned, "
        "(select count(*) from usance.cases x where x.agent = c.principal_id "
        " and x.locked_until > $1) as in_work, "
        "(select count(*) from usance.contact_attempts a where a.agent = c.principal_id "
        " and a.began_at >= $2) as contacts, "
        "(select count(*) from usance.contact_attempts a where a.agent = c.principal_id "
        " and a.began_at >= $2 and a.reached = 'connected') as connected, "
        "(select count(*) from usance.promises m where m.agent = c.principal_id "
        " and m.made_on = $3) as promised, "
        "(select count(*) from usance.promises m where m.agent = c.principal_id "
        " and m.state = 'kept') as kept, "
        "(select count(*) from usance.promises m where m.agent = c.principal_id "
        " and m.state in ('kept', 'partly', 'broken')) as judged "
        "from usance.collectors c join usance.principals p using (principal_id) order by p.name",
        moment.at, moment.at - timedelta(days=1), moment.business_date,
    )  # fmt: skip
    return [
        {"name": row["name"], "desk": row["desk"], "slots": row["slots"],
         "stages": [Stage(each).label for each in row["stages"]],
         "languages": list(row["languages"]), "assigned": row["assigned"],
         "in_work": row["in_work"], "contacts": row["contacts"], "connected": row["connected"],
         "promises": row["promised"],
         "kept_ppm": row["kept"] * 1_000_000 // row["judged"] if row["judged"] else None}
        for row in rows
    ]  # fmt: skip


async def desks(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Open cases by stage: how many, how much, how many in work, promised and with an agency."""
    rows = await transaction.fetch(
        "select c.stage, count(*) as cases, sum(c.past_due_minor)::bigint as owed, "
        "count(*) filter (where c.is_automatic) as automatic, "
        "count(*) filter (where c.agency <> 0) as placed, "
        "count(*) filter (where c.assigned <> 0) as assigned, "
        "count(*) filter (where exists (select from usance.promises p "
        " where p.user_id = c.user_id and p.state = 'open')) as promised "
        "from usance.cases c where c.closed_on is null group by c.stage order by c.stage"
    )
    return [
        {"stage": Stage(row["stage"]).label, "cases": row["cases"], "past_due_minor": row["owed"],
         "automatic": row["automatic"], "with_agency": row["placed"],
         "assigned": row["assigned"], "promised": row["promised"]}
        for row in rows
    ]  # fmt: skip


async def channels(transaction: asyncpg.Connection, moment: Moment) -> list[dict[str, Any]]:
    """Channels, each with the outage that it is in and what that is expected to cost a day."""
    rows = await transaction.fetch(
        "select channel, began_at, reason from usance.channel_outages where ended_at is null"
    )
    down = {row["channel"]: row for row in rows}
    lost = await losses(transaction, moment, frozenset(map(Channel, down)))
    return [
        {"channel": each.value, "is_down": each.value in down,
         "since": shown(down[each.value]["began_at"]) if each.value in down else None,
         "reason": down[each.value]["reason"] if each.value in down else None,
         "needs_consent": needs_consent(each), "outage": lost.get(each)}
        for each in Channel
    ]  # fmt: skip


async def agencies(transaction: asyncpg.Connection, moment: Moment) -> list[dict[str, Any]]:
    """Agencies with their contract and the cases they hold."""
    rows = await transaction.fetch(
        "select p.name, count(a.user_id) as held, coalesce(sum(a.owed_minor), 0)::bigint as owed "
        "from usance.principals p left join usance.agency_placements a "
        "on a.agency = p.principal_id and a.recalled_on is null "
        "where p.kind = 'agency' and p.is_active group by p.name order by p.name"
    )
    contracts = moment.lender.collections.agencies
    return [
        {"agency": row["name"], "cases": row["held"], "owed_minor": row["owed"],
         **contracts[row["name"]]}
        for row in rows if row["name"] in contracts
    ]  # fmt: skip


async def seen_users(transaction: asyncpg.Connection, users: list[int]) -> set[int]:
    """Those of some users whose case the principal sees."""
    rows = await transaction.fetch(
        "select user_id from usance.cases where user_id = any($1::bigint[])", users
    )
    return {row["user_id"] for row in rows}


async def reported(
    transaction: asyncpg.Connection, references: list[str]
) -> dict[str, tuple[int, date, int]]:
    """Payments that the agency has reported under some references: whose, when, how much."""
    rows = await transaction.fetch(
        "select reference, user_id, paid_on, amount_minor from usance.agency_reports "
        "where reference = any($1::text[])", references,
    )  # fmt: skip
    return {row["reference"]: tuple(row)[1:] for row in rows}


async def last_draft(transaction: asyncpg.Connection, user_id: int) -> dict[str, Any] | None:
    """The youngest draft of a reply to a borrower."""
    row = await transaction.fetchrow(
        "select text, made_by from usance.drafts where user_id = $1 and kind = 'reply' "
        "order by draft_id desc limit 1", user_id,
    )  # fmt: skip
    return None if row is None else dict(row)


async def letter(transaction: asyncpg.Connection, attempt: int) -> tuple[str, str]:
    """The content of a letter that was sent, and its language."""
    row = await transaction.fetchrow(
        "select content, language from usance.outgoing "
        "where attempt_id = $1 and channel = 'letter'", attempt,
    )  # fmt: skip
    if row is None:
        raise not_found("ct", attempt)
    return row["content"], row["language"]


def month_of(day: date) -> tuple[date, date]:
    """First and last day of the month of a day."""
    first = day.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
