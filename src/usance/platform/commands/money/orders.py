"""Payment orders by command: the clock's next step, a provider's word, and a person's cancel.

`order.step` books what is about to be done before anything goes on the wire; `order.note` takes
what a provider says, whenever and however often it says it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.collections.cases import stops_debits
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.money.order_effects import Effects
from usance.platform.commands.people.screening import BLOCKED, HELD, compare_known
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.lending.drawdowns import drawdown_answer
from usance.platform.reads.money.orders import order_answer
from usance.platform.records.loan_record import load_loans
from usance.platform.records.order_record import BY_REFERENCE, OrderRecord, load_order, load_orders
from usance.platform.records.order_record import provider_terms as terms_of
from usance.platform.records.user_record import not_found, read_id
from usance.platform.refusals import WrongState
from usance.service.errors import OrderRefused
from usance.service.orders.debit_run import capped
from usance.service.orders.next_step import Step, next_step
from usance.service.orders.payment_order import EventKind, OrderEvent, OrderState, Purpose

if TYPE_CHECKING:
    import asyncpg

HELD_FOR = timedelta(days=1)
"""A held payout is looked at again after a day, or when its hit is decided."""
EVIDENCE = ("accepted", "settled", "rejected", "returned", "not_found")
_STEPS = {
    Step.SEND: EventKind.SENT, Step.SEND_AGAIN: EventKind.SENT_AGAIN, Step.ASK: EventKind.ASKED,
    Step.EXPIRE: EventKind.EXPIRED,
}  # fmt: skip


@dataclass(frozen=True)
class StepOrder:
    """The clock looks at an order: what is due is booked, then done."""

    order: str


@dataclass(frozen=True)
class NoteOrder:
    """A provider's word about an order, with the document that it stands in."""

    order: str
    kind: str
    source: str
    amount_minor: int = 0
    provider_ref: str = ""
    moved_on: date | None = None


@dataclass(frozen=True)
class CancelOrder:
    """An order that was not sent is given up."""

    order: str
    reason: str = ""


@dataclass(frozen=True)
class AskOrder:
    """A provider is asked about an order after a restore.

    One that was not sent counts as sent: whether it was, only the provider knows.
    """

    order: str


@dataclass(frozen=True)
class EndPayout:
    """A provider says that a payout has settled, or has failed for good."""

    order: str
    settled: bool
    reference: str = ""


async def step(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: StepOrder
) -> Decided:
    """Book the step that is due; its answer says what is to be done on the wire."""
    record = await load_order(transaction, read_id(command.order, "or", "order"))
    due = next_step(record.order, terms_of(moment.lender, record.order.provider), moment.at)
    effects = Effects(moment, record)
    await effects.open(transaction)
    if due is Step.SEND and await _is_held(transaction, moment, effects):
        due, effects.look_at = Step.NONE, moment.at + HELD_FOR
    elif due is Step.SEND and not await _is_wanted(transaction, moment, effects):
        due = Step.NONE
        _add(effects, OrderEvent(EventKind.CANCELLED, moment.at, "not wanted any more"))
    elif due in _STEPS:
        _add(effects, OrderEvent(_STEPS[due], moment.at, "clock"))
    await effects.apply(transaction)
    return _outcome(moment, effects, {"step": due.value})


async def ask(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: AskOrder
) -> Decided:
    """Book that an order is asked about; it is sent again only if its provider never had it."""
    record = await load_order(transaction, read_id(command.order, "or", "order"))
    effects, order = Effects(moment, record), record.order
    await effects.open(transaction)
    if order.sends or order.state is OrderState.CREATED:
        kind = EventKind.ASKED if order.sends else EventKind.SENT
        _add(effects, OrderEvent(kind, moment.at, "restore"))
        await effects.apply(transaction)
    return _outcome(moment, effects, {})


async def _is_held(transaction: asyncpg.Connection, moment: Moment, effects: Effects) -> bool:
    """Compare whom money goes to with the lists as they are now; a confirmed hit ends the order."""
    if effects.user is None or effects.record.order.purpose is Purpose.DEBIT:
        return False
    state = await compare_known(transaction, moment, effects.user, "payout", effects.changes)
    effects.is_blocked = state == BLOCKED
    return state == HELD


async def _is_wanted(
    transaction: asyncpg.Connection, moment: Moment, effects: Effects
) -> bool:  # fmt: skip
    """Look again at the moment of sending: never above what is owed, never against a stop."""
    order = effects.record.order
    if effects.is_blocked:
        return False
    if effects.placement is not None:
        return bool(effects.placement.row["state"] == "approved")
    if order.purpose is not Purpose.DEBIT:
        return True
    if await stops_debits(transaction, effects.record.row["user_id"]):
        return False
    loans = await load_loans(transaction, [each.loan_id for each in order.splits])
    owed = {loan.loan_id: loan.at(moment.business_date).view().past_due.total for loan in loans}
    less = capped(order, owed)
    if less is None:
        return False
    effects.record.cap(less)
    return True


async def note(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: NoteOrder
) -> Decided:
    """Take a provider's word: known already, it changes nothing; new, it is booked with effect."""
    if command.kind not in EVIDENCE:
        fix = f"Give {', '.join(EVIDENCE)}"
        raise InvalidField("is no word of a provider", where="body.kind", fix=fix)
    await act_as_platform(transaction)
    record = await _find(transaction, command.order)
    if principal.kind is PrincipalKind.PROVIDER and record.order.provider != principal.party:
        raise not_found("or", record.order_id)
    event = OrderEvent(
        EventKind(command.kind), moment.at, command.source, command.amount_minor,
        command.provider_ref, command.moved_on,
    )  # fmt: skip
    return await take(transaction, moment, record, [event])


async def take(
    transaction: asyncpg.Connection, moment: Moment, record: OrderRecord, events: list[OrderEvent]
) -> Decided:
    """Add events to an order and book what they amount to."""
    effects = Effects(moment, record)
    await effects.open(transaction)
    added = [_add(effects, each) for each in events]
    if any(added):
        await effects.apply(transaction)
    return _outcome(moment, effects, {}, is_new=any(added))


async def cancel(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: CancelOrder
) -> Decided:
    """Give up an order before it is sent."""
    await act_as_platform(transaction)
    record = await load_order(transaction, read_id(command.order, "or", "order"))
    if record.order.state is OrderState.CANCELLED:
        return _outcome(moment, Effects(moment, record), {}, is_new=False)
    source = f"cancelled: {command.reason}" if command.reason else "cancelled"
    return await take(transaction, moment, record,
                      [OrderEvent(EventKind.CANCELLED, moment.at, source)])  # fmt: skip


async def end_payout(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: EndPayout
) -> Decided:
    """A payout that was sent ends: the loan begins, or its quota is given back at finality."""
    await act_as_platform(transaction)
    record = await load_order(transaction, read_id(command.order, "or", "order"))
    order = record.order
    if order.purpose is not Purpose.PAYOUT:
        raise WrongState(f"it is a {order.purpose.value}", where=command.order,
                         fix="Give the order of a payout")  # fmt: skip
    wanted = OrderState.SETTLED if command.settled else OrderState.REJECTED
    if not order.is_open and order.state is not wanted:
        raise WrongState(f"the order has {order.state.value}", where=command.order,
                         fix="An order ends once")  # fmt: skip
    reference = command.reference or order.reference
    event = OrderEvent(EventKind.REJECTED, moment.at, "payout.end")
    if command.settled:
        event = OrderEvent(EventKind.SETTLED, moment.at, "payout.end", order.amount_minor,
                           reference, moment.business_date)  # fmt: skip
    done = await take(transaction, moment, record, [] if order.state is wanted else [event])
    row = done.answer["drawdown"]
    return Decided(row, row["loan"], done.user_id, done.changes, done.is_new, DONE, done.event,
                   as_platform=True)  # fmt: skip


async def _find(transaction: asyncpg.Connection, given: str) -> OrderRecord:
    """An order by its id, or by our reference."""
    found = await load_orders(transaction, BY_REFERENCE, [given])
    if found:
        return found[0]
    return await load_order(transaction, read_id(given, "or", "order"))


def _add(effects: Effects, event: OrderEvent) -> bool:
    try:
        return effects.record.add(event, effects.changes)
    except OrderRefused as error:
        raise WrongState(error.what, where=error.where, fix=error.fix) from error


def _outcome(
    moment: Moment, effects: Effects, more: dict[str, Any], *, is_new: bool = True
) -> Decided:
    record = effects.record
    answer = {**order_answer(moment.lender, record.row), **more}
    if effects.placement is not None:
        answer["drawdown"] = drawdown_answer(moment.lender, effects.placement.row)
    return Decided(
        answer, print_id("or", record.order_id), record.row["user_id"], effects.changes, is_new,
        DONE, effects.event, as_platform=True,
    )  # fmt: skip
