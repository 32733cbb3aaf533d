"""Events of a loan that people or partners bring: refunds, fees, waivers, new terms, claims."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.codes import Component, FactKind, Fee, parse
from usance.base.errors import CodeError, UsanceError
from usance.base.ids import print_id
from usance.loan.facts import Fact
from usance.loan.stored_rows import CHANGES, changed_row
from usance.loan.terms import Change, Terms
from usance.platform.commands.command import CREATED, DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.loan_change import (
    answer_of,
    book_facts,
    check_day,
    fact,
    own_ref,
)
from usance.platform.commands.loans.payments import check_reference, provider_of, reference_of
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.records.loan_record import LoanRecord, load_loan
from usance.platform.records.user_record import UserRecord, load_user, owner_of, read_id
from usance.platform.refusals import AmountBeyond, ReferenceUsed, TermsRefused, WrongState
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

MAX_MINOR = 2**50


@dataclass(frozen=True)
class Refund:
    """Money that a borrower had paid too much goes back."""

    loan: str
    amount_minor: int
    effective_on: date
    ref: str
    provider: str | None = None


@dataclass(frozen=True)
class ChargeBack:
    """A provider takes a payment back."""

    loan: str
    amount_minor: int
    effective_on: date
    ref: str
    provider: str | None = None


@dataclass(frozen=True)
class ChargeFee:
    """A fee that the borrower owes from a day on."""

    loan: str
    amount_minor: int
    fee: str = "other"
    effective_on: date | None = None


@dataclass(frozen=True)
class Waive:
    """A part of a component that the borrower need not pay."""

    loan: str
    component: str
    amount_minor: int
    effective_on: date | None = None
    reason: str = ""


@dataclass(frozen=True)
class Reschedule:
    """New terms for what is still owed."""

    loan: str
    instalments: int
    first_due_on: date
    rate_ppm: int | None = None
    reason: str = "rescheduled"
    effective_on: date | None = None


@dataclass(frozen=True)
class Pause:
    """Interest stops from a day through another."""

    loan: str
    until: date
    effective_on: date | None = None


@dataclass(frozen=True)
class ChargeOff:
    """A loan that is not expected to be paid is written off."""

    loan: str
    effective_on: date | None = None
    reason: str = ""


@dataclass(frozen=True)
class Recover:
    """Money received on a loan in recovery."""

    loan: str
    amount_minor: int
    effective_on: date
    ref: str
    provider: str | None = None


async def _open(
    transaction: asyncpg.Connection, moment: Moment, loan: str, day: date
) -> tuple[UserRecord, LoanRecord]:
    """The loan of a command and its user, on a day that fits."""
    number = read_id(loan, "ln", "loan")
    await act_as_platform(transaction)
    user = await load_user(transaction, owner_of(number))
    found = await load_loan(transaction, number)
    check_day(moment, found, day)
    return user, found


def _close(
    moment: Moment, user: UserRecord, loan: LoanRecord, added: Fact, name: str,
    changes: WriteSet | None = None, *, told_as: str | None = None,
) -> Decided:  # fmt: skip
    """Add one fact, as its provider told it, and answer with it and the loan after."""
    known = loan.find(added.ref)
    if known is not None:
        return _repeated(moment, loan, known, added, told_as)
    changes = changes or WriteSet()
    if told_as is not None:
        changes.put("fact_references", loan_id=loan.loan_id, ref=added.ref,
                    user_id=loan.user_id, reference=told_as)  # fmt: skip
    loan.added.append(added)
    book_facts(moment, user, loan, changes, name)
    changes.user_changes.append(user.change())
    subject = print_id("ln", loan.loan_id)
    return Decided(answer_of(loan, added, moment, told_as), subject, loan.user_id, changes,
                   status=CREATED, as_platform=True)  # fmt: skip


def _repeated(
    moment: Moment, loan: LoanRecord, known: Fact, added: Fact, told_as: str | None
) -> Decided:
    if known._replace(booked_at=added.booked_at) != added:
        raise ReferenceUsed("this reference was told with other content", where="body.ref",
                            fix="Tell what was told, or give another reference")  # fmt: skip
    answer = answer_of(loan, known, moment, told_as)
    return Decided(answer, print_id("ln", loan.loan_id), loan.user_id, is_new=False, status=DONE,
                   as_platform=True)  # fmt: skip


def _number(
    moment: Moment, principal: Principal, command: Refund | ChargeBack | Recover, what: str
) -> tuple[int, int]:
    """The provider of money that moves and the number of its fact, once the form is right."""
    _check_form(command.amount_minor)
    check_reference(command.ref)
    provider = provider_of(moment, principal, command.provider)
    return provider, reference_of(moment, provider, f"{what}/{command.ref}")


def _check_form(amount_minor: int) -> None:
    if not 1 <= amount_minor <= MAX_MINOR:
        raise InvalidField("is no amount", where="body.amount_minor", fix=f"Give 1 to {MAX_MINOR}")


def _check_amount(amount_minor: int, most: int, what: str) -> None:
    _check_form(amount_minor)
    if amount_minor > most:
        raise AmountBeyond(f"there are {most} to {what}", where="body.amount_minor",
                           fix=f"Give at most {most}")  # fmt: skip


async def refund(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: Refund
) -> Decided:
    """Pay back what the borrower has paid too much."""
    provider, ref = _number(moment, principal, command, "refund")
    user, loan = await _open(transaction, moment, command.loan, command.effective_on)
    added = fact(moment, FactKind.REFUNDED, command.effective_on, command.amount_minor, ref,
                 provider)  # fmt: skip
    if loan.find(ref) is None:
        _check_amount(command.amount_minor, loan.at(moment.business_date).view().overpaid, "refund")
    return _close(moment, user, loan, added, "payment.refund", told_as=command.ref)


async def charge_back(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: ChargeBack
) -> Decided:
    """Take back a payment that the payer's bank has recalled."""
    provider, ref = _number(moment, principal, command, "chargeback")
    user, loan = await _open(transaction, moment, command.loan, command.effective_on)
    added = fact(moment, FactKind.CHARGED_BACK, command.effective_on, command.amount_minor, ref,
                 provider)  # fmt: skip
    if loan.find(ref) is None:
        view = loan.at(moment.business_date).view()
        most = view.paid.total + view.overpaid
        if principal.kind is PrincipalKind.PROVIDER:  # others' money is not its own to take
            most = min(most, _brought(loan, provider))
        _check_amount(command.amount_minor, most, "take back")
    return _close(moment, user, loan, added, "payment.charge_back", told_as=command.ref)


def _brought(loan: LoanRecord, provider: int) -> int:
    """The money of a loan that a provider has brought and not taken back."""
    signs = {FactKind.PAID: 1, FactKind.RECOVERED: 1, FactKind.CHARGED_BACK: -1}
    own = [each for each in loan.all_facts if each.kind in signs and each.arg == provider]
    return sum(signs[each.kind] * each.amount_minor for each in own if not loan.is_gone(each.ref))


async def charge_fee(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ChargeFee
) -> Decided:
    """Charge a fee."""
    _check_form(command.amount_minor)
    day = command.effective_on or moment.business_date
    try:
        code = parse(Fee, command.fee, where="body.fee")
    except CodeError as error:
        raise InvalidField(error.what, where="body.fee", fix=error.fix) from error
    user, loan = await _open(transaction, moment, command.loan, day)
    _check_amount(command.amount_minor, MAX_MINOR, "charge")
    if loan.at(day).view().principal_outstanding == 0:
        raise WrongState("the loan is closed", where=command.loan, fix="Charge open loans alone")
    added = fact(moment, FactKind.FEE_CHARGED, day, command.amount_minor, own_ref(user, loan),
                 int(code))  # fmt: skip
    return _close(moment, user, loan, added, "fee.charge")


async def waive(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: Waive
) -> Decided:
    """Waive a part of what is owed under a component."""
    _check_form(command.amount_minor)
    day = command.effective_on or moment.business_date
    try:
        component = parse(Component, command.component, where="body.component")
    except CodeError as error:
        raise InvalidField(error.what, where="body.component", fix=error.fix) from error
    user, loan = await _open(transaction, moment, command.loan, day)
    from usance.platform.reads.loans.loan import outstanding

    owed = outstanding(loan, loan.at(day).view(), day)[component]
    _check_amount(command.amount_minor, owed, f"waive of {component.label}")
    added = fact(moment, FactKind.WAIVED, day, command.amount_minor, own_ref(user, loan),
                 int(component))  # fmt: skip
    return _close(moment, user, loan, added, "loan.waive")


async def reschedule(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: Reschedule
) -> Decided:
    """Put new terms in force for what is still owed."""
    day = command.effective_on or moment.business_date
    user, loan = await _open(transaction, moment, command.loan, day)
    if command.reason not in [each.value for each in CHANGES]:
        known = ", ".join(each.value for each in CHANGES)
        raise InvalidField("is no reason", where="body.reason", fix=f"Give {known}")
    owed = loan.at(day).view().principal_outstanding
    if owed == 0:
        raise WrongState("the loan is closed", where=command.loan, fix="Reschedule open loans")
    row = terms_row(loan, _new_terms(loan, command, owed, day), day)
    changes = WriteSet()
    changes.add("loans", **row)
    loan.rows.append(row)
    added = fact(moment, FactKind.TERMS_CHANGED, day, 0, own_ref(user, loan), row["terms_no"])
    return _close(moment, user, loan, added, "loan.reschedule", changes)


def terms_row(loan: LoanRecord, terms: Terms, day: date) -> dict[str, Any]:
    """The row of new terms of a loan, in force from a day."""
    row = changed_row(loan.rows[-1], terms, day)
    row.pop("xid", None)
    return row


def _new_terms(loan: LoanRecord, command: Reschedule, owed: int, day: date) -> Terms:
    last = loan.terms[-1]
    rate = last.rate_ppm if command.rate_ppm is None else command.rate_ppm
    try:
        return last.changed(
            principal_minor=owed, rate_ppm=rate, coupon_ppm=min(last.coupon_ppm, rate),
            instalments=command.instalments, disbursed_on=day, first_due_on=command.first_due_on,
            flat_fee_minor=0, guarantee_fee_minor=0, upfront_fee_minor=0,
            terms_no=last.terms_no + 1, change=Change(command.reason),
        )  # fmt: skip
    except UsanceError as error:
        raise TermsRefused(error.what, where=error.where, fix=error.fix) from error


async def pause(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: Pause
) -> Decided:
    """Stop interest for some days."""
    day = command.effective_on or moment.business_date
    user, loan = await _open(transaction, moment, command.loan, day)
    if command.until < day:
        raise InvalidField("ends before it begins", where="body.until", fix=f"Give {day} or later")
    last = (command.until - date(1970, 1, 1)).days
    added = fact(moment, FactKind.INTEREST_PAUSED, day, 0, own_ref(user, loan), last)
    return _close(moment, user, loan, added, "loan.pause")


async def charge_off(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: ChargeOff
) -> Decided:
    """Write a loan off."""
    day = command.effective_on or moment.business_date
    user, loan = await _open(transaction, moment, command.loan, day)
    view = loan.at(day).view()
    if view.principal_outstanding == 0 or view.charged_off:
        raise WrongState(f"the loan is {view.status.label}", where=command.loan,
                         fix="Charge off open loans, once")  # fmt: skip
    added = fact(moment, FactKind.CHARGED_OFF, day, view.principal_outstanding,
                 own_ref(user, loan))  # fmt: skip
    return _close(moment, user, loan, added, "loan.charge_off")


async def recover(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: Recover
) -> Decided:
    """Book money received on a loan in recovery, up to what is owed."""
    provider, ref = _number(moment, principal, command, "recovery")
    user, loan = await _open(transaction, moment, command.loan, command.effective_on)
    view = loan.at(moment.business_date).view()
    if not (view.charged_off or view.compensated):
        raise WrongState("the loan is not in recovery", where=command.loan,
                         fix="Book it as a payment")  # fmt: skip
    if loan.find(ref) is None:
        _check_amount(command.amount_minor, view.settlement, "recover")
    added = fact(moment, FactKind.RECOVERED, command.effective_on, command.amount_minor, ref,
                 provider)  # fmt: skip
    return _close(moment, user, loan, added, "loan.recover", told_as=command.ref)
