"""Facts that follow from a payment order: money that moved, by loan, and money that found none.

>>> from datetime import UTC, date
>>> from usance.service.orders.payment_order import EventKind, OrderEvent, Split
>>> nine, day = datetime(2024, 7, 1, 9, tzinfo=UTC), date(2024, 7, 1)
>>> order = PaymentOrder(
...     order_id=1, purpose=Purpose.DEBIT, reference="OR1", provider=2, party=1, currency="CNY",
...     amount_minor=300, created_at=nine, expires_at=nine, splits=(Split(16385, 200),
...     Split(16386, 100)), sends=1, sent_at=nine,
... )
>>> paid = OrderEvent(EventKind.SETTLED, nine, "file p2-0701", 250, "T-88", day)
>>> moved = order_facts(order.after(paid))
>>> [(each.loan_id, each.fact.kind.label, each.fact.amount_minor) for each in moved.facts]
[(16385, 'paid', 200), (16386, 'paid', 50)]
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple

from usance.base.codes import FactKind
from usance.base.ids import fact_ref
from usance.loan.facts import START_OF_TIME, Fact
from usance.service.orders.payment_order import Movement, PaymentOrder, Purpose

_KINDS = {
    Purpose.PAYOUT: FactKind.DISBURSED,
    Purpose.DEBIT: FactKind.PAID,
    Purpose.REFUND: FactKind.REFUNDED,
}
"""Fact of a loan that a settled order states; other orders move no borrower's money."""


class LoanFact(NamedTuple):
    """A fact with its loan."""

    loan_id: int
    fact: Fact


class MovedMoney(NamedTuple):
    """Facts of loans, and movements that belong to no loan: unallocated until a person decides."""

    facts: list[LoanFact]
    unallocated: list[Movement]


def payment_ref(provider: int, reference: str) -> int:
    """Reference of the fact that a provider's payment states: provider and reference together."""
    return fact_ref(f"{provider}/{reference}")


def order_facts(
    order: PaymentOrder,
    *,
    paid_loans: Collection[int] = (),
    booked_at: datetime = START_OF_TIME,
) -> MovedMoney:
    """Facts of all that is known to have moved; the same again whenever it is asked.

    The first settlement states the facts, split as the order was; what exceeds the order, and every
    further settlement, is unallocated. A return of the whole takes them back by reversal. A return
    of a part, and a payout that came back for a loan in `paid_loans`, which has received payments
    and cannot be rescinded, is unallocated: a person refunds or allocates it.
    """
    kind = _KINDS.get(order.purpose)
    if kind is None or not order.settlements:
        return MovedMoney([], list(order.returns) if kind is not None else [])
    first, *others = order.settlements
    made = list(_settled(order, kind, first, booked_at))
    rest = first.amount_minor - sum(each.fact.amount_minor for each in made)
    unallocated = [Movement(first.provider_ref, rest, first.on)] if rest > 0 else []
    unallocated += others
    if not order.returns:
        return MovedMoney(made, unallocated)
    is_paid = order.purpose is Purpose.PAYOUT and any(each.loan_id in paid_loans for each in made)
    if is_paid or order.returned_minor != first.amount_minor:
        return MovedMoney(made, [*unallocated, *order.returns])
    ref = payment_ref(order.provider, f"{order.reference}/returned")
    day = max(each.on for each in order.returns)
    made += [
        LoanFact(loan_id, Fact(FactKind.REVERSED, day, 0, ref, fact.ref, booked_at))
        for loan_id, fact in made
    ]
    return MovedMoney(made, unallocated)


def _settled(
    order: PaymentOrder, kind: FactKind, moved: Movement, booked_at: datetime
) -> Iterator[LoanFact]:
    """One fact a loan, in the order of the split, until the money is used."""
    left = moved.amount_minor
    ref = payment_ref(order.provider, order.reference)
    for loan_id, amount_minor in order.splits:
        part = min(left, amount_minor)
        if part:
            provider = 0 if kind is FactKind.DISBURSED else order.provider
            yield LoanFact(loan_id, Fact(kind, moved.on, part, ref, provider, booked_at))
        left -= part
