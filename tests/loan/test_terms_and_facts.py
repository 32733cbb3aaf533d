"""Refused terms and facts, each with its own error naming the field and the way out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from usance.base.codes import Component, FactKind
from usance.base.errors import CodeError, Problems
from usance.loan import CONVENTIONS, Fact, Terms, visible
from usance.loan.bounds import MAX_PRINCIPAL_MINOR
from usance.loan.convention import (
    Amortisation,
    DayCount,
    EarlyPayment,
    PeriodUnit,
    RoundingDifference,
)
from usance.loan.errors import (
    DuplicateFact,
    FactAmountError,
    FactError,
    FeeError,
    InstalmentsError,
    OptionError,
    PrincipalError,
    ReversalError,
    TermsDateError,
    TermsError,
    TermsRateError,
)
from usance.loan.facts import MAX_FACT_MINOR
from usance.loan.terms import FeeBasis, LateRule, PercentFee

GOOD: dict[str, Any] = {
    "principal_minor": 10_000_00,
    "rate_ppm": 180_000,
    "instalments": 12,
    "disbursed_on": date(2024, 1, 15),
    "first_due_on": date(2024, 2, 15),
}
LEVEL = CONVENTIONS["level_monthly"]
HALF: Any = 0.5
JAN, FEB = date(2024, 1, 1), date(2024, 2, 1)


@pytest.mark.parametrize(
    ("change", "error", "field"),
    [
        ({"principal_minor": 0}, PrincipalError, "principal_minor"),
        ({"principal_minor": -5}, PrincipalError, "principal_minor"),
        ({"principal_minor": MAX_PRINCIPAL_MINOR + 1}, PrincipalError, "principal_minor"),
        ({"principal_minor": 100.0}, OptionError, "principal_minor"),
        ({"rate_ppm": -1, "coupon_ppm": 0}, TermsRateError, "rate_ppm"),
        ({"rate_ppm": 10_000_001}, TermsRateError, "rate_ppm"),
        ({"coupon_ppm": 180_001}, TermsRateError, "coupon_ppm"),
        ({"vat_ppm": -1}, TermsRateError, "vat_ppm"),
        ({"instalments": 0}, InstalmentsError, "instalments"),
        ({"instalments": 1_201}, InstalmentsError, "instalments"),
        ({"grace_principal": 12}, InstalmentsError, "grace_principal"),
        ({"grace_interest": -1}, InstalmentsError, "grace_interest"),
        ({"first_due_on": date(2024, 1, 15)}, TermsDateError, "first_due_on"),
        ({"disbursed_on": date(1969, 12, 31)}, TermsDateError, "disbursed_on"),
        ({"tranches": ((date(2024, 1, 15), 5),)}, TermsDateError, "tranches"),
        ({"tranches": ((date(2024, 2, 1), 10_000_00),)}, PrincipalError, "tranches"),
        ({"tranches": ((date(2024, 2, 1), 0),)}, PrincipalError, "tranches"),
        ({"rate_steps": ((FEB, 1), (JAN, 2))}, TermsDateError, "rate_steps"),
        ({"rate_steps": ((FEB, 1),), "coupon_ppm": 5}, OptionError, "rate_steps"),
        ({"flat_fee_minor": -1}, FeeError, "flat_fee_minor"),
        ({"upfront_fee_minor": 10_000_00}, FeeError, "upfront_fee_minor"),
        ({"down_payment_minor": 10_000_00}, FeeError, "upfront_fee_minor"),
        ({"balloon_minor": 5}, OptionError, "balloon_minor"),
        ({"convention": "level_monthly"}, OptionError, "convention"),
        ({"disbursed_on": "2024-01-15"}, TermsDateError, "disbursed_on"),
        ({"first_due_on": datetime(2024, 2, 15, tzinfo=UTC)}, TermsDateError, "first_due_on"),
        ({"tranches": ((date(2024, 2, 1), 100.5),)}, OptionError, "tranches"),
        ({"rate_steps": ((FEB, 0.12),)}, OptionError, "rate_steps"),
        ({"percent_fees": (PercentFee(Component.SERVICE_FEE, FeeBasis.BALANCE, HALF),)},
         OptionError, "percent_fees"),
        ({"late": LateRule(rate_ppm=HALF)}, OptionError, "late"),
        ({"percent_fees": (PercentFee(Component.PENALTY, FeeBasis.BALANCE, 5),)}, FeeError,
         "percent_fees"),
        ({"late": LateRule(grace_days=-1)}, FeeError, "late"),
        ({"convention": LEVEL.named("x", every=0)}, OptionError, "convention"),
        ({"convention": LEVEL.named("x", unit=PeriodUnit.WEEKS)}, OptionError, "convention"),
        ({"convention": LEVEL.named("x", amortisation=Amortisation.FLAT,
                                    early=EarlyPayment.REDUCE_AMOUNT)}, OptionError, "convention"),
        ({"convention": LEVEL.named("x", difference=RoundingDifference.FIRST),
          "tranches": ((date(2024, 2, 1), 5),)}, OptionError, "convention"),
    ],
)  # fmt: skip
def test_impossible_terms(change: dict[str, Any], error: type[TermsError], field: str) -> None:
    with pytest.raises(error) as caught:
        Terms(**{**GOOD, **change})
    assert caught.value.where == field
    assert str(caught.value).endswith(".")


def test_an_unknown_currency_is_named() -> None:
    with pytest.raises(CodeError, match="CNY"):
        Terms(**GOOD, currency="CNV")


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(Problems) as caught:
        Terms(**{**GOOD, "principal_minor": 0, "instalments": 0, "first_due_on": JAN})
    assert {type(e) for e in caught.value.errors} == {
        PrincipalError, InstalmentsError, TermsDateError,
    }  # fmt: skip


def test_good_terms_take_the_whole_rate_as_coupon() -> None:
    weekly = LEVEL.named("weekly", unit=PeriodUnit.WEEKS, day_count=DayCount.ACTUAL_365)
    assert Terms(**GOOD, convention=weekly).coupon_ppm == 180_000


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ([Fact(FactKind.PAID, JAN, 0, ref=1)], FactAmountError),
        ([Fact(FactKind.PAID, JAN, -1, ref=1)], FactAmountError),
        ([Fact(FactKind.PAID, JAN, MAX_FACT_MINOR + 1, ref=1)], FactAmountError),
        ([Fact(FactKind.PAID, JAN, 1.5, ref=1)], FactError),  # type: ignore[arg-type]
        ([Fact(FactKind.PAID, JAN, 1, ref=1), Fact(FactKind.PAID, FEB, 1, ref=1)], DuplicateFact),
        ([Fact(FactKind.REVERSED, JAN, ref=1, arg=7)], ReversalError),
        ([Fact(FactKind.PAID, JAN, 1, ref=1), Fact(FactKind.REVERSED, JAN, ref=2, arg=1),
          Fact(FactKind.REVERSED, JAN, ref=3, arg=1)], ReversalError),
        ([Fact(FactKind.PAID, JAN, 1, ref=1), Fact(FactKind.REVERSED, JAN, ref=2, arg=1),
          Fact(FactKind.REVERSED, JAN, ref=3, arg=2)], ReversalError),
    ],
)  # fmt: skip
def test_impossible_facts(facts: list[Fact], error: type[Exception]) -> None:
    with pytest.raises(error):
        visible(facts, as_of=FEB)


def test_a_reversal_works_from_the_moment_it_is_known_whatever_its_day() -> None:
    known = datetime(2024, 3, 1, tzinfo=UTC)
    paid = Fact(FactKind.PAID, JAN, 1, ref=1)
    undone = Fact(FactKind.REVERSED, date(2030, 1, 1), ref=2, arg=1, booked_at=known)
    assert visible([paid, undone], as_of=FEB) == []
    assert visible([paid, undone], as_of=FEB, known_at=datetime(2024, 2, 1, tzinfo=UTC)) == [paid]


def test_the_canonical_order_is_day_kind_ref() -> None:
    facts = [
        Fact(FactKind.PAID, FEB, 1, ref=1), Fact(FactKind.PAID, JAN, 1, ref=9),
        Fact(FactKind.PAID, JAN, 1, ref=3), Fact(FactKind.FEE_CHARGED, JAN, 1, ref=7),
    ]  # fmt: skip
    assert [fact.ref for fact in visible(facts, as_of=FEB)] == [7, 3, 9, 1]
