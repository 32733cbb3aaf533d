"""The screen *Borrowers*: search, and one page for a borrower."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from usance.platform.console.frame import HOME, Visit, see
from usance.platform.console.loans import printed
from usance.platform.errors import InvalidField, NotFound


async def find(visit: Visit) -> Response:
    """The search for a borrower."""
    return visit.page("borrowers", "search", visit.texts["borrowers"], asked="", found=[])


async def search(visit: Visit) -> Response:
    """Whatever an id or a reference names: its page, or a list where there are several."""
    asked = visit.request.query_params.get("q", "").strip()
    for prefix, screen in (("us_", "borrowers"), ("ln_", "loans")):
        if asked.startswith(prefix):
            return see(f"{HOME}/{screen}/{quote(asked, safe='')}")
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await read.users_named(asked) if asked else []
    if len(found) == 1:
        return see(f"{HOME}/borrowers/{found[0]['user']}")
    return visit.page("borrowers", "search", visit.texts["search"], asked=asked, found=found)


async def show(visit: Visit) -> Response:
    """One borrower."""
    name = visit.request.path_params["user"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            user, consents = await read.user(name), await read.consents(name)
            lines, loans = await read.lines(name), await read.user_loans(name)
            currency = read.moment.lender.currency
    except InvalidField as error:
        raise NotFound(
            "there is no such user", where=name, fix="Search by its reference"
        ) from error
    title = f"{visit.texts['borrower']} {user['user']}"
    return visit.page(
        "borrowers", "borrower", title, user=user, consents=consents, lines=lines, loans=loans,
        money=lambda minor: printed(minor, currency),
    )  # fmt: skip
