"""Lines of files as evidence about orders: none is lost, and files may repeat what notices said."""

from __future__ import annotations

from datetime import UTC, date, datetime

from hypothesis import given
from hypothesis import strategies as st

from usance.service.bank_files.statement import FileLine
from usance.service.orders.order_facts import order_facts
from usance.service.orders.payment_order import (
    OrderState,
    PaymentOrder,
    Purpose,
    Split,
    fold,
    order_breaks,
)
from usance.service.orders.provider_port import evidence

NINE = datetime(2024, 7, 1, 9, tzinfo=UTC)
DAY = date(2024, 7, 1)
ORDERS = {
    f"OR{n}": PaymentOrder(
        order_id=n, purpose=purpose, reference=f"OR{n}", provider=2, party=1, currency="CNY",
        amount_minor=100, created_at=NINE, expires_at=NINE, sends=1, sent_at=NINE,
        splits=(Split(16385 + n, 100),),
    )
    for n, purpose in enumerate([Purpose.DEBIT, Purpose.PAYOUT, Purpose.REFUND])
}  # fmt: skip

lines = st.builds(
    FileLine, st.just(1), st.sampled_from([*ORDERS, "", "XX"]), st.integers(-120, 120),
    st.sampled_from(["CNY", "CNY", "CNY", "USD"]), st.just(DAY),
    bank_ref=st.sampled_from(["", "T1", "T2"]),
)  # fmt: skip


@given(st.lists(lines, max_size=8))
def test_every_line_is_an_event_unallocated_cash_or_unknown(given_lines: list[FileLine]) -> None:
    read = evidence(given_lines, ORDERS, provider=2, source="f", at=NINE)
    said = sum(len(each) for each in read.events.values())
    assert said + len(read.unallocated) + len(read.unknown) == len(given_lines)
    assert all(each.amount_minor > 0 for each in read.unallocated)
    for line in read.unknown:
        assert line.amount_minor <= 0 or line.currency != "CNY"
    for reference, events in read.events.items():
        fold(ORDERS[reference], events)  # evidence is never refused


@given(st.lists(lines, max_size=6))
def test_the_same_file_again_changes_nothing(given_lines: list[FileLine]) -> None:
    once = evidence(given_lines, ORDERS, provider=2, source="f", at=NINE)
    for reference, events in once.events.items():
        order = fold(ORDERS[reference], events)
        assert fold(order, events) == order


def test_directions_of_orders_decide_what_settles_and_what_returns() -> None:
    for reference, sign in (("OR0", 1), ("OR1", -1), ("OR2", -1)):
        line = FileLine(1, reference, sign * 100, "CNY", DAY, bank_ref="T1")
        back = line._replace(amount_minor=-sign * 100, bank_ref="T2")
        [settled] = evidence([line], ORDERS, provider=2, source="f", at=NINE).events[reference]
        order = ORDERS[reference].after(settled)
        assert order.state is OrderState.SETTLED
        [returned] = evidence([back], ORDERS, provider=2, source="g", at=NINE).events[reference]
        assert order.after(returned).state is OrderState.RETURNED
        assert not list(order_breaks(order.after(returned)))
        assert len(order_facts(order.after(returned)).facts) == 2
