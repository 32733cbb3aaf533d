"""Documents of a borrower as PDF: the contract that was agreed to, the statement of a loan."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.documents import parse_json
from usance.base.ids import print_id
from usance.base.money import Money
from usance.base.rates import Rate
from usance.platform.security.subject_keys import subject_key
from usance.platform.user_record import not_found, read_id
from usance.service.documents.letter_values import LANGUAGES
from usance.service.documents.letters import DocumentKind, Letter, write_letter
from usance.service.servicing_rules import ServicingRules

if TYPE_CHECKING:
    from usance.platform.lender import Lender
    from usance.platform.reads.reading import Reading

_PPB_IN_PPM = 1_000


def lender_name(lender: Lender) -> str:
    """The name that a lender signs with."""
    return str(lender.document.get("name", "Usance"))


async def name_of(read: Reading, user_id: int) -> str:
    """The borrower's name where it is known, else their id."""
    kept = await read.transaction.fetchval(
        "select details from usance.user_persons where user_id = $1", user_id
    )
    if kept is None:
        return print_id("us", user_id)
    key = await subject_key(read.transaction, read.moment.vault, user_id, make=False)
    return str(json.loads(key.open("details", kept))["name"])


async def agreement_letter(
    read: Reading, agreement: str, language: str | None, *, with_name: bool
) -> tuple[Letter, bool]:
    """The contract of an agreement, and whether it is to the byte what was agreed to.

    A borrower who agreed on our page saw it in some language: that one is given unless another is
    asked for. Where a channel showed a document of its own, only its hash is here.
    """
    number = read_id(agreement, "ag", "agreement")
    row = await read.transaction.fetchrow(
        "select a.*, q.answer from usance.agreements a join usance.quotes q using (quote_id) "
        "where agreement_id = $1", number,
    )  # fmt: skip
    if row is None:
        raise not_found("ag", number)
    quote = parse_json(row["answer"]) if isinstance(row["answer"], str) else row["answer"]
    lender = read.moment.lender
    day = row["accepted_at"].astimezone(lender.zone).date()
    rules = ServicingRules.at(day, lender.parameters)
    user = row["user_id"]
    who = await name_of(read, user) if with_name else print_id("us", user)
    made = [
        await asyncio.to_thread(contract_of, quote, lender_name(lender), who, rules, each)
        for each in ([language] if language else LANGUAGES)
    ]
    agreed = [each for each in made if each.sha256 == row["document_sha256"]]
    return (agreed or made)[0], bool(agreed)


def contract_of(
    quote: Mapping[str, Any], lender: str, borrower: str, rules: ServicingRules, language: str
) -> Letter:
    """The contract of a quote: the same bytes for the same quote, so its hash stands for it."""
    currency, schedule = quote["currency"], quote["schedule"]

    def money(minor: int) -> Money:
        return Money(minor, currency)

    values: dict[str, Any] = {
        "lender": lender, "borrower": borrower, "loan": quote["quote"],
        "principal": money(quote["amount_minor"]), "rate": Rate(quote["rate_ppm"]),
        "annual_rate": Rate(quote["apr_ppb"] // _PPB_IN_PPM), "instalments": len(schedule),
        "disbursed_on": date.fromisoformat(quote["disbursed_on"]),
        "first_due_on": date.fromisoformat(schedule[0]["due_on"]),
        "total_to_pay": money(quote["total_to_pay_minor"]),
        "total_cost": money(quote["total_cost_minor"]), "late_fee": Rate(rules.late_fee_ppm),
        "grace_days": rules.grace_days,
    }  # fmt: skip
    rows = [
        {"number": row["no"], "due_on": date.fromisoformat(row["due_on"]),
         "principal": money(row["due"]["principal_minor"]),
         "interest": money(row["due"]["interest_minor"]),
         "fees": money(row["due"]["guarantee_fee_minor"] + row["due"]["service_fee_minor"]),
         "total": money(row["due"]["total_minor"])}
        for row in schedule
    ]  # fmt: skip
    return write_letter(DocumentKind.CONTRACT, language, values, {"schedule": rows})


def statement_of(
    told: Mapping[str, Any], lender: str, borrower: str, day: date, language: str
) -> Letter:
    """The statement of a loan on a day: what was due, what is paid, what is left."""
    loan, currency = told["loan"], told["loan"]["currency"]
    values: dict[str, Any] = {
        "lender": lender, "borrower": borrower, "loan": loan["loan"], "as_of": day,
        "outstanding": Money(loan["outstanding"]["total_minor"], currency),
    }  # fmt: skip
    rows = [
        {"number": row["no"], "due_on": date.fromisoformat(row["due_on"]),
         "total": Money(row["due"]["total_minor"], currency),
         "paid": Money(row["paid"]["total_minor"], currency),
         "left": Money(row["outstanding"]["total_minor"], currency)}
        for row in told["schedule"]
    ]  # fmt: skip
    return write_letter(DocumentKind.SCHEDULE, language, values, {"schedule": rows})
