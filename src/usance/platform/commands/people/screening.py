"""Screening by command: who is compared with the lists when, and how a person decides a hit.

A hit that is open holds a user's money: applications are referred, payouts are made and not sent.
Once it is cleared they go on; once it is confirmed they end, and the user is on the lists for good.
Channels and borrowers are not told: their drawdown is approved and waits for its payout, and events
of screening are of no user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.people.screening import hit_answer
from usance.platform.records.order_record import OPEN_OF_USER, load_orders
from usance.platform.records.user_record import UserRecord, load_user, not_found, owner_of, read_id
from usance.platform.refusals import WrongState
from usance.platform.security.sealed_values import HIT, put_text
from usance.platform.security.subject_keys import key_of, subject_key
from usance.platform.store.write_set import Event, Owner, WriteSet
from usance.service.orders.payment_order import OrderState, Purpose

if TYPE_CHECKING:
    import asyncpg

HELD, BLOCKED = "held", "blocked"
"""States of a user with hits: one waits for a person, one was confirmed."""
MIN_REASON = 10
_PERSON = (
    "select details, usance.subject_key(user_id, null) as wrapped from usance.user_persons "
    "where user_id = $1"
)


@dataclass(frozen=True)
class ScreenUser:
    """A user is compared with the lists as they are now."""

    user: str
    occasion: str = "list"


@dataclass(frozen=True)
class DecideHit:
    """A person says whether a hit is the user, and why."""

    hit: str
    cleared: bool
    reason: str


def is_stopped(moment: Moment, state: str | None, *, has_person: bool) -> bool:
    """True while nothing may be paid to a user: by a hit, or since the lists have changed."""
    if state in (HELD, BLOCKED):
        return True
    version = moment.services.screening.version
    return bool(version) and has_person and state != version


async def state_of(transaction: asyncpg.Connection, user_id: int) -> str:
    """Blocked, held, or the lists that a user was compared with last."""
    found: str | None = await transaction.fetchval("select usance.screening_state($1)", user_id)
    return found or ""


async def is_user_stopped(transaction: asyncpg.Connection, moment: Moment, user_id: int) -> bool:
    """True while nothing may be paid to a user, as the database knows it."""
    row = await transaction.fetchrow(
        "select usance.screening_state($1) as state, "
        "exists (select from usance.user_persons where user_id = $1) as has_person", user_id,
    )  # fmt: skip
    return is_stopped(moment, row["state"], has_person=row["has_person"])


async def compare(
    transaction: asyncpg.Connection, moment: Moment, user: UserRecord, person: Mapping[str, str],
    occasion: str, changes: WriteSet,
) -> str:  # fmt: skip
    """Compare a person with the lists and keep new hits; blocked, held or the lists' version."""
    lists = moment.services.screening
    rows = await transaction.fetch("select * from usance.screening_of($1)", user.user_id)
    states = {row["state"] for row in rows}
    known = {(row["list"], row["entry"], bytes(row["digest"])) for row in rows}
    for hit in lists.hits(person["name"], person["national_id"]) if lists.version else ():
        if (hit.list, hit.entry, hit.digest) in known:
            continue
        number = user.next("records")
        row = {
            "hit_id": number, "user_id": user.user_id, "list": hit.list, "entry": hit.entry,
            "digest": hit.digest, "kind": hit.kind, "score_ppm": hit.score_ppm,
            "occasion": occasion, "state": "open", "found_at": moment.at, "decided_at": None,
            "decided_by": None,
        }  # fmt: skip
        changes.put("screening_hits", **row)
        told = json.dumps(hit_answer(row))
        changes.events.append(Event("screening.hit", print_id("sh", number), 0, told))
        states.add("open")
    changes.put("screened", user_id=user.user_id, version=lists.version, at=moment.at)
    return BLOCKED if "confirmed" in states else HELD if "open" in states else lists.version


async def compare_known(
    transaction: asyncpg.Connection, moment: Moment, user: UserRecord, occasion: str,
    changes: WriteSet,
) -> str:  # fmt: skip
    """Compare the person of a user, where one is known and lists are others than the last time."""
    state = await state_of(transaction, user.user_id)
    if state == moment.services.screening.version:
        return state
    row = await transaction.fetchrow(_PERSON, user.user_id)
    if row is None or row["wrapped"] is None:
        return state
    key = key_of(moment.vault, user.user_id, row["wrapped"])
    person = json.loads(key.open("details", row["details"]))
    return await compare(transaction, moment, user, person, occasion, changes)


async def screen(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ScreenUser
) -> Decided:
    """Compare a user's person with the lists."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    changes = WriteSet(owners=[Owner(0, user.user_id)])
    state = await compare_known(transaction, moment, user, command.occasion, changes)
    changes.user_changes.append(user.change())
    return Decided({"user": command.user, "state": state}, command.user, 0, changes, status=DONE)


async def decide_hit(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: DecideHit
) -> Decided:
    """Clear a hit, and money goes on; or confirm it, and what waits ends."""
    number = read_id(command.hit, "sh", "hit")
    found = await transaction.fetchrow(
        "select * from usance.screening_hits where hit_id = $1", number
    )
    if found is None:
        raise not_found("sh", number)
    if found["state"] != "open":
        raise WrongState(f"it is {found['state']}", where=command.hit, fix="Decide open hits")
    if len(command.reason.strip()) < MIN_REASON:
        raise InvalidField("says too little", where="body.reason",
                           fix=f"Give a reason of at least {MIN_REASON} letters")  # fmt: skip
    user = await load_user(transaction, owner_of(number))
    row = {**dict(found), "state": "cleared" if command.cleared else "confirmed",
           "decided_at": moment.at, "decided_by": principal.principal_id}  # fmt: skip
    owners = [Owner(principal.principal_id, user.user_id)]
    changes = WriteSet(user_changes=[user.change()], owners=owners)
    changes.put("screening_hits", **row)
    key = await subject_key(transaction, moment.vault, user.user_id)
    put_text(key, HIT, number, command.reason, changes)
    for order in await load_orders(transaction, OPEN_OF_USER, user.user_id, Purpose.PAYOUT.value):
        if order.order.state is OrderState.CREATED:  # the clock looks at it at once
            order.save(changes, moment.lender, moment.at, moment.at)
    return Decided(hit_answer(row), command.hit, 0, changes, status=DONE)
