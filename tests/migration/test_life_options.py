"""Options of a running loan, each from its meaning."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.migration.lives import START, Life, day, sums
from usance.base.codes import Component
from usance.loan.convention import EarlyPayment, Sweep
from usance.migration.account import INTEREST, PRINCIPAL
from usance.migration.facts import MigratedFactKind, ReAgeing
from usance.migration.history import settlement
from usance.migration.terms import (
    DEFAULT_TRANSACTION,
    FEE,
    PENALTY,
    AllocationRule,
    ChargeOff,
    PreClosureInterest,
    ReAgeInterest,
    Recalculation,
    TrancheTerm,
    same_order_for_all,
)

INTEREST_FIRST = same_order_for_all(PENALTY, FEE, INTEREST, PRINCIPAL)


def future(rule: EarlyPayment) -> dict[str, AllocationRule]:
    return {DEFAULT_TRANSACTION: AllocationRule(INTEREST_FIRST, rule)}


def test_a_payment_on_its_day_changes_nothing_else() -> None:
    life = Life()
    before = life.rows(START)
    assert life.pay("02-01", 17_01).rows("02-01") == before


def test_overdue_principal_goes_on_bearing_interest() -> None:
    on_time, late = Life().account("02-01"), Life().account("02-29")
    more = late.rows[1].interest - on_time.rows[1].interest
    # 16.43 unpaid, 28 of the 29 days to 1 March: 16.43 × 7 % / 12 × 28 / 29.
    assert more == round(16_43 * Decimal("0.07") / 12 * 28 / 29)


def test_without_recalculation_time_changes_nothing() -> None:
    assert Life(live=False).rows("06-30") == Life(live=False).rows(START)


def test_past_due_may_be_kept_from_bearing_interest() -> None:
    life = Life(recalculation=Recalculation(past_due_bears=False))
    assert life.rows("06-30") == life.rows(START)


def test_an_early_payment_lowers_the_interest_of_its_period() -> None:
    life = Life().pay("01-15", 17_01)
    first = life.account("01-15").rows[0]
    # 14 of 31 days on 100.00, the rest is principal.
    assert first.interest == round(100_00 * Decimal("0.07") / 12 * 14 / 31)
    assert first.settled_on == day("01-15")


@pytest.mark.parametrize(
    ("rule", "paid_rows"),
    [
        (EarlyPayment.NEXT, [0]),
        (EarlyPayment.LAST, [5]),
        (EarlyPayment.REAMORTISE, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_early_money_goes_to_the_next_the_last_or_all(
    rule: EarlyPayment, paid_rows: list[int]
) -> None:
    life = Life(orders=future(rule)).pay("01-15", 10_00)
    rows = life.account("01-15").rows
    assert [index for index, row in enumerate(rows) if row.total_paid] == paid_rows
    assert sum(row.total_paid for row in rows) == 10_00


def test_the_order_of_buckets_decides_what_is_paid_first() -> None:
    first = {
        DEFAULT_TRANSACTION: AllocationRule(same_order_for_all(PENALTY, FEE, PRINCIPAL, INTEREST))
    }
    last = {DEFAULT_TRANSACTION: AllocationRule(INTEREST_FIRST)}
    paid = [
        Life(live=False, orders=orders).pay("02-01", 50).account("02-01").rows[0].paid
        for orders in (first, last)
    ]
    assert [(p[PRINCIPAL], p[INTEREST]) for p in paid] == [(50, 0), (0, 50)]


def test_a_kind_of_transaction_may_have_its_own_order() -> None:
    orders = {
        DEFAULT_TRANSACTION: AllocationRule(INTEREST_FIRST),
        "goodwill_credit": AllocationRule(INTEREST_FIRST, EarlyPayment.LAST),
    }
    rows = (
        Life(live=False, orders=orders).pay("01-15", 5_00, "goodwill_credit").account("01-15").rows
    )
    assert [row.total_paid for row in rows] == [0, 0, 0, 0, 0, 5_00]


def test_by_bucket_all_interest_is_paid_before_any_principal() -> None:
    life = Life(live=False, sweep=Sweep.BY_BUCKET, orders=future(EarlyPayment.NEXT)).pay(
        "03-15", 1_07
    )
    rows = life.account("03-15").rows
    assert [(row.paid[PRINCIPAL], row.paid[INTEREST]) for row in rows[:2]] == [(0, 58), (0, 49)]


def test_money_beyond_everything_is_overpaid_and_meets_the_next_tranche() -> None:
    life = Life(live=False).pay("01-01", 120_00)
    assert life.account("01-01").overpaid == 120_00 - 102_05
    life.add(MigratedFactKind.DISBURSED, day("01-10"), amount=50_00)
    assert life.account("01-10").overpaid == 0


def test_a_tranche_is_levelled_over_what_is_left_or_brings_its_own_term() -> None:
    for tranches, count in ((TrancheTerm.REMAINING_TERM, 6), (TrancheTerm.FULL_TERM, 7)):
        life = Life(tranches=tranches)
        life.add(MigratedFactKind.DISBURSED, day("02-01"), amount=100_00)
        account = life.account("02-01")
        assert len(account.rows) == count
        assert sum(row.principal for row in account.rows) == 200_00


def test_settling_pays_interest_to_the_day_or_to_the_rest_date() -> None:
    to_day, to_rest = (
        settlement(life.terms, life.facts, day("02-15"))
        for rule in (PreClosureInterest.TILL_DAY, PreClosureInterest.TILL_REST)
        for life in [Life(recalculation=Recalculation(rule))]
    )
    assert to_day == 100_00 + 58 + round(100_00 * Decimal("0.07") / 12 * 14 / 29)
    assert to_rest == 100_00 + 58 + 58


def test_what_settles_the_loan_settles_it() -> None:
    life = Life()
    amount = settlement(life.terms, life.facts, day("02-15"))
    account = life.pay("02-15", amount).account("02-15")
    assert (account.outstanding, account.overpaid) == (0, 0)
    assert life.account("06-30").outstanding == 0


@pytest.mark.parametrize("is_penalty", [True, False])
def test_a_charge_falls_due_with_the_instalment_of_its_period(is_penalty: bool) -> None:
    life = Life().add(MigratedFactKind.CHARGED, day("02-20"), amount=3_00, is_penalty=is_penalty)
    component = PENALTY if is_penalty else FEE
    assert [row.due[component] for row in life.account("02-20").rows] == [0, 3_00, 0, 0, 0, 0]


def test_a_charge_after_maturity_is_an_instalment_of_its_own() -> None:
    life = Life().add(MigratedFactKind.CHARGED, day("08-15"), amount=3_00, is_penalty=True)
    last = life.account(START).rows[-1]
    assert (last.start, last.end, last.total) == (day("07-01"), day("08-15"), 3_00)


def test_a_refund_of_a_merchant_gives_back_the_interest_it_bore() -> None:
    refund = "merchant_issued_refund"
    plain = Life().pay("01-15", 50_00, refund).account("01-15")
    with_interest = Life(refunds_interest=True).pay("01-15", 50_00, refund).account("01-15")
    more = sums(with_interest)[1] - sums(plain)[1]
    assert more == round(50_00 * Decimal("0.07") / 12 * 14 / 31)


def test_a_chargeback_is_owed_again_as_principal_or_in_an_order() -> None:
    as_principal = Life().pay("02-01", 17_01)
    in_order = Life(chargeback=(INTEREST, PENALTY, FEE, PRINCIPAL)).pay("02-01", 17_01)
    for life in (as_principal, in_order):
        life.add(MigratedFactKind.CHARGED_BACK, day("02-01"), amount=17_01, count=2)
    assert as_principal.account("02-01").plan.credited_principal == 17_01
    assert in_order.account("02-01").plan.credited_principal == 16_43
    assert sums(in_order.account("02-01"))[2] == sums(Life().account("02-01"))[2] + 9


def test_a_new_rate_counts_from_its_day() -> None:
    life = Life().add(
        MigratedFactKind.RATE_CHANGED, day("02-02"), rate_pct=Decimal(0), known_on=START
    )
    rows = life.account(START).rows
    assert rows[0].interest == 58
    assert [row.interest for row in rows[1:]] == [0] * 5


def test_paused_days_bear_no_interest() -> None:
    life = Life().add(
        MigratedFactKind.INTEREST_PAUSED, day("02-02"), until=day("03-01"), known_on=START
    )
    rows = life.account(START).rows
    assert (rows[0].interest, rows[1].interest) == (58, 0)
    assert sum(row.principal for row in rows) == 100_00


def test_more_instalments_make_smaller_ones() -> None:
    life = Life(live=False).add(MigratedFactKind.EXTENDED, day("02-01"), count=2, known_on=START)
    rows = life.account(START).rows
    assert len(rows) == 8
    assert rows[2].total < 17_01
    assert sum(row.principal for row in rows) == 100_00


def test_a_moved_due_date_takes_the_later_ones_along() -> None:
    life = Life().add(
        MigratedFactKind.DUE_DATE_MOVED, day("03-01"), until=day("03-15"), known_on=START
    )
    ends = [row.end for row in life.account(START).rows]
    assert ends[:3] == [day("02-01"), day("03-15"), day("04-15")]


def test_re_amortising_spreads_what_is_overdue() -> None:
    life = Life().pay("02-01", 17_01).add(MigratedFactKind.RE_AMORTISED, day("03-15"))
    rows = life.account("03-15").rows
    assert (rows[1].total, rows[1].settled_on) == (0, day("03-15"))
    assert len({row.total for row in rows[2:5]}) == 1
    assert sum(row.principal for row in rows) == 100_00


def test_re_amortising_without_interest_spreads_principal_in_equal_parts() -> None:
    life = Life(live=False, rate_pct=Decimal(0)).add(MigratedFactKind.RE_AMORTISED, day("02-15"))
    principals = [row.principal for row in life.account("02-15").rows]
    assert principals == [0, 20_00, 20_00, 20_00, 20_00, 20_00]


def test_a_tranche_after_that_is_spread_over_what_is_to_come() -> None:
    life = Life(live=False, rate_pct=Decimal(0)).add(MigratedFactKind.RE_AMORTISED, day("02-15"))
    life.add(MigratedFactKind.DISBURSED, day("03-15"), amount=40_00)
    principals = [row.principal for row in life.account("03-15").rows]
    assert principals == [0, 20_00, 30_00, 30_00, 30_00, 30_00]


def test_re_ageing_without_interest_replaces_what_was_to_come() -> None:
    ageing = ReAgeing(first_due_on=day("04-01"), instalments=3)
    life = Life(live=False, rate_pct=Decimal(0)).pay("02-01", 16_67)
    life.add(MigratedFactKind.CHARGED, day("04-20"), amount=2_00)
    life.add(MigratedFactKind.RE_AGED, day("03-15"), ageing=ageing)
    rows = life.account("03-15").rows
    assert [(row.end.month, row.principal) for row in rows] == [
        (2, 16_67), (3, 0), (4, 27_78), (5, 27_78), (6, 27_77),
    ]  # fmt: skip
    assert sum(row.due[FEE] for row in rows) == 2_00


@pytest.mark.parametrize("handling", list(ReAgeInterest))
def test_re_ageing_spreads_all_that_is_open(handling: ReAgeInterest) -> None:
    ageing = ReAgeing(first_due_on=day("04-01"), instalments=6, interest=handling)
    life = Life().pay("02-01", 17_01).add(MigratedFactKind.RE_AGED, day("03-15"), ageing=ageing)
    account = life.account("03-15")
    assert account.rows[-1].end == day("09-01")
    assert sum(row.principal for row in account.rows) == 100_00
    coming = [row for row in account.rows if row.end > day("03-15")]
    assert len(coming) == 6
    if handling is not ReAgeInterest.DEFAULT:
        assert len({row.interest for row in coming[:-1]}) == 1


def test_full_interest_is_more_than_what_is_payable_now() -> None:
    totals = []
    for handling in (ReAgeInterest.PAYABLE, ReAgeInterest.FULL):
        ageing = ReAgeing(first_due_on=day("04-01"), instalments=6, interest=handling)
        life = Life().add(MigratedFactKind.RE_AGED, day("03-15"), ageing=ageing)
        totals.append(sums(life.account("03-15"))[0])
    assert totals[0] < totals[1]


def test_a_charge_off_may_end_interest_or_bring_everything_due() -> None:
    def rows(rule: ChargeOff) -> list[tuple[int, int]]:
        life = Life(charge_off=rule).pay("02-01", 17_01)
        return life.add(MigratedFactKind.CHARGED_OFF, day("03-01")).rows("03-01")

    assert rows(ChargeOff.REGULAR)[2][1] > 0
    zero = rows(ChargeOff.ZERO_INTEREST)
    assert [interest for _, interest in zero[2:]] == [0] * 4
    assert sum(principal for principal, _ in zero) == 100_00
    assert rows(ChargeOff.ACCELERATE_MATURITY) == [(16_43, 58), (83_57, 49)]


def test_a_reversed_payment_never_happened() -> None:
    life = Life().pay("01-15", 17_01)
    del life.facts[-1]
    assert life.rows("01-15") == Life().rows("01-15")


def test_the_order_of_arrival_does_not_matter() -> None:
    life = Life().pay("02-01", 17_01).pay("03-01", 17_01)
    forwards = life.rows("03-01")
    life.facts.reverse()
    assert life.rows("03-01") == forwards


def test_components_add_up_in_every_row() -> None:
    life = Life().pay("02-10", 30_00).add(MigratedFactKind.CHARGED, day("02-20"), amount=1_00)
    for row in life.account("04-20").rows:
        assert row.total == sum(row.due[component] for component in Component)
        assert row.outstanding == row.total - row.total_paid
