"""Payments: booked once for ever, allocated by the difference of views, and reversed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import date
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.base.codes import Component, FactKind
from usance.base.documents import parse_json
from usance.base.ids import fact_ref, print_id
from usance.loan.facts import Fact
from usance.loan.loan import Loan
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loan_change import answer_of, book_facts, check_day, fact, own_ref
from usance.platform.errors import InvalidField, MissingField, StaleRead
from usance.platform.loan_record import LoanRecord, load_loan, load_loans, open_loans
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.payments import payment_answer
from usance.platform.refusals import AlreadyReversed, CurrencyMismatch, DateInFuture, ReferenceUsed
from usance.platform.store.write_set import WriteSet
from usance.platform.user_record import UserRecord, load_user, not_found, owner_of, read_id

if TYPE_CHECKING:
    import asyncpg

MAX_PAYMENT_MINOR = 2**50
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


def reference_of(moment: Moment, provider: int, reference: str) -> int:
    """The number of a fact from its provider and reference, so that no two providers' meet."""
    if not 1 <= len(reference) <= 255:
        raise InvalidField("has no fit length", where="body.ref", fix="Give 1 to 255 characters")
    if provider in moment.lender.globally_numbered:  # its digits, behind the loan they count for
        return fact_ref(reference.rpartition("/")[2])
    return fact_ref(f"{moment.lender.party_name('provider', provider)}/{reference}")


def check_money(moment: Moment, amount_minor: int, currency: str) -> None:
    """Refuse what is no amount, or is in another currency."""
    if not 1 <= amount_minor <= MAX_PAYMENT_MINOR:
        raise InvalidField("is no amount that can be paid", where="body.amount_minor",
                           fix=f"Give 1 to {MAX_PAYMENT_MINOR}")  # fmt: skip
    if currency != moment.lender.currency.name:
        raise CurrencyMismatch(f"loans are in {moment.lender.currency.name}", where="body.currency",
                               fix=f"Give {moment.lender.currency.name}")  # fmt: skip


async def book(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: BookPayment
) -> Decided:
    """Book a payment; the same provider and reference again give the stored answer."""
    provider = provider_of(moment, principal, command.provider)
    if (command.loan is None) == (command.user is None):
        raise MissingField("a payment is for a loan or for a user", where="body.loan",
                           fix="Give one of loan and user")  # fmt: skip
    ref = reference_of(moment, provider, command.ref)
    check_money(moment, command.amount_minor, command.currency)
    await act_as_platform(transaction)
    content = _content(command)
    known = await transaction.fetchrow(
        "select * from usance.payments where provider = $1 and reference = $2",
        provider, command.ref,
    )  # fmt: skip
    if known is not None:
        return await _known(transaction, moment, dict(known), content)
    user, loans = await _payees(transaction, command)
    if any(loan.find(ref) for loan in loans):  # told by another meanwhile, whose row was not seen
        raise StaleRead("the payment has been booked meanwhile", fix="Read again")
    for loan in loans:
        if command.loan is not None:
            check_day(moment, loan, command.effective_on)
    if command.effective_on > moment.business_date:
        raise DateInFuture("is in the future", where="body.effective_on", fix="Give what has been")
    changes = WriteSet()
    number = user.next("records")
    left, allocation, facts = command.amount_minor, list[Any](), list[dict[str, Any]]()
    for loan in loans:
        taken = pay(moment, loan, command.effective_on, left, ref, provider)
        if taken:
            allocation += allocated(loan, moment.business_date)
            facts.append({"loan": loan.loan_id, "ref": str(ref)})
            _note_days(user, loan, command.effective_on)
            await book_facts(transaction, moment, user, loan, changes, "payment.book")
            left -= taken
    row = {
        "payment_id": number, "provider": provider, "reference": command.ref,
        "loan_id": loans[0].loan_id if len(loans) == 1 else 0,
        "amount_minor": command.amount_minor, "currency": int(moment.lender.currency),
        "effective_on": command.effective_on, "booked_at": moment.at, "ref": ref,
        "unallocated_minor": left, "content": content, "user_id": user.user_id,
        "allocation": json.dumps(allocation), "facts": json.dumps(facts),
    }  # fmt: skip
    changes.payments.append(tuple(row.values()))
    changes.user_changes.append(user.change())
    answer = payment_answer(moment.lender, row, is_reversed=False)
    return Decided(answer, print_id("pm", number), user.user_id, changes, as_platform=True)


def _content(command: BookPayment) -> bytes:
    told = {**asdict(command), "provider": None}
    return sha256(json.dumps(told, sort_keys=True, default=str).encode()).digest()


async def _known(
    transaction: asyncpg.Connection, moment: Moment, row: dict[str, Any], content: bytes
) -> Decided:  # fmt: skip
    if bytes(row["content"]) != content:
        raise ReferenceUsed("this reference was told with other content", where="body.ref",
                            fix="Tell what was told, or give another reference")  # fmt: skip
    gone = await transaction.fetchval(
        "select exists (select from usance.payment_reversals where payment_id = $1)",
        row["payment_id"],
    )  # fmt: skip
    answer = payment_answer(moment.lender, row, is_reversed=gone)
    return Decided(answer, print_id("pm", row["payment_id"]), row["user_id"], is_new=False,
                   status=DONE, as_platform=True)  # fmt: skip


async def _payees(
    transaction: asyncpg.Connection, command: BookPayment
) -> tuple[UserRecord, list[LoanRecord]]:
    """The user, and the loans a payment is for: one, or all open ones, the oldest due first."""
    if command.loan is not None:
        number = read_id(command.loan, "ln", "loan")
        user = await load_user(transaction, owner_of(number))
        return user, [await load_loan(transaction, number)]
    assert command.user is not None, "a payment names a loan or a user"
    user = await load_user(transaction, read_id(command.user, "us", "user"))
    loans = [loan for loan in await open_loans(transaction, [user.user_id])
             if loan.first["disbursed_on"] <= command.effective_on]  # fmt: skip

    def due(loan: LoanRecord) -> tuple[date, int]:
        view = loan.at(command.effective_on).view()
        return view.next_due_on or date.max, -view.days_past_due

    return user, sorted(loans, key=due)


def pay(
    moment: Moment, loan: LoanRecord, day: date, amount_minor: int, ref: int, provider: int
) -> int:
    """Add a payment to a loan as far as the loan can take it; the amount taken."""
    today = moment.business_date
    over = loan.at(today).view().overpaid
    kind = FactKind.PAID
    if any(each.kind in RECOVERY and each.effective_on <= day and not loan.is_gone(each.ref)
           for each in loan.all_facts):  # fmt: skip
        kind = FactKind.RECOVERED
    whole = fact(moment, kind, day, amount_minor, ref, provider)
    loan.added.append(whole)
    excess = loan.at(today).view().overpaid - over
    loan.added.pop()
    taken = amount_minor - max(excess, 0)
    if taken > 0:
        loan.added.append(whole._replace(amount_minor=taken))
    return max(taken, 0)


def allocated(loan: LoanRecord, today: date) -> list[dict[str, Any]]:
    """Amounts that the command's facts paid, by component and instalment."""
    before, after = loan.at(today, before=True), loan.at(today)
    found, shown = [], print_id("ln", loan.loan_id)
    rest = [new - old for new, old in zip(after.view().paid, before.view().paid, strict=True)]
    for number, moved in _by_instalment(before, after):
        for component in range(4):
            amount = min(moved[component], rest[component])
            if amount > 0:
                rest[component] -= amount
                found.append({"loan": shown, "component": Component(component).label,
                              "instalment": number, "amount_minor": amount})  # fmt: skip
    return found + [
        {"loan": shown, "component": Component(n).label, "instalment": None, "amount_minor": amount}
        for n, amount in enumerate(rest)
        if amount
    ]


def _by_instalment(before: Loan, after: Loan) -> list[tuple[int, list[int]]]:
    was = {row.number: row.paid for row in before.rows()}
    return [
        (row.number, [new - old for new, old in
                      zip(row.paid, was.get(row.number, (0,) * 5), strict=True)])
        for row in after.rows()
    ]  # fmt: skip


def _note_days(user: UserRecord, loan: LoanRecord, day: date) -> None:
    late = loan.at(day, before=True).view().days_past_due
    user.counters["worst_days"] = max(user.counters["worst_days"], late)


async def reverse(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ReversePayment
) -> Decided:
    """Undo a payment: its facts are reversed, and everything that rested on them moves back."""
    number = read_id(command.payment, "pm", "payment")
    await act_as_platform(transaction)
    row = await transaction.fetchrow("select * from usance.payments where payment_id = $1", number)
    if row is None:
        raise not_found("pm", number)
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
        await book_facts(transaction, moment, user, loan, changes, "payment.reverse")
        after = answer_of(loan, loan.added[0], moment)
    changes.put("payment_reversals", payment_id=number, user_id=user.user_id, effective_on=on,
                booked_at=moment.at, reason=command.reason)  # fmt: skip
    changes.user_changes.append(user.change())
    answer = {"payment": payment_answer(moment.lender, dict(row), is_reversed=True),
              "fact": after.get("fact"), "loan": after.get("loan")}  # fmt: skip
    return Decided(answer, command.payment, user.user_id, changes, status=DONE, as_platform=True)


def reversal(moment: Moment, user: UserRecord, loan: LoanRecord, ref: int, on: date) -> Fact:
    """The fact that undoes another."""
    target = loan.find(ref)
    assert target is not None, "a payment's fact is there"
    return fact(moment, FactKind.REVERSED, on, target.amount_minor, own_ref(user, loan), ref)
