"""Guarantors as they are answered: deposit, level, call; one claim with its events; its file."""

from __future__ import annotations

import csv
import io
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.base.money import Money
from usance.platform.errors import NotFound
from usance.platform.lender import Lender
from usance.platform.reads.settlement.settlements import claim_answers, recovered_of
from usance.platform.reads.shapes import day_text, moment_text
from usance.platform.records.loan_record import load_loans
from usance.platform.records.user_record import not_found, read_id
from usance.platform.settlement.guarantors import (
    guaranteed_minor,
    guarantor_name,
    guarantors_of,
    load_deposit,
    terms_of,
)

if TYPE_CHECKING:
    import asyncpg

_CLAIMS = (
    "select count(*) filter (where state in ('filed', 'disputed')) as waiting,"
    " coalesce(sum(amount_minor - deposit_minor - own_minor)"
    " filter (where state in ('filed', 'disputed')), 0)::bigint as waiting_minor,"
    " coalesce(sum(own_minor - passed_minor), 0)::bigint as borne"
    " from usance.claims where guarantor = $1"
)


async def guarantor_answer(
    transaction: asyncpg.Connection, lender: Lender, number: int, day: date,
    guaranteed: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """One guarantor: what it guarantees, its deposit with level and call, its claims."""
    if guaranteed is None:
        guaranteed = (await guaranteed_minor(transaction, lender, day)).get(number, 0)
    deposit, terms = await load_deposit(transaction, number), terms_of(lender, number)
    claims = await transaction.fetchrow(_CLAIMS, number)
    call = await transaction.fetchrow(
        "select * from usance.deposit_calls where guarantor = $1 and state = 'open'", number
    )
    required = terms.required(guaranteed)
    return {
        "guarantor": guarantor_name(lender, number), "currency": lender.currency.name,
        "guaranteed_minor": guaranteed, "balance_minor": deposit.balance_minor,
        "required_minor": required, "short_minor": max(required - deposit.balance_minor, 0),
        "call": {"day": day_text(call["day"]), "amount_minor": call["amount_minor"],
                 "due_on": day_text(call["due_on"])} if call else None,
        "claims_waiting": claims["waiting"], "claims_waiting_minor": claims["waiting_minor"],
        "borne_minor": claims["borne"],
    }  # fmt: skip


async def guarantors(
    transaction: asyncpg.Connection, lender: Lender, day: date
) -> list[dict[str, Any]]:
    """Every guarantor of the lender, by number."""
    guaranteed = await guaranteed_minor(transaction, lender, day)
    return [
        await guarantor_answer(transaction, lender, each, day, guaranteed.get(each, 0))
        for each in guarantors_of(lender)
    ]


def number_of(lender: Lender, name: str) -> int:
    """The number of a guarantor by its name."""
    for each in guarantors_of(lender):
        if guarantor_name(lender, each) == name:
            return each
    raise NotFound("is not there", where=name[:40], fix="Look at the list of guarantors")


async def one_guarantor(
    transaction: asyncpg.Connection, lender: Lender, day: date, name: str
) -> dict[str, Any]:
    """One guarantor with the movements of its deposit and its calls."""
    number = number_of(lender, name)
    return {
        **await guarantor_answer(transaction, lender, number, day), "state": "open",
        "moves": await deposit_moves(transaction, lender, number),
        "calls": await deposit_calls(transaction, lender, number),
    }  # fmt: skip


async def deposit_moves(
    transaction: asyncpg.Connection, lender: Lender, number: int
) -> list[dict[str, Any]]:
    """Movements of a deposit, in their order, with the balance after each."""
    rows = await transaction.fetch(
        "select *, sum(amount_minor) over (order by no)::bigint as balance "
        "from usance.deposit_moves where guarantor = $1 order by no", number,
    )  # fmt: skip
    return [{"no": row["no"], "kind": row["kind"], "amount_minor": row["amount_minor"],
             "balance_minor": row["balance"], "currency": lender.currency.name,
             "effective_on": day_text(row["effective_on"]), "ref": row["reference"],
             "at": moment_text(row["at"])} for row in rows]  # fmt: skip


async def deposit_calls(
    transaction: asyncpg.Connection, lender: Lender, number: int
) -> list[dict[str, Any]]:
    """Calls of a guarantor, the latest first."""
    rows = await transaction.fetch(
        "select * from usance.deposit_calls where guarantor = $1 order by day desc", number
    )
    return [{"day": day_text(row["day"]), "amount_minor": row["amount_minor"],
             "required_minor": row["required_minor"], "balance_minor": row["balance_minor"],
             "currency": lender.currency.name, "due_on": day_text(row["due_on"]),
             "state": row["state"], "ended_on": day_text(row["ended_on"])}
            for row in rows]  # fmt: skip


async def one_claim(
    transaction: asyncpg.Connection, lender: Lender, today: date, given: str
) -> dict[str, Any]:
    """One claim with its events."""
    number = read_id(given, "cl", "claim")
    row = await transaction.fetchrow("select * from usance.claims where claim_id = $1", number)
    if row is None:
        raise not_found("cl", number)
    loans = await load_loans(transaction, [row["loan_id"]])
    [told] = claim_answers(lender, [row], recovered_of(loans, today))
    events = await transaction.fetch(
        "select e.*, p.name from usance.claim_events e left join usance.principals p "
        "using (principal_id) where claim_id = $1 order by no", number,
    )  # fmt: skip
    return {**told, "events": [
        {"no": each["no"], "kind": each["kind"], "effective_on": day_text(each["effective_on"]),
         "deposit_minor": each["deposit_minor"], "own_minor": each["own_minor"],
         "reason": each["reason"], "who": each["name"] or "system", "at": moment_text(each["at"])}
        for each in events
    ]}  # fmt: skip


async def claims_file(
    transaction: asyncpg.Connection, lender: Lender, number: int
) -> tuple[str, str]:
    """The file of claims that wait for a guarantor's answer: its name and its text."""
    rows = await transaction.fetch(
        "select * from usance.claims where guarantor = $1 and state in ('filed', 'disputed') "
        "order by claim_id", number,
    )  # fmt: skip
    text = io.StringIO()
    write = csv.writer(text)
    write.writerow(["claim", "loan", "institution", "made_on", "amount", "currency", "answer_by",
                    "state", "reason"])  # fmt: skip
    for row in rows:
        left = row["amount_minor"] - row["deposit_minor"] - row["own_minor"]
        write.writerow([
            print_id("cl", row["claim_id"]), print_id("ln", row["loan_id"]),
            lender.party_name("institution", row["institution"]), row["made_on"],
            _decimal(left, lender), lender.currency.name, row["answer_by"], row["state"],
            row["reason"] if not row["reason"].startswith(("=", "+", "-", "@")) else
            f"'{row['reason']}",
        ])  # fmt: skip
    return f"claims-{guarantor_name(lender, number)}.csv", text.getvalue()


def _decimal(minor: int, lender: Lender) -> str:
    return Money(minor, lender.currency.name).number
