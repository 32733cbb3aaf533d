"""Fees receivable from institutions, by age, and their allowance.

Receipts and write-offs settle the oldest invoice first. Fees from loans have no invoice among the
facts: they are as old as the close that added them, and are settled by payments beyond the stated
invoices. Loss rates by age come from an entity's settled fees, if it states them (`fees_history`);
otherwise from the provision matrix of the day (`losses.receivable_matrix`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from usance.base.codes import Currency
from usance.base.money import half_up, vat_in
from usance.base.parameters import Parameters
from usance.base.rates import Rate
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.lines import Amount
from usance.books.losses.provision_matrices import receivable_allowance
from usance.loan.facts import END_OF_TIME

_INVOICES = (GroupFactKind.REFERRAL_INVOICED, GroupFactKind.USAGE_DELIVERED)
_SETTLED = (GroupFactKind.FEES_RECEIVED, GroupFactKind.FEES_WRITTEN_OFF)
_BUCKET_DAYS = 30

Debtor = tuple[int, int, Currency]
"""Entity, party and currency."""


class LoanFees(NamedTuple):
    """Fees from loans: added in a close to the receivables of an entity."""

    entity: int
    currency: Currency
    on: date
    usage_minor: int
    referral_minor: int
    """Owed once it is invoiced."""


def unpaid(facts: Iterable[GroupFact], day: date) -> dict[Debtor, list[tuple[int, int]]]:
    """By debtor, the unpaid part of each invoice with its days past due, the oldest first."""
    given = list(facts)
    settled: dict[Debtor, int] = {}
    for each in given:
        if each.kind in _SETTLED:
            settled[_debtor(each)] = settled.get(_debtor(each), 0) + each.amount_minor
    open_: dict[Debtor, list[tuple[int, int]]] = {}
    invoices = [each for each in given if each.kind in _INVOICES]
    for each in sorted(invoices, key=lambda fact: (_due(fact), fact.fact_id)):
        debtor = _debtor(each)
        met = min(settled.get(debtor, 0), each.amount_minor)
        settled[debtor] = settled.get(debtor, 0) - met
        age = (day - _due(each)).days
        open_.setdefault(debtor, []).append((each.amount_minor - met, age))
    return open_


def unpaid_of_loans(
    facts: Iterable[GroupFact], of_loans: Iterable[LoanFees], day: date
) -> list[tuple[int, int]]:
    """Unpaid fees from loans with their age; referral fees until they are invoiced."""
    given, seen = list(facts), [each for each in of_loans if each.on <= day]
    beyond: dict[Debtor, int] = {}
    for each in given:
        sign = (each.kind in _SETTLED) - (each.kind in _INVOICES)
        beyond[_debtor(each)] = beyond.get(_debtor(each), 0) + sign * each.amount_minor
    # What loans take back is met like a payment.
    settled = sum(max(0, rest) for rest in beyond.values())
    settled -= sum(min(0, fees.usage_minor) for fees in seen)
    open_ = []
    for fees in sorted(seen, key=lambda fees: fees.on):
        met = min(settled, max(0, fees.usage_minor))
        settled -= met
        open_.append((max(0, fees.usage_minor) - met, (day - fees.on).days))
    invoiced = sum(
        each.amount_minor for each in given if each.kind is GroupFactKind.REFERRAL_INVOICED
    )
    to_come = sum(each.referral_minor for each in seen) - invoiced
    return [*open_, (max(0, to_come), 0)]


def allowance(
    invoices: Iterable[tuple[int, int]], rates_ppb: Sequence[int], history: GroupFact | None = None
) -> int:
    """The expected loss of invoices by age: current, then by 30 days past due, then beyond."""
    entering = history.detail["entering"] if history else ()
    never_paid = history.detail["never_paid"] if history else 0
    gross = [0] * len(entering or rates_ppb)
    for minor, age in invoices:
        bucket = 0 if age <= 0 else 1 + (age - 1) // _BUCKET_DAYS
        gross[min(bucket, len(gross) - 1)] += minor
    total = receivable_allowance(gross, rates_ppb, entering, never_paid).total
    return half_up(total.numerator, total.denominator)


def loss_rates_ppb(parameters: Parameters, day: date) -> tuple[int, ...]:
    """The provision matrix in force on a day."""
    words = str(parameters.at("losses.receivable_matrix", day).value).split()
    return tuple(Rate.parse(word).ppb for word in words)


def receivable_amounts(
    facts: Iterable[GroupFact], parameters: Parameters, day: date, of_loans: Sequence[LoanFees] = ()
) -> Iterator[Amount]:
    """VAT in usage fees, and the provision: the allowance plus the write-offs against it."""
    given = list(facts)
    for each in given:
        if each.kind is GroupFactKind.USAGE_DELIVERED:
            vat_ppm = parameters.at("tax.vat", each.effective_on).integer
            tax = vat_in(each.amount_minor, vat_ppm)
            yield Amount("usage_delivered_vat", each, tax, each.effective_on)
    rates = loss_rates_ppb(parameters, day)
    histories = {
        (each.entity, each.currency): each
        for each in sorted(given, key=lambda fact: (fact.effective_on, fact.fact_id))
        if each.kind is GroupFactKind.FEES_HISTORY
    }
    first = {_debtor(each): each for each in reversed(given) if each.kind in _INVOICES}
    written_off: dict[Debtor, int] = {}
    for each in given:
        if each.kind is GroupFactKind.FEES_WRITTEN_OFF:
            written_off[_debtor(each)] = written_off.get(_debtor(each), 0) + each.amount_minor
    for debtor, invoices in unpaid(given, day).items():
        entity, _, currency = debtor
        lost = allowance(invoices, rates, histories.get((entity, currency)))
        due = lost + written_off.get(debtor, 0)
        yield Amount("fees_provision", first[debtor], due, day)
    for entity, currency in sorted({(fees.entity, fees.currency) for fees in of_loans}):
        own = [each for each in given if (each.entity, each.currency) == (entity, currency)]
        own_fees = [fees for fees in of_loans if (fees.entity, fees.currency) == (entity, currency)]
        open_ = unpaid_of_loans(own, own_fees, day)
        lost = allowance(open_, rates, histories.get((entity, currency)))
        lost += sum(
            minor
            for debtor, minor in written_off.items()
            if debtor not in first and (debtor[0], debtor[2]) == (entity, currency)
        )
        # No fact states them: they are owed by all institutions together.
        kind = GroupFactKind.USAGE_DELIVERED
        stated = GroupFact(0, entity, kind, day, END_OF_TIME, currency, lost, 0, 0, {}, "")
        yield Amount("fees_provision", stated, lost, day)


def _debtor(fact: GroupFact) -> Debtor:
    return fact.entity, fact.party, fact.currency


def _due(fact: GroupFact) -> date:
    due: date = fact.detail["due_on"] or fact.effective_on
    return due
