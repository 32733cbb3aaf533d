"""The screen *Control*: approvals, the audit and its chain, parameters, people and roles."""

from __future__ import annotations

import secrets

from starlette.responses import Response

from usance.platform.console.frame import HOME, Visit, form, see
from usance.platform.errors import NotFound, PlatformError
from usance.platform.reads import configuration
from usance.platform.reads.latest import audit_entries
from usance.platform.security import access_reads
from usance.platform.security.roles import Roles

ROWS = 50
DECISIONS = {"approve": "approval.approve", "reject": "approval.reject"}


async def show(visit: Visit, error: str = "", status: int = 200) -> Response:
    """Approvals that wait, the latest entries of the audit, and the way to the rest."""
    async with visit.platform.reading(visit.operator.principal) as read:
        entries = await audit_entries(read.transaction, ROWS)
        pending = await read.approvals("pending", limit=200)
        is_asked = visit.request.query_params.get("verify") == "1"
        verified = await access_reads.verify_seals(read.transaction) if is_asked else None
    for each in pending:
        each["key"] = secrets.token_urlsafe(18)
    return visit.page(
        "control", "control", visit.texts["control"], status, entries=entries, pending=pending,
        verified=verified, may_approve=visit.may("approval.approve"), error=error,
    )  # fmt: skip


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
        await visit.platform.do(visit.operator.principal, command, body, key=given.get("key", ""))
    except PlatformError as error:
        return await show(visit, str(error), error.http_status)
    return see(f"{HOME}/control")


async def parameters(visit: Visit) -> Response:
    """Dated parameters with their values and sources."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = configuration.parameters(read.moment.lender, read.moment.business_date)
    names = ["name", "value", "unit", "valid_from", "source"]
    return visit.page("control", "table", visit.texts["parameters"], rows=rows, names=names)


async def people(visit: Visit) -> Response:
    """Operators with their roles, and what each role may do."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await access_reads.people(read.transaction)
    roles = [{**each, "commands": ", ".join(each["commands"]),
              "screens": ", ".join(each["screens"])} for each in Roles.load().listed()]  # fmt: skip
    return visit.page(
        "control", "table", visit.texts["people"], rows=rows,
        names=["email", "role", "human", "totp", "is_active"], more=roles,
        more_names=["role", "commands", "screens"],
    )  # fmt: skip
