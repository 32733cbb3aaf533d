"""Plans: strong duality, prices that a re-solve confirms, conflicts that explain themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.match.mandates import mandates, source
from usance.match.backtest.streams import StreamKind, make_stream
from usance.match.errors import NotFound
from usance.match.mandates.columns import source_columns
from usance.match.plan.demand_file import Demand, demand_of
from usance.match.plan.dual_bound import evaluate
from usance.match.plan.linear_program import solve
from usance.match.plan.planner import make_plan, plan_problem
from usance.match.router.explanation import explain_limit
from usance.match.router.request_rows import aggregate, make_request_rows

ONE = demand_of(product=[1], region=[1], grade=[3], months=[12], amount_minor=[1_000_00],
                rate_ppm=[240_000], requests=[100])  # fmt: skip
TWO = demand_of(product=[1, 1], region=[1, 2], grade=[3, 3], months=[12, 24],
                amount_minor=[1_000_00, 1_000_00], rate_ppm=[240_000, 240_000],
                requests=[100, 100])  # fmt: skip


def planned(made: object) -> list[int]:
    return [row["planned_minor"] for row in made.by_source()]  # type: ignore[attr-defined]


def test_the_cheaper_source_is_filled_first_and_its_budget_is_worth_the_difference() -> None:
    cheap = source(coupon="5%", budgets="{total: 40000}")
    dear = source(source="2", coupon="7%", budgets="{total: 90000}")
    made = make_plan(ONE, mandates(cheap, dear))
    assert planned(made) == [40_000_00, 60_000_00]
    # Two points of coupon over (12 + 1) / 24 years, after VAT.
    assert made.price_ppb(1) == pytest.approx(0.02 * 13 / 24 / 1.06 * 1e9, abs=2)
    assert made.price_ppb(2) == 0
    assert made.feasible


def test_scarce_money_goes_to_the_better_segment() -> None:
    made = make_plan(TWO, mandates(source(budgets="{total: 100000}")))
    assert planned(made) == [100_000_00]
    best = made.solved.placed[made.problem.rows.months[made.solved.row] == 24].sum()
    assert best == pytest.approx(100_000_00)


def test_a_daily_budget_counts_for_every_day_of_the_period() -> None:
    top = "period: {from: 2024-06-01, to: 2024-06-10}\n"
    made = make_plan(ONE, mandates(source(budgets="{day: 3000}"), top=top))
    assert planned(made) == [30_000_00]


def test_a_share_limits_the_mix() -> None:
    made = make_plan(TWO, mandates(source(concentration_limits="[{region: 2, share: 25%}]")))
    by_region = [
        made.solved.placed[made.problem.rows.region[made.solved.row] == r].sum() for r in (0, 1)
    ]
    assert sum(by_region) == pytest.approx(100_000_00 * 4 / 3, rel=1e-6)
    assert min(by_region) / sum(by_region) == pytest.approx(0.25, rel=1e-6)


def test_a_minimum_take_costs_the_better_source() -> None:
    top = "period: {from: 2024-06-01, to: 2024-06-10}\n"
    forced = source(source="2", coupon="9%", minimum_take="{amount: 30000}")
    made = make_plan(ONE, mandates(source(), forced, top=top))
    assert planned(made) == [70_000_00, 30_000_00]


def test_what_cannot_be_met_says_why_and_by_how_much() -> None:
    wants = source(minimum_take="{amount: 150000}", budgets="{total: 200000}")
    made = make_plan(ONE, mandates(wants))
    assert not made.feasible
    (conflict,) = [each for each in made.conflicts if each.relaxed_minor]
    assert "minimum take" in conflict.limit.text
    assert conflict.relaxed_minor == pytest.approx(50_000_00, rel=1e-3)
    assert planned(made) == [100_000_00]


def test_two_minimum_takes_that_want_the_same_loans_conflict() -> None:
    wants = [source(source=str(n), minimum_take="{amount: 80000}") for n in (1, 2)]
    made = make_plan(ONE, mandates(*wants))
    assert sum(each.relaxed_minor for each in made.conflicts) == pytest.approx(6e6, rel=1e-3)
    assert {each.limit.column for each in made.conflicts} == {0, 1}
    assert sum(planned(made)) == pytest.approx(100_000_00, abs=2)


@pytest.fixture(scope="module")
def stream() -> tuple[Demand, object]:
    made = make_stream(StreamKind.STEADY, seed=4, requests=6_000, sources=24, segments=60)
    return made.demand, made.mandates


def test_the_bound_at_the_plan_s_prices_is_the_plan_s_worth(stream) -> None:  # type: ignore[no-untyped-def]
    """Strong duality, with the bound computed row by row in the kernel.

    Only that the plan lets a row's candidates share it freely, while in truth they are asked one
    after the other; with approval rates of 80 % and more that is worth less than a thousandth.
    """
    demand, book = stream
    problem, _ = plan_problem(demand, book, source_columns(book))
    solved = solve(problem)
    bound = evaluate(problem, solved.prices, solved.concentration_prices).bound
    assert solved.optimal
    assert bound == pytest.approx(solved.objective, rel=1e-3)
    away = evaluate(problem, solved.prices * 0.8, solved.concentration_prices).bound
    assert away > bound


def test_few_candidates_near_the_prices_give_the_same_plan(stream) -> None:  # type: ignore[no-untyped-def]
    demand, book = stream
    first = make_plan(demand, book)
    again = make_plan(demand, book, warm_start=first)
    assert again.expected_margin == pytest.approx(first.expected_margin, rel=1e-6)
    assert len(again.solved.row) <= len(first.solved.row)


def test_prices_are_confirmed_by_planning_again(stream) -> None:  # type: ignore[no-untyped-def]
    demand, book = stream
    made = make_plan(demand, book)
    dearest = made.limits[int(np.argmax(made.prices_ppb))].number
    found = explain_limit(demand, book, dearest)
    assert found["expected_gain_minor"] > 0
    gain = found["gain_by_planning_again_minor"]
    assert gain == pytest.approx(found["expected_gain_minor"], rel=0.05)
    with pytest.raises(NotFound):
        explain_limit(demand, book, 9_999)


def test_requests_put_together_have_the_same_volume(stream) -> None:  # type: ignore[no-untyped-def]
    demand, book = stream
    columns = source_columns(book)
    rows = make_request_rows(demand.segments, columns, book.time_zone)
    rows = rows._replace(weight=demand.requests.astype(np.float64))
    volume = (rows.weight * rows.amount).sum()
    for most in (10**6, 30):
        few, _ = aggregate(rows, np.zeros(len(rows.amount), np.int64), columns, most)
        assert (few.weight * few.amount).sum() == pytest.approx(volume, rel=1e-9)
        assert len(few.amount) <= most


def test_the_large_solver_agrees_with_the_exact_one(stream, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    import usance.match.plan.linear_program as linear

    demand, book = stream
    exact = make_plan(demand, book)
    monkeypatch.setattr(linear, "LARGE", 0)
    first_order = make_plan(demand, replace(book))
    assert first_order.solved.solver == "pdlp"
    assert first_order.expected_margin == pytest.approx(exact.expected_margin, rel=2e-3)


def test_a_minimum_take_does_not_blur_the_prices_of_others() -> None:
    """Cheap limits and free ones: planning again earns what the price says, to a minor unit."""
    made = make_stream(StreamKind.STEADY, seed=5, requests=2_000, sources=16, segments=40)
    taken = [each for each in made.mandates.mandates if each.minimum_take]
    prices = make_plan(made.demand, made.mandates).prices_ppb
    assert taken
    for number in {int(np.argmin(prices)) + 1, int(np.argmin(np.where(prices, prices, 10**9))) + 1}:
        found = explain_limit(made.demand, made.mandates, number)
        gain = found["gain_by_planning_again_minor"]
        assert gain == pytest.approx(found["expected_gain_minor"], rel=0.01, abs=1)
