"""The loans of the accounting examples, as schedules and replays: every amount to the fen."""

from __future__ import annotations

from datetime import date

import pytest

from usance.base.codes import Component, FactKind, Status
from usance.loan import CONVENTIONS, Fact, Terms, replay, schedule
from usance.loan.loan import Form

DRAWN = date(2023, 12, 31)
DUE = [date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 31), date(2024, 4, 30),
       date(2024, 5, 31), date(2024, 6, 30)]  # fmt: skip

COMMON = {
    "principal_minor": 9_000_00, "instalments": 6, "disbursed_on": DRAWN,
    "first_due_on": DUE[0], "convention": CONVENTIONS["equal_principal_monthly"],
}  # fmt: skip
HEAVY = Terms(**COMMON, rate_ppm=60_000, flat_fee_minor=381_60, guarantee_fee_minor=254_40)  # type: ignore[arg-type]
OWN_BOOK = Terms(**COMMON, rate_ppm=180_000, upfront_fee_minor=63_60)  # type: ignore[arg-type]
LIGHT = Terms(**COMMON, rate_ppm=60_000, flat_fee_minor=190_80)  # type: ignore[arg-type]

FORMS: list[Form] = ["kernel", "exact"]


def life(terms: Terms, *paid: tuple[date, int], more: tuple[Fact, ...] = ()) -> list[Fact]:
    facts = [Fact(FactKind.DISBURSED, DRAWN, terms.principal_minor, ref=1)]
    facts += [Fact(FactKind.PAID, day, amount, ref=2 + n) for n, (day, amount) in enumerate(paid)]
    return [*facts, *more]


def on_time(terms: Terms, count: int) -> list[tuple[date, int]]:
    return [(row.due_on, row.total) for row in schedule(terms)[:count]]


def test_instalments_of_the_guaranteed_loan() -> None:
    rows = schedule(HEAVY)
    assert [row.due_on for row in rows] == DUE
    assert [row.interest for row in rows] == [45_00, 37_50, 30_00, 22_50, 15_00, 7_50]
    assert {(row.principal, row.guarantee_fee, row.service_fee) for row in rows} == {
        (1_500_00, 42_40, 21_20)
    }
    assert rows[0].total == 1_608_60


@pytest.mark.parametrize("form", FORMS)
def test_prepaid_guaranteed_loan_waives_slices_not_yet_due(form: Form) -> None:
    """A1: four instalments, then everything on 15 May."""
    terms, day = HEAVY, date(2024, 5, 15)
    before = replay(terms, life(terms, *on_time(terms, 4)), day, form=form).view()
    assert before.settlement == 3_000_00 + 7_26  # 15.00 × 15/31
    facts = life(terms, *on_time(terms, 4), (day, before.settlement))
    after = replay(terms, facts, day, form=form).view()
    assert (after.status, after.overpaid) == (Status.CLOSED, 0)
    assert (after.paid.guarantee_fee, after.paid.service_fee) == (169_60, 84_80)


@pytest.mark.parametrize("form", FORMS)
def test_defaulted_guaranteed_loan_recovers_principal_first(form: Form) -> None:
    """A2: two instalments, payout on 31 May, 1,500.00 recovered in August."""
    payout = Fact(FactKind.COMPENSATED, date(2024, 5, 31), 6_090_00, ref=20)
    back = Fact(FactKind.RECOVERED, date(2024, 8, 15), 1_500_00, ref=21)
    facts = life(HEAVY, *on_time(HEAVY, 2), more=(payout, back))
    at = {
        day: replay(HEAVY, facts, day, form=form).view()
        for day in (date(2024, 5, 30), date(2024, 6, 30), date(2024, 9, 27), date(2024, 9, 28))
    }
    assert [v.days_past_due for v in at.values()] == [60, 91, 180, 181]
    assert [v.principal_outstanding for v in at.values()] == [
        6_000_00,
        6_000_00,
        4_500_00,
        4_500_00,
    ]
    assert at[date(2024, 9, 28)].compensated == 6_090_00
    assert at[date(2024, 9, 28)].recovered == 1_500_00


@pytest.mark.parametrize("form", FORMS)
def test_prepaid_loan_of_our_own(form: Form) -> None:
    """B1: interest by days of the running period, 45.00 × 15/31 = 21.77."""
    assert [row.interest for row in schedule(OWN_BOOK)] == [
        135_00,
        112_50,
        90_00,
        67_50,
        45_00,
        22_50,
    ]
    day = date(2024, 5, 15)
    seen = replay(OWN_BOOK, life(OWN_BOOK, *on_time(OWN_BOOK, 4)), day, form=form).view()
    assert (seen.settlement, seen.accrued_interest) == (3_021_77, 21_77)
    assert OWN_BOOK.cash_to_borrower_minor == 8_936_40


@pytest.mark.parametrize("form", FORMS)
def test_defaulted_loan_of_our_own(form: Form) -> None:
    """B2: one instalment paid; day 60 is 29 April, day 181 is 28 August."""
    facts = life(OWN_BOOK, *on_time(OWN_BOOK, 1))
    april = replay(OWN_BOOK, facts, date(2024, 4, 29), form=form).view()
    assert (april.days_past_due, april.accrued_interest) == (60, 112_50 + 90_00 + 65_25)
    august = replay(OWN_BOOK, facts, date(2024, 8, 28), form=form).view()
    assert (august.days_past_due, august.principal_outstanding) == (181, 7_500_00)


@pytest.mark.parametrize("form", FORMS)
def test_light_loan_pays_its_late_fee_after_what_is_due(form: Form) -> None:
    """C: instalment 3 on 20 April with a late fee of 10.60; day 60 of instalment 4 is 29 June."""
    late_fee = Fact(FactKind.FEE_CHARGED, date(2024, 4, 20), 10_60, ref=20, arg=1)
    third = schedule(LIGHT)[2].total
    facts = life(LIGHT, *on_time(LIGHT, 2), (date(2024, 4, 20), third + 10_60), more=(late_fee,))
    paid = replay(LIGHT, facts, date(2024, 4, 20), form=form).view()
    assert (paid.days_past_due, paid.paid.penalty, paid.past_due.total) == (0, 10_60, 0)
    assert paid.paid.service_fee == 3 * 31_80
    assert replay(LIGHT, facts, date(2024, 6, 29), form=form).view().days_past_due == 60


@pytest.mark.parametrize("form", FORMS)
def test_a_waiver_counts_apart_from_cash(form: Form) -> None:
    forgiven = Fact(FactKind.WAIVED, date(2024, 2, 1), 45_00, ref=20, arg=Component.INTEREST)
    seen = replay(HEAVY, life(HEAVY, more=(forgiven,)), date(2024, 2, 1), form=form).view()
    assert (seen.waived.interest, seen.paid.interest, seen.past_due.interest) == (45_00, 0, 0)
