"""Facts of a migrated loan, and the order in which they are applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from usance.loan.convention import PeriodUnit
from usance.migration.terms import ReAgeInterest


class MigratedFactKind(StrEnum):
    """Kinds of facts of a migrated loan."""

    DISBURSED = "disbursed"
    PAID = "paid"  # by the borrower or for them: `transaction` says which
    CHARGED = "charged"  # a fee or a penalty
    CHARGED_BACK = "charged_back"
    REFUNDED = "refunded"  # what was overpaid goes back to the borrower
    RATE_CHANGED = "rate_changed"
    DUE_DATE_MOVED = "due_date_moved"
    EXTENDED = "extended"  # by more instalments
    INTEREST_PAUSED = "interest_paused"
    RE_AGED = "re_aged"
    RE_AMORTISED = "re_amortised"
    CHARGED_OFF = "charged_off"


REPAYMENT, DOWN_PAYMENT = "repayment", "down_payment"
MERCHANT_REFUND, PAYOUT_REFUND = "merchant_issued_refund", "payout_refund"
INTEREST_REFUND, GOODWILL_CREDIT = "interest_refund", "goodwill_credit"
REFUNDS = (MERCHANT_REFUND, PAYOUT_REFUND)


@dataclass(frozen=True, slots=True)
class ReAgeing:
    """The plan of a re-ageing."""

    first_due_on: date
    instalments: int
    every: int = 1
    unit: PeriodUnit = PeriodUnit.MONTHS
    interest: ReAgeInterest = ReAgeInterest.DEFAULT


@dataclass(frozen=True, slots=True)
class MigratedFact:
    """One fact: the day it counts from, the day it became known, and what it says."""

    kind: MigratedFactKind
    on: date
    known_on: date
    number: int = 0  # the order in which facts became known
    amount: int = 0
    transaction: str = REPAYMENT
    is_penalty: bool = False
    rate_pct: Decimal = Decimal(0)
    until: date | None = None
    count: int = 0
    ageing: ReAgeing | None = None


_TERMS_CHANGE = (
    MigratedFactKind.RATE_CHANGED,
    MigratedFactKind.INTEREST_PAUSED,
    MigratedFactKind.EXTENDED,
)


def sort_facts(facts: Iterable[MigratedFact]) -> list[MigratedFact]:
    """Facts by the day they count from, then as they became known; changes of terms first."""
    return sorted(facts, key=_rank)


def _rank(fact: MigratedFact) -> tuple[date, date, int]:
    if fact.kind in _TERMS_CHANGE:
        return fact.on, fact.on, -1
    if fact.kind is MigratedFactKind.CHARGED:
        return min(fact.on, fact.known_on), fact.known_on, fact.number
    return fact.on, fact.known_on, fact.number
