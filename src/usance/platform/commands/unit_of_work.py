"""The unit of work: one command in one transaction, once for its key, again if its ground moved.

Inside one transaction the stored answer is looked up, the handler reads and decides, and one call
writes rows, caches, event, audit entry and answer. A dry run does all but keep it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from usance.platform.commands.command import Decided, Moment, Spec, content_hash
from usance.platform.errors import KeyInFlight, KeyMismatch, StaleRead
from usance.platform.principals import Principal
from usance.platform.store.database import Database
from usance.platform.store.write_set import Answer, AuditEntry, Event, Owner, write

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


async def execute(
    database: Database, principal: Principal, spec: Spec, command: Any, *,
    key: str = "", dry_run: bool = False,
) -> Outcome:  # fmt: skip
    """Do a command for a principal; with a key, a repetition gives the first answer again."""
    principal.need(spec.scope)
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
                    return Outcome(stored, is_new=False, is_replay=True)
            moment = await now(transaction)
            decided = await spec.handler(transaction, principal, moment, command)
            await _keep(transaction, principal, spec, moment, decided, key, body)
            if dry_run:
                raise _DryRun(Outcome(decided.answer, decided.is_new))
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
) -> Mapping[str, Any] | None:
    """The answer that a key has, or none; refused while the first command still runs."""
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
    answer: Mapping[str, Any] = json.loads(row["answer"])
    return answer


async def _keep(
    transaction: asyncpg.Connection, principal: Principal, spec: Spec, moment: Moment,
    decided: Decided, key: str, body: bytes,
) -> None:  # fmt: skip
    """Write what was decided with its event, its audit entry and its answer."""
    changes = replace(decided.changes)
    who, text = principal.principal_id, json.dumps(decided.answer)
    if decided.is_new:
        changes.events.append(Event(spec.event, decided.subject, decided.user_id, text))
    changes.owners.append(Owner(who, decided.user_id))
    outcome = "done" if decided.is_new else "known"
    changes.audit.append(AuditEntry(who, spec.name, decided.subject, outcome, body))
    if key:
        changes.answers.append(Answer(who, spec.name, key, body, text))
    await write(transaction, moment.at, moment.configuration, changes)
