"""Routes of control: approvals, audit, configuration, keys, people, the log, the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from usance.platform.api.body_schemas import schema_of
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Advanced, Approval, AuditCheck, Clock
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_cursor, read_id_cursor
from usance.platform.api.parameters import PAGED, TEXT, one_of
from usance.platform.api.shapes import Object, Page
from usance.platform.commands.fields import read_command
from usance.platform.commands.registry import COMMANDS
from usance.platform.errors import InvalidField
from usance.platform.reads.control import configuration
from usance.platform.reads.reading import Reading
from usance.platform.security import access_reads
from usance.platform.security.roles import Roles
from usance.service.help.plan_rules import shipped_text

group = Group("Control", "control")
EVERYONE = ("channel", "institution", "provider", "operations", "finance", "control")
OF_TWO = frozenset(name for name, spec in COMMANDS.items() if spec.approvals > 1)
"""Commands that take two people."""
PROPOSERS = sorted({scope for name in OF_TWO for scope in COMMANDS[name].scopes})
STATES = ("pending", "approved", "rejected", "expired")


async def clock(read: Reading, _call: Call) -> Any:
    """The business clock and date."""
    return await read.clock()


@dataclass(frozen=True)
class Propose:
    """Propose a command that takes two people."""

    command: str
    payload: Mapping[str, Any]


async def propose(call: Call) -> Response:
    """Propose a command that takes two people, by its name and what it says."""
    given = read_command(Propose, call.body)
    if given.command not in OF_TWO:
        fix = f"Give {', '.join(sorted(OF_TWO))}"
        raise InvalidField(f"{given.command[:40]!r} takes no second person",
                           where="body.command", fix=fix)  # fmt: skip
    return await call.do(given.command, given.payload)


async def approvals(read: Reading, call: Call) -> Any:
    """Changes that wait for further people, or waited."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.approvals(
        call.query.get("state"), read_id_cursor(call.query, "ap"), limit + 1
    )
    return cut(rows, limit, "approval")


async def approval(read: Reading, call: Call) -> Any:
    """One change that waits for further people, or waited."""
    return await read.approval(call.path["approval"])


async def audit(read: Reading, call: Call) -> Any:
    """Entries of the audit: who did what, and how it ended."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await read.audit(read_id_cursor(call.query, "ev"), limit + 1)
    return cut(rows, limit, "id")


async def audit_entry(read: Reading, call: Call) -> Any:
    """One entry of the audit, with the settings that it changed before and after."""
    return await read.audit_entry(call.path["entry"])


async def audit_verify(read: Reading, _call: Call) -> Any:
    """The seals over the audit, facts, journals and postings, checked again."""
    return await access_reads.verify_seals(read.transaction)


async def parameters(read: Reading, call: Call) -> Any:
    """Dated parameters with the value in force."""
    rows = configuration.parameters(read.moment.lender, read.moment.business_date)
    return page(rows, call.query, "name")


async def flows(read: Reading, call: Call) -> Any:
    """Decision flows by version."""
    return page(
        await configuration.settings(read.transaction, "flow"), call.query, "name", "version"
    )


async def plan_rules(read: Reading, call: Call) -> Any:
    """Rules of plans for borrowers in trouble, by version; those in force come last, with text."""
    rows = await configuration.settings(read.transaction, "plan_rules")
    text = read.moment.lender.plan_rules_text or shipped_text()
    now = {"name": "in_force", "version": 0, "valid_from": None, "text": text}
    return page([*rows, now], call.query, "name", "version")


async def models(read: Reading, call: Call) -> Any:
    """Models by version."""
    rows = await configuration.settings(read.transaction, "model")
    return page(rows, call.query, "name", "version")


async def keys(read: Reading, call: Call) -> Any:
    """Keys, told by their last characters."""
    return page(await access_reads.keys(read.transaction), call.query, "id")


async def people(read: Reading, call: Call) -> Any:
    """Operators with their roles."""
    return page(await access_reads.people(read.transaction), call.query, "email")


async def roles(_read: Reading, call: Call) -> Any:
    """Roles with their commands, screens and limits."""
    return page(Roles.load().listed(), call.query, "role")


async def requests(read: Reading, call: Call) -> Any:
    """The log of requests, by idempotency key or id; others see their own."""
    limit, given = call.query.get("limit", DEFAULT_PAGE), call.query
    after = read_cursor(given["after"], str, str) if "after" in given else ("", "")
    rows = await access_reads.requests(
        read.transaction, given.get("idempotency_key"), given.get("request"), after, limit + 1
    )
    return cut(rows, limit, "at", "request")


group.read("/clock", Clock, clock, scopes=EVERYONE)
group.command("/clock/advance", "clock.advance", {200: Advanced})
group.read("/approvals", Page[Approval], approvals, query={"state": one_of(*STATES), **PAGED})
group.add(
    "POST", "/approvals", propose,
    Access(frozenset(PROPOSERS), needs_key=True, has_body=True), {202: Approval},
    "Propose a command that takes two people.", schema_of(Propose),
)  # fmt: skip
group.read("/approvals/{approval}", Approval, approval, scopes=("control", "institution"))
group.command("/approvals/{approval}/approve", "approval.approve", {200: Approval},
              needs_session=True)  # fmt: skip
group.command("/approvals/{approval}/reject", "approval.reject", {200: Approval},
              needs_session=True)  # fmt: skip
group.read("/audit", Page[Object], audit, query=PAGED)
group.read("/audit/verify", AuditCheck, audit_verify)
group.read("/audit/{entry}", Object, audit_entry)
group.read("/parameters", Page[Object], parameters, query=PAGED)
group.command("/parameters", "parameter.put", {202: Approval})
group.read("/plan-rules", Page[Object], plan_rules, query=PAGED)
group.command("/plan-rules", "plan_rules.put", {202: Approval})
group.read("/flows", Page[Object], flows, query=PAGED)
group.command("/flows", "flow.put", {202: Approval})
group.read("/models", Page[Object], models, query=PAGED)
group.command("/models", "model.put", {202: Approval})
group.command("/signing-secret/rotate", "secret.rotate", {200: Object},
              scopes=("provider", "institution"))  # fmt: skip
group.read("/keys", Page[Object], keys, query=PAGED)
group.command("/keys", "key.create", {201: Object, 202: Approval})
group.command("/keys/{key_id}/rotate", "key.rotate", {201: Object})
group.command("/keys/{key_id}", "key.end", {200: Object}, method="DELETE")
group.read("/people", Page[Object], people, query=PAGED)
group.command("/people", "person.invite", {201: Object, 202: Approval})
group.read("/roles", Page[Object], roles, query=PAGED)
group.command("/users/{user}/reveal", "person.reveal", {200: Object}, needs_session=True)
group.read("/requests", Page[Object], requests, scopes=EVERYONE,
           query={"idempotency_key": TEXT, "request": TEXT, **PAGED})  # fmt: skip
