"""One function, two forms: which answers, and what a batch refuses."""

from __future__ import annotations

from datetime import UTC, date, datetime
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
    replay,
    replay_columns,
    start,
)
from usance.loan.batch import Views, schedule_columns, step_columns
from usance.loan.convention import Sweep, same_order
from usance.loan.errors import (
    ConventionNotInKernel,
    DisbursementError,
    FactAmountError,
    FactError,
    FactNotInKernel,
    FeeError,
    KernelRange,
    NotDisbursed,
    OptionError,
    ReversalError,
)

DRAWN_ON, DUE, LATER = date(2024, 1, 15), date(2024, 2, 15), date(2024, 6, 1)
TERMS = Terms(
    principal_minor=10_000_00, rate_ppm=180_000, instalments=12,
    disbursed_on=DRAWN_ON, first_due_on=DUE,
)  # fmt: skip
DRAWN = Fact(FactKind.DISBURSED, DRAWN_ON, 10_000_00, ref=1)


def later(kind: FactKind, amount: int = 0, arg: int = 0) -> Fact:
    return Fact(kind, DUE, amount, ref=2, arg=arg)


@pytest.mark.parametrize(
    ("terms", "facts", "form"),
    [
        (TERMS, [DRAWN], "kernel"),
        (TERMS, [], "kernel"),
        (TERMS.changed(grace_principal=2), [DRAWN], "exact"),
        (
            TERMS.changed(convention=CONVENTIONS["level_monthly"].named("two", every=2)),
            [DRAWN],
            "exact",
        ),
        (TERMS, [DRAWN, later(FactKind.INTEREST_PAUSED, arg=19_800)], "exact"),
    ],
)
def test_auto_takes_the_kernel_where_it_can_and_says_so(
    terms: Terms, facts: list[Fact], form: str
) -> None:
    assert replay(terms, facts, DUE).form == form


def test_asked_for_the_kernel_nothing_falls_back() -> None:
    with pytest.raises(ConventionNotInKernel, match="grace_principal"):
        replay(TERMS.changed(grace_principal=2), [DRAWN], DUE, form="kernel")
    with pytest.raises(FactNotInKernel):
        replay(TERMS, [DRAWN, later(FactKind.INTEREST_PAUSED, arg=19_800)], DUE, form="kernel")
    with pytest.raises(CodeError, match="kernel"):
        replay(TERMS, [DRAWN], DUE, form="kernal")  # type: ignore[call-overload]


@pytest.mark.parametrize("form", ["kernel", "exact"])
@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ([later(FactKind.PAID, 5)], NotDisbursed),
        ([DRAWN, Fact(FactKind.DISBURSED, DUE, 5, ref=2)], DisbursementError),
        ([Fact(FactKind.DISBURSED, DRAWN_ON, 9_000_00, ref=1)], DisbursementError),
        ([DRAWN, later(FactKind.REFUNDED, 5)], FactAmountError),
        ([DRAWN, later(FactKind.CHARGED_BACK, 5)], FactAmountError),
        ([DRAWN, later(FactKind.WAIVED, 5, Component.PENALTY)], FactAmountError),
        ([DRAWN, later(FactKind.WAIVED, 10_000_01, Component.PRINCIPAL)], FactAmountError),
        ([DRAWN, later(FactKind.WAIVED, 5, 9)], FactError),
        ([DRAWN, later(FactKind.REVERSED, arg=9)], ReversalError),
        ([DRAWN, later(FactKind.PAID, -5)], FactAmountError),
    ],
)
def test_both_forms_refuse_the_same_facts(
    form: Any, facts: list[Fact], error: type[Exception]
) -> None:
    with pytest.raises(error):
        replay(TERMS, facts, LATER, form=form)


def test_facts_in_any_order_known_or_not_and_reversed() -> None:
    paid = Fact(FactKind.PAID, DUE, 500_00, ref=5, booked_at=datetime(2024, 2, 16, tzinfo=UTC))
    undone = Fact(FactKind.REVERSED, DUE, ref=6, arg=5, booked_at=datetime(2024, 2, 20, tzinfo=UTC))
    facts = [undone, paid, DRAWN]
    assert replay(TERMS, facts, DUE).view() == replay(TERMS, [DRAWN], DUE).view()
    before = replay(TERMS, facts, DUE, datetime(2024, 2, 18, tzinfo=UTC)).view()
    assert before.paid.total == 500_00
    unknown = replay(TERMS, facts, DUE, datetime(2024, 2, 1, tzinfo=UTC)).view()
    assert unknown.paid.total == 0


def columns(**changed: Any) -> TermColumns:
    made = TermColumns.of([TERMS, TERMS])
    fields = {name: getattr(made, name).copy() for name in TermColumns.__slots__[:-1]}
    for name, value in changed.items():
        fields[name][1] = value
    return TermColumns(**fields)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"principal_minor": 0}, KernelRange),
        ({"principal_minor": 10**11 + 1}, KernelRange),
        ({"rate_ppm": -1}, KernelRange),
        ({"coupon_ppm": 180_001}, KernelRange),
        ({"instalments": 0}, KernelRange),
        ({"instalments": 361}, KernelRange),
        ({"first_due_on": 1}, KernelRange),
        ({"flat_fee_minor": 2**31}, KernelRange),
        ({"convention": 7}, ConventionNotInKernel),
        ({"convention": 0}, ConventionNotInKernel),
    ],
)
def test_a_bad_column_is_refused_with_its_row(
    changed: dict[str, int], error: type[Exception]
) -> None:
    with pytest.raises(error, match="row 1"):
        columns(**changed)


def test_fees_beyond_the_range_and_guarantees_beyond_the_fees() -> None:
    with pytest.raises(KernelRange, match="loan 1"):
        schedule_columns(columns(principal_minor=10**11, coupon_ppm=0, instalments=240))
    with pytest.raises(FeeError, match="loan 1"):
        schedule_columns(columns(guarantee_fee_minor=1))


def test_a_batch_names_its_loan_and_fact() -> None:
    facts = FactColumns.of([[DRAWN], [DRAWN, later(FactKind.REFUNDED, 5)]])
    with pytest.raises(FactAmountError, match=r"loan 1: refunded of 2024-02-15 over 5"):
        replay_columns(columns(), facts, 20_000)
    unsorted = FactColumns.of(
        [[DRAWN], [DRAWN, later(FactKind.PAID, 5), Fact(FactKind.PAID, DRAWN_ON, 5, ref=9)]]
    )
    with pytest.raises(FactError, match="canonical order"):
        replay_columns(columns(), unsorted, 20_000)


def test_the_same_function_takes_columns() -> None:
    facts = FactColumns.of([[DRAWN], [DRAWN]])
    assert replay(columns(), facts, LATER).column("days_past_due").tolist() == [107, 107]
    with pytest.raises(OptionError, match="mixed"):
        replay(columns(), [DRAWN], LATER)  # type: ignore[call-overload]
    known = datetime(2024, 3, 1, tzinfo=UTC)
    with pytest.raises(OptionError, match="already known"):
        replay(columns(), facts, LATER, known)  # type: ignore[call-overload]


def test_a_moment_without_a_zone_is_no_moment() -> None:
    with pytest.raises(FactError, match="time zone"):
        replay(TERMS, [DRAWN], LATER, datetime(2024, 3, 1))  # noqa: DTZ001


def test_one_batch_has_one_allocation_order() -> None:
    order = same_order((Component.PRINCIPAL, Component.INTEREST, Component.GUARANTEE_FEE,
                      Component.SERVICE_FEE), sweep=Sweep.BY_BUCKET)  # fmt: skip
    other = TERMS.changed(convention=CONVENTIONS["level_monthly"].named("other", allocation=order))
    with pytest.raises(ConventionNotInKernel, match="different allocation orders"):
        TermColumns.of([TERMS, other])
    with pytest.raises(ConventionNotInKernel, match="stored state"):
        start(other)
    assert "by bucket" in str(order)


def test_memory_given_again_must_fit() -> None:
    with pytest.raises(KernelRange, match="out has 1 rows"):
        replay_columns(columns(), FactColumns.of([[], []]), 20_000,
                       out=Views(np.empty((1, 33), np.int64)))  # fmt: skip
    states = start(columns())
    with pytest.raises(KernelRange, match="out"):
        step_columns(states, FactColumns.of([[], []]), 20_000, out=states)


def test_workers_do_not_change_a_result() -> None:
    many = TermColumns.of([TERMS.changed(principal_minor=1_000_00 + n) for n in range(500)])
    facts = FactColumns.of(
        [[Fact(FactKind.DISBURSED, DRAWN_ON, 1_000_00 + n, ref=1)] for n in range(500)]
    )
    one = replay_columns(many, facts, 20_000, workers=1)
    assert np.array_equal(one.values, replay_columns(many, facts, 20_000, workers=2).values)
