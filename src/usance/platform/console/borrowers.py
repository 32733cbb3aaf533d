"""The screen *Borrowers*: the list, help that waits, and one page for all that a borrower has."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from usance.platform.console.amounts import printed
from usance.platform.console.checks import borrower_parts
from usance.platform.console.frame import HOME, Visit
from usance.platform.console.lists import ListPage, ListState
from usance.platform.console.tasks import buttons, row_buttons
from usance.platform.errors import InvalidField, NotFound
from usance.platform.reads.collections.cases import stops_of
from usance.platform.reads.loans import plans as help_reads
from usance.platform.reads.loans.documents import agreements
from usance.platform.reads.loans.help_queue import MAX_ROWS, help_waiting
from usance.platform.reads.people.borrowers import (
    cases_of,
    decisions_of,
    linked_users,
    payments_of_user,
    user_rows,
)
from usance.platform.reads.reading import Reading
from usance.platform.records.user_record import read_id


async def find(visit: Visit) -> ListPage:
    """Users, newest first, by channel."""
    async with visit.platform.reading(visit.operator.principal) as read:
        lender = read.moment.lender
        names = [name for kind, name in lender.parties if kind == "channel"]
        asked = ListState.of(visit.request, {"channel": ("", *sorted(names))})
        rows = await user_rows(read.transaction, lender, read.moment.vault,
                               asked.filters["channel"], asked.before, asked.limit + 1
                               )  # fmt: skip
    return ListPage("borrowers", asked, rows, key="user", parts=borrower_parts(visit),
                  links={"user": f"{HOME}/borrowers/"})  # fmt: skip


async def help_queue(visit: Visit) -> Response:
    """Complaints, requests for help and plans that wait, the most urgent first."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await help_waiting(read.transaction, read.moment.lender)
        today = read.moment.business_date.isoformat()
    t = visit.texts
    words = {"complaint": "subject_", "request": "reason_", "plan": "plan_"}
    shown = [
        {**row, "kind": t[f"help_{row['kind']}"],
         "about": t.get(words[row["kind"]] + row["about"], row["about"]),
         "kind_of_row": "due" if row["answer_by"] < today else ""}
        for row in rows
    ]  # fmt: skip
    return visit.page("borrowers", "help_queue", t["part_help"], rows=shown[:MAX_ROWS],
                      parts_of=borrower_parts(visit))  # fmt: skip


async def show(visit: Visit) -> Response:
    """One borrower: lines, loans, payments, decisions, contacts, consents, links, documents."""
    name = visit.request.path_params["user"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            user, number = await read.user(name), read_id(name, "us", "user")
            transaction, lender = read.transaction, read.moment.lender
            values: dict[str, Any] = {
                "consents": await read.consents(name), "lines": await read.lines(name),
                "loans": await read.user_loans(name),
                "payments": await payments_of_user(transaction, lender, number),
                "decisions": await decisions_of(transaction, number),
                "linked": await linked_users(transaction, lender, read.moment.vault, number),
                "documents": await agreements(transaction, name),
                **await cases_of(transaction, number),
                **await _help(visit, read, number),
            }  # fmt: skip
            values["decisions"] = [
                {**each, "acts": row_buttons(visit, "decision", each["decision"], user=name)}
                for each in values["decisions"]
            ]  # fmt: skip
            pending = [each for each in await read.approvals("pending") if name in each["subject"]]
    except InvalidField as error:
        raise NotFound(
            "there is no such user", where=name, fix="Search by its reference"
        ) from error
    title = f"{visit.texts['borrower']} {user['user']}"
    return visit.page(
        "borrowers", "borrower", title, user=user, pending=pending,
        money=lambda minor: printed(minor, lender.currency), **values,
        tasks=buttons(visit, "borrower", user=name), help_tasks=buttons(visit, "help", user=name),
        case_page=f"{HOME}/collections/cases/" if "collections" in visit.screens else "",
    )  # fmt: skip


async def _help(visit: Visit, read: Reading, number: int) -> dict[str, Any]:
    """Complaints, requests for help, plans and stops, each with what may be done about it.

    A borrower's own words are for those who answer them.
    """
    transaction, vault = read.transaction, read.moment.vault
    complaints = await help_reads.complaints(transaction, read.moment.lender, vault, number)
    asked = await help_reads.hardship_requests(transaction, vault, number)
    offered = await help_reads.plans(transaction, number)
    stops = await stops_of(transaction, number)
    answers = visit.may("complaint.answer")

    def acts(field: str, row: dict[str, Any], *, is_open: bool) -> dict[str, Any]:
        own = {"user": row.get("user", ""), "loan": row.get("loan") or ""}
        name = row.get("case") or row.get(field) or ""
        found = row_buttons(visit, field, name, **own) if is_open else []
        return {**row, "acts": found, "text": row.get("text") if answers else None,
                "answer": row.get("answer") if answers else None}  # fmt: skip

    user = visit.request.path_params["user"]
    return {
        "complaints": [acts("complaint", each, is_open=each["state"] == "open")
                       for each in complaints],
        "requests": [acts("request", each, is_open=each["state"] == "open") for each in asked],
        "plans": [acts("plan", {**each, "case": each["plan"]}, is_open=each["state"] == "offered")
                  for each in offered],
        "stops": [acts("stop", {**each, "user": user}, is_open=not each["ended_at"])
                  for each in stops],
    }  # fmt: skip
