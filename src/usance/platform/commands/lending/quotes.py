"""Quotes and agreements: what a loan would cost, and that the borrower has agreed to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.ids import owned_id, print_id
from usance.loan.quote import Quote
from usance.loan.quote import quote as make_quote
from usance.loan.rates.cap import RateCapExceeded as CapExceeded
from usance.platform.commands.command import Decided, Moment
from usance.platform.commands.lending.applications import product_of
from usance.platform.errors import InvalidField
from usance.platform.pricing import Request, borrower_side, price
from usance.platform.principals import Principal
from usance.platform.reads.lending.decisions import Line, lines_of
from usance.platform.reads.loans.loan import planned_schedule
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import (
    UserRecord,
    load_user,
    not_found,
    own_ranges,
    read_id,
)
from usance.platform.refusals import DateInFuture, NoLine, NoSource, QuoteExpired, RateCapExceeded
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

MAX_AMOUNT_MINOR = 2_000_000_000
"""The largest loan that the router places."""
MAX_METHOD = 64
MAX_GRADE = 8
_GRADE = (
    "select d.grade from usance.applications a join usance.decisions d using (decision_id) "
    "where a.line_id = $1 and a.decision_id between ($2::bigint[])[1] and ($3::bigint[])[1] "
    "order by decision_id desc limit 1"
)


@dataclass(frozen=True)
class MakeQuote:
    """A user asks what a loan would cost."""

    user: str
    product: str
    amount_minor: int
    months: int
    disbursed_on: date | None = None


@dataclass(frozen=True)
class Agree:
    """A borrower accepts a quote, as a document that was shown."""

    quote: str
    document_sha256: str
    shown_at: datetime
    accepted_at: datetime
    method: str
    code: str = ""
    template_version: str = "1"
    address: str = ""


def check_amount(amount_minor: int) -> None:
    """Refuse an amount that is no loan."""
    if not 1 <= amount_minor <= MAX_AMOUNT_MINOR:
        fix = f"Give 1 to {MAX_AMOUNT_MINOR}"
        raise InvalidField("is no amount of a loan", where="body.amount_minor", fix=fix)


async def line_for(
    transaction: asyncpg.Connection, moment: Moment, user: UserRecord, product: int
) -> Line:
    """The line that a product is drawn on, or a refusal."""
    lines = await lines_of(transaction, moment.lender, user.user_id, moment.business_date)
    return line_among(moment, user, lines, product)


def line_among(moment: Moment, user: UserRecord, lines: Sequence[Line], product: int) -> Line:
    """The one of a user's lines that a product is drawn on, or a refusal."""
    for line in lines:
        if line.state and (line.product == product or moment.lender.has_one_line):
            return line
    raise NoLine("there is no line for it", where=print_id("us", user.user_id),
                 fix="Apply for one first")  # fmt: skip


async def quote(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: MakeQuote
) -> Decided:
    """Quote a loan as the source that a drawdown would go to first would lend it."""
    user_id = read_id(command.user, "us", "user")
    product = product_of(moment, command.product)
    check_amount(command.amount_minor)
    user = await load_user(transaction, user_id)
    product.check_months(command.months)
    line = await line_for(transaction, moment, user, int(product.product))
    on = command.disbursed_on or moment.business_date
    if on < moment.business_date:
        raise InvalidField("is over", where="body.disbursed_on", fix="Give today or a later day")
    asked = Request(command.amount_minor, command.months, line.rate_ppm, product.convention,
                    moment.lender.currency)  # fmt: skip
    offer = await first_offer(transaction, moment, user, line, int(product.product), asked, on)
    number = user.next("records")
    until = moment.at + timedelta(minutes=moment.lender.document.get("quote_minutes", 1440))
    answer = quote_answer(moment, number, command, offer, until)
    changes = WriteSet(user_changes=[user.change()])
    changes.put(
        "quotes", quote_id=number, user_id=user.user_id, product=int(product.product),
        amount_minor=command.amount_minor, months=command.months,
        terms=borrower_side(offer.terms), answer=answer, valid_until=until,
    )  # fmt: skip
    return Decided(answer, print_id("qu", number), user.user_id, changes)


async def first_offer(
    transaction: asyncpg.Connection, moment: Moment, user: UserRecord, line: Line,
    product: int, asked: Request, on: date,
) -> Quote:  # fmt: skip
    """The quote of the source that a drawdown would go to first, within the cap."""
    grade = await transaction.fetchval(_GRADE, line.line_id, *own_ranges([user.user_id]))
    request = {
        "requested_at": moment.at, "loan_id": owned_id(user.user_id, user.counters["requests"] + 1),
        "decision_id": 0, "product": product, "amount_minor": asked.amount_minor,
        "months": asked.months, "rate_ppm": asked.rate_ppm,
        "grade": min(max(grade or MAX_GRADE, 1), MAX_GRADE), "region": user.region,
        "channel": user.channel,
    }  # fmt: skip
    await moment.services.router.open(transaction, moment.lender)
    for candidate in moment.services.router.rank_only(request).candidates:
        source = moment.lender.sources.get(candidate.source)
        if source is None or moment.lender.mandate(candidate.source, on) is None:
            continue
        mandate = moment.lender.mandates.mandates[candidate.column]
        try:
            return make_quote(price(asked, mandate, source, on), moment.lender.parameters, on=on)
        except CapExceeded as error:
            raise RateCapExceeded(error.what, where=error.where, fix=error.fix) from error
    raise NoSource("no source would fund it", where="body.amount_minor",
                   fix="Ask for another amount or other months")  # fmt: skip


def quote_answer(
    moment: Moment, number: int, command: MakeQuote, offer: Quote, until: datetime
) -> dict[str, Any]:
    """The shape of a quote."""
    terms, charges = offer.terms, offer.charges
    return {
        "quote": print_id("qu", number), "user": command.user, "product": command.product,
        "amount_minor": command.amount_minor, "currency": moment.lender.currency.name,
        "months": command.months, "rate_ppm": terms.rate_ppm,
        "disbursed_on": terms.disbursed_on.isoformat(),
        "cash_to_borrower_minor": terms.cash_to_borrower_minor,
        "total_to_pay_minor": offer.total_to_pay_minor, "total_cost_minor": offer.cost_minor,
        "fees": {"service_fee_minor": charges.service_fee,
                 "guarantee_fee_minor": charges.guarantee_fee,
                 "upfront_fee_minor": terms.upfront_fee_minor},
        "apr_ppb": offer.rates.nominal_ppb, "apr_measure": "nominal_irr",
        "cap_ppm": offer.cap.integer, "schedule": planned_schedule(terms),
        "valid_until": moment_text(until),
    }  # fmt: skip


async def agree(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: Agree
) -> Decided:
    """Note an agreement to a quote that still stands."""
    number = read_id(command.quote, "qu", "quote")
    if not re.fullmatch(r"[0-9a-fA-F]{64}", command.document_sha256):
        fix = "Give 64 hexadecimal digits"
        raise InvalidField("is no SHA-256", where="body.document_sha256", fix=fix)
    if not command.shown_at <= command.accepted_at:
        fix = "Give when it was shown, then when it was accepted"
        raise InvalidField("was accepted before it was shown", where="body.accepted_at", fix=fix)
    if not 1 <= len(command.method.strip()) <= MAX_METHOD:
        fix = f"Say how it was accepted, in 1 to {MAX_METHOD} letters"
        raise InvalidField("has no fit length", where="body.method", fix=fix)
    found = await transaction.fetchrow("select * from usance.quotes where quote_id = $1", number)
    if found is None:
        raise not_found("qu", number)
    user = await load_user(transaction, found["user_id"])
    if found["valid_until"] < moment.at:
        raise QuoteExpired("the quote is over", where=command.quote, fix="Ask for a new one")
    if command.accepted_at > moment.at:
        raise DateInFuture("is in the future", where="body.accepted_at", fix="Give what has been")
    agreement = user.next("records")
    changes = WriteSet(user_changes=[user.change()])
    kept = {
        "agreement_id": agreement, "user_id": user.user_id, "quote_id": number,
        "document_sha256": command.document_sha256.lower(), "shown_at": command.shown_at,
        "template_version": command.template_version, "accepted_at": command.accepted_at,
        "method": command.method, "code_reference": command.code, "address": command.address,
        "agreed_at": moment.at,
    }  # fmt: skip
    changes.put("agreements", **kept)
    answer = {
        "agreement": print_id("ag", agreement), "quote": command.quote,
        "user": print_id("us", user.user_id), "document_sha256": kept["document_sha256"],
        "shown_at": moment_text(command.shown_at), "accepted_at": moment_text(command.accepted_at),
        "method": command.method, "agreed_at": moment_text(moment.at),
    }  # fmt: skip
    return Decided(answer, print_id("ag", agreement), user.user_id, changes)
