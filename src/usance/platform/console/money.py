"""The screen *Money*: orders, files, breaks, unallocated cash, settlements and claims as lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from usance.base.codes import Currency
from usance.platform.commands.money.breaks import OWNERS
from usance.platform.console.amounts import printed
from usance.platform.console.frame import HOME, Visit
from usance.platform.console.lists import ListPage, ListState, file_of
from usance.platform.console.tasks import buttons
from usance.platform.errors import InvalidField
from usance.platform.reads.money import money_lists as reads
from usance.platform.reads.money.virtual_accounts import account_rows
from usance.platform.reads.settlement.settlements import settlement_control
from usance.service.guarantees.claim import ClaimState
from usance.service.orders.payment_order import OrderState, Purpose

BASE = f"{HOME}/money"
PARTS = (
    "money",
    "orders",
    "breaks",
    "unallocated",
    "settlements",
    "claims",
    "guarantors",
    "accounts",
    "files",
)
Rows = Sequence[Mapping[str, Any]]


def parts(visit: Visit) -> list[tuple[str, str]]:
    """Parts of the screen and their addresses."""
    return [(visit.texts[f"part_{name}"], BASE if name == "money" else f"{BASE}/{name}")
            for name in PARTS]  # fmt: skip


def shown(rows: Rows, names: Sequence[str], currency: Currency, *, raw: bool) -> Rows:
    """Rows with some of their fields, amounts as people read them unless they go into a file."""
    return [
        {name: row[name] if raw or not name.endswith("_minor") or row[name] is None
         else printed(row[name], currency) for name in names}
        for row in rows
    ]  # fmt: skip


async def show(visit: Visit) -> Response:
    """Everything that waits: orders under way, breaks, cash of nobody, batches; and the control."""
    async with visit.platform.reading(visit.operator.principal) as read:
        waiting = await reads.overview(read.transaction)
        control = await settlement_control(read.transaction, read.moment.lender)
        currency = read.moment.lender.currency
        clearing = [
            {**row, "in_transit": printed(row["in_transit_minor"], currency),
             "bank_balance": "" if row["bank_minor"] is None
             else printed(row["bank_minor"], currency)}
            for row in await reads.clearing_rows(read.transaction, read.moment.lender)
        ]  # fmt: skip
    return visit.page(
        "money", "money", visit.texts["money"], parts_of=parts(visit), waiting=waiting,
        clearing=clearing, control=control, base=BASE, money=lambda minor: printed(minor, currency),
        tasks=buttons(visit, "clearing"),
    )  # fmt: skip


async def orders(visit: Visit) -> ListPage:
    """Payment orders by state and kind."""
    asked = ListState.of(visit.request, {"state": ["", *(each.value for each in OrderState)],
                                         "kind": ["", *(each.value for each in Purpose)]}
                         )  # fmt: skip
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await reads.order_rows(read.transaction, read.moment.lender, asked.filters["state"],
                                      asked.filters["kind"], asked.before, asked.limit + 1
                                      )  # fmt: skip
        currency = read.moment.lender.currency
    names = ("order", "kind", "user", "loan", "provider", "reference", "amount_minor", "state",
             "made_at", "settles_on")  # fmt: skip
    return _list(visit, "orders", asked, rows, names, "order", currency)


async def files(visit: Visit) -> ListPage:
    """Files of banks and providers that were taken, with every version."""
    asked = ListState.of(visit.request, {"source": ["", "bank", "provider"]})
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await reads.file_rows(read.transaction, read.moment.lender, asked.filters["source"],
                                     asked.before, asked.limit + 1)  # fmt: skip
        currency = read.moment.lender.currency
    names = ("file", "name", "source", "provider", "account", "lines", "opening_minor",
             "closing_minor", "closing_on", "replaces", "in_force", "taken_at")  # fmt: skip
    return _list(visit, "files", asked, rows, names, "file", currency)


async def breaks(visit: Visit) -> ListPage:
    """Breaks with class, amount, age, owner and the command that is proposed."""
    states = ["waiting", "open", "explained", "cleared", "resolved", ""]
    asked = ListState.of(visit.request, {"state": states, "owner": ["", *OWNERS]},
                         default="waiting")  # fmt: skip
    async with visit.platform.reading(visit.operator.principal) as read:
        moment = read.moment
        rows = await reads.break_rows(
            read.transaction, moment.lender, moment.business_date, asked.filters["state"],
            asked.filters["owner"], asked.before, asked.limit + 1,
        )  # fmt: skip
    rows = [{**row, "proposed_command": row["command"]} for row in rows]
    names = ("break", "leg", "class", "provider", "reference", "amount_minor", "difference_minor",
             "age_days", "owner", "proposed_command", "state")  # fmt: skip
    return _list(visit, "breaks", asked, rows, names, "break", moment.lender.currency)


async def unallocated(visit: Visit) -> ListPage:
    """Money received that no loan has taken."""
    asked = ListState.of(visit.request, {"state": ["open", "used", ""]}, default="open")
    async with visit.platform.reading(visit.operator.principal) as read:
        moment = read.moment
        rows = await reads.unallocated_rows(
            read.transaction, moment.lender, moment.business_date, asked.filters["state"],
            asked.before, asked.limit + 1,
        )  # fmt: skip
    names = ("unallocated", "user", "provider", "ref", "received_on", "amount_minor", "left_minor",
             "age_days", "owner", "state")  # fmt: skip
    return _list(visit, "unallocated", asked, rows, names, "unallocated", moment.lender.currency)


async def settlements(visit: Visit) -> ListPage:
    """Settlement batches by state and institution."""
    async with visit.platform.reading(visit.operator.principal) as read:
        lender = read.moment.lender
        known = sorted(name for kind, name in lender.parties if kind == "institution")
        asked = ListState.of(
            visit.request,
            {"state": ["", "closed", "acknowledged", "disputed"], "institution": ["", *known]},
        )
        rows = await reads.settlement_rows(
            read.transaction, lender, asked.filters["state"], asked.filters["institution"],
            asked.before, asked.limit + 1,
        )  # fmt: skip
    rows = [{**row, "differing": len(row["differences"])} for row in rows]
    names = ("settlement", "institution", "day", "lines", "total_minor", "corrections_minor",
             "carried_minor", "state", "differing", "order")  # fmt: skip
    return _list(visit, "settlements", asked, rows, names, "settlement", lender.currency)


async def claims(visit: Visit) -> ListPage:
    """Claims of loans that were compensated, with what was recovered on each."""
    states = sorted(each.value for each in ClaimState)
    asked = ListState.of(visit.request, {"state": ["", *states]})
    async with visit.platform.reading(visit.operator.principal) as read:
        moment = read.moment
        rows = await reads.claim_rows(read.transaction, moment.lender, moment.business_date,
                                      asked.filters["state"], asked.before, asked.limit + 1
                                      )  # fmt: skip
    names = ("claim", "loan", "institution", "guarantor", "amount_minor", "recovered_minor",
             "made_on", "state", "settlement")  # fmt: skip
    return _list(visit, "claims", asked, rows, names, "claim", moment.lender.currency)


async def guarantors(visit: Visit) -> ListPage:
    """Third-party guarantors with what they guarantee, their deposits and claims."""
    asked = ListState.of(visit.request, {})
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await read.guarantors()
        currency = read.moment.lender.currency
    names = ("guarantor", "guaranteed_minor", "required_minor", "balance_minor", "short_minor",
             "claims_waiting", "claims_waiting_minor", "borne_minor")  # fmt: skip
    return _list(visit, "guarantors", asked, rows, names, "guarantor", currency)


async def accounts(visit: Visit) -> ListPage:
    """Virtual accounts with the user or loan that each is for."""
    asked = ListState.of(visit.request, {"state": ["open", "closed", ""]}, default="open")
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await account_rows(read.transaction, read.moment.lender, asked.filters["state"],
                                  asked.before, asked.limit + 1)  # fmt: skip
        currency = read.moment.lender.currency
    names = ("number", "user", "loan", "provider", "opened_at", "closed_at", "state")
    return _list(visit, "accounts", asked, rows, names, "number", currency)


async def control(visit: Visit) -> Response:
    """Ledger and batches of each institution side by side, as a file."""
    async with visit.platform.reading(visit.operator.principal) as read:
        rows = await settlement_control(read.transaction, read.moment.lender)
    kind = visit.request.query_params.get("format", "csv")
    if kind not in ("csv", "xlsx"):
        raise InvalidField("is no format", where="format", fix="Give csv or xlsx")
    names = ("institution", "ledger_minor", "batches_minor", "difference_minor")
    return file_of("settlement-control", names, rows, kind)


def _list(
    visit: Visit, part: str, asked: ListState, rows: Rows, names: Sequence[str], key: str,
    currency: Currency,
) -> ListPage:  # fmt: skip
    links = {"order": f"{BASE}/orders/", "file": f"{BASE}/files/", "replaces": f"{BASE}/files/",
             "break": f"{BASE}/breaks/", "unallocated": f"{BASE}/unallocated/",
             "settlement": f"{BASE}/settlements/", "claim": f"{BASE}/claims/",
             "guarantor": f"{BASE}/guarantors/", "loan": f"{HOME}/loans/"}  # fmt: skip
    if "borrowers" in visit.screens:
        links["user"] = f"{HOME}/borrowers/"
    numbers = [name for name in names if name.endswith(("_minor", "_days"))]
    if part == "claims":  # a claim on ourselves has no page of a guarantor
        del links["guarantor"]
    return ListPage(
        "money", asked, shown(rows, names, currency, raw=bool(asked.format)), key=key,
        links=links, title=visit.texts[f"part_{part}"], parts=parts(visit),
        numbers=[*numbers, "lines", "differing", "claims_waiting"], tasks=buttons(visit, part),
    )  # fmt: skip
