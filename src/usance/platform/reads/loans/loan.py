"""Loans as they are answered: balances as of a day, as known at a moment."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from usance.base.codes import FactKind, Product
from usance.base.ids import print_id
from usance.loan.facts import END_OF_TIME, Fact
from usance.loan.loan import schedule
from usance.loan.views import LoanView
from usance.loan.waivers import waived_by_instalment
from usance.platform.lender import Lender
from usance.platform.reads.shapes import amounts, day_text, moment_text
from usance.platform.records.loan_record import LoanRecord
from usance.platform.refusals import WithdrawalOver
from usance.service.errors import PlanRefused
from usance.service.help.withdrawal import cooling_off_days, withdraw

PROVIDER_KINDS = (FactKind.PAID, FactKind.REFUNDED, FactKind.CHARGED_BACK, FactKind.RECOVERED)


def loan_answer(
    loan: LoanRecord, lender: Lender, as_of: date, known_at: datetime = END_OF_TIME
) -> dict[str, Any]:
    """The shape of a loan on a day."""
    view, first = loan.at(as_of, known_at).view(), loan.first
    latest = loan.rows[-1]
    return {
        "loan": print_id("ln", loan.loan_id), "user": print_id("us", loan.user_id),
        "product": Product(first["product"]).label, "status": view.status.label,
        "model": loan.model.label, "source": lender.source_name(first["source"]),
        "currency": lender.currency.name, "principal_minor": first["principal_minor"],
        "rate_ppm": latest["rate_ppm"], "instalments": latest["instalments"],
        "disbursed_on": day_text(first["disbursed_on"]),
        "first_due_on": day_text(first["first_due_on"]), "as_of": as_of.isoformat(),
        "known_at": None if known_at is END_OF_TIME else moment_text(known_at),
        "outstanding": amounts(outstanding(loan, view, as_of, known_at)),
        "past_due": amounts(view.past_due), "paid": amounts(view.paid),
        "overpaid_minor": view.overpaid, "days_past_due": view.days_past_due,
        "next_due": None if view.next_due_on is None else {
            "due_on": view.next_due_on.isoformat(), "amount_minor": view.next_due},
        "settlement_minor": view.settlement,
    }  # fmt: skip


def outstanding(
    loan: LoanRecord, view: LoanView, as_of: date, known_at: datetime = END_OF_TIME
) -> tuple[int, ...]:
    """Everything still to be paid by the schedule, by component, with penalties past due."""
    if view.principal_outstanding == 0:
        return (0, 0, 0, 0, view.past_due.penalty)
    rows = loan.at(as_of, known_at).rows()
    sums = tuple(sum(row.outstanding[n] for row in rows) for n in range(4))
    return (*sums, view.past_due.penalty)


def schedule_answer(
    loan: LoanRecord, as_of: date, known_at: datetime = END_OF_TIME
) -> list[dict[str, Any]]:
    """Every instalment with what is due, paid, waived and outstanding."""
    rows = loan.at(as_of, known_at).rows()
    parts = waived_by_instalment(loan.terms, loan.all_facts, as_of, known_at)
    return [
        {"no": row.number, "due_on": row.due_on.isoformat(), "due": amounts(row.due),
         "paid": amounts(tuple(a - b for a, b in zip(row.paid, waived, strict=True))),
         "waived": amounts(waived), "outstanding": amounts(row.outstanding)}
        for row, waived in zip(rows, parts, strict=True)
    ]  # fmt: skip


def planned_schedule(terms: Any) -> list[dict[str, Any]]:
    """The instalments of terms that nobody has paid yet."""
    nothing = amounts((0, 0, 0, 0, 0))
    return [
        {"no": row.number, "due_on": row.due_on.isoformat(), "due": due, "paid": nothing,
         "waived": nothing, "outstanding": due}
        for row in schedule(terms)
        for due in [amounts((row.principal, row.interest, row.guarantee_fee, row.service_fee))]
    ]  # fmt: skip


def fact_answer(
    loan_id: int, fact: Fact, lender: Lender, reference: str | None = None
) -> dict[str, Any]:
    """The shape of a fact."""
    has_provider = fact.kind in PROVIDER_KINDS and fact.arg
    return {
        "loan": print_id("ln", loan_id), "kind": fact.kind.label,
        "effective_on": fact.effective_on.isoformat(), "booked_at": moment_text(fact.booked_at),
        "amount_minor": fact.amount_minor, "currency": lender.currency.name,
        "ref": str(fact.ref),
        "provider": lender.party_name("provider", fact.arg) or None if has_provider else None,
        "provider_ref": reference,
        "reverses": str(fact.arg) if fact.kind is FactKind.REVERSED else None,
    }  # fmt: skip


def withdrawal_answer(loan: LoanRecord, on: date, lender: Lender) -> dict[str, Any]:
    """The amount that undoes a loan on a day of its cooling-off time."""
    days = cooling_off_days(loan.first["disbursed_on"], lender.parameters)
    try:
        found = withdraw(loan.terms, loan.facts, on, cooling_off_days=days)
    except PlanRefused as error:
        raise WithdrawalOver(error.what, where=print_id("ln", loan.loan_id),
                             fix=error.fix) from error  # fmt: skip
    return {
        "loan": print_id("ln", loan.loan_id), "on": on.isoformat(),
        "currency": lender.currency.name, "amount_minor": found.pay_minor,
        "interest_minor": found.interest_minor, "last_day": found.last_day.isoformat(),
    }  # fmt: skip


def settlement_answer(loan: LoanRecord, on: date, lender: Lender) -> dict[str, Any]:
    """The amount that closes a loan on a day, by component."""
    view = loan.at(on).view()
    due = tuple(view.past_due)
    parts = [view.principal_outstanding, due[1], due[2], due[3], due[4]]
    # What is not past due of the settlement is interest and fees that have accrued since.
    parts[1] += view.settlement - sum(parts)
    return {
        "loan": print_id("ln", loan.loan_id), "on": on.isoformat(),
        "currency": lender.currency.name, "amounts": amounts(parts),
        "amount_minor": view.settlement, "valid_until": on.isoformat(),
    }  # fmt: skip
