"""The screen *Loans*: one loan as of any day, with its instalments, facts and journals."""

from __future__ import annotations

from datetime import date

from starlette.responses import Response

from usance.base.codes import Currency
from usance.pages.components import Event, time_line
from usance.platform.console.frame import Visit
from usance.platform.errors import InvalidField, NotFound

ROWS = 200


async def find(visit: Visit) -> Response:
    """The search for a loan."""
    return visit.page("loans", "search", visit.texts["loans"], asked="", found=[])


async def show(visit: Visit) -> Response:
    """One loan, today or on the day that was asked for."""
    from usance.platform.console.actions import allowed

    name, day = visit.request.path_params["loan"], _day(visit)
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            loan = await read.loan(name, day)
            instalments, facts = await read.schedule(name, day), await read.facts(name, day)
            journals = await read.journals(name, limit=ROWS)
            currency, paid = read.moment.lender.currency, await read.loan_payments(name)
    except InvalidField as error:
        raise NotFound("there is no such loan", where=name, fix="Search for it") from error
    undone = {each["reverses"] for each in facts}
    history = time_line(
        Event(each["effective_on"], each["kind"], _told(each["amount_minor"], currency),
              "undone" if each["ref"] in undone else "")
        for each in facts
    )  # fmt: skip
    done = visit.request.query_params.get("done", "")
    return visit.page(
        "loans", "loan", f"{visit.texts['loan']} {loan['loan']}", loan=loan, history=history,
        instalments=instalments, journals=journals, money=lambda minor: printed(minor, currency),
        actions=allowed(visit), payments=paid, done=visit.texts.get(f"do_{done}", ""),
    )  # fmt: skip


def printed(minor: int, currency: Currency) -> str:
    """An amount as people read it, with a true minus.

    >>> printed(-123456, Currency.CNY)
    '−1,234.56'
    """
    whole, rest = divmod(abs(minor), 10**currency.exponent)
    decimals = f".{rest:0{currency.exponent}}" if currency.exponent else ""
    return ("\N{MINUS SIGN}" if minor < 0 else "") + f"{whole:,}{decimals}"


def _told(minor: int, currency: Currency) -> str:
    return f" {printed(minor, currency)} {currency.name}" if minor else ""


def _day(visit: Visit) -> date | None:
    asked = visit.request.query_params.get("as_of", "")
    try:
        return date.fromisoformat(asked) if asked else None
    except ValueError as error:
        raise InvalidField(f"{asked[:20]} is no day", where="as_of",
                           fix="Give one such as 2024-07-31") from error  # fmt: skip
