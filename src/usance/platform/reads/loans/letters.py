"""Documents of a borrower as PDF: the contract that was agreed to, the statement of a loan."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.documents import parse_json
from usance.base.ids import print_id
from usance.base.money import Money
from usance.base.rates import Rate
from usance.platform.reads.loans.plans import plan_answer
from usance.platform.records.loan_record import load_loans
from usance.platform.records.user_record import not_found, read_id
from usance.platform.refusals import WrongState
from usance.platform.security.subject_keys import subject_key
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


async def quote_letter(
    read: Reading, quote: str, language: str, *, with_name: bool
) -> tuple[dict[str, Any], Letter]:
    """A quote, and the contract that it makes if it is agreed to today."""
    number = read_id(quote, "qu", "quote")
    row = await read.transaction.fetchrow("select * from usance.quotes where quote_id = $1", number)
    if row is None:
        raise not_found("qu", number)
    told = dict(parse_json(row["answer"]) if isinstance(row["answer"], str) else row["answer"])
    lender, user = read.moment.lender, row["user_id"]
    who = await name_of(read, user) if with_name else print_id("us", user)
    rules = ServicingRules.at(read.moment.business_date, lender.parameters)
    return told, await asyncio.to_thread(contract_of, told, lender_name(lender), who, rules,
                                         language)  # fmt: skip


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


async def claim_letter(read: Reading, claim: str, language: str) -> Letter:
    """The letter of a claim on a third party, with the loan it is about."""
    from usance.platform.reads.settlement.guarantors import one_claim

    moment = read.moment
    told = await one_claim(read.transaction, moment.lender, moment.business_date, claim)
    if told["answer_by"] is None:
        raise WrongState("the platform itself has guaranteed it", where=claim,
                         fix="Give a claim on a third party")  # fmt: skip
    made_on = date.fromisoformat(told["made_on"])
    [loan] = await load_loans(read.transaction, [read_id(told["loan"], "ln", "loan")])
    view = loan.at(made_on - timedelta(days=1)).view()
    currency, total = told["currency"], told["amount_minor"]
    principal = min(view.principal_outstanding, total)
    values: dict[str, Any] = {
        "lender": lender_name(moment.lender), "guarantor": told["guarantor"], "claim": claim,
        "as_of": made_on, "total": Money(total, currency),
        "pay_by": date.fromisoformat(told["answer_by"]),
        "account": str(moment.lender.document.get("account", lender_name(moment.lender))),
    }  # fmt: skip
    rows = [{"loan": told["loan"], "days_past_due": view.days_past_due,
             "principal": Money(principal, currency),
             "interest": Money(total - principal, currency),
             "total": Money(total, currency)}]  # fmt: skip
    return await asyncio.to_thread(
        write_letter, DocumentKind.CLAIM_LETTER, language, values, {"loans": rows}
    )


async def plan_letter(read: Reading, plan: str, language: str, *, with_name: bool) -> Letter:
    """The letter of a plan that was offered: the loan before it and after it."""
    number = read_id(plan, "pl", "plan")
    row = await read.transaction.fetchrow(
        "select * from usance.plan_offers where plan_id = $1", number
    )
    if row is None:
        raise not_found("pl", number)
    told, asked = plan_answer(row), parse_json(row["request"])
    before, after, last = told["before"], told["after"], row["answer_by"]
    currency = read.moment.lender.currency.name
    user_id = row["user_id"]
    due_on, until = after["next_due_on"], after["last_due_on"]

    def money(minor: int) -> Money:
        return Money(minor, currency)

    values: dict[str, Any] = {
        "lender": lender_name(read.moment.lender),
        "borrower": await name_of(read, user_id) if with_name else told["user"],
        "loan": told["loan"], "plan": plan_words(asked, language), "from_day": row["offered_on"],
        "to_pay_before": money(before["to_pay_minor"]),
        "to_pay_after": money(after["to_pay_minor"] or told["pay_minor"]),
        "cost_before": money(before["cost_minor"]), "cost_after": money(after["cost_minor"]),
        "next_due_on": date.fromisoformat(due_on) if due_on else last,
        "next_due": money(after["next_due_minor"] or told["pay_minor"]),
        "last_due_on": date.fromisoformat(until) if until else last,
        "days_past_due": before["days_past_due"], "answer_by": last,
    }  # fmt: skip
    return await asyncio.to_thread(write_letter, DocumentKind.PLAN_LETTER, language, values)


def plan_words(asked: Mapping[str, Any], language: str) -> str:
    """The plan in words of a language.

    >>> plan_words({"kind": "deferral", "months": 2}, "en")
    'the next payment is put off by 2 months'
    >>> plan_words({"kind": "lower_rate", "rate_ppm": 60_000}, "zh")
    '年利率降为 6%'
    """
    shown = {name: Rate(value) if name.endswith("_ppm") else value for name, value in asked.items()}
    return _PLANS[language][str(asked["kind"])].format_map(shown)


_PLANS = {
    "en": {
        "deferral": "the next payment is put off by {months} months",
        "longer_term": "the loan runs for {months} months more",
        "lower_rate": "the yearly rate falls to {rate_ppm}",
        "interest_pause": "no interest is charged for {pause_days} days",
        "settlement": "one payment settles the loan, {discount_ppm} of what is owed is waived",
        "re_ageing": "what is past due becomes part of new instalments",
    },
    "zh": {
        "deferral": "下一期还款推迟 {months} 个月",
        "longer_term": "借款期限延长 {months} 个月",
        "lower_rate": "年利率降为 {rate_ppm}",
        "interest_pause": "{pause_days} 天内不计利息",
        "settlement": "一次付清, 减免欠款的 {discount_ppm}",
        "re_ageing": "逾期金额并入新的分期",
    },
}  # fmt: skip


def report_of(
    report: Mapping[str, Any], rows: Sequence[Mapping[str, str]], lender: str, language: str
) -> Letter:
    """The pre-loan report of an offer, every figure in a row."""
    values: dict[str, Any] = {
        "lender": lender, "borrower": report["user"], "decision": report["decision"],
        "made_at": report["made_at"],
        "warnings": "; ".join(str(each) for each in report["warnings"]) or "–",
        "reasons": "; ".join(str(each["text"]) for each in report["reasons"]) or "–",
    }  # fmt: skip
    return write_letter(DocumentKind.PRE_LOAN_REPORT, language, values, {"figures": rows})


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
