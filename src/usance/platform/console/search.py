"""The search of the console: an id leads to its record; references, phones and amounts do too.

A number of the right form is led to its screen, which says so if there is no such record.
"""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from usance.platform.console.addresses import ID_PLACES
from usance.platform.console.amounts import printed
from usance.platform.console.frame import HOME, Visit, redirect
from usance.platform.errors import InvalidField, NotFound
from usance.platform.reads.people.search import payments_named, users_found


async def search(visit: Visit) -> Response:
    """Whatever was typed: its page, or a list where there are several."""
    asked = visit.request.query_params.get("q", "").strip()[:200]
    name = quote(asked, safe="")
    if asked.startswith("pm_"):
        return await _payment(visit, asked)
    for prefix, (_screen, path) in ID_PLACES.items():
        if asked.startswith(prefix):
            return redirect(HOME + path.format(name))
    users, payments = [], []
    async with visit.platform.reading(visit.operator.principal) as read:
        currency = read.moment.lender.currency
        if asked:
            users = await users_found(read.transaction, read.moment.lender, read.moment.vault,
                                      asked) if "borrowers" in visit.screens else []  # fmt: skip
            payments = await payments_named(read.transaction, read.moment.lender, asked)
    if len(users) == 1 and not payments:
        return redirect(f"{HOME}/borrowers/{users[0]['user']}")
    if len(payments) == 1 and not users and payments[0]["loan"]:
        return redirect(f"{HOME}/loans/{payments[0]['loan']}#{payments[0]['payment']}")
    rows = [{**each, "amount": printed(each["amount_minor"], currency)} for each in payments]
    return visit.page("", "search", visit.texts["search"], asked=asked, found=users,
                      payments=rows)  # fmt: skip


async def _payment(visit: Visit, name: str) -> Response:
    """A payment is shown on its loan; one without a loan has a line of its own."""
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            found, currency = await read.payment(name), read.moment.lender.currency
    except InvalidField as error:
        raise NotFound("there is no such payment", where=name, fix="Search for it") from error
    if found["loan"]:
        return redirect(f"{HOME}/loans/{found['loan']}#{found['payment']}")
    rows = [{**found, "amount": printed(found["amount_minor"], currency)}]
    return visit.page("", "search", visit.texts["search"], asked=name, found=[], payments=rows)
