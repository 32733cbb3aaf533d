"""Routes of drafts: a summary of a case or a decision, a reply to a borrower."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from usance.platform.api.body_schemas import schema_of
from usance.platform.api.calls import Call
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.shapes import Object
from usance.platform.commands.collections.drafts import MakeDraft, prepare
from usance.platform.commands.fields import read_command
from usance.platform.commands.registry import COMMANDS
from usance.platform.errors import UnknownField

group = Group("Collections", "operations", "review")


def _route(path: str, subject: str, *, kind: str = "") -> None:
    """A route that asks for a draft about whatever its address names."""
    left_out = ["subject", "kind"] if kind else ["subject"]
    spec = COMMANDS["draft.make"]

    def read(call: Call) -> dict[str, Any]:
        for name in left_out:
            if name in call.body:
                raise UnknownField(f"there is no field {name}", where=f"body.{name}",
                                   fix="Leave it out: the address says it")  # fmt: skip
        body = {"subject": call.path[subject], **({"kind": kind} if kind else {}), **call.body}
        read_command(MakeDraft, body)
        return body

    def check(call: Call) -> None:
        read(call)

    async def answering(call: Call) -> Response:
        body = read(call)
        await prepare(call.platform, call.principal, read_command(MakeDraft, body))
        return await call.do("draft.make", body)

    summary = (MakeDraft.__doc__ or "").splitlines()[0]
    access = Access(
        frozenset(spec.scopes), needs_key=True, has_body=True, command=spec.name, check=check
    )
    group.add("POST", path, answering, access, {201: Object}, summary,
              schema_of(MakeDraft, without=left_out))  # fmt: skip


_route("/cases/{case}/drafts", "case")
_route("/decisions/{decision}/drafts", "decision", kind="application")
