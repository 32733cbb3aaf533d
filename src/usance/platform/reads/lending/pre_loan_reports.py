"""The pre-loan report of an offer, for the institution that it was made to."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from usance.assess.decision.investigation import report_on
from usance.assess.decision.request import Request
from usance.base.codes import DecisionKind
from usance.base.ids import PER_USER, print_id
from usance.platform.commands.command import Moment, act_as_platform
from usance.platform.reads.lending.applications import trace
from usance.platform.reads.shapes import moment_text
from usance.platform.records.user_record import not_found

if TYPE_CHECKING:
    import asyncpg

_APPLICATION = (
    "select max(d.decision_id) from usance.decisions d join usance.applications a "
    "using (decision_id) where d.kind = 0 and d.booked_at <= $3 "
    "and d.decision_id between $1 and $2"
)


async def pre_loan_report(
    transaction: asyncpg.Connection, moment: Moment, offer_id: int
) -> dict[str, Any]:
    """The report on the application behind an offer that the caller sees.

    It is worked out from what is kept sealed, for this answer alone, and never for somebody who was
    erased. After this read the transaction goes on as the platform.
    """
    offer = await transaction.fetchrow(
        "select user_id, months, made_at, report from usance.offers where offer_id = $1", offer_id
    )
    if offer is None:
        raise not_found("of", offer_id)
    await act_as_platform(transaction)
    user, lender = offer["user_id"], moment.lender
    number = await transaction.fetchval(
        _APPLICATION, user * PER_USER, user * PER_USER + PER_USER - 1, offer["made_at"]
    )
    known = (
        await trace(transaction, lender, moment.vault, print_id("de", number)) if number else None
    )
    if known is None or not known["inputs"]:
        return {}
    flow, at = lender.decider.flow, known["booked_at"].astimezone(UTC)
    needed = flow.needed(DecisionKind.APPLICATION)
    inputs = {name: value for name, value in known["inputs"].items() if name in needed}
    request = Request(user, number % PER_USER, DecisionKind.APPLICATION, at, inputs, {})
    decision = lender.decider.decide(request, lambda: at)
    made = report_on(flow, request, decision, await _consents(transaction, user), offer["months"])
    return {"currency": lender.currency.name, **made}


async def _consents(transaction: asyncpg.Connection, user_id: int) -> list[dict[str, str]]:
    """The last word of a user on each purpose, where it was yes."""
    rows = await transaction.fetch(
        "select distinct on (purpose) purpose, text_version, granted, given_at "
        "from usance.consents where user_id = $1 order by purpose, consent_id desc", user_id,
    )  # fmt: skip
    return [
        {"purpose": row["purpose"], "since": moment_text(row["given_at"]),
         "text_version": row["text_version"]}
        for row in rows if row["granted"]
    ]  # fmt: skip
