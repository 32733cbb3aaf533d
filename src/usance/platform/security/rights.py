"""Rights of a person: to have what is known about them, and to have it forgotten."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.principals import Principal
from usance.platform.reads.reading import Reading
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import load_user, read_id
from usance.platform.refusals import WrongState
from usance.platform.security.subject_keys import subject_key

if TYPE_CHECKING:
    import asyncpg

DEADLINE = timedelta(days=30)
"""Time in which the right of a person has to be answered."""


@dataclass(frozen=True)
class ExportUser:
    """A person asks for everything that is known about them."""

    user: str


@dataclass(frozen=True)
class EraseUser:
    """A person asks to be forgotten."""

    user: str


async def export_user(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ExportUser
) -> Decided:
    """Tell everything that is known about a person; it is told once and kept nowhere."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    read = Reading(transaction, principal, moment)
    told: dict[str, Any] = {
        "registration": await read.user(command.user), "person": None,
        "consents": await read.consents(command.user), "lines": await read.lines(command.user),
        "loans": await read.user_loans(command.user),
    }  # fmt: skip
    kept = await transaction.fetchval(
        "select details from usance.user_persons where user_id = $1", user.user_id
    )
    if kept is not None:
        key = await subject_key(transaction, moment.vault, user.user_id, make=False)
        told["person"] = json.loads(key.open("details", kept))
    return await _case(transaction, moment, command.user, user.user_id, once={"data": told})


async def erase_user(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: EraseUser
) -> Decided:
    """Destroy the key of a person; loans stay for the books, of nobody in particular."""
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    if not await transaction.fetchval("select usance.erase_user($1, $2)", user.user_id, moment.at):
        raise WrongState("was erased before", where="user", fix="Nothing is left to erase")
    return await _case(transaction, moment, command.user, user.user_id)


async def _case(
    transaction: asyncpg.Connection, moment: Moment, user: str, user_id: int, **more: Any
) -> Decided:
    number = await transaction.fetchval("select usance.next_ids('case', 1)")
    answer = {"case": print_id("ca", number), "user": user, "state": "done",
              "answer_by": moment_text(moment.at + DEADLINE)}  # fmt: skip
    return Decided(answer, user, user_id, status=DONE, **more)
