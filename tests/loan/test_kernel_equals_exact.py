"""The kernel against the exact form, to the minor unit, on seeded random loans and histories.

60,000 cases in `make test`, split so that workers share them; more by `make nightly`. A seed that
fails is a case: `random_case(seed)` gives it again.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loan.cases import Case, History, random_case
from tests.loan.strategies import own_histories
from usance.base.codes import Component, FactKind
from usance.base.dates import from_day, to_day
from usance.loan import (
    Allocation,
    Fact,
    FactColumns,
    LoanView,
    TermColumns,
    Terms,
    exact,
    replay,
    replay_columns,
    schedule,
    visible,
)
from usance.loan.bounds import MAX_KERNEL_FEES_MINOR
from usance.loan.convention import DEFAULT_ALLOCATION, DueStatus, Sweep
from usance.loan.errors import FactError, KernelRange
from usance.loan.views import VIEW_FIELDS

CASES, CHUNK = 60_000, 5_000
NIGHTLY_CASES = 5_000_000


def fits(case: Case) -> bool:
    """True if the loan's fees are within the kernel's range."""
    terms = case[0]
    return terms.principal_minor < 10**9 or fees_of(case) <= MAX_KERNEL_FEES_MINOR


def fees_of(case: Case) -> int:
    return sum(row.guarantee_fee + row.service_fee for row in exact.schedule(case[0]))


def numbers(view: LoanView) -> list[int]:
    """A view as the kernel writes it."""
    next_day = to_day(view.next_due_on) if view.next_due_on else -1
    return [
        int(view.status), view.days_past_due, view.instalments_paid, view.principal_outstanding,
        *view.due[:4], *view.past_due, *view.paid, *view.waived, view.interest_earned,
        view.accrued_interest, view.settlement, view.overpaid, view.disbursed, view.compensated,
        view.charged_off, view.recovered, next_day, view.next_due,
    ]  # fmt: skip


def kernel_views(cases: list[Case]) -> list[list[int]]:
    terms = TermColumns.of([case[0] for case in cases])
    facts = FactColumns.of([visible(case[1], as_of=case[2]) for case in cases])
    days = np.array([to_day(case[2]) for case in cases], np.int32)
    views: list[list[int]] = replay_columns(terms, facts, days).values.tolist()
    return views


def differences(cases: dict[int, Case]) -> list[str]:
    """Every seed and field in which the two forms disagree."""
    found = []
    for (seed, case), got in zip(cases.items(), kernel_views(list(cases.values())), strict=True):
        want = numbers(exact.replay(*case).view())
        found += [
            f"seed {seed}: {name} exact {a} kernel {b}"
            for name, a, b in zip(VIEW_FIELDS, want, got, strict=True)
            if a != b
        ]
    return found


def check(seeds: range) -> None:
    cases = {seed: case for seed in seeds if fits(case := random_case(seed))}
    assert differences(cases) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_kernel_equals_exact_form(first: int) -> None:
    check(range(first, first + CHUNK))


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(CASES, NIGHTLY_CASES, 20 * CHUNK))
def test_kernel_equals_exact_form_by_night(first: int) -> None:
    check(range(first, first + 20 * CHUNK))


def test_money_taken_back_may_leave_a_loan_settled() -> None:
    """All principal is waived, and of what was paid in advance enough stays."""
    terms, facts, as_of = random_case(759_116)
    assert {fact.kind for fact in facts} >= {FactKind.WAIVED, FactKind.CHARGED_BACK}
    for seed in (0, 27, 30):
        order = random_order(Random(seed)) if seed else DEFAULT_ALLOCATION
        own = terms.changed(convention=terms.convention.named("x", allocation=order))
        assert differences({seed: (own, facts, as_of)}) == []


@pytest.mark.slow
@settings(max_examples=3_000)
@given(own_histories(), st.integers(-5, 400))
def test_kernel_equals_exact_form_on_what_hypothesis_finds(history: History, days: int) -> None:
    """The same claim where a failure shrinks to the smallest loan that shows it."""
    terms, facts = history.versions[0], history.facts
    as_of = from_day(history.day + days)
    loan, oracle = replay(terms, facts, as_of, form="kernel"), exact.replay(terms, facts, as_of)
    assert loan.view() == oracle.view()
    assert loan.rows() == oracle.rows()


def test_first_cases_agree_in_every_row_and_for_one_loan() -> None:
    for seed in range(600):
        case = random_case(seed)
        if fits(case):
            exact_loan, loan = exact.replay(*case), replay(*case, form="kernel")
            assert loan.view() == exact_loan.view(), f"seed {seed}"
            assert loan.rows() == exact_loan.rows(), f"seed {seed}"
            assert schedule(case[0]) == exact.schedule(case[0]), f"seed {seed}"


def test_a_loan_beyond_the_kernels_range_is_refused_by_name() -> None:
    seed = next(seed for seed in range(5_000) if not fits(random_case(seed)))
    with pytest.raises(KernelRange, match="64-bit"):
        replay(*random_case(seed), form="kernel")


def random_order(draw: Random) -> Allocation:
    buckets = [b for b in DEFAULT_ALLOCATION.order if b is not None]
    if draw.random() < 0.5:  # any order of the twelve
        order = draw.sample(buckets, 12)
    else:  # past due before due before in advance, components in any order
        order = [(when, Component(c)) for when in DueStatus for c in draw.sample(range(4), 4)]
    return Allocation(
        (*order[: (at := draw.randrange(13))], None, *order[at:]), draw.choice(tuple(Sweep))
    )


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 4_000, 500))
def test_any_allocation_order_equals_exact_form(first: int) -> None:
    draw = Random(first)
    for start in range(first, first + 500, 50):
        order = random_order(draw)
        cases = {}
        for seed in range(start, start + 50):
            terms, facts, as_of = random_case(seed)
            if fits((terms, facts, as_of)):
                own = terms.convention.named("any order", allocation=order)
                cases[seed] = keep_possible(terms.changed(convention=own), facts, as_of)
        assert differences(cases) == [], str(order)


def keep_possible(terms: Terms, facts: list[Fact], as_of: date) -> Case:
    """Leave out the facts that another order makes impossible (a waiver of what is paid now)."""
    kept: list[Fact] = []
    for fact in visible(facts, as_of=as_of):
        with suppress(FactError):
            exact.replay(terms, [*kept, fact], fact.effective_on)
            kept.append(fact)
    return terms, kept, as_of


def test_our_own_order_is_the_same_in_both_kernels() -> None:
    """The general kernel, given our order written out as buckets, equals the fold."""
    cases = [case for seed in range(1_500) if fits(case := random_case(seed))]
    ours = kernel_views(cases)
    same = Allocation(tuple(DEFAULT_ALLOCATION.order), Sweep.BY_INSTALMENT)
    assert same == DEFAULT_ALLOCATION
    # Penalties last of all, with no penalty in the history, allocates as ours does.
    last = Allocation((*(b for b in same.order if b), None), Sweep.BY_INSTALMENT)
    plain = [i for i, case in enumerate(cases) if not any(f.kind == 3 for f in case[1])]
    others = [
        (cases[i][0].changed(convention=cases[i][0].convention.named("x", allocation=last)),
         *cases[i][1:])
        for i in plain
    ]  # fmt: skip
    assert kernel_views(others) == [ours[i] for i in plain]
    assert len(plain) > 300
