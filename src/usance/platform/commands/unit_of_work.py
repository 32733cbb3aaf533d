"""The unit of work: one command in one transaction, once for its key, again if its ground moved.

Inside one transaction the stored answer is looked up, the handler reads and decides, and one call
writes rows, caches, event, audit entry and answer. A dry run does all but keep it. What is refused
leaves its audit entry, and under a key its answer: the same command is refused again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import (
    CREATED,
    Decided,
    Moment,
    Services,
    Spec,
    content_hash,
)
from usance.platform.commands.control.in_force import propose
from usance.platform.errors import (
    Forbidden,
    KeyInFlight,
    KeyMismatch,
    NoHeadroom,
    NotFound,
    NotInstalled,
    NotYours,
    Refused,
    RefusedBefore,
    StaleRead,
)
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.loans.loan import schedule_answer
from usance.platform.records.loan_record import load_loans
from usance.platform.store.database import Database
from usance.platform.store.write_set import Answer, AuditEntry, Event, Owner, WriteSet, write

if TYPE_CHECKING:
    import asyncpg

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The request that a command came with, told again with its refusal."""
MAX_ATTEMPTS = 40
"""Times a command is decided again because somebody else was quicker, or took the last headroom."""
MAX_LOANS_SHOWN = 20
"""Loans whose instalments a dry run tells."""
_LOAN = 0
"""The place of the loan in rows of loans and of facts."""
NOW = (
    "select case mode when 0 then clock else greatest(clock_timestamp(), clock) end as clock, "
    "mode, case mode when 0 then array(select nextval('usance.ticks') from generate_series(1, $1)) "
    "end as ticks, business_date, configuration, "
    "array(select period from usance.periods where state = 0 order by period) as open_periods "
    "from usance.installation"
)
"""A sandbox's clock moves by a microsecond with each command, so that moments tell their order. A
live one is the machine's, and never before the last cut-off."""
KEYS = (
    "select pg_try_advisory_xact_lock(hashtextextended($2 || '/' || g.key, g.who)) as is_free, "
    "i.body, i.answer, case when i.event_id > 0 "
    "then usance.told_answer(i.principal_id, i.command, i.key) end as told "
    "from unnest($1::bigint[], $3::text[]) with ordinality g (who, key, n) "
    "left join usance.idempotency i "
    "on i.principal_id = g.who and i.command = $2 and i.key = g.key order by g.n"
)
"""Keys of commands: is each free, and what is stored under it. A key whose first command
commits between the two is found taken when the second writes its answer."""


@dataclass(frozen=True)
class Outcome:
    """The answer of a command, and whether it was given before."""

    answer: Mapping[str, Any]
    is_new: bool
    is_replay: bool = False
    status: int = CREATED
    would: WriteSet | None = None
    """Everything that a dry run would have written; of a proposal, what it would do in the end."""
    schedule: Sequence[Mapping[str, Any]] = ()
    """Instalments of the loans that a dry run would have changed, as they would be."""


@dataclass(frozen=True)
class Work:
    """One command to do: for whom, under which key, and on what."""

    database: Database
    principal: Principal
    spec: Spec
    command: Any
    key: str = ""
    dry_run: bool = False
    services: Services = field(default_factory=Services)

    @property
    def content(self) -> bytes:
        """The hash of what is asked."""
        return content_hash(self.command, self.services.vault)

    @property
    def who(self) -> int:
        """The number of the principal."""
        return self.principal.principal_id


async def execute(
    database: Database, principal: Principal, spec: Spec, command: Any, *,
    key: str = "", dry_run: bool = False, services: Services | None = None,
) -> Outcome:  # fmt: skip
    """Do a command for a principal; with a key, a repetition gives the first answer again."""
    return await do(Work(database, principal, spec, command, key, dry_run, services or Services()))


async def do(work: Work) -> Outcome:
    """Do one command by itself."""
    try:
        work.spec.admit(work.principal)
        work.principal.check_authority(work.spec.name, work.command)
        return await _until_settled(work)
    except RefusedBefore:
        raise
    except (Refused, Forbidden, NotYours, NotFound) as error:
        if not work.dry_run:
            await _keep_refusal(work, error)
        raise


async def answered_before(work: Work) -> Outcome | None:
    """The outcome that the key of a command has already, before anything is done for it."""
    async with work.database.transaction(work.who) as transaction:
        return await _stored(transaction, work, work.content)


async def _until_settled(work: Work) -> Outcome:
    """Decide again whenever what was decided on has moved; full limits are left out from then."""
    full: set[str] = set()
    for attempt in range(MAX_ATTEMPTS):
        try:
            if not work.spec.routes:
                return await _once(work, frozenset(full))
            async with work.services.router.turn(keep=not work.dry_run):
                return await _once(work, frozenset(full))
        except StaleRead:
            if attempt + 1 == MAX_ATTEMPTS:
                raise
        except NoHeadroom as error:
            if attempt + 1 == MAX_ATTEMPTS or error.where in full:
                raise
            full.add(error.where)
    raise AssertionError("the last attempt returns or raises")


async def _once(work: Work, full: frozenset[str]) -> Outcome:
    try:
        async with work.database.transaction(work.who) as transaction:
            body = work.content
            if work.key and not work.dry_run:
                stored = await _stored(transaction, work, body)
                if stored is not None:
                    return stored
            moment = replace(await now(transaction, work.services), full_limits=full)
            decided, tried = await _decide(transaction, work, moment)
            changes = change_set(work, decided, body)
            await write(transaction, moment.at, moment.configuration, changes)
            if work.dry_run:  # what is told once leaves its audit, which a dry run does not keep
                would, schedule = tried or await _effect(transaction, work, moment, changes)
                outcome = outcome_of(replace(decided, once={}))
                raise _DryRun(replace(outcome, would=would, schedule=schedule))
            outcome = outcome_of(decided)
    except _DryRun as ended:
        return ended.outcome
    work.services.router.release(changes.releases)
    return outcome


Effect = tuple[WriteSet, Sequence[Mapping[str, Any]]]
"""Everything that is written, and the instalments of its loans after it."""


async def _decide(
    transaction: asyncpg.Connection, work: Work, moment: Moment
) -> tuple[Decided, Effect | None]:
    """The handler's decision, or a proposal with its effect where more than one has to agree."""
    if work.spec.approvals > 1 and work.principal.kind is not PrincipalKind.SYSTEM:
        tried = await _try(transaction, work, moment)
        proposed = await propose(transaction, work.principal, moment, work.spec, work.command)
        return proposed, tried
    return await work.spec.handler(transaction, work.principal, moment, work.command), None


async def _try(transaction: asyncpg.Connection, work: Work, moment: Moment) -> Effect | None:
    """Decide and undo it: what would be refused in the end is not proposed.

    A dry run also tells what it would do.
    """
    attempt = transaction.transaction()
    await attempt.start()
    try:
        decided = await work.spec.handler(transaction, work.principal, moment, work.command)
        if not work.dry_run:
            return None
        changes = change_set(work, decided, work.content)
        await write(transaction, moment.at, moment.configuration, changes)
        return await _effect(transaction, work, moment, changes)
    finally:
        await attempt.rollback()


async def _effect(
    transaction: asyncpg.Connection, work: Work, moment: Moment, changes: WriteSet
) -> Effect:
    """Everything that was written, with the instalments that its loans have now.

    Whoever brings money does not read the loans it is for.
    """
    if work.principal.kind in (PrincipalKind.PROVIDER, PrincipalKind.AGENCY):
        return changes, ()
    ids = {row[_LOAN] for row in (*changes.loans, *changes.facts)}
    loans = await load_loans(transaction, sorted(ids)[:MAX_LOANS_SHOWN])
    day = moment.business_date
    rows = [{"loan": print_id("ln", each.loan_id), **row}
            for each in loans for row in schedule_answer(each, day)]  # fmt: skip
    return changes, rows


async def now(transaction: asyncpg.Connection, services: Services) -> Moment:
    """The moment that a transaction decides in."""
    return (await moments(transaction, services, 1))[0]


async def moments(transaction: asyncpg.Connection, services: Services, count: int) -> list[Moment]:
    """The moments of some commands that are decided in one transaction, in their order."""
    row = await transaction.fetchrow(NOW, count)
    if row is None:
        raise NotInstalled("has no lender", where="the database", fix="Run 'usance up --sandbox'")
    lender = await services.lender(transaction, row["configuration"], row["business_date"])
    periods = tuple(row["open_periods"])
    return [
        Moment(row["clock"] + timedelta(microseconds=tick), row["business_date"], lender,
               services, periods)
        for tick in (row["ticks"] or range(count))
    ]  # fmt: skip


class _DryRun(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


async def _stored(transaction: asyncpg.Connection, work: Work, body: bytes) -> Outcome | None:
    """The outcome that a key has, or none; refused while the first command still runs."""
    row = await transaction.fetchrow(KEYS, [work.who], work.spec.name, [work.key])
    assert row is not None, "there is a row for each key"
    if not row["is_free"]:
        raise KeyInFlight(
            "the first command with this key is still running", where=work.key,
            fix="Ask again in a moment, with the same key",
        )  # fmt: skip
    if row["body"] is None:
        return None
    if row["body"] != body:
        raise KeyMismatch(
            "this key was used for another command", where=work.key,
            fix="Repeat the first command, or use a new key",
        )  # fmt: skip
    stored: dict[str, Any] = json.loads(row["answer"])
    if "refusal" in stored:
        raise RefusedBefore(stored["refusal"])
    answer = json.loads(row["told"]) if row["told"] is not None else stored["answer"]
    answer |= {name: getattr(work.command, name) for name in stored.get("echoed", ())}
    return Outcome(answer, stored.get("is_new", True), is_replay=True,
                   status=stored.get("status", CREATED))  # fmt: skip


def change_set(work: Work, decided: Decided, body: bytes) -> WriteSet:
    """Everything that is written of a decision, with its event, its audit entry and its answer."""
    changes, name = replace(decided.changes), work.spec.name
    kept = {**decided.answer, **dict.fromkeys(decided.echoed)}
    if decided.is_new:
        event = decided.event or work.spec.event
        text = json.dumps(kept, separators=(",", ":"))
        changes.events.append(Event(event, decided.subject, decided.user_id, text))
    if decided.user_id:
        changes.owners.append(Owner(0 if decided.as_platform else work.who, decided.user_id))
    outcome = "done" if decided.is_new else "known"
    changes.audit.append(AuditEntry(work.who, name, decided.subject, outcome, body))
    if work.key:
        changes.answers.append(_answer(work, decided, kept, body, len(changes.events)))
    return changes


def _answer(
    work: Work, decided: Decided, kept: Mapping[str, Any], body: bytes, event: int
) -> Answer:
    """The stored answer of a decision; what its event tells is not told twice."""
    parts: dict[str, Any] = {}
    if decided.status != CREATED:
        parts["status"] = decided.status
    if decided.echoed:
        parts["echoed"] = decided.echoed
    if not decided.is_new:
        parts |= {"answer": kept, "is_new": False}
    return Answer(work.who, work.spec.name, work.key, body, json.dumps(parts),
                  event if decided.is_new else 0)  # fmt: skip


def outcome_of(decided: Decided) -> Outcome:
    """The answer of a decision that was written."""
    return Outcome({**decided.answer, **decided.once}, decided.is_new, status=decided.status)


async def _keep_refusal(work: Work, error: UsanceError) -> None:
    """Write that a command was refused; under a key, also its answer if it is the business's."""
    body, name = work.content, work.spec.name
    changes = WriteSet(audit=[AuditEntry(work.who, name, "", error.code, body)])
    async with work.database.transaction(work.who) as transaction:
        if work.key and isinstance(error, Refused):
            if await _stored(transaction, work, body) is not None:
                return
            refusal = {**error.as_dict(), "http_status": error.http_status,
                       "request_id": REQUEST_ID.get()}  # fmt: skip
            kept = json.dumps({"refusal": refusal})
            changes.answers.append(Answer(work.who, name, work.key, body, kept))
        moment = await now(transaction, work.services)
        await write(transaction, moment.at, moment.configuration, changes)
