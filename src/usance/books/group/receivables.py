"""Fees that institutions owe, by age, and what is expected to be lost of them.

Receipts and write-offs meet the oldest invoice first. The loss rates by age follow from the fees
of an entity that have run their course, where it states them (`fees_history`); else they are the
provision matrix of the day (`losses.receivable_matrix`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from usance.base.codes import Currency
from usance.base.money import half_up, vat_in
from usance.base.parameters import Parameters
from usance.base.rates import Rate
from usance.books.group.facts import GroupFact
from usance.books.group.kinds import GroupKind
from usance.books.group.lines import Amount
from usance.books.losses.matrix import receivable_allowance

_INVOICES = (GroupKind.REFERRAL_INVOICED, GroupKind.USAGE_DELIVERED)
_SETTLED = (GroupKind.FEES_RECEIVED, GroupKind.FEES_WRITTEN_OFF)
_BUCKET_DAYS = 30

Debtor = tuple[int, int, Currency]
"""Entity, party and currency."""


def unpaid(facts: Iterable[GroupFact], day: date) -> dict[Debtor, list[tuple[int, int]]]:
    """By debtor, what is unpaid of each invoice with its days past due, the oldest first."""
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
    facts: Iterable[GroupFact], parameters: Parameters, day: date
) -> Iterator[Amount]:
    """Tax in fees for use, and the provision: the allowance and what was written off against it."""
    given = list(facts)
    for each in given:
        if each.kind is GroupKind.USAGE_DELIVERED:
            vat_ppm = parameters.at("tax.vat", each.effective_on).integer
            tax = vat_in(each.amount_minor, vat_ppm)
            yield Amount("usage_delivered_vat", each, tax, each.effective_on)
    rates = loss_rates_ppb(parameters, day)
    histories = {
        (each.entity, each.currency): each
        for each in sorted(given, key=lambda fact: (fact.effective_on, fact.fact_id))
        if each.kind is GroupKind.FEES_HISTORY
    }
    first = {_debtor(each): each for each in reversed(given) if each.kind in _INVOICES}
    gone: dict[Debtor, int] = {}
    for each in given:
        if each.kind is GroupKind.FEES_WRITTEN_OFF:
            gone[_debtor(each)] = gone.get(_debtor(each), 0) + each.amount_minor
    for debtor, invoices in unpaid(given, day).items():
        entity, _, currency = debtor
        lost = allowance(invoices, rates, histories.get((entity, currency)))
        due = lost + gone.get(debtor, 0)
        yield Amount("fees_provision", first[debtor], due, day)


def _debtor(fact: GroupFact) -> Debtor:
    return fact.entity, fact.party, fact.currency


def _due(fact: GroupFact) -> date:
    due: date = fact.detail["due_on"] or fact.effective_on
    return due
