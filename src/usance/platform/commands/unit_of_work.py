"""The unit of work: one command in one transaction, once for its key, again if its ground moved.

Inside one transaction the stored answer is looked up, the handler reads and decides, and one call
writes rows, caches, event, audit entry and answer. A dry run does all but keep it. What is refused
leaves its audit entry, and under a key its answer: the same command is refused again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.platform.commands.command import Decided, Moment, Spec, content_hash
from usance.platform.errors import (
    Forbidden,
    KeyInFlight,
    KeyMismatch,
    NotYours,
    Refused,
    RefusedBefore,
    StaleRead,
)
from usance.platform.principals import Principal
from usance.platform.store.database import Database
from usance.platform.store.write_set import Answer, AuditEntry, Event, Owner, WriteSet, write

if TYPE_CHECKING:
    import asyncpg

MAX_ATTEMPTS = 20
"""Times a command is decided again because somebody else was quicker."""


@dataclass(frozen=True)
class Outcome:
    """The answer of a command, and whether it was given before."""

    answer: Mapping[str, Any]
    is_new: bool
    is_replay: bool = False
    would: WriteSet | None = None
    """Everything that a dry run would have written."""


async def execute(
    database: Database, principal: Principal, spec: Spec, command: Any, *,
    key: str = "", dry_run: bool = False,
) -> Outcome:  # fmt: skip
    """Do a command for a principal; with a key, a repetition gives the first answer again."""
    try:
        principal.need(spec.scope)
        return await _until_settled(database, principal, spec, command, key, dry_run)
    except RefusedBefore:
        raise
    except (Refused, Forbidden, NotYours) as error:
        if not dry_run:
            await _keep_refusal(database, principal, spec, command, key, error)
        raise


async def _until_settled(
    database: Database, principal: Principal, spec: Spec, command: Any, key: str, dry_run: bool
) -> Outcome:
    for attempt in range(MAX_ATTEMPTS):
        try:
            return await _once(database, principal, spec, command, key, dry_run)
        except StaleRead:
            if attempt + 1 == MAX_ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


async def _once(
    database: Database, principal: Principal, spec: Spec, command: Any, key: str, dry_run: bool
) -> Outcome:
    try:
        async with database.transaction(principal.principal_id) as transaction:
            body = content_hash(command)
            if key and not dry_run:
                stored = await _stored(transaction, principal, spec, key, body)
                if stored is not None:
                    return stored
            moment = await now(transaction)
            decided = await spec.handler(transaction, principal, moment, command)
            changes = await _keep(transaction, principal, spec, moment, decided, key, body)
            if dry_run:
                raise _DryRun(Outcome(decided.answer, decided.is_new, would=changes))
            return Outcome(decided.answer, decided.is_new)
    except _DryRun as ended:
        return ended.outcome


async def now(transaction: asyncpg.Connection) -> Moment:
    """The moment that a transaction decides in."""
    row = await transaction.fetchrow(
        "select clock, business_date, configuration from usance.installation"
    )
    return Moment(row["clock"], row["business_date"], row["configuration"])


class _DryRun(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


async def _stored(
    transaction: asyncpg.Connection, principal: Principal, spec: Spec, key: str, body: bytes
) -> Outcome | None:
    """The outcome that a key has, or none; refused while the first command still runs."""
    is_free = await transaction.fetchval(
        "select pg_try_advisory_xact_lock(hashtextextended($1 || '/' || $2, $3))",
        spec.name, key, principal.principal_id,
    )  # fmt: skip
    if not is_free:
        raise KeyInFlight(
            "the first command with this key is still running", where=key,
            fix="Ask again in a moment, with the same key",
        )  # fmt: skip
    row = await transaction.fetchrow(
        "select body, answer from usance.idempotency "
        "where principal_id = $1 and command = $2 and key = $3",
        principal.principal_id, spec.name, key,
    )  # fmt: skip
    if row is None:
        return None
    if row["body"] != body:
        raise KeyMismatch(
            "this key was used for another command", where=key,
            fix="Repeat the first command, or use a new key",
        )  # fmt: skip
    stored: dict[str, Any] = json.loads(row["answer"])
    if "refusal" in stored:
        raise RefusedBefore(stored["refusal"])
    return Outcome(stored["answer"], stored["is_new"], is_replay=True)


async def _keep(
    transaction: asyncpg.Connection, principal: Principal, spec: Spec, moment: Moment,
    decided: Decided, key: str, body: bytes,
) -> WriteSet:  # fmt: skip
    """Write what was decided with its event, its audit entry and its answer."""
    changes = replace(decided.changes)
    who, text = principal.principal_id, json.dumps(decided.answer)
    if decided.is_new:
        changes.events.append(Event(spec.event, decided.subject, decided.user_id, text))
    changes.owners.append(Owner(who, decided.user_id))
    outcome = "done" if decided.is_new else "known"
    changes.audit.append(AuditEntry(who, spec.name, decided.subject, outcome, body))
    if key:
        kept = json.dumps({"answer": decided.answer, "is_new": decided.is_new})
        changes.answers.append(Answer(who, spec.name, key, body, kept))
    await write(transaction, moment.at, moment.configuration, changes)
    return changes


async def _keep_refusal(
    database: Database, principal: Principal, spec: Spec, command: Any, key: str, error: UsanceError
) -> None:
    """Write that a command was refused; under a key, also its answer if it is the business's."""
    body, who = content_hash(command), principal.principal_id
    changes = WriteSet(audit=[AuditEntry(who, spec.name, "", error.code, body)])
    async with database.transaction(who) as transaction:
        if key and isinstance(error, Refused):
            if await _stored(transaction, principal, spec, key, body) is not None:
                return
            refusal = {**error.as_dict(), "http_status": error.http_status}
            kept = json.dumps({"refusal": refusal})
            changes.answers.append(Answer(who, spec.name, key, body, kept))
        moment = await now(transaction)
        await write(transaction, moment.at, moment.configuration, changes)
