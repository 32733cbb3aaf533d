"""Actions on a loan: a form, its effect before it is done, then the command, once for its key."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from usance.base.codes import Component, Currency, Fee
from usance.books.chart import load_chart
from usance.loan.stored_rows import CHANGES
from usance.platform.api.dry_run import effects_of
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.changes import with_last_change
from usance.platform.console.frame import HOME, Visit, form, redirect
from usance.platform.errors import Forbidden, InvalidField, MissingField, NotFound, Refused
from usance.platform.lender import Lender

CONFIRM = "confirm"


@dataclass(frozen=True)
class Field:
    """A field of a form: its name in the command, its kind of input, its first value."""

    name: str
    kind: str = "text"
    value: str = ""
    choices: tuple[str, ...] = ()
    """Values it offers; those of a provider are the lender's."""


@dataclass(frozen=True)
class Action:
    """An action on a loan: the command it does and the fields it asks for."""

    name: str
    command: str
    fields: tuple[Field, ...]


FEES = tuple(each.label for each in Fee)
COMPONENTS = tuple(each.label for each in Component)
DAY, AMOUNT, REASON = Field("effective_on", "date"), Field("amount_minor", "money"), Field("reason")
ACTIONS = {each.name: each for each in (
    Action("payment", "payment.book", (AMOUNT, DAY, Field("provider", "provider"), Field("ref"))),
    Action("reversal", "payment.reverse", (Field("payment"), REASON)),
    Action("fee", "fee.charge", (AMOUNT, Field("fee", "code", "other", FEES), DAY)),
    Action("waiver", "loan.waive", (Field("component", "code", "interest", COMPONENTS), AMOUNT, DAY,
                                    REASON)),
    Action("reschedule", "loan.reschedule", (
        Field("instalments", "number"), Field("first_due_on", "date"),
        Field("reason", "code", CHANGES[0].value, tuple(each.value for each in CHANGES)),
    )),
    Action("pause", "loan.pause", (Field("until", "date"), DAY)),
    Action("charge_off", "loan.charge_off", (DAY, REASON)),
)}  # fmt: skip
WITHOUT_LOAN = frozenset({"reversal"})


def allowed(visit: Visit) -> list[str]:
    """Actions of the visitor's role."""
    return [name for name, each in ACTIONS.items() if visit.may(each.command)]


async def show(visit: Visit) -> Response:
    """The form of an action, with what an address gives filled in."""
    action = _action(visit)
    async with visit.platform.reading(visit.operator.principal) as read:
        today = read.moment.business_date.isoformat()
        loan = await read.loan(_loan(visit))
        paid = await read.loan_payments(_loan(visit)) if action.name == "payment" else []
        providers, currency = providers_of(read.moment.lender), read.moment.lender.currency
    known = {"effective_on": today, "provider": str(paid[-1]["provider"]) if paid else ""}
    given = {field.name: visit.request.query_params.get(field.name) or field.value
             or known.get(field.name, "") for field in action.fields}  # fmt: skip
    return _form(visit, action, given, providers, standing=_standing(visit, loan, currency))


def _standing(
    visit: Visit, loan: Mapping[str, Any], currency: Currency
) -> list[tuple[str, str, str]]:
    """The standing of a loan, for whoever is about to change it."""
    t, next_due = visit.texts, loan["next_due"]
    coming = (
        f"{printed(next_due['amount_minor'], currency)} · {next_due['due_on']}" if next_due else "–"
    )
    return [
        (t["outstanding"], printed(loan["outstanding"]["total_minor"], currency), ""),
        (t["past_due"], printed(loan["past_due"]["total_minor"], currency), ""),
        (t["what_next_due"], coming, ""),
        (t["settlement"], printed(loan["settlement_minor"], currency), ""),
    ]


async def act(visit: Visit) -> Response:
    """Show what an action would do; confirmed, do it once and go back to the loan."""
    action, given = _action(visit), await form(visit.request)
    async with visit.platform.reading(visit.operator.principal) as read:
        currency, providers = read.moment.lender.currency, providers_of(read.moment.lender)
    try:
        body = _body(visit, action, given, currency)
        is_final = given.get("step") == CONFIRM
        outcome = await visit.do(action.command, body,
            key=given.get("key", "") if is_final else "", dry_run=not is_final,
        )  # fmt: skip
    except (InvalidField, MissingField) as error:
        return _form(visit, action, given, providers, error=error)
    except Refused as error:
        told_to = await with_last_change(visit, error, _loan(visit), given.get("payment", ""))
        return _form(visit, action, given, providers, error=error, told_to=told_to)
    if is_final:
        return redirect(f"{HOME}/loans/{_loan(visit)}?done={action.name}")
    effect = effect_of(effects_of(outcome), currency) if outcome.would is not None else None
    return _form(visit, action, given, providers, effect=effect)


def providers_of(lender: Lender) -> tuple[str, ...]:
    """Names of the lender's payment providers."""
    return tuple(sorted(name for kind, name in lender.parties if kind == "provider"))


def _action(visit: Visit) -> Action:
    action = ACTIONS.get(visit.request.path_params["action"])
    if action is None:
        raise NotFound("there is no such action", where="action", fix="Use the buttons")
    if not visit.may(action.command):
        raise Forbidden(f"{visit.operator.role} may not do {action.command}", where=action.name,
                        fix="Ask somebody who may")  # fmt: skip
    return action


def _loan(visit: Visit) -> str:
    return str(visit.request.path_params["loan"])


def _body(
    visit: Visit, action: Action, given: Mapping[str, str], currency: Currency
) -> dict[str, Any]:
    """The command's fields from those of the form; empty ones are left out."""
    body: dict[str, Any] = {} if action.name in WITHOUT_LOAN else {"loan": _loan(visit)}
    for field in action.fields:
        text = given.get(field.name, "").strip()
        if text:
            body[field.name] = _value(field, text, currency)
    if action.command == "payment.book":
        body["currency"] = currency.name
    return body


def _value(field: Field, text: str, currency: Currency) -> Any:
    if field.kind == "money":
        return minor_of(text, currency)
    if field.kind == "number":
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise InvalidField(f"{text[:20]!r} is no whole number", where=f"body.{field.name}",
                               fix="Give one such as 6")  # fmt: skip
        return int(text)
    return text


def effect_of(would: Mapping[str, Any], currency: Currency) -> dict[str, Any]:
    """Facts, instalments and postings of a dry run, as they are shown."""
    chart = load_chart()
    return {
        "facts": [{**each, "amount": printed(each["amount_minor"], currency)}
                  for each in would["facts"]],
        "schedule": [{**each, "due": printed(each["due"]["total_minor"], currency),
                      "outstanding": printed(each["outstanding"]["total_minor"], currency)}
                     for each in would["schedule"]],
        "postings": [{**each, "name": chart.of(each["account"]).name,
                      "amount": printed(each["amount_minor"], currency)}
                     for each in would["postings"]],
    }  # fmt: skip


def _form(
    visit: Visit,
    action: Action,
    given: Mapping[str, str],
    providers: tuple[str, ...],
    *,
    error: Any = None,
    effect: Any = None,
    told_to: str = "",
    standing: Any = (),
) -> Response:
    """The form with what was typed, the message beside its field, and the effect if it is known."""
    where = (error.where or "").removeprefix("body.") if error else ""
    title = f"{visit.texts['do_' + action.name]} {_loan(visit)}"
    offered = {field.name: providers if field.kind == "provider" else field.choices
               for field in action.fields}  # fmt: skip
    return visit.page(
        "loans", "action", title, error.http_status if error else 200, action=action, given=given,
        error=told_to or (str(error) if error else ""), where=where, effect=effect, after=(),
        offered=offered, standing=standing, waits=False,
        back=f"{HOME}/loans/{_loan(visit)}", key=given.get("key") or secrets.token_urlsafe(18),
    )  # fmt: skip
