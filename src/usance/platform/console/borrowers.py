"""The screen *Borrowers*: the list, and one page for a borrower with everything that is theirs."""

from __future__ import annotations

from starlette.responses import Response

from usance.platform.console.amounts import printed
from usance.platform.console.frame import HOME, Visit
from usance.platform.console.lists import Listed, ListState
from usance.platform.errors import InvalidField, NotFound
from usance.platform.reads.borrowers import (
    cases_of,
    decisions_of,
    linked_users,
    payments_of_user,
    user_rows,
)
from usance.platform.reads.documents import agreements
from usance.platform.user_record import read_id


async def find(visit: Visit) -> Listed:
    """Users, newest first, by channel."""
    async with visit.platform.reading(visit.operator.principal) as read:
        lender = read.moment.lender
        names = [name for kind, name in lender.parties if kind == "channel"]
        asked = ListState.of(visit.request, {"channel": ("", *sorted(names))})
        rows = await user_rows(read.transaction, lender, read.moment.vault,
                               asked.filters["channel"], asked.before, asked.limit + 1
                               )  # fmt: skip
    return Listed("borrowers", asked, rows, key="user",
                   links={"user": f"{HOME}/borrowers/"})  # fmt: skip


async def show(visit: Visit) -> Response:
    """One borrower: lines, loans, payments, decisions, contacts, consents, links, documents."""
    name = visit.request.path_params["user"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            user, number = await read.user(name), read_id(name, "us", "user")
            transaction, lender = read.transaction, read.moment.lender
            values = {
                "consents": await read.consents(name), "lines": await read.lines(name),
                "loans": await read.user_loans(name),
                "payments": await payments_of_user(transaction, lender, number),
                "decisions": await decisions_of(transaction, number),
                "linked": await linked_users(transaction, lender, read.moment.vault, number),
                "documents": await agreements(transaction, name),
                **await cases_of(transaction, number),
            }  # fmt: skip
            pending = [each for each in await read.approvals("pending") if name in each["subject"]]
    except InvalidField as error:
        raise NotFound(
            "there is no such user", where=name, fix="Search by its reference"
        ) from error
    title = f"{visit.texts['borrower']} {user['user']}"
    return visit.page(
        "borrowers", "borrower", title, user=user, pending=pending,
        money=lambda minor: printed(minor, lender.currency), **values,
    )  # fmt: skip
