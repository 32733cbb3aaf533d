"""Applications for a line: decided by the flow in force, referred to people, reviewed by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.assess.decision.decide import Answer, Decision
from usance.assess.decision.output_tables import LineState
from usance.assess.decision.request import Request
from usance.assess.fraud.links import Attribute
from usance.base.codes import DecisionKind, DecisionOutcome
from usance.base.errors import Problems, UsanceError
from usance.base.ids import print_id
from usance.platform.commands.command import CREATED, WAITING, Decided, Moment
from usance.platform.commands.people.links import (
    NO_LINKS,
    device_index,
    link_inputs,
    note_attribute,
)
from usance.platform.commands.people.screening import BLOCKED, HELD, state_of
from usance.platform.errors import InputNotYours, InvalidField, UnknownInput
from usance.platform.lender import ProductTerms
from usance.platform.principals import Principal
from usance.platform.reads.lending.decisions import Recorded, decision_answer
from usance.platform.reads.loans.positions import OpenPosition, open_positions
from usance.platform.records.user_record import UserRecord, load_user, read_id
from usance.platform.security.sealed_values import put_inputs
from usance.platform.security.subject_keys import SubjectKey, subject_key
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

OWN_INPUTS = frozenset({
    "list_hit", "applications_24h", "device_users_30d", "link_size", "bad_neighbours_ppm",
    "consent_given", "duplicate_identity", "funding_cost_ppm", "line_maximum_minor",
    "rate_cap_ppm", "drawdown_minor", "line_available_minor", "line_age_days",
    "platform_worst_days", "platform_days_past_due", "reviewers",
})  # fmt: skip
"""Inputs that the platform itself works out; a channel may give them in a sandbox alone."""


@dataclass(frozen=True)
class Apply:
    """A user applies for a line; records and inputs are as `usance assess decide` takes them.

    `device` is the channel's name of the device they apply from; its blind index is kept alone.
    """

    user: str
    product: str
    records: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    device: str = ""


def product_of(moment: Moment, name: str) -> ProductTerms:
    """A product of the lender."""
    if name not in moment.lender.products:
        offered = ", ".join(moment.lender.products)
        raise InvalidField(f"{name!r} is no product", where="body.product", fix=f"Give {offered}")
    return moment.lender.products[name]


async def apply(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: Apply
) -> Decided:
    """Decide an application; an approved one opens a line."""
    user_id = read_id(command.user, "us", "user")
    product = product_of(moment, command.product)
    given = check_inputs(moment, command.inputs)
    user = await load_user(transaction, user_id)
    device = device_index(moment.vault, command.device)
    own = await own_inputs(transaction, moment, user, device)
    made = features_made(moment, command.records)
    inputs = {**{name: value for name, value in own.items() if name not in made}, **given}
    decision = decide(moment, user, DecisionKind.APPLICATION, inputs, command.records)
    is_held = (await state_of(transaction, user_id)) in (HELD, BLOCKED)
    outcome, changes = decision.answer.outcome, WriteSet()
    if is_held and outcome is DecisionOutcome.APPROVED:
        outcome = DecisionOutcome.REFERRED
    key = await subject_key(transaction, moment.vault, user_id)
    recorded = record(changes, decision, outcome, key)
    line = None
    if outcome is DecisionOutcome.APPROVED and recorded["line_minor"]:
        line = open_line(changes, user, moment, product, recorded)
    changes.put("applications", decision_id=decision.decision_id, user_id=user.user_id,
                product=int(product.product), line_id=line or 0, review_id=0)  # fmt: skip
    note_attribute(changes, user.user_id, Attribute.DEVICE, device, moment)
    changes.user_changes.append(user.change())
    answer = decision_answer(moment.lender, Recorded(recorded, int(product.product), line))
    subject = print_id("de", decision.decision_id)
    status = WAITING if outcome is DecisionOutcome.REFERRED else CREATED
    return Decided(answer, subject, user.user_id, changes, status=status)


def check_inputs(moment: Moment, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs that a channel may give, all declared by the flow."""
    declared = moment.lender.decider.flow.inputs
    for name in inputs:
        if name not in declared:
            raise UnknownInput(f"the flow has no input {name}", where=f"body.inputs.{name}",
                               fix=f"Give {', '.join(declared)}")  # fmt: skip
        if name in OWN_INPUTS and not moment.lender.is_sandbox:
            raise InputNotYours(f"{name} is worked out by the platform",
                                where=f"body.inputs.{name}", fix="Leave it out")  # fmt: skip
    return dict(inputs)


def features_made(moment: Moment, records: Mapping[str, Any]) -> frozenset[str]:
    """Inputs that are made from records, where there are any."""
    features = moment.lender.decider.flow.features
    return frozenset(features.names) if records and features else frozenset()


async def own_inputs(
    transaction: asyncpg.Connection, moment: Moment, user: UserRecord, device: bytes | None = None
) -> dict[str, Any]:
    """Inputs that the platform knows itself, those alone that the flow declares."""
    loans = (await open_positions(transaction, [user.user_id], moment.business_date))[user.user_id]
    consent = await transaction.fetchval(
        "select granted from usance.consents where user_id = $1 order by consent_id desc limit 1",
        user.user_id,
    )  # fmt: skip
    state = await state_of(transaction, user.user_id)
    elsewhere = await transaction.fetchrow(
        "select * from usance.person_record($1, $2)", user.user_id, moment.at - timedelta(days=1)
    )
    linked = await link_inputs(transaction, user.user_id, device, moment.at)
    own = known_inputs(moment, user, loans, consent, dict(elsewhere), linked)
    if "list_hit" in own:
        own["list_hit"] = {HELD: "watch", BLOCKED: "block"}.get(state, own["list_hit"])
    return own


def known_inputs(
    moment: Moment, user: UserRecord, loans: Sequence[OpenPosition], consent: bool | None,
    elsewhere: Mapping[str, Any], linked: Mapping[str, Any] = NO_LINKS,
) -> dict[str, Any]:  # fmt: skip
    """Inputs that follow from a user's open loans, counters and last consent.

    `elsewhere` is what the same person did through other users: it counts as their own. `linked`
    is what they share with other users.
    """
    days = max((each.days_past_due for each in loans), default=0)
    worst = max(user.counters["worst_days"], days, elsewhere.get("worst_days") or 0)
    has_borrowed = user.counters["borrowed"] or elsewhere.get("borrowed")
    found: dict[str, Any] = {
        "list_hit": "none",
        "applications_24h": 1 + max(elsewhere.get("applications") or 0,
                                    linked["device_applications"]),
        "device_users_30d": linked["device_users_30d"], "link_size": linked["link_size"],
        "bad_neighbours_ppm": linked["bad_neighbours_ppm"],
        "duplicate_identity": False,  # registration refuses them
        "consent_given": moment.lender.is_sandbox if consent is None else consent,
        "funding_cost_ppm": moment.lender.document.get("funding_cost_ppm", 0),
        "reviewers": 1,
        "platform_worst_days": worst if has_borrowed else None,
        "platform_days_past_due": days,
    }  # fmt: skip
    maximum = moment.lender.decider.flow.inputs.get("line_maximum_minor")
    if maximum is not None and maximum.parameter and elsewhere.get("lines_minor"):
        whole = moment.lender.parameters.at(maximum.parameter, moment.business_date).integer
        found["line_maximum_minor"] = max(whole - elsewhere["lines_minor"], 0)
    return {
        name: value for name, value in found.items() if name in moment.lender.decider.flow.inputs
    }


def decide(
    moment: Moment, user: UserRecord, kind: DecisionKind, inputs: Mapping[str, Any],
    records: Mapping[str, Any],
) -> Decision:  # fmt: skip
    """The flow's decision, numbered among the user's."""
    number = user.next("decisions") - (user.user_id << 14)
    request = Request(user.user_id, number, kind, moment.at, inputs, records)
    try:
        return moment.lender.decider.decide(request, lambda: moment.at)
    except Problems as error:
        first = error.errors[0]
        raise InvalidField(first.what, where=f"body.{first.where}", fix=first.fix) from error
    except UsanceError as error:
        raise InvalidField(error.what, where=f"body.{error.where}", fix=error.fix) from error


def record(
    changes: WriteSet, decision: Decision, outcome: DecisionOutcome, key: SubjectKey
) -> dict[str, Any]:
    """Add a decision and its inputs, under the key of its user, to a write set; its row."""
    row = decision.row() | {"approved": int(outcome)}
    changes.add("decisions", **row)
    put_inputs(key, decision.decision_id, decision.inputs, changes)
    return row


def open_line(
    changes: WriteSet, user: UserRecord, moment: Moment, product: ProductTerms,
    decision: Mapping[str, Any],
) -> int:  # fmt: skip
    """Open the line that a decision granted."""
    line = user.next("lines")
    changes.add(
        "lines", line_id=line, effective_on=moment.business_date, booked_at=moment.at,
        product=int(product.product), limit_minor=decision["line_minor"],
        rate_ppm=moment.lender.rate_ppm(decision["grade"], decision["rate_ppm"]),
        state=int(LineState.ACTIVE),
    )  # fmt: skip
    return line


def answer_reasons(answer: Answer) -> tuple[int, ...]:
    """Reason codes of an answer, without the empty places."""
    return tuple(code for code in answer.reasons if code)


def valid_until(moment: Moment) -> date:
    """The last day that a decision stands."""
    return moment.business_date + timedelta(days=moment.lender.document.get("decision_days", 30))
