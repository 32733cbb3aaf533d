"""Contacts with debtors: logged before they are made, refused by hard limits, ended by an outcome.

A call takes one of the places of its person's day in the database. Two that were decided on at once
cannot take one place: the slower is decided again, and refused when none is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.codes import parse
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.desk.case_times import after_promise, later, rests_until
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.records.case_record import (
    LANGUAGES,
    MOVED,
    action_of,
    case_answer,
    channels_down,
    consents_of,
    debtor_of,
    load_case,
    next_action,
    open_case,
    reach_of,
    rules_in_force,
    shown,
)
from usance.platform.records.user_record import load_user, not_found, owner_of, read_id
from usance.platform.refusals import CONTACT_REFUSALS, WrongState
from usance.platform.store.write_set import WriteSet
from usance.service.collections.contact_rules import (
    Channel,
    Contact,
    ContactOutcome,
    Party,
    broken_rules,
)
from usance.service.collections.promises import Promise, check_promise
from usance.service.collections.stages import Stage

if TYPE_CHECKING:
    import asyncpg

LOCK = timedelta(minutes=15)
"""A case in work goes back if nothing happens for so long."""
MAX_SKIPPED = 200
"""Cases that are put off, at most, before there is none; those at night are not even looked at."""


@dataclass(frozen=True)
class TakeNextCase:
    """The best case now, for one who works it."""

    stages: tuple[str, ...] = ()


@dataclass(frozen=True)
class BeginContact:
    """A contact that is about to be made."""

    user: str
    channel: str
    script: str = ""
    party: str = "debtor"


@dataclass(frozen=True)
class EndContact:
    """The outcome of a contact."""

    contact: str
    connected: bool


@dataclass(frozen=True)
class SetContactProfile:
    """The time zone of a debtor, and the channels they agreed to."""

    user: str
    time_zone: str
    channels: tuple[str, ...] = ()
    language: str = "zh"


@dataclass(frozen=True)
class MakePromise:
    """An amount that a debtor promises to pay by a day."""

    user: str
    amount_minor: int
    due_on: date
    channel: str = "voice"


async def take_next(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: TakeNextCase
) -> Decided:
    """Lock the best case that may be worked now to the caller; the one in work, if there is one.

    Cases of which a rule forbids the next contact are put off until it no longer does.
    """
    wanted = [parse(Stage, each, where="body.stages") for each in command.stages] or list(Stage)
    who, rules = principal.principal_id, rules_in_force(moment, moment.business_date)
    stages, languages = await _of_collector(transaction, who, wanted)
    down = await channels_down(transaction)
    for _ in range(MAX_SKIPPED):
        found = await transaction.fetchval(
            "select usance.next_case($1, $2::smallint[], $3::text[], $4, $5, $6, $7)",
            who, stages, languages, moment.at, rules.quiet_until, rules.quiet_from,
            str(moment.lender.zone),
        )  # fmt: skip
        if found is None:
            break
        row = await open_case(transaction, found)
        until = await rests_until(transaction, principal, moment, row, down)
        if until is not None:
            await transaction.execute("select usance.rest_case($1, $2)", found, until)
            continue
        held = moment.at + LOCK
        await transaction.execute("select usance.hold_case($1, $2, $3)", found, who, held)
        consents = await consents_of(transaction, found)
        action = next_action(moment, row, down, consents)
        answer = {"case": {**case_answer({**row, "locked_until": held}), "action": action}}
        return Decided(answer, print_id("ca", found), found, status=DONE)
    return Decided({"case": None}, "cases", is_new=False, status=DONE)


async def _of_collector(
    transaction: asyncpg.Connection, who: int, wanted: list[Stage]
) -> tuple[list[int], list[str]]:
    """Stages and languages that somebody works, of those asked for; all where nothing is set."""
    own = await transaction.fetchrow(
        "select slots, stages, languages from usance.collectors where principal_id = $1", who
    )
    stages = [int(each) for each in wanted]
    if own is None:
        return stages, list(LANGUAGES)
    return [each for each in stages if own["slots"] and each in own["stages"]], own["languages"]


async def begin(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: BeginContact
) -> Decided:
    """Log a contact before it is made, if no rule forbids it."""
    channel, party = _member(Channel, command.channel), _member(Party, command.party)
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    case = await open_case(transaction, user.user_id)
    if case["agent"] != principal.principal_id and _is_locked(case, moment):
        fix = "Take the next case"
        raise WrongState("somebody else works this case", where=command.user, fix=fix)
    if case["agency"] not in (0, principal.principal_id):
        raise WrongState("the case is with an agency", where=command.user, fix="Recall it first")
    # Limits are those of the person, over users that an agency may not see.
    await act_as_platform(transaction)
    if channel in await channels_down(transaction):
        raise WrongState(f"the channel {channel.value} is down", where=command.user,
                         fix="Take the channel of the case's action")  # fmt: skip
    reach = await reach_of(transaction, moment, user.user_id)
    contact = Contact(moment.at, channel, party)
    broken = broken_rules(contact, reach.debtor, reach.calls, reach.rules)
    if broken:
        names = ", ".join(rule.value for rule in broken)
        raise CONTACT_REFUSALS[broken[0]](
            f"the contact is forbidden: {names}", where=command.user,
            fix="Leave the debtor alone until no rule forbids it",
        )  # fmt: skip
    attempt = user.next("records")
    changes = WriteSet(user_changes=[user.change()])
    row = {
        "attempt_id": attempt, "user_id": user.user_id, "person_id": reach.person,
        "channel": channel.value, "agent": principal.principal_id, "script": command.script,
        "began_at": moment.at, "local_day": reach.local.date(),
        "local_time": str(reach.local.time()),
        "place": free_place(reach.taken) if channel.is_call else 0,
        "reached": ContactOutcome.OPEN.value, "ended_at": None,
    }  # fmt: skip
    changes.put("contact_attempts", **row)
    changes.put("cases", **{**case, "agent": principal.principal_id,
                            "locked_until": moment.at + LOCK})  # fmt: skip
    answer = contact_answer(row)
    return Decided(answer, answer["contact"], user.user_id, changes, as_platform=True)


def free_place(taken: Iterable[int]) -> int:
    """The first place of a day that no call has.

    >>> free_place([1, 3]), free_place([])
    (2, 1)
    """
    used, place = set(taken), 1
    while place in used:
        place += 1
    return place


async def end(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: EndContact
) -> Decided:
    """Note the outcome; a call that did not reach the debtor gives its place back.

    Who began a contact ends it, also an agency whose case was recalled meanwhile. The case of
    another who works it by then stays theirs.
    """
    attempt = read_id(command.contact, "ct", "contact")
    await act_as_platform(transaction)
    found = await transaction.fetchrow(
        "select * from usance.contact_attempts where attempt_id = $1", attempt
    )
    is_own = found is not None and found["agent"] == principal.principal_id
    if found is None or (principal.kind is PrincipalKind.AGENCY and not is_own):
        raise not_found("ct", attempt)
    row = dict(found)
    if row["reached"] != ContactOutcome.OPEN.value:
        raise WrongState(f"the contact is {row['reached']}", where=command.contact,
                         fix="Begin another")  # fmt: skip
    reached = ContactOutcome.CONNECTED if command.connected else ContactOutcome.NOT_CONNECTED
    user = await load_user(transaction, owner_of(attempt))
    row |= {"reached": reached.value, "ended_at": moment.at, "local_time": str(row["local_time"])}
    changes = WriteSet(user_changes=[user.change()])
    changes.put("contact_attempts", **row)
    case = await load_case(transaction, user.user_id)
    if case is not None and case["closed_on"] is None:
        days = action_of(moment, case).every_days
        again = timedelta(days=days) if command.connected else LOCK
        after = later(case["next_at"], moment.at + again)  # a promise may let it rest longer
        held = case["locked_until"] if case["agent"] != row["agent"] else None
        changes.put("cases", **{**case, "locked_until": held, "next_at": after})
    return Decided(contact_answer(row), command.contact, user.user_id, changes, status=DONE,
                   as_platform=True)  # fmt: skip


async def set_profile(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment,
    command: SetContactProfile,
) -> Decided:  # fmt: skip
    """Keep the zone and the channels of a debtor."""
    from usance.service.collections.contact_rules import zone_of

    user = await load_user(transaction, read_id(command.user, "us", "user"))
    zone = zone_of(command.time_zone).key
    channels = sorted({_member(Channel, str(each)).value for each in command.channels})
    if command.language not in LANGUAGES:
        raise InvalidField("is no language", where="body.language",
                           fix=f"Give {' or '.join(LANGUAGES)}")  # fmt: skip
    known = await transaction.fetchrow(
        "select time_zone, zone_before, zone_changed_at from usance.contact_profiles "
        "where user_id = $1", user.user_id,
    )  # fmt: skip
    before, changed_at = (known["zone_before"], known["zone_changed_at"]) if known else (None, None)
    if known is not None and known["time_zone"] != zone:
        # The zone of a day ago counts on, however often it was changed since.
        is_recent = changed_at is not None and moment.at < changed_at + MOVED
        before, changed_at = before if is_recent else known["time_zone"], moment.at
    changes = WriteSet(user_changes=[user.change()])
    changes.put("contact_profiles", user_id=user.user_id, time_zone=zone, channels=channels,
                language=command.language, zone_before=before,
                zone_changed_at=changed_at)  # fmt: skip
    answer = {"user": command.user, "time_zone": zone, "channels": channels,
              "language": command.language}  # fmt: skip
    return Decided(answer, command.user, user.user_id, changes, status=DONE)


async def promise(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: MakePromise
) -> Decided:
    """Keep a promise to pay; until its day is over the debtor is left alone."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    case = await open_case(transaction, user.user_id)
    number = user.next("records")
    made = Promise(number, moment.business_date, command.due_on, command.amount_minor)
    try:
        check_promise(made, case["past_due_minor"])
    except UsanceError as error:
        raise InvalidField(error.what, where="body.promise", fix=error.fix) from error
    row = {
        "promise_id": number, "user_id": user.user_id, "made_on": made.made_on,
        "due_on": made.due_on, "amount_minor": made.amount_minor,
        "channel": _member(Channel, command.channel).value, "agent": principal.principal_id,
        "state": "open",
    }  # fmt: skip
    changes = WriteSet(user_changes=[user.change()])
    changes.put("promises", **row)
    debtor = await debtor_of(transaction, moment, [user.user_id])
    rests = after_promise(debtor, made.made_on, made.due_on,
                          rules_in_force(moment, moment.business_date))  # fmt: skip
    changes.put("cases", **{**case, "locked_until": None,
                            "next_at": later(case["next_at"], rests)})  # fmt: skip
    answer = {
        "promise": print_id("pr", number), "user": command.user, "made_on": str(made.made_on),
        "due_on": str(made.due_on), "amount_minor": made.amount_minor, "state": "open",
    }  # fmt: skip
    return Decided(answer, print_id("pr", number), user.user_id, changes)


def contact_answer(row: dict[str, Any]) -> dict[str, Any]:
    """A contact as it is told."""
    return {
        "contact": print_id("ct", row["attempt_id"]), "user": print_id("us", row["user_id"]),
        "channel": row["channel"], "script": row["script"], "reached": row["reached"],
        "began_at": shown(row["began_at"]), "ended_at": shown(row["ended_at"]),
        "local_time": f"{row['local_day']} {str(row['local_time'])[:5]}",
    }  # fmt: skip


def _is_locked(case: dict[str, Any], moment: Moment) -> bool:
    return case["locked_until"] is not None and case["locked_until"] > moment.at


def _member(kind: Any, name: str) -> Any:
    names = {each.value: each for each in kind}
    if name not in names:
        fix = f"Give {', '.join(names)}"
        raise InvalidField(f"'{name}' is unknown", where=f"body.{kind.__name__.lower()}", fix=fix)
    return names[name]
