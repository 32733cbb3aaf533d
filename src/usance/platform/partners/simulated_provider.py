"""The world's payment provider behind the port that real ones stand behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from usance.service.orders.payment_order import EventKind, OrderEvent, PaymentOrder, Purpose
from usance.service.orders.provider_port import Notice
from usance.world.payment_provider import PaymentProvider, ProviderReply


@dataclass
class SimulatedProvider:
    """A port to a simulated provider; its clock is that of who speaks with it."""

    provider: PaymentProvider
    at: datetime

    def send(self, order: PaymentOrder) -> OrderEvent | None:
        """Hand over an order."""
        comes_in = order.purpose is Purpose.DEBIT
        said = self.provider.send(order.reference, order.amount_minor, self.at, comes_in=comes_in)
        return self._event(said)

    def status(self, order: PaymentOrder) -> OrderEvent | None:
        """Ask about an order."""
        return self._event(self.provider.status(order.reference, self.at))

    def notices(self) -> Iterable[Notice]:
        """Everything it says by itself."""
        found = []
        for reply in self.provider.notices(self.at):
            event = self._event(reply)
            assert event is not None, "a notice says something"
            found.append(Notice(reply.reference, event))
        return found

    def file(self, day: date) -> str:
        """Its file of a day, in the layout `psp`."""
        return self.provider.file(day)

    def _event(self, reply: ProviderReply | None) -> OrderEvent | None:
        if reply is None:
            return None
        return OrderEvent(
            EventKind(reply.kind), self.at.astimezone(UTC), "simulated provider",
            reply.amount_minor, reply.provider_ref, reply.on,
        )  # fmt: skip
