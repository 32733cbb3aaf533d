"""Allocation orders and the rules for early money, in the exact form."""

from __future__ import annotations

from datetime import date

import pytest

from usance.base.codes import Component, FactKind, Status
from usance.base.dates import to_day
from usance.loan.convention import (
    CONVENTIONS,
    Allocation,
    Amortisation,
    EarlyPayment,
    SettlementInterest,
    Sweep,
    same_order,
)
from usance.loan.errors import DisbursementError
from usance.loan.exact.history import ExactLoan, replay
from usance.loan.exact.plan import schedule
from usance.loan.facts import Fact
from usance.loan.terms import Terms
from usance.loan.views import ComponentAmounts

EQUAL = CONVENTIONS["equal_principal_monthly"]
BASE = Terms(
    principal_minor=9_000_00,
    rate_ppm=180_000,
    instalments=6,
    disbursed_on=date(2023, 12, 31),
    first_due_on=date(2024, 1, 31),
    convention=EQUAL,
)
PRINCIPAL_FIRST = (
    Component.PRINCIPAL,
    Component.INTEREST,
    Component.GUARANTEE_FEE,
    Component.SERVICE_FEE,
)


def early(rule: EarlyPayment, terms: Terms = BASE) -> Terms:
    return terms.changed(convention=terms.convention.named(rule.value, early=rule))


def loan(terms: Terms, *facts: tuple[FactKind, int, int, int], on: tuple[int, int]) -> ExactLoan:
    """The loan with the first instalment paid and more facts of 2024 by month, day and amount."""
    first = terms.principal_minor - sum(amount for _, amount in terms.tranches)
    listed = [Fact(FactKind.DISBURSED, terms.disbursed_on, first, 1)]
    rows = replay(terms, listed, terms.disbursed_on).rows()
    listed.append(Fact(FactKind.PAID, rows[0].due_on, rows[0].due.total, 2))
    for ref, (kind, month, day, amount) in enumerate(facts, start=3):
        listed.append(Fact(kind, date(2024, month, day), amount, ref))
    return replay(terms, listed, date(2024, *on))


def principals(found: ExactLoan) -> list[int]:
    return [row.outstanding.principal for row in found.rows()]


PREPAID = (FactKind.PAID, 2, 10, 2_000_00)


def test_next_pays_the_coming_instalments_in_order() -> None:
    found = loan(BASE, PREPAID, on=(2, 10))
    assert principals(found) == [0, 0, 1_202_50, 1_500_00, 1_500_00, 1_500_00]
    assert found.view().paid.interest == 135_00 + 112_50 + 90_00


def test_last_pays_principal_from_the_last_backwards() -> None:
    found = loan(early(EarlyPayment.LAST), PREPAID, on=(2, 10))
    assert principals(found) == [0, 1_500_00, 1_500_00, 1_500_00, 1_000_00, 0]
    assert [row.due.interest for row in found.rows()][-2:] == [45_00, 22_50]
    found = loan(early(EarlyPayment.LAST), (FactKind.PAID, 2, 10, 7_530_00), on=(2, 10))
    assert found.view().paid == ComponentAmounts(9_000_00, 165_00)
    assert found.view().status is Status.ACTIVE


def test_reamortise_lowers_all_coming_instalments_alike() -> None:
    found = loan(early(EarlyPayment.REAMORTISE), PREPAID, on=(2, 10))
    assert principals(found) == [0] + [1_100_00] * 5
    uneven = loan(early(EarlyPayment.REAMORTISE), (FactKind.PAID, 2, 10, 7), on=(2, 10))
    assert [row.paid.principal for row in uneven.rows()[1:]] == [1, 2, 1, 2, 1]


def test_reamortise_carries_on_what_an_instalment_cannot_take() -> None:
    terms = early(EarlyPayment.REAMORTISE)
    facts = (PREPAID, (FactKind.PAID, 2, 29, 1_100_00 + 112_50), (FactKind.PAID, 3, 1, 4_399_00))
    assert sum(principals(loan(terms, *facts, on=(3, 1)))) == 1_00


def test_reduce_amount_keeps_the_dates() -> None:
    found = loan(early(EarlyPayment.REDUCE_AMOUNT), PREPAID, on=(2, 10))
    # Interest of ten days first: 112.50 × 10/29 = 38.79; the balance falls by 1,961.21.
    assert found.view().paid == ComponentAmounts(3_461_21, 173_79)
    assert principals(found) == [0, 1_107_76, 1_107_76, 1_107_75, 1_107_76, 1_107_76]
    rows = found.rows()
    assert rows[1].due.principal == 1_961_21 + 1_107_76
    assert rows[1].due.interest == 93_23  # 1.5 % of 7,500.00 for 10 and 5,538.79 for 19 of 29 days
    assert rows[2].due.interest == 66_47  # 4,431.03 × 1.5 %
    assert sum(row.due.principal for row in rows) == 9_000_00


def test_reduce_instalments_keeps_the_amount() -> None:
    found = loan(early(EarlyPayment.REDUCE_INSTALMENTS), PREPAID, on=(2, 10))
    assert principals(found) == [0, 1_500_00, 1_500_00, 1_500_00, 1_038_79]
    level = BASE.changed(convention=CONVENTIONS["level_monthly"])
    before = schedule(level)
    rows = loan(early(EarlyPayment.REDUCE_INSTALMENTS, level), PREPAID, on=(2, 10)).rows()
    assert len(rows) == 5
    assert {rows[2].due.total, rows[3].due.total} == {before[0].total}
    assert rows[4].due.total < before[0].total


def test_interest_after_a_reduction_accrues_on_the_lower_balance() -> None:
    terms = early(EarlyPayment.REDUCE_AMOUNT)
    assert loan(terms, PREPAID, on=(2, 10)).view().accrued_interest == 0
    found = loan(terms, PREPAID, on=(2, 20)).view()
    assert found.accrued_interest == 28_65  # 5,538.79 × 1.5 % × 10/29
    assert found.settlement == 5_538_79 + 28_65


def test_a_second_reduction_and_its_settlement() -> None:
    terms = early(EarlyPayment.REDUCE_AMOUNT)
    facts = (PREPAID, (FactKind.PAID, 2, 20, 1_028_65))
    found = loan(terms, *facts, on=(2, 20))
    assert found.view().principal_outstanding == 4_538_79
    assert found.view().settlement == 4_538_79
    closed = loan(terms, *facts, (FactKind.PAID, 2, 20, 4_538_79), on=(6, 30)).view()
    assert closed.status is Status.CLOSED
    assert closed.paid.total == 1_635_00 + 2_000_00 + 1_028_65 + 4_538_79


def test_chargeback_of_early_money_is_owed_again_with_the_running_instalment() -> None:
    facts = (PREPAID, (FactKind.CHARGED_BACK, 2, 12, 2_000_00))
    found = loan(early(EarlyPayment.REDUCE_AMOUNT), *facts, on=(2, 12))
    assert found.view().principal_outstanding == 7_500_00
    assert found.rows()[1].outstanding.principal == 3_068_97
    again = loan(
        early(EarlyPayment.REDUCE_AMOUNT), *facts, (FactKind.PAID, 2, 13, 2_000_00), on=(2, 13)
    )
    assert sum(principals(again)) == again.view().principal_outstanding < 5_600_00


def test_orders_by_bucket_and_by_instalment() -> None:
    first = same_order(PRINCIPAL_FIRST, penalty="first", sweep=Sweep.BY_BUCKET)
    facts = ((FactKind.FEE_CHARGED, 3, 1, 10_00), (FactKind.PAID, 4, 5, 3_010_00 + 100_00))
    found = loan(BASE.changed(convention=EQUAL.named("x", allocation=first)), *facts, on=(4, 5))
    assert found.view().paid == ComponentAmounts(4_500_00, 135_00 + 100_00, penalty=10_00)
    assert [row.outstanding.interest for row in found.rows()[1:3]] == [12_50, 90_00]
    rows = same_order(PRINCIPAL_FIRST, penalty="last")
    found = loan(BASE.changed(convention=EQUAL.named("x", allocation=rows)), *facts, on=(4, 5))
    assert found.view().paid == ComponentAmounts(1_500_00 + 2_997_50, 135_00 + 112_50)
    assert found.view().past_due == ComponentAmounts(2_50, 90_00, penalty=10_00)


def test_an_order_can_put_the_day_s_instalment_before_older_ones() -> None:
    order = same_order(PRINCIPAL_FIRST).order
    today_first = Allocation((*order[4:8], *order[:4], *order[8:]))
    terms = BASE.changed(convention=EQUAL.named("x", allocation=today_first))
    found = loan(terms, (FactKind.PAID, 3, 31, 1_600_00), on=(3, 31))
    assert found.rows()[2].outstanding == ComponentAmounts()
    assert found.rows()[1].outstanding == ComponentAmounts(1_490_00, 112_50)


def test_an_order_can_put_coming_instalments_before_those_due() -> None:
    ahead_first = Allocation(tuple(reversed(same_order(PRINCIPAL_FIRST).order)))
    terms = BASE.changed(convention=EQUAL.named("x", allocation=ahead_first))
    found = loan(terms, (FactKind.PAID, 3, 5, 1_500_00), on=(3, 5))
    # The money of 31 January went to instalments 2 and 3, and so did that of 5 March.
    assert found.view().past_due == ComponentAmounts(1_500_00, 135_00)
    assert found.rows()[2].outstanding == ComponentAmounts(67_50)


def test_full_period_interest_on_settlement() -> None:
    full = EQUAL.named("full", settlement_interest=SettlementInterest.FULL_PERIOD)
    terms = BASE.changed(convention=full)
    view = loan(terms, on=(2, 1)).view()
    assert view.settlement == 7_500_00 + 112_50
    assert view.accrued_interest == 3_88  # earned is by days all the same
    assert loan(terms, on=(1, 31)).view().settlement == 7_500_00


def test_flat_interest_is_settled_by_days() -> None:
    terms = BASE.changed(convention=EQUAL.named("flat", amortisation=Amortisation.FLAT))
    assert loan(terms, on=(2, 10)).view().settlement == 7_500_00 + 46_55  # 135.00 × 10/29


def test_interest_that_waits_is_earned_and_settled() -> None:
    terms = BASE.changed(grace_interest=2)
    view = loan(terms, on=(2, 10)).view()
    assert view.due.interest == 0
    assert view.accrued_interest == view.interest_earned == 135_00 + 38_79
    assert view.settlement == 7_500_00 + 135_00 + 38_79


def test_tranches_as_they_are_drawn() -> None:
    terms = BASE.changed(tranches=((date(2024, 2, 10), 3_000_00),))
    facts = ((FactKind.DISBURSED, 2, 10, 3_000_00),)
    found = loan(terms, *facts, on=(2, 10))
    assert principals(found) == [0] + [1_600_00] * 5
    assert [row.due.total for row in found.rows()] == [row.total for row in schedule(terms)]
    assert found.view().disbursed == 9_000_00
    # Money paid ahead leaves the balance before the tranche is planned.
    ahead = loan(terms, (FactKind.PAID, 2, 5, 575_00), *facts, on=(2, 10))
    assert principals(ahead)[1:] == [1_500_00] * 5
    with pytest.raises(DisbursementError):
        loan(terms, (FactKind.PAID, 2, 1, 9_000_00), *facts, on=(2, 10))


def test_a_pause_keeps_interest_paid_in_advance() -> None:
    facts = [
        Fact(FactKind.DISBURSED, BASE.disbursed_on, 9_000_00, 1),
        Fact(FactKind.PAID, date(2024, 1, 10), 1_635_00 + 112_50, 2),
        Fact(FactKind.INTEREST_PAUSED, date(2024, 2, 1), 0, 3, to_day(date(2024, 2, 28))),
    ]
    rows = replay(BASE, facts, date(2024, 2, 29)).rows()
    # One of February's 29 days bears interest; what was paid for the others covers March.
    assert [row.paid.interest for row in rows[:4]] == [135_00, 3_88, 90_00, 18_62]
    assert [row.due.interest for row in rows[:3]] == [135_00, 3_88, 90_00]
