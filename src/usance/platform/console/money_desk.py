"""One record of *Money* with what it is made of, and actions on it: form, effect, then done once.

An order has its events and the lines of files that speak of it; a break its owner and the command
that would mend it; cash of nobody the loans that it may be for; a batch its lines and differences.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from usance.base.codes import Currency
from usance.platform.api.dry_run import effects_of
from usance.platform.api.settlements import MEDIA, settlement_file
from usance.platform.commands.command import WAITING
from usance.platform.commands.money.breaks import OWNERS
from usance.platform.commands.settlement.deposits import PLACED, RETURNED
from usance.platform.console.actions import AMOUNT, CONFIRM, DAY, REASON, Action, Field, effect_of
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.changes import with_last_change
from usance.platform.console.frame import HOME, Visit, form, language_of, redirect
from usance.platform.console.money import BASE, parts, shown
from usance.platform.console.tasks import buttons
from usance.platform.errors import Forbidden, NotFound, PlatformError
from usance.platform.reads.control.approvals import approval_rows
from usance.platform.reads.loans.letters import claim_letter
from usance.platform.reads.money import money_lists as reads
from usance.platform.reads.money.money_lists import SHOWN_LINES
from usance.platform.reads.reading import Reading

MOVEMENT = Field("kind", "choice", PLACED, (PLACED, RETURNED))
WORDED = ("state", "owner", "kind", "class", "source", "leg")
"""Fields whose values are words of the console's texts."""
OWNER = Field("owner", "choice", OWNERS[0], OWNERS)
ACTIONS = {
    "orders": {"cancel": Action("cancel", "order.cancel", (REASON,))},
    "breaks": {"assign": Action("hand_over", "break.assign", (OWNER,)),
               "clear": Action("clear", "break.clear", (REASON,))},
    "unallocated": {"assign": Action("assign", "cash.assign", (Field("loan"), AMOUNT)),
                    "return": Action("return", "cash.return", (AMOUNT,))},
    "settlements": {"acknowledge": Action("acknowledge", "settlement.acknowledge",
                                          (Field("total_minor", "money"),))},
    "claims": {"answer": Action("answer_claim", "claim.answer", (AMOUNT, REASON, DAY)),
               "dispute": Action("dispute", "claim.dispute", (REASON,)),
               "close": Action("close_claim", "claim.close", (REASON,)),
               "withdraw": Action("withdraw_claim", "claim.withdraw", (REASON,))},
    "guarantors": {"move": Action("move_deposit", "deposit.move", (MOVEMENT, AMOUNT, Field("ref"),
                                                                   DAY))},
}  # fmt: skip
"""Actions on each kind of record, by the name that its address has."""
IDS = {"orders": "order", "breaks": "break_id", "unallocated": "unallocated",
       "settlements": "settlement", "claims": "claim", "guarantors": "guarantor"}  # fmt: skip
"""The field of a command that names its record."""
OPEN = {
    "cancel": ("created",), "hand_over": ("open", "explained"), "clear": ("open", "explained"),
    "assign": ("open",), "return": ("open",), "acknowledge": ("closed", "disputed"),
    "answer_claim": ("filed", "disputed"), "dispute": ("declined",),
    "close_claim": ("declined", "disputed"),
    "withdraw_claim": ("filed", "paid", "declined", "disputed", "closed"),
    "move_deposit": ("open",),
}  # fmt: skip
"""States of a record in which each action can be done."""


SENT = ("sending", "accepted")
"""States of an order whose end somebody may note."""


async def order(visit: Visit) -> Response:
    """One order with its events and the documents that they come from."""
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await read.order(_name(visit))
        documents = await reads.order_documents(read.transaction, found)
        currency = read.moment.lender.currency
    tables = [
        ("order_events", _rows(found["events"], currency), {}),
        ("source_documents", _rows(documents, currency), {"file": f"{BASE}/files/"}),
        ("split", _rows(found["splits"], currency), {"loan": f"{HOME}/loans/"}),
    ]
    return _page(visit, "orders", found, tables, currency)


async def file(visit: Visit) -> Response:
    """One file that was taken, with its lines."""
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await reads.one_file(read.transaction, read.moment.lender, _name(visit))
        currency = read.moment.lender.currency
    return _page(visit, "files", found, [("lines", _rows(found["rows"], currency), {})], currency)


async def one_break(visit: Visit) -> Response:
    """One break: what differs, whose it is, and what would mend it."""
    async with visit.platform.reading(visit.operator.principal) as read:
        moment = read.moment
        found = await reads.one_break(read.transaction, moment.lender, moment.business_date,
                                      _name(visit))  # fmt: skip
    found = {**found, "proposed_command": found["command"]}
    del found["command"]
    return _page(visit, "breaks", found, [], moment.lender.currency)


async def unallocated(visit: Visit) -> Response:
    """One amount with the loans it may be for and what was done with it."""
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await read.one_unallocated(_name(visit))
        uses = await reads.cash_uses(read.transaction, found["unallocated"])
        pending = await approval_rows(read.transaction, "pending", found["unallocated"], "", 20)
        currency = read.moment.lender.currency
    may = found["state"] == "open" and visit.may("cash.assign")
    offered = [{"assign": each["loan"], "reasons": ", ".join(
        visit.texts.get(f"hint_{why}", why) for why in each["reasons"])}
        for each in found["suggestions"]]  # fmt: skip
    to = f"{BASE}/unallocated/{found['unallocated']}/assign?loan=" if may else f"{HOME}/loans/"
    tables = [("suggestions", offered, {"assign": to}), ("uses", _rows(uses, currency), {})]
    return _page(visit, "unallocated", found, tables, currency, pending=pending)


async def settlement(visit: Visit) -> Response:
    """One batch with its lines, and the differences that its institution told."""
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await read.settlement(_name(visit))
        currency = read.moment.lender.currency
    links = {"loan": f"{HOME}/loans/"}
    tables = [("differences", _rows(found["differences"], currency), links),
              ("lines", _rows(found["rows"][:SHOWN_LINES], currency), links)]  # fmt: skip
    return _page(visit, "settlements", found, tables, currency,
                 f"{BASE}/settlements/{found['settlement']}/file")  # fmt: skip


async def claim(visit: Visit) -> Response:
    """One claim with its answers; that of a third party also as a letter."""
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await read.claim(_name(visit))
        currency = read.moment.lender.currency
    letter = f"{BASE}/claims/{found['claim']}/letter" if found["answer_by"] else ""
    tables: list[Any] = [("claim_events", _rows(found["events"], currency), {})]
    return _page(visit, "claims", found, tables, currency, letter, text="claim_letter")


async def claim_pdf(visit: Visit) -> Response:
    """The letter of a claim in the visitor's language."""
    async with visit.platform.reading(visit.operator.principal) as read:
        made = await claim_letter(read, _name(visit), language_of(visit.request))
    headers = {"Content-Disposition": f'inline; filename="{_name(visit)}.pdf"'}
    return Response(made.pdf, 200, headers, "application/pdf")


async def guarantor(visit: Visit) -> Response:
    """One guarantor: its deposit with level, movements and calls, and claims that wait."""
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await read.guarantor(_name(visit))
        subject = f"guarantor/{found['guarantor']}"
        pending = await approval_rows(read.transaction, "pending", subject, "", 20)
        currency = read.moment.lender.currency
    tables: list[Any] = [("deposit_moves", _rows(found["moves"], currency), {}),
              ("deposit_calls", _rows(found["calls"], currency), {})]  # fmt: skip
    return _page(visit, "guarantors", found, tables, currency,
                 f"{BASE}/guarantors/{found['guarantor']}/claims-file", pending,
                 text="claims_file")  # fmt: skip


async def guarantor_file(visit: Visit) -> Response:
    """The file of the claims that wait for a guarantor's answer."""
    async with visit.platform.reading(visit.operator.principal) as read:
        name, text = await read.claims_file(_name(visit))
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, 200, headers, "text/csv")


async def batch_file(visit: Visit) -> Response:
    """The file of a batch, as its institution takes it."""
    async with visit.platform.reading(visit.operator.principal) as read:
        return await file_answer(read, _name(visit))


async def file_answer(read: Reading, settlement: str) -> Response:
    """The file of a batch as an answer that is kept."""
    name, content = await settlement_file(read, settlement)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, 200, headers, MEDIA[name.rpartition(".")[2]])


async def ask(visit: Visit) -> Response:
    """The form of an action, with what an address gives filled in."""
    kind, action = _action(visit)
    given = {field.name: visit.request.query_params.get(field.name, field.value)
             for field in action.fields}  # fmt: skip
    async with visit.platform.reading(visit.operator.principal) as read:
        found = await _found(read, kind, _name(visit))
        given |= {name: read.moment.business_date.isoformat() for name, value in given.items()
                  if name == "effective_on" and not value}  # fmt: skip
        if kind == "unallocated" and not given["amount_minor"]:
            given["amount_minor"] = printed(found["left_minor"], read.moment.lender.currency)
    return _form(visit, kind, action, given)


async def act(visit: Visit) -> Response:
    """Show what an action would do; confirmed, do it once and go back to the record."""
    (kind, action), given = _action(visit), await form(visit.request)
    async with visit.platform.reading(visit.operator.principal) as read:
        currency = read.moment.lender.currency
    is_final = given.get("step") == CONFIRM
    try:
        body = {IDS[kind]: _name(visit), **_body(action, given, currency)}
        outcome = await visit.do(action.command, body,
            key=given.get("key", "") if is_final else "", dry_run=not is_final,
        )  # fmt: skip
    except PlatformError as error:
        told_to = await with_last_change(visit, error, _name(visit))
        return _form(visit, kind, action, given, error=error, told_to=told_to)
    if is_final:
        done = "" if outcome.status == WAITING else f"?done={action.name}"
        return redirect(f"{BASE}/{kind}/{_name(visit)}{done}")
    effect = effect_of(effects_of(outcome), currency) if outcome.would is not None else None
    after = outcome.answer.get("unallocated", outcome.answer)
    after = after if isinstance(after, dict) else outcome.answer
    return _form(visit, kind, action, given, effect=effect, after=_facts(visit, after, currency),
                 waits=outcome.status == WAITING)  # fmt: skip


async def _found(read: Reading, kind: str, name: str) -> Mapping[str, Any]:
    """The record of an action; refused as not found if there is none."""
    if kind == "breaks":
        moment = read.moment
        return await reads.one_break(read.transaction, moment.lender, moment.business_date, name)
    if kind == "settlements":
        return await read.settlement(name)
    if kind == "claims":
        return await read.claim(name)
    if kind == "guarantors":
        return await read.guarantor(name)
    return await (read.order(name) if kind == "orders" else read.one_unallocated(name))


def _action(visit: Visit) -> tuple[str, Action]:
    kind = visit.request.path_params["kind"]
    action = ACTIONS.get(kind, {}).get(visit.request.path_params["action"])
    if action is None:
        raise NotFound("there is no such action", where="action", fix="Use the buttons")
    if not visit.may(action.command):
        raise Forbidden(f"{visit.operator.role} may not do {action.command}", where=action.name,
                        fix="Ask somebody who may")  # fmt: skip
    return kind, action


def _body(action: Action, given: Mapping[str, str], currency: Currency) -> dict[str, Any]:
    """The command's fields from those of the form; empty ones are left out."""
    typed = {field.name: (field, given.get(field.name, "").strip()) for field in action.fields}
    return {name: minor_of(text, currency) if field.kind == "money" else text
            for name, (field, text) in typed.items() if text}  # fmt: skip


def _name(visit: Visit) -> str:
    return str(visit.request.path_params["record"])


def _rows(rows: list[dict[str, Any]], currency: Currency) -> Any:
    return shown(rows, list(rows[0]) if rows else [], currency, raw=False)


def _facts(
    visit: Visit, record: Mapping[str, Any], currency: Currency
) -> list[tuple[str, str, str]]:
    """Fields of a record that are no table: name, value, and the address that it leads to."""
    pages = {"loan": f"{HOME}/loans/", "order": f"{BASE}/orders/", "replaces": f"{BASE}/files/",
             "settlement": f"{BASE}/settlements/"}  # fmt: skip
    if "borrowers" in visit.screens:
        pages["user"] = f"{HOME}/borrowers/"
    told: list[tuple[str, str, str]] = []
    for name, value in record.items():
        if value is None or isinstance(value, list | dict):
            continue
        if value == _name(visit):  # its own id is the title
            continue
        text = printed(value, currency) if name.endswith("_minor") else str(value)
        if name in WORDED:
            text = visit.texts.get(f"{name}_{value}", visit.texts.get(text, text))
        if isinstance(value, bool):
            text = visit.texts["is_true" if value else "is_false"]
        label = visit.texts.get(f"column_{name}", visit.texts.get(name, name))
        told.append((label, text, f"{pages[name]}{value}" if name in pages else ""))
    return told


def _page(
    visit: Visit, kind: str, found: Mapping[str, Any], tables: list[Any], currency: Currency,
    download: str = "", pending: Sequence[Mapping[str, Any]] = (), text: str = "batch_file",
) -> Response:  # fmt: skip
    actions = [
        (visit.texts[f"do_{each.name}"], f"{BASE}/{kind}/{_name(visit)}/{name}")
        for name, each in ACTIONS.get(kind, {}).items()
        if visit.may(each.command) and found["state"] in OPEN[each.name]
    ]
    name = visit.texts[f"column_{kind.removesuffix('s')}"]
    ends = kind == "orders" and found["state"] in SENT
    return visit.page(
        "money", "money_record", f"{name} {_name(visit)}",
        parts_of=parts(visit), facts=_facts(visit, found, currency), tables=tables, actions=actions,
        download=download, download_text=visit.texts[text], pending=pending,
        done=visit.texts.get(f"do_{visit.request.query_params.get('done')}", ""),
        is_waiting=found.get("state") == "explained",
        tasks=buttons(visit, "order", order=_name(visit)) if ends else [],
    )  # fmt: skip


def _form(
    visit: Visit, kind: str, action: Action, given: Mapping[str, str], *, error: Any = None,
    effect: Any = None, after: Any = (), told_to: str = "", waits: bool = False,
) -> Response:  # fmt: skip
    """The form with what was typed, the message beside its field, and the effect if it is known."""
    where = (error.where or "").removeprefix("body.") if error else ""
    return visit.page(
        "money", "action", f"{visit.texts['do_' + action.name]} {_name(visit)}",
        error.http_status if error else 200, action=action, given=given,
        waits=waits, offered={field.name: field.choices for field in action.fields},
        error=told_to or (str(error) if error else ""), where=where, effect=effect, after=after,
        back=f"{BASE}/{kind}/{_name(visit)}", key=given.get("key") or secrets.token_urlsafe(18),
    )  # fmt: skip
