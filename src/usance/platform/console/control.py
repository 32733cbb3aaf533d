"""The screen *Control*: approvals, the audit and its chain, parameters, people and roles."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from usance.platform.console.changes import with_last_change
from usance.platform.console.fact_fields import currency_of
from usance.platform.console.frame import HOME, Visit, form, redirect
from usance.platform.console.lists import ListPage, ListState
from usance.platform.console.tasks import buttons, secrets_in, shown_facts
from usance.platform.errors import InvalidField, NotFound, PlatformError
from usance.platform.lender import Lender
from usance.platform.reads.control import configuration
from usance.platform.reads.control.approvals import STATES, approval_of, approval_rows
from usance.platform.reads.control.events_and_audit import change_lines
from usance.platform.reads.control.latest import audit_page
from usance.platform.security import access_reads
from usance.platform.security.roles import Roles

DECISIONS = {"approve": "approval.approve", "reject": "approval.reject"}
BULK = frozenset({"parameter.put", "key.create", "person.invite", "mandate.put"})
"""Commands that several at once may be agreed to: none of them moves money or a loan."""
FIELD = "approval."
MAX_SHORT = 200
"""Characters of a value that stands in a line of its own."""


def _parts(visit: Visit) -> list[tuple[str, str]]:
    t, home = visit.texts, f"{HOME}/control"
    return [(t["approvals"], home), (t["audit"], f"{home}/audit"),
            (t["parameters"], f"{home}/parameters"), (t["people"], f"{home}/people")]  # fmt: skip


async def show(visit: Visit, error: str = "", status: int = 200) -> Response | ListPage:
    """Approvals by state, with search; those that are safe together are answered together."""
    asked = ListState.of(visit.request, {"state": (*STATES, "")}, default="pending", typed=("q",))
    if visit.request.method == "POST":
        asked = ListState({"state": "pending"}, asked.choices, {"q": ""}, "", "")
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await approval_rows(read.transaction, asked.filters["state"], asked.texts["q"],
                                   asked.before, asked.limit + 1)  # fmt: skip
    if asked.format:
        return ListPage("control", asked, rows, key="approval", links={})
    shown = rows[: asked.limit]
    after = asked.address(before=str(shown[-1]["approval"])) if len(rows) > asked.limit else ""
    for each in shown:
        each["bulk"] = each["command"] in BULK and each["state"] == "pending"
    return visit.page(
        "control", "approvals", visit.texts["control"], status, rows=shown, asked=asked,
        after=after, error=error, tabs=_parts(visit), field=FIELD, key=secrets.token_urlsafe(18),
        may_approve=visit.may("approval.approve"), here=f"{HOME}/control",
    )  # fmt: skip


async def one(visit: Visit, error: str = "", status: int = 200) -> Response:
    """One approval: everything that was proposed, and who has agreed."""
    name = visit.request.path_params["approval"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            found = await approval_of(read.transaction, name)
            currency = currency_of(found["payload"], read.moment.lender.currency)
    except InvalidField as failed:
        raise NotFound("there is no such approval", where=name, fix="Use the list") from failed
    given = {name: value for name, value in found["payload"].items() if value is not None}
    payload = {name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
               for name, value in given.items() if _is_long(value)}  # fmt: skip
    short = {name: value for name, value in given.items() if name not in payload}
    return visit.page(
        "control", "approval", f"{visit.texts['approval']} {found['approval']}", status,
        found=found, payload=payload, facts=shown_facts(visit, short, currency), error=error,
        key=secrets.token_urlsafe(18),
        may_approve=visit.may("approval.approve")
        and visit.operator.principal.decides(found["command"]), tabs=_parts(visit),
    )  # fmt: skip


def _is_long(value: Any) -> bool:
    """True for a document: a text of several lines, or a list of mappings."""
    if isinstance(value, str):
        return "\n" in value or len(value) > MAX_SHORT
    listed = isinstance(value, Sequence) and any(isinstance(each, Mapping) for each in value)
    return listed or (isinstance(value, Mapping) and any(map(_is_long, value.values())))


async def decide(visit: Visit) -> Response:
    """Agree to what was proposed, or refuse it; the proposer cannot agree."""
    given, path = await form(visit.request), visit.request.path_params
    command = DECISIONS.get(path["answer"])
    if command is None:
        raise NotFound("there is no such answer", where=path["answer"], fix="Use the buttons")
    body = {"approval": path["approval"]}
    if command == "approval.reject":
        body["reason"] = given.get("reason", "")
    try:
        outcome = await visit.do(command, body, key=given.get("key", ""))
    except PlatformError as error:
        told = await with_last_change(visit, error, path["approval"])
        return await one(visit, told, error.http_status)
    if secret := secrets_in(outcome.answer):
        return visit.page("control", "task_done", visit.texts["approval"], approval="",
                          facts=[(visit.texts[f"told_{name}"], value, "")
                                 for name, value in secret.items()],
                          is_secret=True, back=f"{HOME}/control")  # fmt: skip
    return redirect(f"{HOME}/control")


async def decide_many(visit: Visit) -> Response | ListPage:
    """Agree to several that are safe together; each for itself, once for the form's key."""
    given = await form(visit.request)
    problems: list[str] = []
    secrets_told: list[tuple[str, str, str]] = []
    for field in given:
        name = field.removeprefix(FIELD)
        if not field.startswith(FIELD):
            continue
        try:
            async with visit.platform.reading(visit.operator.principal) as read:
                found = await approval_of(read.transaction, name)
            if found["command"] not in BULK:
                raise InvalidField("is looked at by itself", where=name, fix="Open it")
            key = f"{given.get('key', '')}/{name}"[:255]
            outcome = await visit.do("approval.approve", {"approval": name}, key=key)
            secrets_told += [(f"{name} {visit.texts[f'told_{what}']}", value, "")
                             for what, value in secrets_in(outcome.answer).items()]  # fmt: skip
        except PlatformError as error:
            problems.append(f"{name}: {error.what}")
    if secrets_told:
        return visit.page("control", "task_done", visit.texts["approvals"], approval="",
                          facts=[*secrets_told, *(("", each, "") for each in problems)],
                          is_secret=True, back=f"{HOME}/control")  # fmt: skip
    if problems:
        return await show(visit, " · ".join(problems), 409)
    return redirect(f"{HOME}/control")


async def audit(visit: Visit) -> Response | ListPage:
    """The audit by person, command and subject; its chain is verified on demand."""
    asked = ListState.of(visit.request, {}, typed=("who", "command", "subject"))
    is_asked = visit.request.query_params.get("verify") == "1"
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await audit_page(read.transaction, dict(asked.texts), asked.before, asked.limit + 1)
        verified = await access_reads.verify_seals(read.transaction) if is_asked else None
    if asked.format:
        return ListPage("audit", asked, rows, key="id", links={})
    shown = rows[: asked.limit]
    after = asked.address(before=str(shown[-1]["id"])) if len(rows) > asked.limit else ""
    return visit.page("control", "audit", visit.texts["audit"], rows=shown, asked=asked,
                      after=after, verified=verified, tabs=_parts(visit))  # fmt: skip


async def audit_entry(visit: Visit) -> Response:
    """One entry of the audit: lines of every setting that went and came."""
    entry = visit.request.path_params["entry"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            found = await read.audit_entry(entry)
    except InvalidField as failed:
        raise NotFound("there is no such entry", where=entry, fix="Use the list") from failed
    changes = [(each["name"], change_lines(each)) for each in found["changes"]]
    return visit.page("control", "audit_entry", f"{visit.texts['audit']} {found['id']}",
                      found=found, changes=changes, tabs=_parts(visit))  # fmt: skip


async def parameters(visit: Visit) -> Response:
    """Dated parameters with their values and sources; one of them with its history."""
    name = visit.request.query_params.get("name", "")
    async with visit.platform.reading(visit.operator.principal) as read:
        lender, day = read.moment.lender, read.moment.business_date
        rows = configuration.parameters(lender, day)
    return _parameters(visit, rows, name, _history(lender, name), day.isoformat())


def _history(lender: Lender, name: str) -> list[dict[str, Any]]:
    """Values of a parameter with their first days and sources."""
    known = lender.parameters.by_name.get(name)
    return [
        {"value": str(entry.value), "valid_from": entry.valid_from.isoformat(),
         "source": entry.source} for entry in (known.entries if known else ())
    ]  # fmt: skip


def _parameters(
    visit: Visit, rows: list[dict[str, Any]], name: str, history: list[dict[str, Any]], day: str,
    error: PlatformError | None = None, typed: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    where = (error.where or "").removeprefix("body.") if error else ""
    return visit.page(
        "control", "parameters", visit.texts["parameters"], error.http_status if error else 200,
        rows=rows, name=name, history=history, error=str(error) if error else "", where=where,
        typed=typed or {"valid_from": day}, key=secrets.token_urlsafe(18),
        may_put=visit.may("parameter.put"), tabs=_parts(visit),
        tasks=buttons(visit, "parameters"),
    )  # fmt: skip


async def put_parameter(visit: Visit) -> Response:
    """Propose a value of a parameter from a day on; a second person agrees."""
    given = await form(visit.request)
    body = {name: given.get(name, "") for name in ("name", "value", "valid_from", "source")}
    try:
        await visit.do("parameter.put", body,
                                key=given.get("key", ""))  # fmt: skip
    except PlatformError as error:
        async with visit.platform.reading(visit.operator.principal) as read:
            day = read.moment.business_date
            rows = configuration.parameters(read.moment.lender, day)
            history = _history(read.moment.lender, body["name"])
        return _parameters(visit, rows, body["name"], history, day.isoformat(), error, given)
    return redirect(f"{HOME}/control")


async def people(visit: Visit) -> Response:
    """Operators with their roles, and what each role may do."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await access_reads.people(read.transaction)
    t = visit.texts
    rows = [{**row, "role": t[f"role_{row['role']}"]} for row in rows]
    roles = [
        {"role": t[f"role_{each['role']}"], "commands": ", ".join(each["commands"]),
         "screens": ", ".join(t[name] for name in each["screens"])}
        for each in Roles.load().listed()
    ]  # fmt: skip
    return visit.page(
        "control", "table", visit.texts["people"], rows=rows, tabs=_parts(visit),
        names=["email", "role", "human", "totp", "is_active"], more=roles,
        more_names=["role", "commands", "screens"], tasks=buttons(visit, "people"),
    )  # fmt: skip
