"""Shapes of answers, for the description of the API; the answers themselves come from elsewhere.

Fields may be added within a version, so that further ones are allowed and tests name those here.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

Row = TypeVar("Row")


class Shape(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="allow")


class ErrorDetail(Shape):
    """A failure, and what to do next."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{
        "type": "invalid_request", "code": "unknown_field",
        "message": "There is no field colour. Give client_ref, region, kind, registered_at.",
        "param": "body.colour", "doc": "/docs/errors#unknown_field",
        "request_id": "rq_7ZK3T9QW2M5X8C1B",
    }]})  # fmt: skip
    type: Literal["invalid_request", "refused", "conflict", "not_found", "unauthenticated",
                  "forbidden", "rate_limited", "unavailable", "internal"]  # fmt: skip
    code: str
    message: str
    param: str | None
    doc: str
    request_id: str


class ErrorAnswer(Shape):
    """The body of every answer that tells a failure."""

    error: ErrorDetail


class Page(Shape, Generic[Row]):
    """Rows of a list, and the cursor of those that follow."""

    data: list[Row]
    next: str | None


class PersonState(Shape):
    """How well a person is known."""

    verified: bool
    level: int


class User(Shape):
    """A borrower as a channel knows them."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{
        "user": "us_00000000001", "client_ref": "anna", "channel": "channel", "region": 3,
        "kind": "consumer", "registered_on": "2024-07-01", "person": None,
    }]})  # fmt: skip
    user: str
    client_ref: str | None
    channel: str
    region: int
    kind: Literal["consumer", "business"]
    registered_on: str
    person: PersonState | None


class PersonAnswer(PersonState):
    """A person, masked."""

    person: str


class Account(Shape):
    """A bank account of a user."""

    account: str
    verified: bool
    usable_from: str


class Consent(Shape):
    """A consent as it was given or withdrawn."""

    consent: str
    purpose: str
    text_version: str
    granted: bool


class Link(Shape):
    """A way into the borrower pages that opens once; its address is told with the first answer."""

    user: str
    expires_at: str
    url: str | None = None


class Case(Shape):
    """A right of a person, and until when it has to be answered."""

    case: str
    state: str
    answer_by: str


class DataRequest(Shape):
    """A request about a person's data or a decision, and its answer."""

    case: str
    user: str
    kind: str
    field: str | None
    decision: str | None
    state: str
    received_on: str
    answer_by: str
    answered_on: str | None
    text: str | None
    value: str | None
    answer: str | None


class Position(Shape):
    """A loan as its borrower sees it: what is left to pay, until when, at which cost."""

    instalments_left: int
    to_pay_minor: int
    cost_minor: int
    next_due_on: str | None
    next_due_minor: int
    last_due_on: str | None
    past_due_minor: int
    days_past_due: int


class Plan(Shape):
    """A plan for a borrower in trouble, with its effect before and after."""

    plan: str
    user: str
    loan: str
    kind: str
    state: Literal["offered", "accepted", "declined"]
    before: Position
    after: Position
    added_cost_minor: int
    pay_minor: int
    answer_by: str


class Reason(Shape):
    """A reason of a decision in the borrower's words."""

    code: int | str
    text: str


class Line(Shape):
    """A line of credit and what is left of it."""

    line: str
    product: str
    limit_minor: int
    used_minor: int
    available_minor: int
    currency: str
    rate_ppm: int
    state: str


class Decision(Shape):
    """A decision on an application or a drawdown."""

    decision: str
    user: str
    product: str | None
    kind: str
    outcome: Literal["approved", "declined", "referred"]
    line: Line | None
    reasons: list[Reason]
    valid_until: str | None
    booked_at: str
    review: str | None


class Amounts(Shape):
    """An amount by component."""

    principal_minor: int
    interest_minor: int
    guarantee_fee_minor: int
    service_fee_minor: int
    penalty_minor: int
    total_minor: int


class Instalment(Shape):
    """One instalment: due, paid, waived, outstanding."""

    no: int
    due_on: str
    due: Amounts
    paid: Amounts
    waived: Amounts
    outstanding: Amounts


class Fees(Shape):
    """Fees of a quote."""

    service_fee_minor: int
    guarantee_fee_minor: int
    upfront_fee_minor: int


class Quote(Shape):
    """A loan as it would be, with its true annual cost."""

    quote: str
    user: str
    product: str
    amount_minor: int
    currency: str
    months: int
    rate_ppm: int
    disbursed_on: str
    cash_to_borrower_minor: int
    total_to_pay_minor: int
    total_cost_minor: int
    fees: Fees
    apr_ppb: int
    apr_measure: str
    cap_ppm: int
    schedule: list[Instalment]
    valid_until: str


class Agreement(Shape):
    """A quote that its borrower accepted."""

    agreement: str
    quote: str


class Drawdown(Shape):
    """A drawdown on its way to a loan."""

    loan: str
    user: str
    product: str
    amount_minor: int
    currency: str
    months: int
    state: Literal["pending", "approved", "active", "declined", "no_source", "withdrawn",
                   "payout_failed", "rescinded"]  # fmt: skip
    decision: str | None
    reasons: list[Reason]
    requested_at: str
    quote: str | None
    agreement: str | None
    source: str | None
    disbursed_on: str | None


class Commission(Shape):
    """A channel's commission of a month."""

    channel: str
    month: str
    currency: str
    approved: int
    income_minor: int
    commission_minor: int


class NextDue(Shape):
    """The next instalment that is not paid."""

    due_on: str
    amount_minor: int


class Loan(Shape):
    """A loan as of a day, by what was known at a moment."""

    loan: str
    user: str
    product: str
    status: Literal["active", "closed", "charged_off"]
    model: str
    source: str
    currency: str
    principal_minor: int
    rate_ppm: int
    instalments: int
    disbursed_on: str
    first_due_on: str
    as_of: str
    known_at: str | None
    outstanding: Amounts
    past_due: Amounts
    paid: Amounts
    overpaid_minor: int
    days_past_due: int
    next_due: NextDue | None
    settlement_minor: int


class Fact(Shape):
    """A fact of a loan."""

    loan: str
    kind: str
    effective_on: str
    booked_at: str
    amount_minor: int
    currency: str
    ref: str
    provider: str | None
    provider_ref: str | None
    reverses: str | None


class Settlement(Shape):
    """The amount that closes a loan on a day."""

    loan: str
    on: str


class Statement(Shape):
    """A loan with its instalments and facts."""

    loan: Loan
    schedule: list[Instalment]
    facts: list[Fact]


class Changed(Shape):
    """A fact, and the loan after it."""


class NoticeLine(Shape):
    """The answer of one line of a batch."""

    ref: str | None
    result: Literal["booked", "duplicate", "unallocated", "refused"]
    payment: str | None
    code: str | None


class Noticed(Shape):
    """The answers of a batch, line by line."""

    lines: list[NoticeLine]


class Allocated(Shape):
    """A part of a payment."""

    loan: str
    component: str
    instalment: int | None
    amount_minor: int


class Payment(Shape):
    """Money received."""

    payment: str
    loan: str | None
    user: str | None
    provider: str
    ref: str
    amount_minor: int
    currency: str
    effective_on: str
    booked_at: str
    state: Literal["booked", "reversed"]
    allocation: list[Allocated]
    unallocated_minor: int


class Object(Shape):
    """An answer whose fields depend on what was asked."""
