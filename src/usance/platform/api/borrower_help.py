"""Routes of borrowers in trouble: complaints, requests for help, plans, withdrawal, stops."""

from __future__ import annotations

from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.groups import Group
from usance.platform.api.pages import page
from usance.platform.api.parameters import PAGED
from usance.platform.api.shapes import Case, Object, Page, Plan
from usance.platform.reads.loans import plans as help_reads
from usance.platform.reads.reading import Reading
from usance.platform.records.user_record import load_user, read_id

group = Group("Help", "channel", "operations")


async def _user(read: Reading, call: Call) -> int:
    """The number of a user that the caller sees."""
    number = read_id(call.path["user"], "us", "user")
    await load_user(read.transaction, number)
    return number


async def complaints(read: Reading, call: Call) -> Any:
    """Complaints of a user, with the day of the next step."""
    rows = await help_reads.complaints(
        read.transaction, read.moment.lender, read.moment.vault, await _user(read, call)
    )
    return page(rows, call.query, "case")


async def hardship(read: Reading, call: Call) -> Any:
    """Requests for help of a user, with the day of their answer."""
    vault = read.moment.vault
    rows = await help_reads.hardship_requests(read.transaction, vault, await _user(read, call))
    return page(rows, call.query, "case")


async def plans(read: Reading, call: Call) -> Any:
    """Plans that were offered to a user, with their effect before and after."""
    rows = await help_reads.plans(read.transaction, await _user(read, call))
    return page(rows, call.query, "plan")


group.command("/users/{user}/complaints", "complaint.open", {201: Case})
group.read("/users/{user}/complaints", Page[Case], complaints, query=PAGED,
           is_personal=True)  # fmt: skip
group.command("/complaints/{complaint}/answer", "complaint.answer", {200: Case})
group.command("/users/{user}/hardship", "hardship.request", {201: Case})
group.read("/users/{user}/hardship", Page[Case], hardship, query=PAGED,
           is_personal=True)  # fmt: skip
group.command("/hardship/{request}/decline", "hardship.decline", {200: Case})
group.command("/users/{user}/plans", "plan.offer", {201: Plan})
group.read("/users/{user}/plans", Page[Plan], plans, query=PAGED)
group.command("/plans/{plan}/answer", "plan.answer", {200: Plan})
group.command("/loans/{loan}/withdrawal-quote", "withdrawal_quote.make", {200: Object})
