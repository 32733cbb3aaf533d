"""Answers of the API as their fields are typed; what is missing is None."""

from __future__ import annotations

from typing import Any, Generic, TypedDict, TypeVar

Row = TypeVar("Row")


class Page(TypedDict, Generic[Row]):
    """Rows of a list, and the cursor of those that follow."""

    data: list[Row]
    next: str | None


class PersonState(TypedDict):
    """How well a person is known."""

    verified: bool
    level: int


class User(TypedDict):
    """A borrower as a channel knows them."""

    user: str
    client_ref: str | None
    channel: str
    region: int
    kind: str
    registered_on: str
    person: PersonState | None


class Reason(TypedDict):
    """A reason of a decision in the borrower's words."""

    code: str
    text: str


class Line(TypedDict):
    """A line of credit and what is left of it."""

    line: str
    product: str
    limit_minor: int
    used_minor: int
    available_minor: int
    currency: str
    rate_ppm: int
    state: str


class Decision(TypedDict):
    """A decision on an application or a drawdown."""

    decision: str
    user: str
    product: str | None
    kind: str
    outcome: str
    line: Line | None
    reasons: list[Reason]
    valid_until: str | None
    booked_at: str
    review: str | None


class Amounts(TypedDict):
    """An amount by component."""

    principal_minor: int
    interest_minor: int
    guarantee_fee_minor: int
    service_fee_minor: int
    penalty_minor: int
    total_minor: int


class Instalment(TypedDict):
    """One instalment: due, paid, waived, outstanding."""

    no: int
    due_on: str
    due: Amounts
    paid: Amounts
    waived: Amounts
    outstanding: Amounts


class Quote(TypedDict):
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
    fees: dict[str, int]
    apr_ppb: int
    apr_measure: str
    cap_ppm: int
    schedule: list[Instalment]
    valid_until: str


class Drawdown(TypedDict):
    """A drawdown on its way to a loan."""

    loan: str
    user: str
    product: str
    amount_minor: int
    currency: str
    months: int
    state: str
    decision: str | None
    reasons: list[Reason]
    requested_at: str
    quote: str | None
    agreement: str | None
    source: str | None
    disbursed_on: str | None


class Loan(TypedDict):
    """A loan as of a day, by what was known at a moment."""

    loan: str
    user: str
    product: str
    status: str
    model: str
    source: str
    currency: str
    principal_minor: int
    rate_ppm: int
    instalments: int
    disbursed_on: str
    first_due_on: str
    as_of: str
    known_at: str
    outstanding: Amounts
    past_due: Amounts
    paid: Amounts
    overpaid_minor: int
    days_past_due: int
    next_due: dict[str, Any] | None
    settlement_minor: int


class Fact(TypedDict):
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


class Payment(TypedDict):
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
    state: str
    allocation: list[dict[str, Any]]
    unallocated_minor: int


class Journal(TypedDict):
    """A journal of one loan or of a group fact."""

    journal: str
    loan: str | None
    effective_on: str
    booked_at: str
    period: str
    lines: list[dict[str, Any]]


class Offer(TypedDict):
    """A loan offered to an institution."""

    offer: str
    loan: str
    product: str
    amount_minor: int
    currency: str
    months: int
    state: str
    made_at: str
    answer_by: str
    report: dict[str, Any] | None


class Event(TypedDict):
    """Something that happened."""

    id: str
    name: str
    subject: str
    at: str
    data: dict[str, Any]


class Clock(TypedDict):
    """The business clock."""

    now: str
    business_date: str
    time_zone: str
    known_until: str


class Advanced(TypedDict):
    """The clock after it was moved, and the jobs on the way."""

    now: str
    business_date: str
    jobs: list[dict[str, str]]


class Session(TypedDict):
    """A session of an operator."""

    token: str
    expires_at: str
