"""A payment order as a fold over its events.

Steps of ours (send, ask, cancel, take over, expire) are refused in the wrong state. What a provider
says never is: it may come late, twice, in any order and against what was said before, so the order
keeps the evidence, and its state follows from the evidence, not from its order of arrival.

>>> from datetime import UTC
>>> nine = datetime(2024, 7, 1, 9, tzinfo=UTC)
>>> order = PaymentOrder(
...     order_id=1, purpose=Purpose.DEBIT, reference="OR1", provider=2, party=1, currency="CNY",
...     amount_minor=1_500_00, created_at=nine, expires_at=datetime(2024, 7, 3, tzinfo=UTC),
... )
>>> order = order.after(OrderEvent(EventKind.SENT, nine, "debit run of 2024-07-01"))
>>> order.state.value, order.after(OrderEvent(EventKind.SENT_AGAIN, nine, "clock")).sends
('sending', 2)
>>> paid = OrderEvent(EventKind.SETTLED, nine, "file p2-0701", 1_500_00, "T-88", date(2024, 7, 1))
>>> order.after(paid).state.value, order.after(paid).after(paid) == order.after(paid)
('settled', True)
>>> order.after(paid).after(OrderEvent(EventKind.CANCELLED, nine, "operator 7"))
Traceback (most recent call last):
usance.service.errors.OrderRefused: order OR1: cancelled while settled. Only an order that was \
not sent can be cancelled; ask for a return instead.
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import Enum
from functools import reduce
from typing import NamedTuple

from usance.service.errors import OrderRefused


class Purpose(Enum):
    """The movement an order asks for."""

    PAYOUT = "payout"
    """To a borrower: the loan itself."""
    DEBIT = "debit"
    """From a borrower."""
    REFUND = "refund"
    """To a borrower: what was overpaid."""
    PARTY_PAYOUT = "party_payout"
    """To an institution or guarantor."""
    OWN_TRANSFER = "own_transfer"
    """Between accounts of the group."""


class OrderState(Enum):
    """The state of an order; each but the first four is an end, which later evidence may change."""

    CREATED = "created"
    SENDING = "sending"
    ACCEPTED = "accepted"
    SETTLED = "settled"
    REJECTED = "rejected"
    RETURNED = "returned"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class EventKind(Enum):
    """A step of ours, or what the provider said."""

    TAKEN_OVER = "taken_over"
    SENT = "sent"
    """Booked before anything goes on the wire."""
    SENT_AGAIN = "sent_again"
    """Under the same reference, so that it can be paid once at most."""
    ASKED = "asked"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    NOT_FOUND = "not_found"
    """The provider's answer to a question: it does not know the reference."""
    ACCEPTED = "accepted"
    SETTLED = "settled"
    REJECTED = "rejected"
    RETURNED = "returned"


class OrderEvent(NamedTuple):
    """One event with the document or call it comes from."""

    kind: EventKind
    at: datetime
    source: str
    amount_minor: int = 0
    provider_ref: str = ""
    """The provider's own number of the movement: two of them are two movements."""
    on: date | None = None
    """The day the money moved."""
    provider: int = 0


class Split(NamedTuple):
    """The part of an order that is for one loan."""

    loan_id: int
    amount_minor: int


class Movement(NamedTuple):
    """Money that a provider says it moved."""

    provider_ref: str
    amount_minor: int
    on: date


class OrderBreakKind(Enum):
    """A contradiction between an order and its evidence, for a person to look at."""

    SETTLED_AFTER_EXPIRED = "settled_after_expired"
    SETTLED_UNSENT = "settled_unsent"
    """Settled although it was never sent, or was cancelled."""
    CONTRADICTED = "contradicted"
    """Rejected and settled."""
    AMOUNT = "amount"
    PAID_TWICE = "paid_twice"
    RETURNED_UNSETTLED = "returned_unsettled"
    """Came back before it was said to have moved."""
    RETURNED_IN_PART = "returned_in_part"


class OrderBreak(NamedTuple):
    """A contradiction and the money it is about."""

    kind: OrderBreakKind
    amount_minor: int


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """One wish to move money through one provider, and everything known about it."""

    order_id: int
    purpose: Purpose
    reference: str
    """End-to-end and ours."""
    provider: int
    party: int
    """The user, institution, guarantor or own account on the other side."""
    currency: str
    amount_minor: int
    created_at: datetime
    expires_at: datetime
    splits: tuple[Split, ...] = ()
    sends: int = 0
    sent_at: datetime | None = None
    asked_at: datetime | None = None
    not_found_at: datetime | None = None
    accepted: bool = False
    rejected: bool = False
    settlements: tuple[Movement, ...] = ()
    returns: tuple[Movement, ...] = ()
    expired_at: datetime | None = None
    cancelled: bool = False

    def __post_init__(self) -> None:
        if self.amount_minor <= 0:
            raise self.refusal(f"an amount of {self.amount_minor}", "Give an amount above zero")
        if self.splits and sum(each.amount_minor for each in self.splits) != self.amount_minor:
            raise self.refusal("its parts do not sum to its amount", "Split the whole amount")

    @property
    def state(self) -> OrderState:
        """The state that the evidence amounts to: what moved counts more than what was said."""
        if self.returns:
            return OrderState.RETURNED
        if self.settlements:
            return OrderState.SETTLED
        if self.rejected:
            return OrderState.REJECTED
        if self.cancelled:
            return OrderState.CANCELLED
        if self.expired_at is not None:
            return OrderState.EXPIRED
        if self.accepted:
            return OrderState.ACCEPTED
        return OrderState.SENDING if self.sends else OrderState.CREATED

    @property
    def is_open(self) -> bool:
        """True until it ended in any way."""
        return self.state in (OrderState.CREATED, OrderState.SENDING, OrderState.ACCEPTED)

    @property
    def settled_minor(self) -> int:
        """Money moved by all settlements."""
        return sum(each.amount_minor for each in self.settlements)

    @property
    def returned_minor(self) -> int:
        """Money that came back."""
        return sum(each.amount_minor for each in self.returns)

    def after(self, event: OrderEvent) -> PaymentOrder:
        """The order after an event; evidence that is known already changes nothing."""
        match event.kind:
            case EventKind.SETTLED:
                return replace(self, settlements=self._with(self.settlements, event))
            case EventKind.RETURNED:
                return replace(self, returns=self._with(self.returns, event))
            case EventKind.ACCEPTED:
                return replace(self, accepted=True)
            case EventKind.REJECTED:
                return replace(self, rejected=True)
            case EventKind.NOT_FOUND:
                return replace(self, not_found_at=_later(self.not_found_at, event.at))
            case EventKind.ASKED:
                return self._asked(event)
            case _:
                return self._our_step(event)

    def _asked(self, event: OrderEvent) -> PaymentOrder:
        if not self.sends:
            raise self.refusal("asked about before it was sent", "Send it first")
        return replace(self, asked_at=_later(self.asked_at, event.at))

    def _our_step(self, event: OrderEvent) -> PaymentOrder:
        allowed, fix = _OUR_STEPS[event.kind]
        if self.state not in allowed:
            raise self.refusal(f"{event.kind.value} while {self.state.value}", fix)
        match event.kind:
            case EventKind.TAKEN_OVER:
                return replace(self, provider=event.provider)
            case EventKind.CANCELLED:
                return replace(self, cancelled=True)
            case EventKind.EXPIRED:
                return replace(self, expired_at=event.at)
            case _:
                return replace(self, sends=self.sends + 1, sent_at=event.at)

    def _with(self, known: tuple[Movement, ...], event: OrderEvent) -> tuple[Movement, ...]:
        if event.on is None or event.amount_minor <= 0:
            what = f"{event.kind.value} without a day or an amount"
            raise self.refusal(what, f"Read both from {event.source}")
        moved = Movement(event.provider_ref, event.amount_minor, event.on)
        if any(each.provider_ref == moved.provider_ref for each in known):
            return known
        return tuple(sorted((*known, moved)))

    def refusal(self, what: str, fix: str) -> OrderRefused:
        """The error for something this order does not allow."""
        return OrderRefused(what, where=f"order {self.reference}", fix=fix)


_OUR_STEPS = {
    EventKind.TAKEN_OVER: (
        (OrderState.CREATED,), "Another provider may take over only what was not sent"
    ),
    EventKind.SENT: ((OrderState.CREATED,), "An order is sent once; ask about it"),
    EventKind.SENT_AGAIN: (
        (OrderState.SENDING,), "Only an order without any answer is sent again"
    ),
    EventKind.EXPIRED: (
        (OrderState.CREATED, OrderState.SENDING, OrderState.ACCEPTED), "It has ended already"
    ),
    EventKind.CANCELLED: (
        (OrderState.CREATED,),
        "Only an order that was not sent can be cancelled; ask for a return instead",
    ),
}  # fmt: skip
"""States in which a step of ours is allowed, and what to do in any other."""


def fold(order: PaymentOrder, events: Iterable[OrderEvent]) -> PaymentOrder:
    """The order after all its events: what a restart makes again from the log."""
    return reduce(PaymentOrder.after, events, order)


def order_breaks(order: PaymentOrder) -> Iterator[OrderBreak]:
    """Contradictions between an order and what is known of it; the same in any order of arrival."""
    settled = order.settled_minor
    if not order.settlements:
        if order.returns:
            yield OrderBreak(OrderBreakKind.RETURNED_UNSETTLED, order.returned_minor)
        return
    if order.expired_at is not None:
        yield OrderBreak(OrderBreakKind.SETTLED_AFTER_EXPIRED, settled)
    if not order.sends:
        yield OrderBreak(OrderBreakKind.SETTLED_UNSENT, settled)
    if order.rejected:
        yield OrderBreak(OrderBreakKind.CONTRADICTED, settled)
    first = order.settlements[0].amount_minor
    if first != order.amount_minor:
        yield OrderBreak(OrderBreakKind.AMOUNT, first - order.amount_minor)
    if len(order.settlements) > 1:
        yield OrderBreak(OrderBreakKind.PAID_TWICE, settled - first)
    if order.returns and order.returned_minor != settled:
        yield OrderBreak(OrderBreakKind.RETURNED_IN_PART, settled - order.returned_minor)


def _later(known: datetime | None, at: datetime) -> datetime:
    return at if known is None else max(known, at)
