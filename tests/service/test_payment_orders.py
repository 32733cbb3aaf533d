"""Payment orders against a model that looks at the whole history, and against a bad provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.base.codes import FactKind
from usance.service.errors import OrderRefused
from usance.service.orders.next_step import ProviderTerms, Step, holds_funds, next_step
from usance.service.orders.order_facts import order_facts, payment_ref
from usance.service.orders.payment_order import (
    EventKind,
    Movement,
    OrderBreakKind,
    OrderEvent,
    OrderState,
    PaymentOrder,
    Purpose,
    Split,
    fold,
    order_breaks,
)

START = datetime(2024, 7, 1, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = date(2024, 7, 1)
TERMS = ProviderTerms(HOUR, HOUR, 6 * HOUR)
K = EventKind


def order_of(purpose: Purpose = Purpose.PAYOUT, amount: int = 1_000, days: int = 2) -> PaymentOrder:
    return PaymentOrder(
        order_id=1, purpose=purpose, reference="OR1", provider=2, party=1, currency="CNY",
        amount_minor=amount, created_at=START, expires_at=START + timedelta(days=days),
        splits=(Split(16385, amount),),
    )  # fmt: skip


def event(kind: EventKind, hour: int = 0, amount: int = 1_000, ref: str = "T1") -> OrderEvent:
    moved = kind in (K.SETTLED, K.RETURNED)
    return OrderEvent(
        kind, START + hour * HOUR, f"document {kind.value}", amount if moved else 0,
        ref if moved else "", DAY if moved else None,
    )  # fmt: skip


SAID = (K.NOT_FOUND, K.ACCEPTED, K.SETTLED, K.REJECTED, K.RETURNED)
OURS = (K.SENT, K.SENT_AGAIN, K.ASKED, K.EXPIRED, K.CANCELLED, K.TAKEN_OVER)


class Model:
    """A clerk with the whole history on paper, who knows the rules as sentences."""

    def __init__(self) -> None:
        self.history: list[OrderEvent] = []

    def has(self, *kinds: EventKind) -> bool:
        return any(each.kind in kinds for each in self.history)

    @property
    def state(self) -> OrderState:
        ends = {
            K.RETURNED: OrderState.RETURNED, K.SETTLED: OrderState.SETTLED,
            K.REJECTED: OrderState.REJECTED, K.CANCELLED: OrderState.CANCELLED,
            K.EXPIRED: OrderState.EXPIRED, K.ACCEPTED: OrderState.ACCEPTED,
            K.SENT: OrderState.SENDING,
        }  # fmt: skip
        return next((state for kind, state in ends.items() if self.has(kind)), OrderState.CREATED)

    def allows(self, kind: EventKind) -> bool:
        untouched = not self.has(*SAID[1:], K.SENT, K.EXPIRED, K.CANCELLED)
        ended = self.has(K.SETTLED, K.REJECTED, K.RETURNED, K.EXPIRED, K.CANCELLED)
        return {
            K.SENT: untouched, K.CANCELLED: untouched, K.TAKEN_OVER: untouched,
            K.SENT_AGAIN: self.has(K.SENT) and not ended and not self.has(K.ACCEPTED),
            K.EXPIRED: not ended, K.ASKED: self.has(K.SENT),
        }.get(kind, True)  # fmt: skip


events = st.builds(
    event, st.sampled_from([*SAID, *OURS]), st.integers(0, 72), st.sampled_from([1_000, 900]),
    st.sampled_from(["T1", "T2"]),
)  # fmt: skip


@given(st.lists(events, max_size=12))
def test_every_history_ends_in_the_state_a_clerk_would_write(history: list[OrderEvent]) -> None:
    order, model = order_of(), Model()
    for each in history:
        if model.allows(each.kind):
            order = order.after(each)
            model.history.append(each)
            assert each.kind in OURS or order.after(each) == order
        else:
            with pytest.raises(OrderRefused):
                order.after(each)
        assert order.state is model.state
    assert fold(order_of(), model.history) == order  # a restart reads the log and knows as much


@given(st.lists(events.filter(lambda each: each.kind in SAID), max_size=6), st.data())
def test_the_order_of_arrival_of_what_a_provider_says_does_not_matter(
    said: list[OrderEvent], data: st.DataObject
) -> None:
    # Two messages about one movement agree on it.
    said = [
        each._replace(amount_minor=900 if each.provider_ref == "T2" else 1_000) for each in said
    ]
    sent = order_of().after(event(K.SENT))
    shuffled = data.draw(st.permutations(said))
    one, other = fold(sent, said), fold(sent, shuffled + said)
    assert one == other
    assert list(order_breaks(one)) == list(order_breaks(other))


@pytest.mark.parametrize("kind", [K.CANCELLED, K.TAKEN_OVER, K.SENT])
@pytest.mark.parametrize("said", [None, *SAID[1:]])
def test_nothing_is_cancelled_or_taken_over_once_it_is_sent(
    kind: EventKind, said: EventKind | None
) -> None:
    order = order_of().after(event(K.SENT))
    if said:
        order = order.after(event(said))
    with pytest.raises(OrderRefused):
        order.after(event(kind))


def test_settled_after_expired_is_accepted_and_opens_a_break() -> None:
    order = fold(order_of(), [event(K.SENT), event(K.EXPIRED, 48), event(K.SETTLED, 50)])
    assert order.state is OrderState.SETTLED
    assert [each.kind for each in order_breaks(order)] == [OrderBreakKind.SETTLED_AFTER_EXPIRED]
    assert [each.loan_id for each in order_facts(order).facts] == [16385]


@pytest.mark.parametrize("kind", [K.REJECTED, K.EXPIRED])
def test_what_an_order_holds_is_free_only_after_finality(kind: EventKind) -> None:
    order = fold(order_of(), [event(K.SENT, 1), event(kind, 2)])
    assert [holds_funds(order, TERMS, START + hour * HOUR) for hour in (3, 6, 7)] == [
        True, True, False,
    ]  # fmt: skip
    unsent = order_of().after(event(K.EXPIRED, 48))
    assert not holds_funds(unsent, TERMS, START + 48 * HOUR)


def test_two_movements_for_one_order_are_found() -> None:
    order = fold(
        order_of(Purpose.DEBIT), [event(K.SENT), event(K.SETTLED), event(K.SETTLED, ref="T2")]
    )
    assert [each.kind for each in order_breaks(order)] == [OrderBreakKind.PAID_TWICE]
    moved = order_facts(order)
    assert sum(each.fact.amount_minor for each in moved.facts) == 1_000
    assert moved.unallocated == [Movement("T2", 1_000, DAY)]


def test_a_payout_that_comes_back_rescinds_the_loan_unless_it_was_paid() -> None:
    order = fold(order_of(), [event(K.SENT), event(K.SETTLED), event(K.RETURNED, 24)])
    kinds = [each.fact.kind for each in order_facts(order).facts]
    assert kinds == [FactKind.DISBURSED, FactKind.REVERSED]
    assert order_facts(order).facts[1].fact.arg == payment_ref(2, "OR1")
    paid = order_facts(order, paid_loans={16385})
    assert [each.fact.kind for each in paid.facts] == [FactKind.DISBURSED]
    assert paid.unallocated == list(order.returns)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=4), st.integers(1, 3_000), st.booleans())
def test_no_money_is_lost_or_made_between_order_and_facts(
    parts: list[int], settled: int, comes_back: bool
) -> None:
    splits = tuple(Split(16385 + n, part) for n, part in enumerate(parts))
    order = PaymentOrder(
        order_id=1, purpose=Purpose.DEBIT, reference="OR1", provider=2, party=1, currency="CNY",
        amount_minor=sum(parts), created_at=START, expires_at=START + HOUR, splits=splits,
    )  # fmt: skip
    order = fold(order, [event(K.SENT), event(K.SETTLED, amount=settled)])
    if comes_back:
        order = order.after(event(K.RETURNED, amount=settled))
    moved = order_facts(order)
    gone = {each.fact.arg for each in moved.facts if each.fact.kind is FactKind.REVERSED}
    held = sum(each.fact.amount_minor for each in moved.facts if each.fact.ref not in gone)
    rest = sum(each.amount_minor for each in moved.unallocated)
    assert held + rest == (settled - min(settled, sum(parts)) if comes_back else settled)


@dataclass
class BadProvider:
    """Pays a reference once at most, and loses, delays and doubles everything else."""

    paid: dict[str, int] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    pending: list[tuple[datetime, OrderEvent]] = field(default_factory=list)

    def receive(self, order: PaymentOrder, now: datetime, fate: str, delay: timedelta) -> None:
        if fate == "lost" or order.reference in self.paid or order.reference in self.rejected:
            return
        if fate == "rejects":
            self.rejected.add(order.reference)
            kind = K.REJECTED
        else:
            self.paid[order.reference] = order.amount_minor
            kind = K.SETTLED
        said = OrderEvent(
            kind, now + delay, "notice", order.amount_minor, f"T-{order.reference}", DAY
        )
        self.pending += [(now + delay, said)] * (2 if fate == "doubles" else 1)
        if fate == "silent":
            self.pending.clear()

    def status(self, order: PaymentOrder, now: datetime) -> OrderEvent:
        if order.reference in self.paid:
            amount = self.paid[order.reference]
            return OrderEvent(K.SETTLED, now, "status", amount, f"T-{order.reference}", DAY)
        kind = K.REJECTED if order.reference in self.rejected else K.NOT_FOUND
        return OrderEvent(kind, now, "status")


FATES = st.sampled_from(["lost", "pays", "doubles", "silent", "rejects"])


@settings(max_examples=150)
@given(st.data())
def test_through_a_provider_that_loses_and_doubles_an_order_is_paid_once_at_most(
    data: st.DataObject,
) -> None:
    """Two days by the hour; we may die before or after any step and begin again from the log."""
    first, log, provider = order_of(days=1), list[OrderEvent](), BadProvider()
    for hour in range(48):
        now = START + hour * HOUR
        order = fold(first, log)  # what a worker that has just started knows
        for due, said in [each for each in provider.pending if each[0] <= now]:
            provider.pending.remove((due, said))
            log.append(said)
            order = order.after(said)
        step = next_step(order, TERMS, now)
        if step in (Step.SEND, Step.SEND_AGAIN):
            kind = K.SENT if step is Step.SEND else K.SENT_AGAIN
            log.append(OrderEvent(kind, now, "worker"))
            if not data.draw(st.booleans(), "dies before the wire"):
                delay = data.draw(st.integers(0, 30)) * HOUR
                provider.receive(order, now, data.draw(FATES), delay)
        elif step is Step.ASK:
            log.append(OrderEvent(K.ASKED, now, "worker"))
            if not data.draw(st.booleans(), "the answer is lost"):
                log.append(provider.status(order, now))
        elif step is Step.EXPIRE:
            log.append(OrderEvent(K.EXPIRED, now, "clock"))
    # Two days later the provider's file tells what happened; then all agree.
    order = fold(first, [*log, provider.status(first, START + 48 * HOUR)])
    moved = sum(each.fact.amount_minor for each in order_facts(order).facts)
    assert moved == provider.paid.get("OR1", 0) <= 1_000
    assert len(order.settlements) <= 1
    assert next_step(order, TERMS, START + 72 * HOUR) is Step.NONE
    late = order.expired_at is not None and "OR1" in provider.paid
    found = {each.kind for each in order_breaks(order)}
    assert found == ({OrderBreakKind.SETTLED_AFTER_EXPIRED} if late else set())


def test_an_order_that_the_provider_does_not_know_is_not_sent_again_before_finality() -> None:
    order = order_of().after(event(K.SENT)).after(event(K.NOT_FOUND, 5))
    assert next_step(order, TERMS, START + 6 * HOUR) is Step.ASK
    later = order.after(event(K.ASKED, 6)).after(event(K.NOT_FOUND, 6))
    assert next_step(later, TERMS, START + 6 * HOUR) is Step.SEND_AGAIN
    again = later.after(event(K.SENT_AGAIN, 6))
    assert (again.sends, again.reference) == (2, "OR1")
    assert next_step(again, TERMS, START + 7 * HOUR) is Step.ASK  # the old answer counts no more
