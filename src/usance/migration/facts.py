"""What happens to a foreign loan, one fact at a time, and the order in which facts count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from usance.loan.convention import PeriodUnit
from usance.migration.terms import AgeingInterest


class Kind(StrEnum):
    """What a fact says."""

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
class Ageing:
    """The plan of a re-ageing."""

    first_due_on: date
    instalments: int
    every: int = 1
    unit: PeriodUnit = PeriodUnit.MONTHS
    interest: AgeingInterest = AgeingInterest.DEFAULT


@dataclass(frozen=True, slots=True)
class ForeignFact:
    """One fact: the day it counts from, the day it became known, and what it says."""

    kind: Kind
    on: date
    known_on: date
    number: int = 0  # the order in which facts became known
    amount: int = 0
    transaction: str = REPAYMENT
    is_penalty: bool = False
    rate_pct: Decimal = Decimal(0)
    until: date | None = None
    count: int = 0
    ageing: Ageing | None = None


_TERMS_CHANGE = (Kind.RATE_CHANGED, Kind.INTEREST_PAUSED, Kind.EXTENDED)


def in_order(facts: Iterable[ForeignFact]) -> list[ForeignFact]:
    """Facts by the day they count from, then as they became known; changes of terms first."""
    return sorted(facts, key=_rank)


def _rank(fact: ForeignFact) -> tuple[date, date, int]:
    if fact.kind in _TERMS_CHANGE:
        return fact.on, fact.on, -1
    if fact.kind is Kind.CHARGED:
        return min(fact.on, fact.known_on), fact.known_on, fact.number
    return fact.on, fact.known_on, fact.number
