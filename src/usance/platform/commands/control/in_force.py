"""Configuration and group facts in force by command, proposed by one and approved by others."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from difflib import get_close_matches
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency, parse
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.fact_schemas import FACT_SCHEMAS
from usance.books.group.facts import fact_of_row
from usance.match.mandates.file import parse_mandates
from usance.match.mandates.parts import with_sources
from usance.platform.commands.command import DONE, WAITING, Decided, Moment, Spec
from usance.platform.dated_values import with_values
from usance.platform.errors import Forbidden, InvalidField
from usance.platform.flow_documents import checked_flow
from usance.platform.installation import cell_rows, source_rows
from usance.platform.mandate_texts import check_own, institution_of, mandates_text
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.control.events_and_audit import approval_answer
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import not_found, read_id
from usance.platform.refusals import ApprovalSamePerson, WrongState
from usance.platform.store.write_set import Event, WriteSet

if TYPE_CHECKING:
    import asyncpg

APPROVAL_DAYS = 14
MAX_ENTITY = 32_767
TURN = "select pg_advisory_xact_lock(hashtextextended('usance.approval', $1))"
"""Two who agree at once do so one after the other: each sees what the other did."""
PROPOSED = {"mandate.put": "mandate.proposed"}
"""Events of proposals that have a name of their own."""


@dataclass(frozen=True)
class PutMandates:
    """Mandates in force from a day on, as YAML: all of them, or those of one institution."""

    text: str
    valid_from: date
    institution: int | None = None
    """The institution whose mandates they are; those of others stay as they were."""


@dataclass(frozen=True)
class PutParameter:
    """A value of a dated parameter from a day on."""

    name: str
    value: Any
    """As the file of the parameter writes it: a number, a text such as 36%, a list."""
    valid_from: date
    source: str


@dataclass(frozen=True)
class PutFlow:
    """A decision flow in force from a day on: its files by name, or one that comes along."""

    name: str
    valid_from: date
    files: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class PutModel:
    """A model in force from a day on, by the hash of its files."""

    name: str
    valid_from: date
    sha256: str


@dataclass(frozen=True)
class StateGroupFact:
    """A fact that is not about one loan."""

    entity: int
    kind: str | int
    """Its name, or its number."""
    effective_on: date
    amount_minor: int
    currency: str
    party: int = 0
    quantity: int = 0
    detail: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Approve:
    """Somebody else agrees to what was proposed."""

    approval: str


@dataclass(frozen=True)
class Reject:
    """Somebody refuses what was proposed."""

    approval: str
    reason: str = ""


async def _version(transaction: asyncpg.Connection, kind: str, name: str) -> int:
    return int(await transaction.fetchval(
        "select coalesce(max(version), 0) + 1 from usance.settings where kind = $1 and name = $2",
        kind, name,
    ))  # fmt: skip


async def put_setting(
    transaction: asyncpg.Connection, kind: str, name: str, first: date, document: Any
) -> Decided:
    """Put a document in force; the configuration gets a new number."""
    changes = WriteSet(changes_configuration=True)
    version = await _version(transaction, kind, name)
    changes.put("settings", kind=kind, name=name, version=version, valid_from=first,
                document=document)  # fmt: skip
    answer = {kind: name, "version": version, "valid_from": first.isoformat()}
    return Decided(answer, f"{kind}/{name}", 0, changes, as_platform=True)


async def put_mandates(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: PutMandates
) -> Decided:
    """Put mandates in force; the use of their limits stays."""
    institution = institution_of(principal) or command.institution
    try:
        mandates, text = parse_mandates(command.text), command.text
        if institution:
            check_own(moment.lender, mandates, institution)
            before = await mandates_text(transaction, command.valid_from)
            text = with_sources(before, command.text)
            mandates = parse_mandates(text)
    except UsanceError as error:
        raise InvalidField(str(error), where="body.text", fix="Mend the mandates") from error
    decided = await put_setting(transaction, "mandates", "mandates", command.valid_from,
                             {"text": text})  # fmt: skip
    for row in source_rows(mandates):
        decided.changes.put("sources", **row)
    for row in cell_rows(mandates):
        decided.changes.put("cells", **row)
    return decided


async def put_parameter(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PutParameter
) -> Decided:
    """Put a parameter's value in force; a whole number may come as text, as it is read."""
    document = {"name": command.name, "value": command.value, "source": command.source,
                "valid_from": command.valid_from.isoformat()}  # fmt: skip
    problem = _value_problem(moment, document)
    if problem is not None and isinstance(command.value, str) and command.value.isdecimal():
        document["value"] = int(command.value)
        problem = _value_problem(moment, document)
    if problem is not None:
        known = command.name in moment.lender.parameters.by_name
        where = "body.value" if known else "body.name"
        raise InvalidField(problem.what, where=where, fix=problem.fix) from problem
    return await put_setting(transaction, "parameter", command.name, command.valid_from, document)


def _value_problem(moment: Moment, document: Mapping[str, Any]) -> UsanceError | None:
    try:
        with_values(moment.lender.parameters, [document])
    except UsanceError as error:
        return error
    return None


async def put_flow(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: PutFlow
) -> Decided:
    """Put a flow in force; one that cannot be read is refused."""
    document = checked_flow({"files": command.files, "shipped": command.name})
    return await put_setting(transaction, "flow", command.name, command.valid_from, document)


async def put_model(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: PutModel
) -> Decided:
    """Put a model in force."""
    document = {"sha256": command.sha256}
    return await put_setting(transaction, "model", command.name, command.valid_from, document)


async def state_group_fact(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: StateGroupFact
) -> Decided:
    """Keep a group fact for the next close; one that no close could read is refused."""
    kind = _group_fact_kind(command.kind)
    for name, given, least in (("entity", command.entity, 1), ("party", command.party, 0)):
        if not least <= given <= MAX_ENTITY:
            raise InvalidField("is no number of these", where=f"body.{name}",
                               fix=f"Give {least} to {MAX_ENTITY}")  # fmt: skip
    number = await transaction.fetchval("select usance.next_ids('group_fact', 1)")
    row = group_fact_row(
        number, moment, entity=command.entity, kind=int(kind),
        effective_on=command.effective_on, currency=_currency(command.currency),
        amount_minor=command.amount_minor, party=command.party, quantity=command.quantity,
        detail=command.detail or {},
    )  # fmt: skip
    problems: list[UsanceError] = []
    fact_of_row(row, problems)
    if problems:
        raise InvalidField(problems[0].what, where=_detail_place(kind, problems[0]),
                           fix=problems[0].fix)  # fmt: skip
    changes = WriteSet()
    changes.add("group_facts", **row)
    answer = {"fact": number, "entity": command.entity, "kind": kind.label,
              "effective_on": command.effective_on.isoformat(),
              "amount_minor": command.amount_minor,
              "booked_at": moment_text(moment.at)}  # fmt: skip
    return Decided(answer, f"group_fact/{number}", 0, changes, as_platform=True)


def _detail_place(kind: GroupFactKind, problem: UsanceError) -> str:
    """The field of the command that a problem of a fact is about: a key of its detail, or all."""
    key = re.split(r"[.\[]", problem.where.partition(", ")[2])[0]
    return f"body.detail.{key}" if key in FACT_SCHEMAS[kind].keys else "body.detail"


def _group_fact_kind(given: str | int) -> GroupFactKind:
    try:
        if isinstance(given, str):
            return parse(GroupFactKind, given, where="body.kind")
        return GroupFactKind(given)
    except (ValueError, UsanceError) as error:
        near = get_close_matches(str(given), [each.label for each in GroupFactKind], n=1)
        fix = f"Did you mean {near[0]!r}?" if near else "Give a kind, like cost_incurred"
        raise InvalidField(f"{given!r} is no kind of fact", where="body.kind", fix=fix) from error


def _currency(given: str) -> int:
    try:
        return int(parse(Currency, given, where="body.currency"))
    except UsanceError as error:
        raise InvalidField(error.what, where="body.currency", fix=error.fix) from error


def group_fact_row(
    number: int, moment: Moment, *, detail: Mapping[str, Any], quantity: int = 0, **values: Any
) -> dict[str, Any]:
    """A row of `group_facts`, booked now."""
    text = json.dumps(dict(detail))
    return {"fact_id": number, "booked_at": moment.at, "quantity": quantity, "detail": text,
            **values}  # fmt: skip


async def propose(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, spec: Spec, command: Any
) -> Decided:
    """Keep a command until enough people have agreed to it."""
    payload = json.loads(json.dumps(asdict(command), default=str))
    if institution := institution_of(principal):
        payload |= {"institution": institution} if "institution" in payload else {}
    number = await transaction.fetchval("select usance.next_ids('approval', 1)")
    row = {
        "approval_id": number, "command": spec.name, "payload": payload,
        "payload_sha256": payload_hash(payload), "subject": subject_of(spec, payload),
        "state": "pending", "needed": spec.approvals, "given": [principal.principal_id],
        "proposed_at": moment.at, "expires_at": moment.at + timedelta(days=APPROVAL_DAYS),
        "answer": None,
    }  # fmt: skip
    changes = WriteSet()
    changes.put("approvals", **row)
    human = principal.kind is PrincipalKind.OPERATOR
    answer = approval_answer({**row, "people": int(human)})
    return Decided(answer, print_id("ap", number), 0, changes, status=WAITING,
                   event=PROPOSED.get(spec.name, "approval.proposed"))  # fmt: skip


SUBJECTS = ("loan", "unallocated", "user", "payment", "offer", "email", "party", "name", "period")
"""Fields that name what a command is about."""


def subject_of(spec: Spec, payload: Mapping[str, Any]) -> str:
    """The record that a proposal is about, or its command where it is about none."""
    named = (payload[each] for each in SUBJECTS if isinstance(payload.get(each), str))
    return next(named, spec.name)


async def _waiting(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, approval: str
) -> dict[str, Any]:
    """An approval that a person may decide now."""
    if principal.kind not in (PrincipalKind.OPERATOR, PrincipalKind.SYSTEM):
        raise Forbidden("keys never approve", where=principal.name, fix="Act as a person")
    number = read_id(approval, "ap", "approval")
    await transaction.execute(TURN, number)
    found = await transaction.fetchrow(
        "select a.*, (select count(*) from usance.principals p where p.principal_id = any(a.given) "
        "and p.kind = 'operator') as people from usance.approvals a where approval_id = $1", number,
    )  # fmt: skip
    if found is None:
        raise not_found("ap", number)
    row = {**dict(found), "payload": json.loads(found["payload"]), "given": list(found["given"])}
    if payload_hash(row["payload"]) != row["payload_sha256"]:
        raise WrongState("it is not what was proposed", where=approval, fix="Propose it again")
    if row["state"] != "pending" or row["expires_at"] < moment.at:
        raise WrongState(f"it is {row['state']}", where=approval, fix="Propose it again")
    return row


def _check_decider(principal: Principal, command: str) -> None:
    """Refuse whoever may neither do what was proposed nor decide on everything."""
    if not principal.decides(command):
        raise Forbidden(f"{principal.name} does not decide on {command}", where=principal.name,
                        fix="Leave it to somebody whose role has it")  # fmt: skip


async def _is_same_person(
    transaction: asyncpg.Connection, principal: Principal, given: list[int]
) -> bool:
    """True for whoever has agreed already, through this account, another one or a key."""
    humans = await transaction.fetch(
        "select human from usance.principals where principal_id = any($1)", given
    )
    is_behind = principal.human and principal.human in {row["human"] for row in humans}
    return bool(is_behind or principal.principal_id in given)


def payload_hash(payload: Mapping[str, Any]) -> str:
    """The hash that a proposal is approved by."""
    return sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def approve_with(commands: Mapping[str, Spec]) -> Any:
    """The handler of approvals over a table of commands."""

    async def approve(
        transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: Approve
    ) -> Decided:
        """Agree to a proposal; with the last that is needed, it is done."""
        from usance.platform.commands.command import act_as_platform
        from usance.platform.commands.fields import read_command
        from usance.platform.principals import SYSTEM

        row = await _waiting(transaction, principal, moment, command.approval)
        _check_decider(principal, row["command"])
        if await _is_same_person(transaction, principal, row["given"]):
            raise ApprovalSamePerson("you have agreed already", where=command.approval,
                                     fix="Let somebody else approve it")  # fmt: skip
        row["given"].append(principal.principal_id)
        row["people"] += 1
        changes, user_id = WriteSet(), 0
        once: Mapping[str, Any] = {}
        await act_as_platform(transaction)
        if row["people"] >= row["needed"]:
            spec = commands[row["command"]]
            inner: Any = read_command(spec.command, row["payload"])
            done = await spec.handler(transaction, SYSTEM, moment, inner)
            changes, user_id, once = done.changes, done.user_id, done.once
            text = json.dumps(done.answer)
            changes.events.append(Event(spec.event, done.subject, user_id, text))
            row |= {"state": "approved", "answer": done.answer}
        people = row.pop("people")
        changes.put("approvals", **row)
        answer = {**approval_answer({**row, "people": people}), "answer": row["answer"]}
        return Decided(
            answer, command.approval, user_id, changes, status=DONE, as_platform=True, once=once
        )

    return approve


async def reject(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: Reject
) -> Decided:
    """Refuse a proposal."""
    row = await _waiting(transaction, principal, moment, command.approval)
    _check_decider(principal, row["command"])
    people = row.pop("people")
    row |= {"state": "rejected", "answer": {"reason": command.reason}}
    changes = WriteSet()
    changes.put("approvals", **row)
    answer = approval_answer({**row, "people": people})
    return Decided(answer, command.approval, 0, changes, status=DONE)
