"""Calls of the API: each says what is asked and what kind of answer comes.

>>> call = register_user("anna", region=3)
>>> call.method, call.path, call.body
('POST', '/v1/users', {'client_ref': 'anna', 'region': 3})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote as escaped

from usance.platform.client.answers import (
    Advanced,
    Clock,
    Decision,
    Drawdown,
    Event,
    Fact,
    Instalment,
    Journal,
    Line,
    Loan,
    Offer,
    Page,
    Payment,
    Quote,
    Session,
    User,
)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """One request; a POST gets a key when it is sent, the same for every try."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)


def _get(path: str, **query: Any) -> Call[Any]:
    return Call("GET", path, None, {name: str(value) for name, value in _given(query).items()})


def _post(path: str, **body: Any) -> Call[Any]:
    return Call("POST", path, _given(body))


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def register_user(
    client_ref: str, region: int, *, kind: str | None = None, registered_at: str | None = None
) -> Call[User]:
    """Register a user; the same client_ref is the same user."""
    return _post(
        "/v1/users", client_ref=client_ref, region=region, kind=kind, registered_at=registered_at
    )


def user(user: str) -> Call[User]:
    """One user."""
    return _get(f"/v1/users/{escaped(user)}")


def users(client_ref: str) -> Call[Page[User]]:
    """The users that a client_ref names."""
    return _get("/v1/users", client_ref=client_ref)


def set_person(user: str, **details: str) -> Call[dict[str, Any]]:
    """The human behind a user: name, national_id, phone, email."""
    return Call("PUT", f"/v1/users/{escaped(user)}/person", details)


def apply(
    user: str, product: str, *, records: Any = None, inputs: Mapping[str, Any] | None = None
) -> Call[Decision]:
    """Apply for a line."""
    return _post("/v1/applications", user=user, product=product, records=records, inputs=inputs)


def decision(decision: str) -> Call[Decision]:
    """One decision."""
    return _get(f"/v1/decisions/{escaped(decision)}")


def lines(user: str) -> Call[Page[Line]]:
    """Lines of a user."""
    return _get(f"/v1/users/{escaped(user)}/lines")


def quote(
    user: str, product: str, amount_minor: int, months: int, *, disbursed_on: str | None = None
) -> Call[Quote]:
    """A loan as it would be."""
    return _post("/v1/quotes", user=user, product=product, amount_minor=amount_minor,
                 months=months, disbursed_on=disbursed_on)  # fmt: skip


def draw(user: str, product: str, amount_minor: int, months: int, **more: Any) -> Call[Drawdown]:
    """Draw on a line; more: quote, agreement, account, purpose."""
    return _post("/v1/drawdowns", user=user, product=product, amount_minor=amount_minor,
                 months=months, **more)  # fmt: skip


def drawdown(loan: str) -> Call[Drawdown]:
    """A drawdown as it stands."""
    return _get(f"/v1/drawdowns/{escaped(loan)}")


def loan(loan: str, *, as_of: str | None = None, known_at: str | None = None) -> Call[Loan]:
    """A loan as of a day."""
    return _get(f"/v1/loans/{escaped(loan)}", as_of=as_of, known_at=known_at)


def schedule(loan: str, *, as_of: str | None = None) -> Call[Page[Instalment]]:
    """Instalments of a loan."""
    return _get(f"/v1/loans/{escaped(loan)}/schedule", as_of=as_of)


def facts(loan: str) -> Call[Page[Fact]]:
    """Facts of a loan."""
    return _get(f"/v1/loans/{escaped(loan)}/facts")


def pay(
    loan: str, amount_minor: int, currency: str, effective_on: str, provider: str, ref: str
) -> Call[Payment]:
    """Money received for a loan."""
    return _post("/v1/payments", loan=loan, amount_minor=amount_minor, currency=currency,
                 effective_on=effective_on, provider=provider, ref=ref)  # fmt: skip


def reverse(payment: str, reason: str, *, effective_on: str | None = None) -> Call[dict[str, Any]]:
    """Reverse a payment."""
    path = f"/v1/payments/{escaped(payment)}/reverse"
    return _post(path, reason=reason, effective_on=effective_on)


def offers(state: str | None = None, *, after: str | None = None) -> Call[Page[Offer]]:
    """Offers to an institution."""
    return _get("/v1/offers", state=state, after=after)


def answer_offer(offer: str, *, approved: bool, reason: str = "") -> Call[dict[str, Any]]:
    """The institution's answer to an offer."""
    return _post(f"/v1/offers/{escaped(offer)}/answer", approved=approved, reason=reason)


def journals(loan: str, *, after: str | None = None) -> Call[Page[Journal]]:
    """Journals of a loan."""
    return _get("/v1/ledger/journals", loan=loan, after=after)


def events(after: str | None = None, *, limit: int | None = None) -> Call[Page[Event]]:
    """Events after a cursor."""
    return _get("/v1/events", after=after, limit=limit)


def clock() -> Call[Clock]:
    """The business clock."""
    return _get("/v1/clock")


def advance(to: str) -> Call[Advanced]:
    """Move the clock of a sandbox; every job on the way is run."""
    return _post("/v1/clock/advance", to=to)


def sign_in(email: str, password: str, totp: str | None = None) -> Call[Session]:
    """Open a session of an operator."""
    return _post("/v1/sessions", email=email, password=password, totp=totp)
