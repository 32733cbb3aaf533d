"""Receipts of a borrower: what each loan gets, what goes back, and what waits for a person.

Money received is never refused for its size or because a loan is closed. What is due is covered
first, loan by loan from the longest overdue; the rest follows the borrower's choice.

>>> loans = [LoanDue(16385, date(2024, 6, 1), 900, 400, 5_000), LoanDue(16386, None, 0, 300, 300)]
>>> split_receipt(1_500, loans, OverpaymentChoice.NEXT_INSTALMENT)
ReceiptSplit(parts=(Split(loan_id=16385, amount_minor=1300), \
Split(loan_id=16386, amount_minor=200)), back_minor=0, unallocated_minor=0)
>>> split_receipt(1_500, loans, OverpaymentChoice.BACK)
ReceiptSplit(parts=(Split(loan_id=16385, amount_minor=900),), back_minor=600, unallocated_minor=0)
>>> split_receipt(9_000, loans, OverpaymentChoice.PRINCIPAL).unallocated_minor
3700
>>> refund_fact(loans[0].loan_id, 50, overpaid_minor=20, provider=2, reference="R1",
...             on=date(2024, 7, 1))
Traceback (most recent call last):
usance.service.errors.AllocationRefused: loan 16385: a refund of 50 where 20 is overpaid. \
Refund at most what was overpaid.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from enum import Enum
from typing import NamedTuple

from usance.base.codes import FactKind
from usance.loan.facts import Fact
from usance.service.errors import AllocationRefused
from usance.service.orders.order_facts import payment_ref
from usance.service.orders.payment_order import Split


class OverpaymentChoice(Enum):
    """The borrower's choice for money beyond what is due."""

    NEXT_INSTALMENT = "next_instalment"
    PRINCIPAL = "principal"
    """Towards settling the loans."""
    BACK = "back"


class LoanDue(NamedTuple):
    """A loan as a receipt meets it."""

    loan_id: int
    due_since: date | None
    due_minor: int
    """Unpaid of what has fallen due, with penalties."""
    next_minor: int
    settlement_minor: int
    """Closes the loan that day; what is due is part of it."""


class ReceiptSplit(NamedTuple):
    """Parts for loans, the part that is sent back, and the part that waits: all of the receipt."""

    parts: tuple[Split, ...]
    back_minor: int
    unallocated_minor: int


def split_receipt(
    amount_minor: int, loans: Sequence[LoanDue], choice: OverpaymentChoice
) -> ReceiptSplit:
    """All of a receipt, divided; the loan that is due the longest comes first."""
    if amount_minor <= 0:
        fix = "A movement to the borrower is a refund or a chargeback"
        raise AllocationRefused(f"a receipt of {amount_minor}", where="receipt", fix=fix)
    order = sorted(loans, key=lambda each: (each.due_since or date.max, each.loan_id))
    got = dict.fromkeys((each.loan_id for each in order), 0)
    left = amount_minor
    for limits in (_due, _beyond[choice]):
        for loan in order:
            part = max(0, min(left, limits(loan) - got[loan.loan_id]))
            got[loan.loan_id] += part
            left -= part
    back = left if choice is OverpaymentChoice.BACK else 0
    parts = tuple(Split(loan_id, part) for loan_id, part in got.items() if part)
    return ReceiptSplit(parts, back, left - back)


def refund_fact(
    loan_id: int, amount_minor: int, *, overpaid_minor: int, provider: int, reference: str, on: date
) -> Fact:
    """Fact of a refund of ours, at most what was overpaid."""
    if not 0 < amount_minor <= overpaid_minor:
        what = f"a refund of {amount_minor} where {overpaid_minor} is overpaid"
        fix = "Refund at most what was overpaid"
        raise AllocationRefused(what, where=f"loan {loan_id}", fix=fix)
    return Fact(FactKind.REFUNDED, on, amount_minor, payment_ref(provider, reference), provider)


def chargeback_fact(
    loan_id: int, amount_minor: int, *, paid_minor: int, provider: int, reference: str, on: date
) -> Fact:
    """Fact of a payment that the payer's bank took back, at most what was paid."""
    if not 0 < amount_minor <= paid_minor:
        what = f"a chargeback of {amount_minor} where {paid_minor} was paid"
        fix = "Look for its payment; what was never received opens a break"
        raise AllocationRefused(what, where=f"loan {loan_id}", fix=fix)
    return Fact(FactKind.CHARGED_BACK, on, amount_minor, payment_ref(provider, reference), provider)


def _due(loan: LoanDue) -> int:
    return loan.due_minor


def _due_and_next(loan: LoanDue) -> int:
    return min(loan.due_minor + loan.next_minor, loan.settlement_minor)


def _settlement(loan: LoanDue) -> int:
    return loan.settlement_minor


_beyond = {
    OverpaymentChoice.NEXT_INSTALMENT: _due_and_next,
    OverpaymentChoice.PRINCIPAL: _settlement,
    OverpaymentChoice.BACK: _due,
}
"""Limit of what a loan takes in all, by the borrower's choice."""
