"""Payments: booked once for ever, allocated by the difference of views, and reversed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.base.codes import FactKind
from usance.base.documents import parse_json
from usance.base.ids import fact_ref
from usance.loan.facts import Fact
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.loan_change import (
    answer_of,
    book_facts,
    check_day,
    fact,
    own_ref,
)
from usance.platform.errors import InvalidField, MissingField
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.loans.payments import payment_answer
from usance.platform.records.loan_record import LoanRecord, load_loans
from usance.platform.records.user_record import UserRecord, load_user, not_found, owner_of, read_id
from usance.platform.refusals import AlreadyReversed, CurrencyMismatch, DateInFuture
from usance.platform.security.sealed_values import REVERSAL, keep_words
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

MAX_PAYMENT_MINOR = 2**50
MAX_REFERENCE = 255
RECOVERY = (FactKind.COMPENSATED, FactKind.CHARGED_OFF)


@dataclass(frozen=True)
class BookPayment:
    """Money of a borrower that a provider has received, for a loan or for a user."""

    amount_minor: int
    currency: str
    effective_on: date
    ref: str
    loan: str | None = None
    user: str | None = None
    provider: str | None = None


@dataclass(frozen=True)
class ReversePayment:
    """A payment that was none."""

    payment: str
    reason: str
    effective_on: date | None = None


def user_of(command: BookPayment) -> int:
    """The user whose money it is."""
    if command.loan is not None:
        return owner_of(read_id(command.loan, "ln", "loan"))
    return read_id(command.user or "", "us", "user")


def provider_of(moment: Moment, principal: Principal, name: str | None) -> int:
    """The provider a command is about: its own for a provider, else one that is named."""
    if principal.kind is PrincipalKind.PROVIDER:
        own = moment.lender.party_name("provider", principal.party)
        if name not in (None, own):
            raise InvalidField(f"{name!r} is another provider", where="body.provider",
                               fix=f"Give {own}, or leave it out")  # fmt: skip
        return principal.party
    if name is None:
        raise MissingField("provider is missing", where="body.provider", fix="Give provider")
    number = moment.lender.party("provider", name)
    if number is None:
        known = ", ".join(n for kind, n in moment.lender.parties if kind == "provider")
        raise InvalidField(f"{name!r} is no provider", where="body.provider", fix=f"Give {known}")
    return number


def content_of(command: BookPayment) -> bytes:
    """A hash of what a payment says, whoever tells it."""
    told = {**vars(command), "provider": None}
    return sha256(json.dumps(told, sort_keys=True, default=str).encode()).digest()


def check_reference(reference: str) -> None:
    """Refuse what is no reference of a provider."""
    if not 1 <= len(reference) <= MAX_REFERENCE:
        raise InvalidField("has no fit length", where="body.ref",
                           fix=f"Give 1 to {MAX_REFERENCE} characters")  # fmt: skip


def reference_of(moment: Moment, provider: int, reference: str) -> int:
    """The number of a fact from its provider and reference, so that no two providers' meet."""
    if provider in moment.lender.globally_numbered:  # its digits, behind the loan they count for
        return fact_ref(reference.rpartition("/")[2])
    return fact_ref(f"{moment.lender.party_name('provider', provider)}/{reference}")


def check_payment(command: BookPayment) -> None:
    """Refuse money for nobody or for two, and what is no reference or no amount."""
    if (command.loan is None) == (command.user is None):
        raise MissingField("a payment is for a loan or for a user", where="body.loan",
                           fix="Give one of loan and user")  # fmt: skip
    check_form(command.ref, command.amount_minor)


def check_form(reference: str, amount_minor: int) -> None:
    """Refuse what is no reference or no amount, whatever it is about."""
    check_reference(reference)
    if not 1 <= amount_minor <= MAX_PAYMENT_MINOR:
        raise InvalidField("is no amount that can be paid", where="body.amount_minor",
                           fix=f"Give 1 to {MAX_PAYMENT_MINOR}")  # fmt: skip


def check_booked(moment: Moment, command: BookPayment) -> None:
    """Refuse money of another currency, or of a day that has not been."""
    check_currency(moment, command.currency)
    if command.effective_on > moment.business_date:
        raise DateInFuture("is in the future", where="body.effective_on", fix="Give what has been")


def check_currency(moment: Moment, currency: str) -> None:
    """Refuse an amount in another currency than the lender's."""
    if currency != moment.lender.currency.name:
        raise CurrencyMismatch(f"loans are in {moment.lender.currency.name}", where="body.currency",
                               fix=f"Give {moment.lender.currency.name}")  # fmt: skip


async def reverse(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ReversePayment
) -> Decided:
    """Undo a payment: its facts are reversed, and everything that rested on them moves back."""
    number = read_id(command.payment, "pm", "payment")
    row = await transaction.fetchrow("select * from usance.payments where payment_id = $1", number)
    if row is None:
        raise not_found("pm", number)
    await act_as_platform(transaction)
    user = await load_user(transaction, row["user_id"])
    gone = await transaction.fetchval(
        "select exists (select from usance.payment_reversals where payment_id = $1)", number
    )
    if gone:
        raise AlreadyReversed("it was reversed before", where=command.payment,
                              fix="Book the payment again under a new reference")  # fmt: skip
    on = command.effective_on or moment.business_date
    targets = {each["loan"]: int(each["ref"]) for each in parse_json(row["facts"])}
    changes, after = WriteSet(), dict[str, Any]()
    for loan in await load_loans(transaction, targets):
        check_day(moment, loan, on)
        loan.added.append(reversal(moment, user, loan, targets[loan.loan_id], on))
        book_facts(moment, user, loan, changes, "payment.reverse")
        after = answer_of(loan, loan.added[0], moment)
    changes.put("payment_reversals", payment_id=number, user_id=user.user_id, effective_on=on,
                booked_at=moment.at, reason="")  # fmt: skip
    await keep_words(transaction, moment.vault, user.user_id, (REVERSAL, number), command.reason,
                     changes)  # fmt: skip
    changes.user_changes.append(user.change())
    answer = {"payment": payment_answer(moment.lender, dict(row), is_reversed=True),
              "fact": after.get("fact"), "loan": after.get("loan")}  # fmt: skip
    return Decided(answer, command.payment, user.user_id, changes, status=DONE, as_platform=True)


def reversal(moment: Moment, user: UserRecord, loan: LoanRecord, ref: int, on: date) -> Fact:
    """The fact that undoes another."""
    target = loan.find(ref)
    assert target is not None, "a payment's fact is there"
    return fact(moment, FactKind.REVERSED, on, target.amount_minor, own_ref(user, loan), ref)
