"""Routes of money: payments, what undoes them, notices of providers, and operations on a loan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from usance.base.errors import UsanceError
from usance.platform.api.body_schemas import schema_of
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval, JobState
from usance.platform.api.dry_run import effects_of
from usance.platform.api.errors import RequestError, code_of, status_of
from usance.platform.api.groups import Group
from usance.platform.api.guard import Access
from usance.platform.api.shapes import Changed, Noticed, Payment
from usance.platform.commands.command import DONE, Decided, Spec
from usance.platform.commands.fields import read_command
from usance.platform.commands.loans.payments import provider_of
from usance.platform.commands.unit_of_work import Outcome, Work, answered_before, do
from usance.platform.errors import NotFound
from usance.platform.reads.reading import Reading

group = Group("Money", "provider", "operations")
MAX_LINES = 1_000
MAX_FILE_BODY = 24 << 20
"""Bytes of a request with a file of 16 MiB in base64."""


@dataclass(frozen=True)
class TakeNotices:
    """Notices of payments in one batch, each answered for itself."""

    provider: str
    lines: tuple[Any, ...]


async def _noted(*_: Any) -> Decided:
    raise AssertionError("each batch has its own answer")


NOTICES = Spec("notices.take", "notices.taken", ("provider", "operations", "payment.book"),
               TakeNotices, _noted)  # fmt: skip


async def take_notices(call: Call) -> Response:
    """Book every line of a batch that can be booked; a line sent before is a duplicate."""
    batch = read_command(TakeNotices, call.body)
    if len(batch.lines) > MAX_LINES:
        raise RequestError("invalid_field", f"has more than {MAX_LINES} lines", param="body.lines",
                           fix="Send several batches")  # fmt: skip
    async with call.platform.reading(call.principal) as read:
        provider_of(read.moment, call.principal, batch.provider)
    work = Work(call.platform.database, call.principal, NOTICES, batch, call.key, call.dry_run,
                call.platform.services)  # fmt: skip
    before = await answered_before(work) if call.key else None
    if before is not None:
        return call.respond(before.answer, 200, {"Idempotent-Replay": "true"})
    would: list[Outcome] = []
    lines = [await _line(call, batch.provider, line, would) for line in batch.lines]
    if call.dry_run:
        return call.respond({"lines": lines, "would": effects_of(*would)})

    async def noted(*_: Any) -> Decided:
        return Decided({"lines": lines}, f"provider/{batch.provider}", status=DONE, is_new=False)

    outcome = await do(replace(work, spec=replace(NOTICES, handler=noted)))
    headers = {"Idempotent-Replay": "true"} if outcome.is_replay else {}
    return call.respond(outcome.answer, 200, headers)


async def _line(call: Call, provider: str, line: Any, would: list[Outcome]) -> dict[str, Any]:
    """The answer of one line; a dry run adds what it would write."""
    ref = line.get("ref") if isinstance(line, Mapping) else None
    if not isinstance(line, Mapping) or "provider" in line:
        return _refused(ref, "unknown_field" if isinstance(line, Mapping) else "invalid_field")
    body = {**line, "provider": provider}
    if "account" in line:
        return await _for_nobody(call, body, ref, would)
    try:
        outcome = await call.platform.do(call.principal, "payment.book", body, dry_run=call.dry_run)
    except NotFound:  # money is never lost: it waits for a person
        return await _for_nobody(call, body, ref, would)
    except UsanceError as error:
        if status_of(error) >= 500:
            raise
        return _refused(ref, code_of(error.as_dict()["code"]))
    return _taken(ref, outcome, would)


def _taken(ref: Any, outcome: Outcome, would: list[Outcome]) -> dict[str, Any]:
    """The answer of a line that was taken."""
    if outcome.would is not None:
        would.append(outcome)
    result = "booked" if outcome.answer.get("allocation") else "unallocated"
    if not outcome.is_new:
        result = "duplicate"
    return {"ref": ref, "result": result, "payment": outcome.answer.get("payment"), "code": None}


async def _for_nobody(
    call: Call, body: Mapping[str, Any], ref: Any, would: list[Outcome]
) -> dict[str, Any]:
    """Money sent to a virtual account, or for a loan or user that is not there.

    An account leads to whoever it was opened for; all else becomes unallocated cash.
    """
    given = {name: value for name, value in body.items() if name not in ("loan", "user")}
    try:
        outcome = await call.platform.do(
            call.principal, "cash.receive", given, dry_run=call.dry_run
        )
    except UsanceError as error:
        if status_of(error) >= 500:
            raise
        return _refused(ref, code_of(error.as_dict()["code"]))
    return _taken(ref, outcome, would)


def _refused(ref: Any, code: str) -> dict[str, Any]:
    shown = ref if isinstance(ref, str) else None
    return {"ref": shown, "result": "refused", "payment": None, "code": code}


async def payment(read: Reading, call: Call) -> Any:
    """One payment."""
    return await read.payment(call.path["payment"])


group.command("/payments", "payment.book", {201: Payment, 200: Payment})
group.read("/payments/{payment}", Payment, payment,
           scopes=("provider", "operations", "finance", "channel"))  # fmt: skip
group.command("/payments/{payment}/reverse", "payment.reverse", {200: Changed, 201: Changed})
group.command("/refunds", "payment.refund", {201: Changed, 202: Approval})
group.command("/chargebacks", "payment.charge_back", {201: Changed})
group.add(
    "POST", "/provider/notices", take_notices,
    Access(frozenset(group.scopes), needs_key=True, has_body=True, command="payment.book"),
    {200: Noticed},
    "Notices of payments in one batch, each line answered for itself.", schema_of(TakeNotices),
)  # fmt: skip
group.command("/provider/files", "provider_file.take", {202: JobState}, max_body=MAX_FILE_BODY)
group.command("/loans/{loan}/fees", "fee.charge", {201: Changed, 202: Approval})
group.command("/loans/{loan}/waivers", "loan.waive", {201: Changed, 202: Approval})
group.command("/loans/{loan}/reschedules", "loan.reschedule", {201: Changed, 202: Approval})
group.command("/loans/{loan}/pauses", "loan.pause", {201: Changed, 202: Approval})
group.command("/loans/{loan}/charge-off", "loan.charge_off", {201: Changed, 202: Approval})
group.command("/loans/{loan}/recoveries", "loan.recover", {201: Changed, 202: Approval})
