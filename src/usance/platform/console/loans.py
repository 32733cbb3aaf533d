"""The screen *Loans*: the list, and one loan as of any day with everything it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from starlette.responses import Response

from usance.base.codes import Currency, FundingModel, Product, RoutingOutcome
from usance.base.ids import print_id
from usance.books.rules import load_rules
from usance.pages.charts import Figure, columns
from usance.pages.components import Event, time_line
from usance.pages.numbers import words
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.frame import HOME, Visit
from usance.platform.console.lists import ListPage, ListState
from usance.platform.console.tasks import buttons
from usance.platform.errors import InvalidField, NotFound
from usance.platform.reads.control.institutions import routing_of
from usance.platform.reads.loans.loan_list import CLOSED, OPEN, after_payment, loan_rows
from usance.platform.reads.reading import Reading
from usance.platform.records.loan_record import load_loan
from usance.platform.records.user_record import read_id

ROWS = 200


async def find(visit: Visit) -> ListPage:
    """Loans, newest borrowers first, by state, product and funding model."""
    asked = ListState.of(visit.request, {
        "state": ("", OPEN, CLOSED), "product": ("", *(each.label for each in Product)),
        "model": ("", *(each.label for each in FundingModel)),
    })  # fmt: skip
    async with visit.platform.reading(visit.operator.principal) as read:
        currency = read.moment.lender.currency
        rows = await loan_rows(read.transaction, read.moment.lender, read.moment.business_date,
                               dict(asked.filters), asked.before, asked.limit + 1)  # fmt: skip
    shown = [
        {**{name: value for name, value in row.items() if not name.endswith("_minor")},
         "principal": printed(row["principal_minor"], currency),
         "owed": printed(row["owed_minor"], currency)}
        for row in rows
    ]  # fmt: skip
    return ListPage("loans", asked, shown, key="loan", links={
        "loan": f"{HOME}/loans/", "user": f"{HOME}/borrowers/"},
        numbers=("principal", "owed", "days_past_due"))  # fmt: skip


async def show(visit: Visit) -> Response:
    """One loan, today or on the day that was asked for."""
    from usance.platform.console.actions import allowed

    name = visit.request.path_params["loan"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            found = await read.loan(name)
            day, span = _day(visit, found, read.moment.business_date)
            values = await _parts(visit, read, name, found, day)
            values |= await _what_if(visit, read, name)
            currency = read.moment.lender.currency
            pending = [each for each in await read.approvals("pending") if name in each["subject"]]
    except InvalidField as error:
        if error.where and error.where.startswith("query."):
            raise
        raise NotFound("there is no such loan", where=name, fix="Search for it") from error
    done = visit.request.query_params.get("done", "")
    return visit.page(
        "loans", "loan", f"{visit.texts['loan']} {found['loan']}", span=span, pending=pending,
        money=lambda minor: printed(minor, currency), actions=allowed(visit),
        done=visit.texts.get(f"do_{done}", ""), **values,
        tasks=buttons(visit, "loan", loan=found["loan"], provider=_provider(values["payments"])),
    )  # fmt: skip


def _provider(payments: Sequence[dict[str, Any]]) -> str:
    """The provider of the last payment: most that comes after goes the same way."""
    return str(payments[-1]["provider"]) if payments else ""


async def _parts(
    visit: Visit, read: Reading, name: str, found: dict[str, Any], day: date | None
) -> dict[str, Any]:
    """Everything a loan is made of, as of a day."""
    currency = read.moment.lender.currency
    loan = await read.loan(name, day) if day else found
    instalments, facts = await read.schedule(name, day), await read.facts(name, day)
    return {
        "loan": loan, "instalments": instalments, "history": _history(visit, facts, currency),
        "journals": await read.journals(name, limit=ROWS),
        "payments": await read.loan_payments(name),
        "figure": _chart(visit, instalments, currency), "origin": await _origin(read, name),
    }  # fmt: skip


async def _origin(read: Reading, name: str) -> dict[str, Any]:
    """The decision that a loan rests on, and the sources it was put to."""
    number, lender = read_id(name, "ln", "loan"), read.moment.lender
    decision = await read.transaction.fetchval(
        "select decision_id from usance.loans where loan_id = $1 and terms_no = 1", number
    )
    ways = await routing_of(read.transaction, number)
    asked = [
        {"attempt": way["attempt"], "source": lender.source_name(way["source"]) or "–",
         "outcome": RoutingOutcome(way["outcome"]).label,
         "score": printed(way["score_minor"], lender.currency),
         "runner_up": lender.source_name(way["runner_up"]) or "–",
         "runner_up_score": printed(way["runner_up_minor"], lender.currency)}
        for way in ways
    ]  # fmt: skip
    return {"decision": print_id("de", decision) if decision else "", "asked": asked}


async def _what_if(visit: Visit, read: Reading, name: str) -> dict[str, Any]:
    """The loan before and after a payment that nobody made, if one was typed."""
    given = visit.request.query_params
    today = read.moment.business_date
    typed = {"pay": given.get("pay", ""), "pay_on": given.get("pay_on", "") or today.isoformat()}
    if not typed["pay"]:
        return {"what_if": None, "typed": typed, "wrong": ""}
    try:
        amount = minor_of(typed["pay"], read.moment.lender.currency)
        if amount <= 0:
            raise InvalidField("is no payment", where="query.pay", fix="Give more than zero")
        loan = await load_loan(read.transaction, read_id(name, "ln", "loan"))
        told = after_payment(loan, amount, _parsed(typed["pay_on"], "query.pay_on"), today)
    except InvalidField as error:
        return {"what_if": None, "typed": typed, "wrong": str(error)}
    return {"what_if": told, "typed": typed, "wrong": ""}


def _history(visit: Visit, facts: Sequence[dict[str, Any]], currency: Currency) -> Any:
    undone = {each["reverses"] for each in facts}
    return time_line(
        Event(each["effective_on"], visit.texts.get(f"fact_{each['kind']}", each["kind"]),
              _amount_and_provider(each, currency), "undone" if each["ref"] in undone else "")
        for each in facts
    )  # fmt: skip


def _chart(
    visit: Visit, instalments: Sequence[dict[str, Any]], currency: Currency
) -> Figure | None:
    """A chart of every instalment: paid, and left."""
    t, scale = visit.texts, 10**currency.exponent
    series = {
        t["paid"]: [row["paid"]["total_minor"] / scale for row in instalments],
        t["outstanding"]: [row["outstanding"]["total_minor"] / scale for row in instalments],
    }
    return columns([row["due_on"][:7] for row in instalments], series, caption=t["schedule"],
                   format_y=lambda y: f"{y:,.0f}", note=currency.name)  # fmt: skip


def _amount_and_provider(fact: dict[str, Any], currency: Currency) -> str:
    amount = fact["amount_minor"]
    parts = [f"{printed(amount, currency)} {currency.name}" if amount else "",
             fact["provider"] or "", fact["provider_ref"] or ""]  # fmt: skip
    return " " + " · ".join(filter(None, parts))


def _day(visit: Visit, loan: dict[str, Any], today: date) -> tuple[date | None, dict[str, Any]]:
    """The day that was asked for, by date or by the slider, and the span of the slider."""
    first = date.fromisoformat(loan["disbursed_on"])
    given, whole = visit.request.query_params, (today - first).days
    moved = given.get("day", "")
    day = None
    if moved.isascii() and moved.isdigit() and len(moved) < 6:
        day = first.fromordinal(min(first.toordinal() + int(moved), today.toordinal()))
    elif given.get("as_of"):
        day = _parsed(given["as_of"], "query.as_of")
    at = day or today
    span = {"first": first.isoformat(), "whole": whole, "at": max(0, (at - first).days),
            "day": at.isoformat(), "today": today.isoformat()}  # fmt: skip
    return day, span


def _parsed(text: str, where: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InvalidField(f"{text[:20]} is no day", where=where,
                           fix="Give one such as 2024-07-31") from error  # fmt: skip


async def journal(visit: Visit) -> Response:
    """One journal with its lines, and the loan it is of."""
    name = visit.request.path_params["journal"]
    try:
        async with visit.platform.reading(visit.operator.principal) as read:
            found, currency = await read.journal(name), read.moment.lender.currency
    except InvalidField as error:
        raise NotFound("there is no such journal", where=name, fix="Search for it") from error
    moved = {rule.number: rule.amount for rule in load_rules()}
    lines = [
        {**each, "amount": printed(each["amount_minor"], currency),
         "account": f"{each['account']} {words(each['account_name'])}",
         "basis": visit.texts.get(f"basis_{each['basis']}", each["basis"]),
         "rule": f"{each['rule']} {words(moved.get(each['rule'], ''))}"}
        for each in found["lines"]
    ]  # fmt: skip
    return visit.page("loans", "journal", f"{visit.texts['journal']} {name}", found=found,
                      lines=lines)  # fmt: skip
