"""The kernel against the exact form, on random deals and on strata; what it refuses by name."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fund.random_deals import deal_inputs
from tests.fund.test_waterfall import deal_of
from usance.base.errors import UsanceError
from usance.fund.deal import Deal, Pool, Scenario
from usance.fund.deal_file import parse_deal
from usance.fund.errors import KernelRefused
from usance.fund.projection import Stratum
from usance.fund.results import class_results, exact_shorts
from usance.fund.sample import sample_deal, sample_path
from usance.fund.scenario_kernel import quotient, rounded
from usance.fund.scenarios import exact_row, run_scenarios, scenario_shorts

SOME = [
    Scenario(), Scenario(0, 0, 0), Scenario(0, 350, 40), Scenario(0, 1999, 700),
    Scenario(0, 150, 100, 40, (7_000, 90_000), (1_000,)),
]  # fmt: skip


@settings(max_examples=120)
@given(deal_inputs())
def test_the_kernel_is_the_exact_form(given: dict[str, Any]) -> None:
    deal = deal_of(given)
    found = run_scenarios(deal, SOME)
    assert found.rows.tolist() == [exact_row(deal, scenario) for scenario in SOME]


@st.composite
def random_strata(draw: st.DrawFn) -> list[Stratum]:
    """Strata with schedules of whole amounts, as a tape gives them."""
    strata = []
    for _ in range(draw(st.integers(1, 5))):
        months = draw(st.integers(1, 9))
        principal = [draw(st.integers(1, 10**9)) for _ in range(months)]
        left = [sum(principal[k:]) for k in range(months)]
        interest = [draw(st.integers(0, 10**8)) for _ in range(months)]
        curve = st.lists(st.integers(0, 200_000), min_size=1, max_size=3).map(tuple)
        strata.append(
            Stratum(
                left[0],
                tuple(Fraction(i, b) for i, b in zip(interest, left, strict=True)),
                tuple(Fraction(p, b) for p, b in zip(principal, left, strict=True)),
                draw(curve),
                draw(curve),
                draw(curve),
            )
        )
    return strata


@settings(max_examples=50)
@given(deal_inputs(flows=False), random_strata())
def test_strata_run_alike(given: dict[str, Any], strata: list[Stratum]) -> None:
    deal = deal_of(given)
    deal = replace(deal, pool=Pool(sum(each.balance_minor for each in strata)))
    found = run_scenarios(deal, SOME[1:], strata)
    assert found.rows.tolist() == [exact_row(deal, scenario, strata) for scenario in SOME[1:]]


@settings(max_examples=300)
@given(st.integers(0, 2**42), st.integers(0, 2**60), st.integers(1, 2**60))
def test_a_quotient_is_exact(amount: int, above: int, below: int) -> None:
    above %= below + 1
    rest = np.zeros(4, np.int64)
    assert quotient(amount, above, below, above / below, rest) == amount * above // below
    assert rest[0] == amount * above % below


def test_a_tie_of_an_inexact_share_is_said() -> None:
    rest = np.zeros(4, np.int64)
    assert rounded(3, np.array([1, 6, 1]), 1 / 6, rest) == 1
    assert rest[1] == 0
    assert rounded(3, np.array([1, 6, 0]), 1 / 6, rest) == 1
    assert rest[1] == 1


def large(times: int) -> Deal:
    deal = sample_deal()
    classes = tuple(
        replace(each, balance_minor=each.balance_minor * times) for each in deal.classes
    )
    pool = replace(deal.pool, balance_minor=deal.pool.balance_minor * times)
    return replace(deal, classes=classes, pool=pool)


def test_what_does_not_fit_is_refused_and_the_exact_form_takes_it() -> None:
    deal = large(1_000)
    with pytest.raises(KernelRefused):
        run_scenarios(deal, SOME)
    assert scenario_shorts(deal)(SOME) == exact_shorts(deal, SOME)
    assert run_scenarios(large(50), SOME).rows.tolist() == [
        exact_row(large(50), scenario) for scenario in SOME
    ]


def test_results_by_the_kernel_are_the_same() -> None:
    deal = sample_deal()
    found = class_results(deal, shorts=scenario_shorts(deal))
    assert (found["A"].break_even_hundredths, found["B"].break_even_hundredths) == (1447, 732)
    assert (found["A"].expected_loss_ppm, found["B"].expected_loss_ppm) == (0, 14676)


def test_a_scenario_with_vectors_of_its_own_is_the_deal_with_them() -> None:
    deal = sample_deal()
    assert deal.pool.terms is not None
    own = replace(deal.pool.terms, mdr_ppm=(7_000, 9_000), smm_ppm=(0,), recovery_ppm=50_000)
    given = Scenario(0, recovery_hundredths=50, mdr_ppm=(7_000, 9_000), smm_ppm=(0,))
    there = replace(deal, pool=replace(deal.pool, terms=own))
    assert exact_row(deal, given) == exact_row(there, Scenario())
    text = sample_path().read_text(encoding="utf-8")
    row = "{weight_ppm: 100000, recovery: 50, mdr_ppm: [7000, 9000], smm_ppm: 0}]"
    read = parse_deal(text.replace("[100000, 800, 50]]", row))
    assert read.scenarios[2] == replace(given, weight_ppm=100_000)
    with pytest.raises(UsanceError, match="unknown key 'mdr'"):
        parse_deal(text.replace("[100000, 800, 50]]", "{mdr: 3}]"))
