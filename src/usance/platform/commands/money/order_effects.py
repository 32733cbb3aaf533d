"""Effects of a payment order on loans: what moved is booked, what came back is undone."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind
from usance.base.documents import parse_json
from usance.platform.commands.command import Moment
from usance.platform.commands.lending.drawdowns import load_placement
from usance.platform.commands.lending.placement import Placement, complete, disburse, fail, release
from usance.platform.commands.loans.loan_change import book_facts, fact
from usance.platform.commands.loans.payment_booking import allocated, pay
from usance.platform.commands.loans.payments import reference_of, reversal
from usance.platform.commands.money.breaks import Raised, raise_breaks
from usance.platform.records.loan_record import load_loan, load_loans
from usance.platform.records.order_record import OrderRecord, provider_terms
from usance.platform.records.user_record import UserRecord, load_user
from usance.platform.store.write_set import WriteSet
from usance.service.orders.next_step import holds_funds
from usance.service.orders.payment_order import (
    Movement,
    OrderBreakKind,
    OrderState,
    PaymentOrder,
    Purpose,
    order_breaks,
)

if TYPE_CHECKING:
    import asyncpg

COMMAND = "order.note"
_FAILED = (OrderState.REJECTED, OrderState.EXPIRED, OrderState.CANCELLED)
_OWNERS = {OrderBreakKind.PAID_TWICE: ("operations", "refund.propose")}
_ANY_OWNER = ("operations", "order.ask")


class Effects:
    """One order on its way through a command: its user, its drawdown, and all that is written."""

    def __init__(self, moment: Moment, record: OrderRecord) -> None:
        self.moment, self.record, self.before = moment, record, record.order
        self.changes = WriteSet()
        self.user: UserRecord | None = None
        self.placement: Placement | None = None
        self.event, self.is_blocked = "", False
        self.look_at: datetime | None = None
        """The moment to look again, where that is not the order's own."""

    async def open(self, transaction: asyncpg.Connection) -> None:
        """Read what the order is for."""
        if self.record.order.purpose is Purpose.PAYOUT:
            self.placement = await load_placement(
                transaction, self.moment, self.record.row["loan_id"]
            )
            complete(self.moment, self.placement)
            self.user, self.changes = self.placement.user, self.placement.changes
        elif self.record.row["user_id"]:
            self.user = await load_user(transaction, self.record.row["user_id"])

    async def apply(self, transaction: asyncpg.Connection) -> None:
        """Book what the new events amount to, and save everything."""
        after = self.record.order
        if self.placement is not None:
            await self._payout(transaction, self.placement, after)
        elif after.purpose is Purpose.DEBIT:
            await self._debit(transaction, after)
        elif after.purpose is Purpose.REFUND:
            await self._refund(transaction, after)
        for moved in after.settlements[max(1, len(self.before.settlements)) :]:
            await self._keep(transaction, after, moved)
        await self._breaks(transaction, after)
        self.record.save(self.changes, self.moment.lender, self.moment.at, self.look_at)
        if self.placement is not None:
            self.placement.save()
        elif self.user is not None:
            self.changes.user_changes.append(self.user.change())

    async def _payout(
        self, transaction: asyncpg.Connection, placement: Placement, after: PaymentOrder
    ) -> None:
        """The loan begins with the first settlement, and is undone if the whole comes back."""
        state = placement.row["state"]
        if after.settlements and state in ("approved", "payout_failed"):
            placement.is_paid_out = True
            disburse([(self.moment, placement)])
            self.event = "loan.disbursed"
        elif after.returns and state == "active":
            if after.returned_minor == after.settlements[0].amount_minor:
                await self._rescind(transaction, placement, after)
        elif after.state in _FAILED and state == "approved" and self.is_final(after):
            fail(placement, placement.row["attempt"])
            self.event = "drawdown.payout_failed"

    def is_final(self, order: PaymentOrder) -> bool:
        """True once nothing can move any more."""
        terms = provider_terms(self.moment.lender, order.provider)
        return not holds_funds(order, terms, self.moment.at)

    async def _rescind(
        self, transaction: asyncpg.Connection, placement: Placement, after: PaymentOrder
    ) -> None:
        loan = await load_loan(transaction, placement.loan_id)
        if any(each.kind is FactKind.PAID and not loan.is_gone(each.ref) for each in loan.facts):
            for moved in after.returns:  # paid loans are not undone: a person refunds or allocates
                await self._keep(transaction, after, moved)
            return
        disbursed = next(each for each in loan.facts if each.kind is FactKind.DISBURSED)
        day = min(max(each.on for each in after.returns), self.moment.business_date)
        loan.added.append(
            reversal(self.moment, placement.user, loan, disbursed.ref,
                     max(day, disbursed.effective_on))
        )  # fmt: skip
        book_facts(self.moment, placement.user, loan, self.changes, COMMAND)
        release(placement, was="approved")
        placement.row["state"] = "rescinded"
        self.event = "loan.rescinded"

    async def _debit(self, transaction: asyncpg.Connection, after: PaymentOrder) -> None:
        assert self.user is not None, "a debit has a borrower"
        if after.settlements and not self.before.settlements:
            await self._book_payment(transaction, self.user, after)
        first = after.settlements[:1]
        is_new = bool(after.returns) and not self.before.returns
        if first and is_new and after.returned_minor == first[0].amount_minor:
            await self._reverse_payment(transaction, self.user, after)

    async def _book_payment(
        self, transaction: asyncpg.Connection, user: UserRecord, after: PaymentOrder
    ) -> None:
        """Pay the loans of the split in turn; what none takes is left over."""
        moment, moved = self.moment, after.settlements[0]
        ref = reference_of(moment, after.provider, after.reference)
        left, allocation, facts = moved.amount_minor, list[Any](), list[dict[str, Any]]()
        number = user.next("records")
        found = await load_loans(transaction, [split.loan_id for split in after.splits])
        loans = {each.loan_id: each for each in found}
        for split in after.splits:
            loan = loans[split.loan_id]
            day = max(min(moved.on, moment.business_date), loan.first["disbursed_on"])
            part = min(left, split.amount_minor)
            taken = pay(moment, loan, day, part, ref, after.provider) if part else 0
            if taken:
                allocation += allocated(loan, moment.business_date)
                facts.append({"loan": loan.loan_id, "ref": str(ref)})
                book_facts(moment, user, loan, self.changes, COMMAND)
                left -= taken
        self.changes.payments.append((
            number, after.provider, after.reference,
            after.splits[0].loan_id if len(after.splits) == 1 else 0, moved.amount_minor,
            int(moment.lender.currency), min(moved.on, moment.business_date), moment.at, ref, left,
            sha256(after.reference.encode()).digest(), user.user_id, json.dumps(allocation),
            json.dumps(facts),
        ))  # fmt: skip
        self.event = "payment.booked"

    async def _reverse_payment(
        self, transaction: asyncpg.Connection, user: UserRecord, after: PaymentOrder
    ) -> None:
        row = await transaction.fetchrow(
            "select p.* from usance.payments p left join usance.payment_reversals r"
            " using (payment_id) where p.provider = $1 and p.reference = $2"
            " and r.payment_id is null", after.provider, after.reference,
        )  # fmt: skip
        if row is None:  # somebody has reversed it by hand
            return
        targets = {each["loan"]: int(each["ref"]) for each in parse_json(row["facts"])}
        on = min(max(each.on for each in after.returns), self.moment.business_date)
        for loan in await load_loans(transaction, targets):
            day = max(on, loan.first["disbursed_on"])
            loan.added.append(reversal(self.moment, user, loan, targets[loan.loan_id], day))
            book_facts(self.moment, user, loan, self.changes, COMMAND)
        self.changes.put(
            "payment_reversals", payment_id=row["payment_id"], user_id=user.user_id,
            effective_on=on, booked_at=self.moment.at, reason="returned",
        )  # fmt: skip
        self.event = "payment.reversed"

    async def _refund(self, transaction: asyncpg.Connection, after: PaymentOrder) -> None:
        if not after.settlements or self.before.settlements or not after.splits:
            return
        assert self.user is not None, "a refund with a loan has a borrower"
        [split] = after.splits
        loan = await load_loan(transaction, split.loan_id)
        day = min(after.settlements[0].on, self.moment.business_date)
        ref = reference_of(self.moment, after.provider, f"refund/{after.reference}")
        amount = min(split.amount_minor, after.settlements[0].amount_minor)
        loan.added.append(fact(self.moment, FactKind.REFUNDED, day, amount, ref, after.provider))
        book_facts(self.moment, self.user, loan, self.changes, COMMAND)
        self.event = "payment.refunded"

    async def _keep(
        self, transaction: asyncpg.Connection, order: PaymentOrder, moved: Movement
    ) -> None:
        """Money that came in beyond the order waits for a person."""
        if order.purpose is Purpose.DEBIT or moved in order.returns:
            number = await transaction.fetchval("select usance.next_ids('unallocated', 1)")
            self.changes.put(
                "unallocated", unallocated_id=number, user_id=0, provider=order.provider,
                reference=f"{order.reference}/{moved.provider_ref}", received_on=moved.on,
                amount_minor=moved.amount_minor, used_minor=0,
                currency=int(self.moment.lender.currency), party=b"", owner="operations",
                booked_at=self.moment.at,
            )  # fmt: skip

    async def _breaks(self, transaction: asyncpg.Connection, after: PaymentOrder) -> None:
        day = self.moment.business_date
        raised = []
        for found in order_breaks(after):
            owner, command = _OWNERS.get(found.kind, _ANY_OWNER)
            moved = after.settlements or after.returns
            raised.append(Raised(
                after.provider, "order", found.kind.value, after.reference, found.amount_minor,
                found.amount_minor, moved[-1].on if moved else day, owner, command,
            ))  # fmt: skip
        await raise_breaks(transaction, self.moment, raised, self.changes)
