"""A payment order as one command sees it: its row, and the fold over its events.

The row is a cache. Whoever changes an order adds an event, numbered after the last one that was
read; the database refuses a number that is taken, and the command decides again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency
from usance.base.documents import parse_json
from usance.platform.lender import Lender
from usance.platform.records.user_record import not_found
from usance.platform.store.write_set import WriteSet
from usance.service.orders.next_step import ProviderTerms, holds_funds
from usance.service.orders.payment_order import (
    EventKind,
    OrderEvent,
    OrderState,
    PaymentOrder,
    Purpose,
    Split,
    fold,
)

if TYPE_CHECKING:
    import asyncpg

INSTANT = "instant"
_EXPIRES_DAYS = 7
_WAITS = {"answer_within_seconds": 60, "ask_every_seconds": 600, "finality_seconds": 6 * 3600}
"""Times of a provider whose contract states none."""


def provider_settings(lender: Lender, provider: int) -> Mapping[str, Any]:
    """The contract of a provider as the lender's document states it."""
    name = lender.party_name("provider", provider)
    found: Mapping[str, Any] = lender.document.get("providers", {}).get(name, {"port": INSTANT})
    return found


def is_instant(lender: Lender, provider: int) -> bool:
    """True of the sandbox's own port, which answers inside the command."""
    return bool(provider_settings(lender, provider).get("port", INSTANT) == INSTANT)


def provider_terms(lender: Lender, provider: int) -> ProviderTerms:
    """Times agreed with a provider; the instant port is final at once."""
    given = provider_settings(lender, provider)
    default = dict.fromkeys(_WAITS, 0) if is_instant(lender, provider) else _WAITS
    return ProviderTerms(*(timedelta(seconds=given.get(name, default[name])) for name in _WAITS))


def expiry(lender: Lender, provider: int, at: datetime) -> datetime:
    """The moment at which an order that is made now is given up."""
    days = provider_settings(lender, provider).get("expires_days", _EXPIRES_DAYS)
    return at + timedelta(days=days)


@dataclass
class OrderRecord:
    """An order with its row, and the events that a command has added."""

    row: dict[str, Any]
    order: PaymentOrder
    events: int = 0
    """Events that are there, with those of this command."""

    @property
    def order_id(self) -> int:
        """The number of the order."""
        return self.order.order_id

    def add(self, event: OrderEvent, changes: WriteSet) -> bool:
        """Take an event; False, and nothing kept, if it says nothing new."""
        after = self.order.after(event)
        if after == self.order:
            return False
        self.order, self.events = after, self.events + 1
        changes.put(
            "order_events", order_id=self.order_id, no=self.events, user_id=self.row["user_id"],
            kind=event.kind.value, at=event.at, source=event.source,
            amount_minor=event.amount_minor, provider_ref=event.provider_ref, moved_on=event.on,
            provider=event.provider,
        )  # fmt: skip
        return True

    def cap(self, order: PaymentOrder) -> None:
        """Ask for less, before anything is sent."""
        assert self.order.state is OrderState.CREATED, "only an order that was not sent changes"
        self.order = replace(self.order, amount_minor=order.amount_minor, splits=order.splits)

    def save(
        self, changes: WriteSet, lender: Lender, at: datetime, look_at: datetime | None = None
    ) -> None:
        """Write the row as the fold is now; the clock looks at it when it is due, or then."""
        order = self.order
        moved = order.settlements[0].provider_ref if order.settlements else ""
        self.row |= {
            "state": order.state.value, "provider": order.provider,
            "amount_minor": order.amount_minor, "splits": [list(each) for each in order.splits],
            "reference": moved or self.row["reference"],
            "ended_at": None if order.is_open else self.row["ended_at"] or at,
            "next_at": look_at or next_check(order, provider_terms(lender, order.provider), at),
        }  # fmt: skip
        changes.put("orders", **self.row)


def next_check(order: PaymentOrder, terms: ProviderTerms, now: datetime) -> datetime | None:
    """The moment at which the clock has to look at an order again; none if never."""
    if order.state is OrderState.CREATED:
        return order.created_at
    if not order.is_open and not holds_funds(order, terms, now):
        return None
    assert order.sent_at is not None, "an order that was not sent has ended or is created"
    due = order.sent_at + terms.answer_within
    if order.asked_at is not None:
        due = max(due, order.asked_at + terms.ask_every)
    if order.is_open:
        return min(due, order.expires_at)
    return order.sent_at + terms.finality


def new_order(
    lender: Lender, order_id: int, *, kind: Purpose, reference: str, provider: int,
    amount_minor: int, at: datetime, settles_on: date, user_id: int = 0, party: int = 0,
    loan_id: int = 0, account_id: int = 0, splits: tuple[Split, ...] = (),
) -> OrderRecord:  # fmt: skip
    """An order that was just made."""
    row = {
        "order_id": order_id, "user_id": user_id, "loan_id": loan_id, "kind": kind.value,
        "provider": provider, "amount_minor": amount_minor, "currency": int(lender.currency),
        "account_id": account_id, "state": OrderState.CREATED.value, "made_at": at,
        "settles_on": settles_on, "ended_at": None, "reference": "", "own_reference": reference,
        "party": party, "splits": [list(each) for each in splits],
        "expires_at": expiry(lender, provider, at), "next_at": at,
    }  # fmt: skip
    return OrderRecord(row, _order(row))


def _order(row: Mapping[str, Any]) -> PaymentOrder:
    return PaymentOrder(
        order_id=row["order_id"], purpose=Purpose(row["kind"]), reference=row["own_reference"],
        provider=row["provider"], party=row["user_id"] or row["party"],
        currency=Currency(row["currency"]).name, amount_minor=row["amount_minor"],
        created_at=row["made_at"], expires_at=row["expires_at"],
        splits=tuple(Split(*each) for each in row["splits"]),
    )  # fmt: skip


async def load_orders(
    transaction: asyncpg.Connection, where: str, *given: Any
) -> list[OrderRecord]:
    """Orders with their events, by id; `where` is one of the constants of this module."""
    rows = await transaction.fetch(_SELECT[where], *given)
    numbers = [row["order_id"] for row in rows]
    found: dict[int, list[OrderEvent]] = {number: [] for number in numbers}
    for each in await transaction.fetch(
        "select * from usance.order_events where order_id = any($1) order by order_id, no", numbers
    ):
        found[each["order_id"]].append(OrderEvent(
            EventKind(each["kind"]), each["at"], each["source"], each["amount_minor"],
            each["provider_ref"], each["moved_on"], each["provider"],
        ))  # fmt: skip
    records = []
    for each in rows:
        row = {**dict(each), "splits": parse_json(each["splits"])}
        events = found[row["order_id"]]
        records.append(OrderRecord(row, fold(_order(row), events), len(events)))
    return records


BY_ID, BY_REFERENCE, OPEN_OF_USER, MOVED_ON = "by_id", "by_reference", "open_of_user", "moved_on"
_SELECT = {
    BY_ID: "select * from usance.orders where order_id = $1",
    BY_REFERENCE: "select * from usance.orders where own_reference = any($1) order by order_id",
    OPEN_OF_USER: "select * from usance.orders where user_id = $1 and kind = $2"
    " and state in ('created', 'sending', 'accepted') order by order_id",
    MOVED_ON: "select * from usance.orders where provider = $1 and order_id in"
    " (select order_id from usance.order_events where kind in ('settled', 'returned')"
    " and moved_on between $2 and $3) order by order_id",
}


async def load_order(transaction: asyncpg.Connection, order_id: int) -> OrderRecord:
    """One order."""
    found = await load_orders(transaction, BY_ID, order_id)
    if not found:
        raise not_found("or", order_id)
    return found[0]
