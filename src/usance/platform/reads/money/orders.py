"""Orders, unallocated cash and breaks as they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency
from usance.base.documents import parse_json
from usance.base.ids import PER_USER, print_id
from usance.platform.lender import Lender
from usance.platform.reads.shapes import day_text, moment_text
from usance.platform.records.loan_record import open_loans
from usance.platform.records.user_record import not_found
from usance.service.orders.unallocated import Candidate, UnallocatedCash, suggestions

if TYPE_CHECKING:
    import asyncpg

MAX_CANDIDATES = 500
"""Loans that are looked at for one receipt: those with an amount that fits come first."""


def order_answer(lender: Lender, row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of an order."""
    splits = parse_json(row["splits"]) if isinstance(row["splits"], str) else row["splits"]
    return {
        "order": print_id("or", row["order_id"]), "kind": row["kind"],
        "user": print_id("us", row["user_id"]) if row["user_id"] else None,
        "loan": print_id("ln", row["loan_id"]) if row["loan_id"] else None,
        "provider": lender.party_name("provider", row["provider"]),
        "reference": row["own_reference"], "provider_ref": row["reference"] or None,
        "amount_minor": row["amount_minor"], "currency": Currency(row["currency"]).name,
        "splits": [{"loan": print_id("ln", loan), "amount_minor": amount}
                   for loan, amount in splits],
        "state": row["state"], "made_at": moment_text(row["made_at"]),
        "settles_on": day_text(row["settles_on"]),
        "ended_at": moment_text(row["ended_at"]) if row["ended_at"] else None,
    }  # fmt: skip


async def orders(
    transaction: asyncpg.Connection, lender: Lender, state: str | None = None, after: int = 0,
    limit: int = 50,
) -> list[dict[str, Any]]:  # fmt: skip
    """Orders that the principal sees, by id."""
    rows = await transaction.fetch(
        "select * from usance.orders where ($1::text is null or state = $1) and order_id > $2 "
        "order by order_id limit $3", state, after, limit,
    )  # fmt: skip
    return [order_answer(lender, row) for row in rows]


async def order(transaction: asyncpg.Connection, lender: Lender, order_id: int) -> dict[str, Any]:
    """One order with its events."""
    row = await transaction.fetchrow("select * from usance.orders where order_id = $1", order_id)
    if row is None:
        raise not_found("or", order_id)
    events = await transaction.fetch(
        "select * from usance.order_events where order_id = $1 order by no", order_id
    )
    return {**order_answer(lender, row), "events": [
        {"no": each["no"], "kind": each["kind"], "at": moment_text(each["at"]),
         "source": each["source"], "amount_minor": each["amount_minor"],
         "provider_ref": each["provider_ref"] or None, "moved_on": day_text(each["moved_on"])}
        for each in events
    ]}  # fmt: skip


def unallocated_answer(lender: Lender, row: Mapping[str, Any], today: date) -> dict[str, Any]:
    """The shape of unallocated cash."""
    left = row["amount_minor"] - row["used_minor"]
    return {
        "unallocated": print_id("un", row["unallocated_id"]),
        "user": print_id("us", row["user_id"]) if row["user_id"] else None,
        "provider": lender.party_name("provider", row["provider"]), "ref": row["reference"],
        "received_on": row["received_on"].isoformat(), "amount_minor": row["amount_minor"],
        "left_minor": left, "currency": Currency(row["currency"]).name, "owner": row["owner"],
        "age_days": (today - row["received_on"]).days, "state": "open" if left else "used",
    }  # fmt: skip


async def unallocated(
    transaction: asyncpg.Connection, lender: Lender, today: date, *, is_open: bool = True,
    after: int = 0, limit: int = 50,
) -> list[dict[str, Any]]:  # fmt: skip
    """Unallocated cash by id, what is open or all of it."""
    rows = await transaction.fetch(
        "select * from usance.unallocated where unallocated_id > $1"
        " and (not $2 or used_minor < amount_minor) order by unallocated_id limit $3",
        after, is_open, limit,
    )  # fmt: skip
    return [unallocated_answer(lender, row, today) for row in rows]


async def one_unallocated(
    transaction: asyncpg.Connection, lender: Lender, today: date, number: int
) -> dict[str, Any]:
    """One amount with the loans it may be for, the likeliest first."""
    row = await transaction.fetchrow(
        "select * from usance.unallocated where unallocated_id = $1", number
    )
    if row is None:
        raise not_found("un", number)
    cash = UnallocatedCash(
        row["reference"], row["received_on"], row["amount_minor"] - row["used_minor"] or 1,
        Currency(row["currency"]).name, row["party"].hex(), row["reference"],
    )  # fmt: skip
    found = suggestions(cash, await _candidates(transaction, row))
    return {**unallocated_answer(lender, row, today), "suggestions": [
        {"loan": print_id("ln", each.loan_id), "reasons": [why.value for why in each.reasons]}
        for each in found[:10]
    ]}  # fmt: skip


async def _candidates(transaction: asyncpg.Connection, row: Mapping[str, Any]) -> list[Candidate]:
    """Loans of the payer, of recent orders, and of whoever owes on that day."""
    rows = await transaction.fetch(
        "select distinct loan_id / 16384 as user_id from usance.loan_states s"
        " join usance.loans l using (loan_id) where s.is_open and l.terms_no = 1 and ("
        " loan_id / 16384 = $1 or extract(day from l.first_due_on) = extract(day from $2::date)"
        " and l.first_due_on <= $2) limit $3",
        row["user_id"], row["received_on"], MAX_CANDIDATES,
    )  # fmt: skip
    ordered = await transaction.fetch(
        "select (s->>0)::bigint as loan_id, own_reference, made_at::date as made_on"
        " from usance.orders o, jsonb_array_elements(o.splits) s"
        " where o.made_at between $1::date - 7 and $1::date + 1 and o.kind = 'debit' limit $2",
        row["received_on"], MAX_CANDIDATES,
    )  # fmt: skip
    by_loan = {each["loan_id"]: each for each in ordered}
    users = {each["user_id"] for each in rows} | {loan // PER_USER for loan in by_loan}
    day, found = row["received_on"], []
    for loan in await open_loans(transaction, sorted(users)):
        if loan.first["disbursed_on"] > day:
            continue
        view = loan.at(day).view()
        own = by_loan.get(loan.loan_id)
        index = row["party"].hex() if loan.user_id == row["user_id"] else ""
        found.append(Candidate(
            loan.loan_id, day if view.past_due.total else view.next_due_on or day,
            view.past_due.total, index, own["own_reference"] if own else "",
            own["made_on"] if own else None,
        ))  # fmt: skip
    return found


def break_answer(lender: Lender, row: Mapping[str, Any], today: date) -> dict[str, Any]:
    """The shape of a break."""
    return {
        "break": print_id("br", row["break_id"]),
        "provider": lender.party_name("provider", row["provider"]), "leg": row["leg"],
        "class": row["class"], "reference": row["reference"], "amount_minor": row["amount_minor"],
        "difference_minor": row["difference_minor"], "arose_on": row["arose_on"].isoformat(),
        "age_days": (today - row["arose_on"]).days, "owner": row["owner"],
        "command": row["command"], "state": row["state"], "reason": row["reason"] or None,
        "opened_at": moment_text(row["opened_at"]),
    }  # fmt: skip


async def breaks(
    transaction: asyncpg.Connection, lender: Lender, today: date, state: str | None = None,
    after: int = 0, limit: int = 50,
) -> list[dict[str, Any]]:  # fmt: skip
    """Breaks by id."""
    rows = await transaction.fetch(
        "select * from usance.breaks where ($1::text is null or state = $1) and break_id > $2"
        " order by break_id limit $3", state, after, limit,
    )  # fmt: skip
    return [break_answer(lender, row, today) for row in rows]
