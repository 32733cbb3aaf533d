"""Shapes of answers about the ledger, institutions, control and events."""

from __future__ import annotations

from typing import Any, Literal

from usance.platform.api.shapes import Shape


class JournalLine(Shape):
    """A line of a journal."""

    line: int
    entity: int | str
    basis: str
    account: int
    account_name: str
    rule: str | int
    amount_minor: int


class Journal(Shape):
    """A journal of one loan or of a group fact."""

    journal: str
    loan: str | None
    effective_on: str
    booked_at: str
    period: str
    lines: list[JournalLine]


class TrialBalance(Shape):
    """All balances with the sums of both sides."""

    accounts: list[dict[str, Any]]
    debits_minor: int
    credits_minor: int
    as_of: str


class AuditCheck(Shape):
    """The seals over what was appended, checked again."""

    verified: bool
    seals: int
    broken: list[dict[str, Any]]


class OfferState(Shape):
    """An offer after its answer."""

    state: str


class Offer(Shape):
    """A loan offered to an institution."""

    offer: str
    loan: str
    product: str
    amount_minor: int
    currency: str
    months: int
    state: Literal["open", "approved", "declined", "timed_out", "released"]
    made_at: str
    answer_by: str
    report: dict[str, Any] | None


class SettlementDifference(Shape):
    """A line that an institution sees otherwise: theirs less ours; no loan: the total."""

    loan: str | None
    day: str
    kind: str
    difference_minor: int


class SettlementBatch(Shape):
    """Everything that an institution is owed at a cut-off and was not owed before."""

    settlement: str
    institution: str
    day: str
    settled_through: str | None
    currency: str
    lines: int
    total_minor: int
    corrections_minor: int
    carried_minor: int
    digest: str
    state: Literal["closed", "acknowledged", "disputed"]
    differences: list[SettlementDifference]
    order: str | None
    made_at: str
    answered_at: str | None


class VirtualAccount(Shape):
    """A number that money finds its user or loan by."""

    number: str
    user: str
    loan: str | None
    provider: str
    opened_at: str
    closed_at: str | None
    state: Literal["open", "closed"]


class DepositCall(Shape):
    """A guarantor's call to top up its deposit."""

    day: str
    amount_minor: int
    due_on: str


class Guarantor(Shape):
    """A third-party guarantor with its deposit."""

    guarantor: str
    currency: str
    guaranteed_minor: int
    balance_minor: int
    required_minor: int
    short_minor: int
    call: DepositCall | None
    claims_waiting: int
    claims_waiting_minor: int
    borne_minor: int


class Claim(Shape):
    """A claim of a loan that was compensated."""

    claim: str
    loan: str
    institution: str
    guarantor: str
    amount_minor: int
    currency: str
    made_on: str
    state: Literal["paid", "withdrawn", "filed", "declined", "disputed", "closed"]
    recovered_minor: int
    deposit_minor: int
    own_minor: int
    passed_minor: int
    answer_by: str | None
    reason: str | None
    settlement: str | None


class Approval(Shape):
    """A change that waits for further people."""

    approval: str
    command: str
    state: Literal["pending", "approved", "rejected", "expired"]
    needed: int
    given: int
    payload_sha256: str
    subject: str


class Event(Shape):
    """Something that happened."""

    id: str
    name: str
    subject: str
    at: str
    data: dict[str, Any]


class Webhook(Shape):
    """A target of events; its secret is told once."""

    webhook: str


class Delivery(Shape):
    """The delivery of an event to a webhook."""

    webhook: str
    event: str
    state: Literal["waiting", "delivered", "failed"]


class Session(Shape):
    """A session of an operator; its token is told once."""

    token: str
    expires_at: str


class Clock(Shape):
    """The business clock."""

    now: str
    business_date: str
    time_zone: str
    known_until: str


class Job(Shape):
    """A job of the business day."""

    day: str
    name: str
    state: str


class JobState(Shape):
    """A job and how far it is."""

    job: str
    kind: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]


class Close(Shape):
    """A close of a period, with its controls."""

    close: str
    period: str
    state: Literal["effective", "reopened"]
    known_at: str
    closed_at: str
    loans: int
    journals: int
    controls: list[dict[str, Any]]


class StatementRow(Shape):
    """A line of a statement."""

    statement: str
    line: str
    parent: str | None
    period: str
    amount_minor: int
    is_total: bool


class Statements(Shape):
    """Statements of a closed period under one framework."""

    period: str
    framework: Literal["us_gaap", "ifrs"]
    close: str
    known_at: str
    currency: str
    rows: list[StatementRow]


class Metric(Shape):
    """A metric of a period, with the sums it was made of."""

    row: int
    name: str
    version: int
    series: str
    period: str
    by: dict[str, str]
    numerator: int
    denominator: int
    unit: str
    value: float | None
    snapshot: str
    is_complete: bool


class Advanced(Shape):
    """The clock after it was moved, and the jobs on the way."""

    now: str
    business_date: str
    jobs: list[Job]
