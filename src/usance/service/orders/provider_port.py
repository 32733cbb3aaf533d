"""Providers as a port of four verbs, and what their files say as events of our orders.

>>> from datetime import UTC
>>> nine = datetime(2024, 7, 1, 9, tzinfo=UTC)
>>> order = PaymentOrder(
...     order_id=1, purpose=Purpose.DEBIT, reference="OR1", provider=2, party=1, currency="CNY",
...     amount_minor=900_00, created_at=nine, expires_at=nine, sends=1, sent_at=nine,
... )
>>> lines = [
...     FileLine(2, "OR1", 900_00, "CNY", date(2024, 7, 1), bank_ref="T1"),
...     FileLine(3, "OR1", -900_00, "CNY", date(2024, 7, 3), bank_ref="T2"),
...     FileLine(4, "", 75_00, "CNY", date(2024, 7, 1), bank_ref="T3", text="thanks"),
... ]
>>> read = evidence(lines, {"OR1": order}, provider=2, source="p2-0703.csv", at=nine)
>>> [(each.kind.value, each.provider_ref) for each in read.events["OR1"]]
[('settled', 'T1'), ('returned', 'T2')]
>>> [(each.key, each.amount_minor) for each in read.unallocated], read.unknown
([('2/T3', 7500)], [])
"""  # fmt: skip

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import NamedTuple, Protocol

from usance.service.bank_files.statement import FileLine
from usance.service.orders.payment_order import EventKind, OrderEvent, PaymentOrder, Purpose
from usance.service.orders.unallocated import UnallocatedCash


class Notice(NamedTuple):
    """Something a provider says without being asked."""

    reference: str
    event: OrderEvent


class Provider(Protocol):
    """A payment provider or bank; each answer may be lost, late, doubled or out of order."""

    def send(self, order: PaymentOrder) -> OrderEvent | None:
        """Hand over an order that is booked as sent; its answer, if there is one."""

    def status(self, order: PaymentOrder) -> OrderEvent | None:
        """The provider's word about an order, `NOT_FOUND` if it knows none; none in an outage."""

    def notices(self) -> Iterable[Notice]:
        """Notices that have come since the last call."""

    def file(self, day: date) -> str:
        """The file of a day in the provider's layout; empty in an outage."""


class Evidence(NamedTuple):
    """Lines of a file as events by our reference, as unallocated cash, or as neither."""

    events: dict[str, list[OrderEvent]]
    unallocated: list[UnallocatedCash]
    unknown: list[FileLine]
    """Money that left for no order of ours, or in another currency: breaks for people."""


def movement_number(line: FileLine) -> str:
    """The provider's own number of a movement; where it gives none, what tells it from others."""
    return line.bank_ref or f"{line.reference}/{line.booked_on}/{line.amount_minor}"


def evidence(
    lines: Iterable[FileLine], orders: Mapping[str, PaymentOrder], *, provider: int, source: str,
    at: datetime,
) -> Evidence:  # fmt: skip
    """Every line of a file, none left out.

    A line that moves money as its order wished settles it; one that moves it back is a return. The
    provider's own number tells movements apart; where it gives none, reference, day and amount do,
    so that the same line of a notice and of a file is one movement.
    """
    events = defaultdict[str, list[OrderEvent]](list)
    unallocated: list[UnallocatedCash] = []
    unknown: list[FileLine] = []
    for line in lines:
        order = orders.get(line.reference)
        number = movement_number(line)
        if order is not None and line.currency == order.currency and line.amount_minor:
            comes_in = order.purpose is Purpose.DEBIT
            forward = (line.amount_minor > 0) == comes_in
            kind = EventKind.SETTLED if forward else EventKind.RETURNED
            moved = abs(line.amount_minor)
            events[order.reference].append(
                OrderEvent(kind, at, source, moved, number, line.booked_on)
            )
        elif order is None and line.amount_minor > 0:
            unallocated.append(UnallocatedCash(
                f"{provider}/{number}", line.booked_on, line.amount_minor, line.currency,
                reference=line.reference, account=line.account,
            ))  # fmt: skip
        else:
            unknown.append(line)
    return Evidence(dict(events), unallocated, unknown)
