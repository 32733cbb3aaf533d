"""The edges of the kernel: at a limit both forms agree, beyond it only the exact form answers."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from usance.base.codes import Component, FactKind
from usance.base.errors import CodeError
from usance.loan import (
    CONVENTIONS,
    Fact,
    FactColumns,
    TermColumns,
    Terms,
    exact,
    replay,
    replay_columns,
    schedule,
    start,
    step,
)
from usance.loan.bounds import MAX_KERNEL_FACT_MINOR, MAX_KERNEL_FEES_MINOR
from usance.loan.convention import (
    CONVENTION_CODES,
    KERNEL_CONVENTIONS,
    Amortisation,
    Convention,
    DayCount,
    PeriodUnit,
)
from usance.loan.errors import ConventionNotInKernel, FactError, FeeError, KernelRange, OptionError
from usance.loan.terms import FeeBasis, PercentFee

DRAWN = date(2024, 1, 31)
TERMS = Terms(
    principal_minor=10_000_00, rate_ppm=180_000, instalments=12,
    disbursed_on=DRAWN, first_due_on=date(2024, 2, 29),
)  # fmt: skip

EDGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"principal_minor": 10**11}, {"principal_minor": 10**11 + 1}),
    ({"rate_ppm": 1_000_000, "coupon_ppm": -1}, {"rate_ppm": 1_000_001, "coupon_ppm": -1}),
    ({"instalments": 360}, {"instalments": 361}),
    ({"first_due_on": DRAWN + timedelta(days=62)}, {"first_due_on": DRAWN + timedelta(days=63)}),
    ({"flat_fee_minor": MAX_KERNEL_FEES_MINOR}, {"flat_fee_minor": MAX_KERNEL_FEES_MINOR + 1}),
]


def life(terms: Terms) -> list[Fact]:
    """Drawn, paid in part, charged back, paid again."""
    due = terms.first_due_on
    return [
        Fact(FactKind.DISBURSED, terms.disbursed_on, terms.principal_minor, ref=1),
        Fact(FactKind.PAID, due, terms.principal_minor // 3, ref=2),
        Fact(FactKind.CHARGED_BACK, due, terms.principal_minor // 5, ref=3),
        Fact(FactKind.WAIVED, due, 1, ref=4, arg=Component.INTEREST),
        Fact(FactKind.PAID, due + timedelta(days=40), terms.principal_minor // 7, ref=5),
    ]


@pytest.mark.parametrize("convention", list(CONVENTIONS))
@pytest.mark.parametrize(("at", "beyond"), EDGES)
def test_every_limit_at_it_and_one_beyond(
    convention: str, at: dict[str, Any], beyond: dict[str, Any]
) -> None:
    day = date(2024, 9, 9)
    terms = TERMS.changed(convention=CONVENTIONS[convention], **at)
    loan = replay(terms, life(terms), day)
    assert loan.form == "kernel"
    assert loan.view() == exact.replay(terms, life(terms), day).view()
    assert schedule(terms) == exact.schedule(terms)
    terms = TERMS.changed(convention=CONVENTIONS[convention], **beyond)
    loan = replay(terms, life(terms), day)
    assert loan.form == "exact"
    assert loan.view().disbursed == terms.principal_minor
    assert schedule(terms) == exact.schedule(terms)
    with pytest.raises(ConventionNotInKernel, match="does not know"):
        replay(terms, life(terms), day, form="kernel")
    with pytest.raises((KernelRange, ConventionNotInKernel)):
        TermColumns.of([TERMS, terms])


def test_fees_beyond_the_range_fall_to_the_exact_form() -> None:
    terms = TERMS.changed(principal_minor=10**11, coupon_ppm=0, instalments=240)
    assert replay(terms, life(terms), DRAWN).form == "exact"
    assert schedule(terms) == exact.schedule(terms)
    with pytest.raises(KernelRange):
        replay(terms, life(terms), DRAWN, form="kernel")


def test_facts_that_would_overflow_fall_to_the_exact_form() -> None:
    huge = [Fact(FactKind.PAID, date(2024, 3, 1), 10**16, ref=2 + n) for n in range(1_000)]
    loan = replay(TERMS, [life(TERMS)[0], *huge], date(2024, 3, 1))
    assert loan.form == "exact"
    assert loan.view().overpaid > 2**63
    within = [Fact(FactKind.PAID, date(2024, 3, 1), MAX_KERNEL_FACT_MINOR, ref=2)]
    facts = [life(TERMS)[0], *within]
    assert replay(TERMS, facts, date(2024, 3, 1)).form == "kernel"
    with pytest.raises(KernelRange):
        replay_columns(TermColumns.of([TERMS]), FactColumns.of([[life(TERMS)[0], huge[0]]]), 20_000)


def test_the_exact_form_refuses_a_plan_beyond_64_bits() -> None:
    fee = PercentFee(Component.SERVICE_FEE, FeeBasis.PRINCIPAL, 2_147_000_000)
    terms = TERMS.changed(principal_minor=10**15, percent_fees=(fee,))
    with pytest.raises(FeeError, match="64 bits"):
        schedule(terms)
    with pytest.raises(FeeError, match="64 bits"):
        replay(terms, life(terms)[:1], DRAWN)


def test_columns_of_the_wrong_shape_are_refused_before_the_kernel_sees_them() -> None:
    terms, facts = TermColumns.of([TERMS] * 3), FactColumns.of([[life(TERMS)[0]]] * 3)
    with pytest.raises(KernelRange, match="as_of"):
        replay_columns(terms, facts, np.array([19_800], np.int32))
    with pytest.raises(KernelRange, match="as_of"):
        replay_columns(terms, facts, 19_800.5)  # type: ignore[arg-type]
    with pytest.raises(KernelRange, match="facts of 2 loans"):
        replay_columns(terms, FactColumns.of([[], []]), DRAWN)
    with pytest.raises(KernelRange, match="facts of 0 loans"):
        step(start(TERMS), [], DRAWN)
    with pytest.raises(FactError, match="offsets"):
        FactColumns(np.array([0, 1, 2, 3000]), facts.day, facts.kind, facts.amount_minor, facts.arg)
    assert replay_columns(terms, facts, DRAWN).column("disbursed").tolist() == [10_000_00] * 3
    with pytest.raises(CodeError, match="settlement"):
        replay_columns(terms, facts, DRAWN).column("setlement")


@pytest.mark.parametrize(
    "wrong", [np.full(1, 10_000.55), np.full(1, np.nan), [10_000], np.ones((1, 1), np.int64)]
)
def test_columns_take_whole_numbers_only(wrong: Any) -> None:
    made = TermColumns.of([TERMS])
    fields = {name: getattr(made, name) for name in TermColumns.__slots__}
    with pytest.raises(KernelRange, match="int64"):
        TermColumns(**{**fields, "principal_minor": wrong})


def test_no_terms_at_all() -> None:
    with pytest.raises(OptionError, match="no terms"):
        replay([], [], DRAWN)


def test_a_convention_after_the_kernel_s_own_is_for_the_exact_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weekly = Convention(
        name="level_weekly", amortisation=Amortisation.EQUAL_INSTALMENT,
        day_count=DayCount.ACTUAL_364, unit=PeriodUnit.WEEKS,
    )  # fmt: skip
    monkeypatch.setitem(CONVENTIONS, weekly.name, weekly)
    monkeypatch.setitem(CONVENTION_CODES, weekly.name, KERNEL_CONVENTIONS + 1)
    terms = Terms(
        principal_minor=1_000_00, rate_ppm=180_000, instalments=4, convention=weekly,
        disbursed_on=date(2024, 1, 1), first_due_on=date(2024, 1, 8),
    )  # fmt: skip
    with pytest.raises(ConventionNotInKernel, match="level_weekly"):
        TermColumns.of([terms])
    drawn = Fact(FactKind.DISBURSED, date(2024, 1, 1), 1_000_00, ref=1)
    assert replay(terms, [drawn], date(2024, 1, 8)).form == "exact"
