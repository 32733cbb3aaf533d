"""The sandbox's own provider: it answers at once, by the last two digits of the amount.

>>> from datetime import UTC
>>> from usance.service.orders.payment_order import Purpose
>>> nine = datetime(2024, 7, 5, 9, tzinfo=UTC)
>>> def order(amount_minor: int) -> PaymentOrder:
...     return PaymentOrder(
...         order_id=1, purpose=Purpose.PAYOUT, reference="OR1", provider=1, party=1,
...         currency="CNY", amount_minor=amount_minor, created_at=nine, expires_at=nine,
...     )
>>> friday = InstantProvider(nine, date(2024, 7, 5), date(2024, 7, 5), 13, 17)
>>> [friday.send(order(amount)).kind.value for amount in (5_00, 5_13, 5_17)]
['settled', 'rejected', 'accepted']
>>> monday = InstantProvider(nine, date(2024, 7, 8), date(2024, 7, 5), 13, 17)
>>> monday.status(order(5_17)).kind.value
'settled'
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from usance.service.orders.payment_order import EventKind, OrderEvent, PaymentOrder
from usance.service.orders.provider_port import Notice

SOURCE = "instant port"
_SATURDAY = 5


@dataclass(frozen=True)
class InstantProvider:
    """A provider without memory: its word follows from the order and the day."""

    at: datetime
    today: date
    made_on: date
    """The business day of the order it is asked about."""
    rejected_ending: int
    next_day_ending: int

    def send(self, order: PaymentOrder) -> OrderEvent:
        """The answer at once."""
        ending, moves_on = order.amount_minor % 100, self.made_on
        if ending == self.rejected_ending:
            return OrderEvent(EventKind.REJECTED, self.at, SOURCE)
        if ending == self.next_day_ending:
            moves_on = next_business_day(self.made_on)
        if self.today < moves_on:
            return OrderEvent(EventKind.ACCEPTED, self.at, SOURCE)
        return OrderEvent(
            EventKind.SETTLED, self.at, SOURCE, order.amount_minor, order.reference, moves_on
        )

    def status(self, order: PaymentOrder) -> OrderEvent:
        """The same as sending it again: the day of the order counts, not that of the question."""
        return self.send(order)

    def notices(self) -> Iterable[Notice]:
        """None: everything was answered."""
        return ()

    def file(self, _day: date) -> str:
        """None: it keeps no book."""
        return ""


def next_business_day(day: date) -> date:
    """The next day that is no Saturday or Sunday.

    >>> next_business_day(date(2024, 7, 5))
    datetime.date(2024, 7, 8)
    """
    later = day + timedelta(days=1)
    while later.weekday() >= _SATURDAY:
        later += timedelta(days=1)
    return later
