"""The exact form does with each fact what the contract says, to the minor unit."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from usance.base.codes import Component, FactKind, Status
from usance.base.dates import to_day
from usance.loan.convention import CONVENTIONS
from usance.loan.errors import (
    DisbursementError,
    FactAmountError,
    FactError,
    NotDisbursed,
    UnknownTerms,
)
from usance.loan.exact.history import replay
from usance.loan.exact.plan import schedule
from usance.loan.facts import Fact
from usance.loan.terms import Change, LateBase, LateRule, Terms
from usance.loan.views import ComponentAmounts, LoanView

B = Terms(
    principal_minor=9_000_00,
    rate_ppm=180_000,
    instalments=6,
    disbursed_on=date(2023, 12, 31),
    first_due_on=date(2024, 1, 31),
    convention=CONVENTIONS["equal_principal_monthly"],
    upfront_fee_minor=63_60,
)
"""Loan B of the worked loans: interest 135.00, 112.50, 90.00, 67.50, 45.00, 22.50."""
A = B.changed(
    rate_ppm=60_000,
    coupon_ppm=60_000,
    flat_fee_minor=381_60,
    guarantee_fee_minor=254_40,
    upfront_fee_minor=0,
)
"""Loan A: coupon 6 %, guarantee fee 42.40 and service fee 21.20 with every instalment."""


class Facts:
    """A list of facts that number themselves."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.facts: list[Fact] = []
        self.add(FactKind.DISBURSED, terms.disbursed_on, terms.principal_minor)

    def add(self, kind: FactKind, day: date, amount: int = 0, arg: int = 0) -> Facts:
        self.facts.append(Fact(kind, day, amount, len(self.facts) + 1, int(arg)))
        return self

    def pay(self, month: int, day: int, amount: int) -> Facts:
        return self.add(FactKind.PAID, date(2024, month, day), amount)

    def pay_instalments(self, count: int) -> Facts:
        for row in schedule(self.terms)[:count]:
            self.add(FactKind.PAID, row.due_on, row.total)
        return self

    def view(self, month: int, day: int, *more: Terms) -> LoanView:
        return replay([self.terms, *more], self.facts, date(2024, month, day)).view()


def test_before_disbursement_there_is_nothing() -> None:
    loan = replay(B, Facts(B).facts, date(2023, 12, 30))
    view = loan.view()
    assert view.status is Status.ACTIVE
    assert view.disbursed == view.settlement == view.principal_outstanding == view.next_due == 0
    assert view.next_due_on is None
    assert loan.rows() == []


def test_day_of_disbursement() -> None:
    view = Facts(B).view(1, 1)
    assert view.principal_outstanding == view.disbursed == 9_000_00
    assert (view.next_due_on, view.next_due) == (date(2024, 1, 31), 1_635_00)
    assert view.interest_earned == view.accrued_interest == 4_35  # 135.00 × 1/31 = 4.354…


def test_worked_loan_b_prepaid() -> None:
    facts = Facts(B).pay_instalments(4)
    view = facts.view(5, 15)
    assert view.settlement == 3_021_77
    assert view.accrued_interest == 21_77  # 45.00 × 15/31
    view = facts.pay(5, 15, 3_021_77).view(6, 30)
    assert view.status is Status.CLOSED
    assert view.instalments_paid == 6
    assert view.paid == ComponentAmounts(9_000_00, 405_00 + 21_77)
    assert view.due == view.paid
    assert view.interest_earned == 426_77
    assert view.next_due_on is None


def test_worked_loan_b_in_default() -> None:
    """B2: 60 days past due on 29 April; charge-off of principal and interest but for the fee."""
    facts = Facts(B).pay_instalments(1)
    assert facts.view(4, 29).days_past_due == 60
    assert facts.view(4, 29).accrued_interest == 202_50 + 65_25  # 29/30 of 67.50
    assert facts.view(8, 28).days_past_due == 181
    facts.add(FactKind.CHARGED_OFF, date(2024, 8, 28), 7_758_15)
    facts.add(FactKind.RECOVERED, date(2024, 11, 15), 900_00)
    view = facts.view(12, 31)
    assert view.status is Status.CHARGED_OFF
    assert (view.charged_off, view.recovered) == (7_758_15, 900_00)
    assert view.principal_outstanding == 6_600_00  # a recovery goes to principal first
    assert view.paid == ComponentAmounts(2_400_00, 135_00)


def test_worked_loan_a_prepaid_waives_slices_not_yet_due() -> None:
    facts = Facts(A).pay_instalments(4)
    view = facts.view(5, 15)
    assert view.settlement == 3_000_00 + 7_26  # 15.00 × 15/31
    view = facts.pay(5, 15, view.settlement).view(5, 15)
    assert view.status is Status.CLOSED
    assert view.paid.guarantee_fee == 169_60
    assert view.paid.service_fee == 84_80


def test_worked_loan_a_in_default() -> None:
    facts = Facts(A).pay_instalments(2)
    assert facts.view(5, 30).days_past_due == 60
    facts.add(FactKind.COMPENSATED, date(2024, 5, 31), 6_090_00)
    facts.pay(8, 15, 1_500_00)
    view = facts.view(9, 27)
    assert view.compensated == 6_090_00
    assert view.principal_outstanding == 4_500_00
    assert view.days_past_due == 180
    assert view.status is Status.ACTIVE


def test_rows_of_an_unfinished_loan() -> None:
    rows = replay(B, Facts(B).pay(1, 31, 2_000_00).facts, date(2024, 2, 1)).rows()
    assert [row.outstanding.total for row in rows[:3]] == [0, 1_247_50, 1_590_00]
    assert rows[1].paid == ComponentAmounts(principal=252_50, interest=112_50)
    assert all(row.due.total == row.paid.total + row.outstanding.total for row in rows)


def test_payment_meets_interest_principal_fees_then_penalty_then_the_coming() -> None:
    facts = Facts(A).add(FactKind.FEE_CHARGED, date(2024, 2, 5), 10_00)
    facts.pay(2, 6, 45_00 + 1_500_00 + 42_40 + 21_20 + 4_00)
    view = facts.view(2, 6)
    assert view.paid == ComponentAmounts(1_500_00, 45_00, 42_40, 21_20, 4_00)
    assert view.past_due == ComponentAmounts(penalty=6_00)
    assert view.days_past_due == 0
    view = facts.pay(2, 7, 6_00 + 37_50 + 1_00).view(2, 7)
    assert view.paid == ComponentAmounts(1_501_00, 82_50, 42_40, 21_20, 10_00)


def test_overpayment_refund_and_chargeback() -> None:
    facts = Facts(B).pay_instalments(5).pay(6, 30, 1_522_50 + 100_00)
    assert facts.view(7, 1).overpaid == 100_00
    facts.add(FactKind.REFUNDED, date(2024, 7, 2), 60_00)
    facts.add(FactKind.CHARGED_BACK, date(2024, 7, 3), 30_00)
    view = facts.view(7, 3)
    assert (view.overpaid, view.status) == (10_00, Status.CLOSED)
    view = facts.add(FactKind.CHARGED_BACK, date(2024, 7, 4), 1_512_50).view(7, 5)
    assert (view.overpaid, view.status) == (0, Status.ACTIVE)
    assert view.past_due == ComponentAmounts(principal=1_500_00, interest=2_50)
    assert view.days_past_due == 5
    with pytest.raises(FactAmountError):
        facts.add(FactKind.REFUNDED, date(2024, 7, 6), 1).view(7, 6)


def test_chargeback_after_early_settlement_brings_the_plan_back() -> None:
    facts = Facts(A).pay_instalments(4).pay(5, 15, 3_007_26)
    view = facts.add(FactKind.CHARGED_BACK, date(2024, 6, 20), 3_007_26).view(6, 20)
    assert view.days_past_due == 20
    assert view.past_due == ComponentAmounts(1_500_00, 15_00, 42_40, 21_20)
    assert view.next_due == 1_571_10


def test_chargeback_takes_the_youngest_first_and_penalties_last() -> None:
    facts = Facts(A).add(FactKind.FEE_CHARGED, date(2024, 1, 5), 10_00)
    facts.pay(1, 31, 1_608_60 + 10_00 + 37_50 + 5_00)
    facts.add(FactKind.CHARGED_BACK, date(2024, 2, 1), 42_50 + 21_20 + 2_40)
    view = facts.view(2, 1)
    assert view.past_due == ComponentAmounts(guarantee_fee=2_40, service_fee=21_20)
    assert view.paid.penalty == 10_00
    facts.add(FactKind.CHARGED_BACK, date(2024, 2, 2), 40_00 + 1_500_00 + 45_00 + 10_00)
    view = facts.view(2, 2)
    assert view.paid == ComponentAmounts()
    assert view.past_due == ComponentAmounts(1_500_00, 45_00, 42_40, 21_20, 10_00)
    with pytest.raises(FactAmountError):
        facts.add(FactKind.CHARGED_BACK, date(2024, 2, 3), 1).view(2, 3)


def test_waiver_covers_without_cash_and_moves_to_the_oldest_after_a_chargeback() -> None:
    facts = Facts(B).pay_instalments(1)
    facts.add(FactKind.WAIVED, date(2024, 2, 1), 112_50, Component.INTEREST)
    view = facts.view(2, 29)
    assert view.waived == ComponentAmounts(interest=112_50)
    assert view.past_due == ComponentAmounts(principal=1_500_00)
    facts.add(FactKind.CHARGED_BACK, date(2024, 3, 1), 1_500_00 + 135_00)
    rows = replay(B, facts.facts, date(2024, 3, 1)).rows()
    assert [row.paid.interest for row in rows[:2]] == [112_50, 0]


def test_chargeback_takes_no_more_of_a_component_than_cash_paid() -> None:
    facts = Facts(B).pay_instalments(1)
    facts.add(FactKind.WAIVED, date(2024, 2, 1), 200_00, Component.INTEREST)
    facts.add(FactKind.CHARGED_BACK, date(2024, 2, 2), 235_00)
    view = facts.view(2, 2)
    assert view.paid == ComponentAmounts(
        principal=1_400_00
    )  # all 135.00 of interest, then principal
    assert view.waived == ComponentAmounts(interest=200_00)
    rows = replay(B, facts.facts, date(2024, 2, 2)).rows()
    assert [row.paid.interest for row in rows[:3]] == [135_00, 65_00, 0]


def test_waivers_can_settle_and_leave_only_penalties_to_waive() -> None:
    facts = Facts(B).pay_instalments(5)
    facts.add(FactKind.WAIVED, date(2024, 5, 31), 1_500_00, Component.PRINCIPAL)
    view = facts.view(6, 30)
    assert view.status is Status.CLOSED
    assert view.interest_earned == 450_00
    facts.add(FactKind.FEE_CHARGED, date(2024, 7, 1), 5_00)
    assert facts.view(7, 1).status is Status.ACTIVE
    assert facts.view(7, 1).settlement == 5_00
    facts.add(FactKind.WAIVED, date(2024, 7, 2), 2_00, Component.PENALTY)
    facts.pay(7, 3, 10_00)
    view = facts.view(7, 3)
    assert view.status is Status.CLOSED
    assert (view.paid.penalty, view.waived.penalty, view.overpaid) == (3_00, 2_00, 7_00)
    with pytest.raises(FactAmountError):
        facts.add(FactKind.WAIVED, date(2024, 7, 4), 1, Component.INTEREST).view(7, 4)


def test_money_after_compensation_goes_to_principal_then_up_to_the_targets() -> None:
    facts = Facts(A).pay_instalments(2)
    facts.add(FactKind.COMPENSATED, date(2024, 5, 30), 6_090_00)
    facts.pay(6, 15, 6_000_00 + 67_50 + 3_75 + 100_00)
    view = facts.view(6, 15)
    # Due are 30.00, 22.50 and 15.00 of interest; 7.50 × 15/30 has run since.
    assert view.paid.interest == 37_50 + 45_00 + 67_50 + 3_75
    assert view.paid.guarantee_fee == 2 * 42_40 + 100_00
    assert view.paid.principal == 9_000_00
    assert view.settlement == 3 * 63_60 - 100_00
    assert view.instalments_paid == 2


def test_reversal_is_as_if_nothing_had_happened() -> None:
    facts = Facts(B).pay_instalments(2)
    plain = replay(B, facts.facts, date(2024, 3, 1)).view()
    facts.pay(2, 10, 77_77)
    facts.add(FactKind.REVERSED, date(2025, 1, 1), 0, arg=len(facts.facts))
    assert replay(B, facts.facts, date(2024, 3, 1)).view() == plain


def test_only_what_is_known_is_seen() -> None:
    known = datetime(2024, 2, 1, tzinfo=UTC)
    late = Fact(FactKind.PAID, date(2024, 1, 31), 1_635_00, 9, booked_at=known)
    facts = [*Facts(B).facts, late]
    before = datetime(2024, 1, 31, 23, tzinfo=UTC)
    assert replay(B, facts, date(2024, 2, 1), before).view().days_past_due == 1
    assert replay(B, facts, date(2024, 2, 1), known).view().days_past_due == 0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(NotDisbursed):
        replay(B, [Fact(FactKind.PAID, B.disbursed_on, 1, 1)], date(2024, 1, 1))
    with pytest.raises(NotDisbursed):
        Facts(B).add(FactKind.FEE_CHARGED, date(2023, 12, 30), 1).view(1, 1)
    for day, amount in ((B.disbursed_on, 1), (date(2024, 1, 1), 9_000_00)):
        with pytest.raises(DisbursementError):
            replay(B, [Fact(FactKind.DISBURSED, day, amount, 1)], date(2024, 2, 1))
    with pytest.raises(DisbursementError):
        Facts(B).add(FactKind.DISBURSED, date(2024, 1, 15), 1).view(2, 1)
    with pytest.raises(FactError):
        Facts(B).add(FactKind.WAIVED, date(2024, 1, 15), 1, 7).view(2, 1)
    with pytest.raises(FactAmountError):
        Facts(B).add(FactKind.WAIVED, date(2024, 1, 15), 472_51, Component.INTEREST).view(2, 1)
    with pytest.raises(UnknownTerms):
        Facts(B).add(FactKind.TERMS_CHANGED, date(2024, 1, 15), 0, 2).view(2, 1)


def test_change_of_terms_plans_what_is_not_covered_anew() -> None:
    new = B.changed(
        terms_no=2, instalments=3, first_due_on=date(2024, 6, 30), change=Change.RESCHEDULED,
        convention=CONVENTIONS["level_monthly"], rate_ppm=120_000, coupon_ppm=120_000,
    )  # fmt: skip
    facts = Facts(B).pay_instalments(1).pay(2, 29, 100_00)
    facts.add(FactKind.TERMS_CHANGED, date(2024, 4, 15), 0, 2)
    loan = replay([B, new], facts.facts, date(2024, 4, 15))
    view = loan.view()
    owed = 12_50 + 90_00 + 33_75  # rest of February, March, 67.50 × 15/30 of April
    assert view.accrued_interest == owed
    assert view.past_due == ComponentAmounts()
    assert view.principal_outstanding == 7_500_00
    assert view.settlement == 7_500_00 + owed
    rows = loan.rows()
    assert [row.number for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[1].due == rows[1].paid == ComponentAmounts(interest=100_00)
    # 75 days by 30E/360 at 12 % on 7,500.00, and what was owed.
    assert rows[3].due.interest == owed + 187_50
    assert sum(row.due.principal for row in rows[3:]) == 7_500_00


def test_days_past_due_run_on_until_three_instalments_of_the_new_plan_are_paid() -> None:
    new = B.changed(terms_no=2, instalments=6, first_due_on=date(2024, 5, 15))
    facts = Facts(B).pay_instalments(1).add(FactKind.TERMS_CHANGED, date(2024, 4, 15), 0, 2)
    assert facts.view(4, 20, new).days_past_due == 51
    rows = replay([B, new], facts.facts, date(2024, 4, 15)).rows()[-6:]
    for row in rows[:2]:
        facts.add(FactKind.PAID, row.due_on, row.due.total)
    assert facts.view(7, 1, new).days_past_due == 123
    facts.add(FactKind.PAID, rows[2].due_on, rows[2].due.total)
    assert facts.view(7, 15, new).days_past_due == 0
    aged = new.changed(change=Change.RE_AGED)
    assert facts.view(7, 15, aged).days_past_due == 137


def test_a_change_on_the_due_date_is_in_time() -> None:
    new = B.changed(terms_no=2, first_due_on=date(2024, 3, 31))
    facts = Facts(B).pay_instalments(1).add(FactKind.TERMS_CHANGED, date(2024, 2, 29), 0, 2)
    assert facts.view(3, 30, new).days_past_due == 0
    assert facts.view(4, 2, new).days_past_due == 2


def test_paused_interest() -> None:
    facts = Facts(B).pay_instalments(1)
    facts.add(FactKind.INTEREST_PAUSED, date(2024, 2, 10), 0, to_day(date(2024, 3, 10)))
    # 20 - 1 of February's 29 days and 11 of March's 31 bear nothing.
    rows = replay(B, facts.facts, date(2024, 2, 10)).rows()
    assert [row.due.interest for row in rows[:4]] == [135_00, 38_79, 58_06, 67_50]
    assert facts.view(2, 10).accrued_interest == 38_79
    assert facts.view(2, 20).accrued_interest == 38_79
    assert facts.view(3, 11).accrued_interest == 38_79
    assert facts.view(3, 12).accrued_interest == 38_79 + 2_90


LATE = B.changed(late=LateRule(rate_ppm=365_000, fee_minor=5_00, grace_days=3, cap_ppm=20_000))


def test_late_rule_charges_after_the_grace_from_the_due_date() -> None:
    facts = Facts(LATE)
    assert facts.view(2, 3).past_due.penalty == 0
    assert facts.view(2, 4).past_due.penalty == 5_00 + 4 * 1_50  # 0.1 % a day of 1,500.00
    facts.pay(2, 5, 135_00 + 500_00)
    assert facts.view(2, 6).past_due.penalty == 5_00 + 5 * 1_50 + 1_00
    assert facts.view(2, 29).past_due.penalty == 5_00 + 5 * 1_50 + 20_20  # capped: 2 % of 1,635.00


def test_late_rule_on_the_whole_instalment_without_charges_within_the_grace() -> None:
    rule = LateRule(rate_ppm=365_000, grace_days=3, base=LateBase.INSTALMENT)
    facts = Facts(B.changed(late=rule)).pay(2, 3, 1_635_00)
    assert facts.view(2, 20).past_due.penalty == 0
    facts = Facts(B.changed(late=rule))
    assert facts.view(2, 10).past_due.penalty == 16_35
