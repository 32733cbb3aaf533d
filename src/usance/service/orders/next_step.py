"""The next step of an order by the clock: send, ask, send again, expire, or wait.

A send without an answer is asked about. Only when the provider, asked after its finality time,
still does not know the reference, is the same reference sent again. What an order holds (money,
quota, line) is free again only once nothing can move any more.

>>> from datetime import UTC
>>> from usance.service.orders.payment_order import EventKind, OrderEvent, Purpose
>>> nine = datetime(2024, 7, 1, 9, tzinfo=UTC)
>>> order = PaymentOrder(
...     order_id=1, purpose=Purpose.PAYOUT, reference="OR1", provider=2, party=1, currency="CNY",
...     amount_minor=1_500_00, created_at=nine, expires_at=nine + timedelta(days=2),
... )
>>> terms = ProviderTerms(timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=6))
>>> next_step(order, terms, nine)
<Step.SEND: 'send'>
>>> sent = order.after(OrderEvent(EventKind.SENT, nine, "payout"))
>>> [next_step(sent, terms, nine + timedelta(seconds=s)).value for s in (30, 60)]
['wait', 'ask']
>>> later = nine + timedelta(hours=6)
>>> next_step(sent.after(OrderEvent(EventKind.NOT_FOUND, later, "status")), terms, later)
<Step.SEND_AGAIN: 'send_again'>
"""  # fmt: skip

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from usance.service.orders.payment_order import OrderState, PaymentOrder


class ProviderTerms(NamedTuple):
    """Times agreed with a provider; dated data of its contract."""

    answer_within: timedelta
    """After a send, before it is asked about."""
    ask_every: timedelta
    finality: timedelta
    """After a send, when a provider that does not know an order will not pay it any more."""


class Step(Enum):
    """One thing to do with an order now."""

    SEND = "send"
    ASK = "ask"
    SEND_AGAIN = "send_again"
    EXPIRE = "expire"
    WAIT = "wait"
    NONE = "none"
    """Nothing more: the order has ended for good."""


def next_step(order: PaymentOrder, terms: ProviderTerms, now: datetime) -> Step:
    """The step that is due at a moment."""
    state = order.state
    if state is OrderState.CREATED:
        return Step.EXPIRE if now >= order.expires_at else Step.SEND
    if not order.is_open:
        return Step.NONE if not holds_funds(order, terms, now) else _ask_or_wait(order, terms, now)
    if now >= order.expires_at:
        return Step.EXPIRE
    if state is OrderState.SENDING and _is_unknown_for_good(order, terms):
        return Step.SEND_AGAIN
    return _ask_or_wait(order, terms, now)


def holds_funds(order: PaymentOrder, terms: ProviderTerms, now: datetime) -> bool:
    """True while the money, quota or line that an order holds must stay held."""
    if order.is_open:
        return True
    if order.state in (OrderState.REJECTED, OrderState.EXPIRED) and order.sent_at is not None:
        return now < order.sent_at + terms.finality
    return False


def _is_unknown_for_good(order: PaymentOrder, terms: ProviderTerms) -> bool:
    """True if the provider, asked after finality of the last send, did not know the order."""
    return (
        order.not_found_at is not None
        and order.sent_at is not None
        and order.not_found_at >= order.sent_at + terms.finality
    )


def _ask_or_wait(order: PaymentOrder, terms: ProviderTerms, now: datetime) -> Step:
    if order.sent_at is None:  # the provider speaks of what was never sent: a break, for a person
        return Step.WAIT
    due = order.sent_at + terms.answer_within
    if order.asked_at is not None:
        due = max(due, order.asked_at + terms.ask_every)
    return Step.ASK if now >= due else Step.WAIT
