"""Line and price: profit by hand, choices against exact programming, menus inside the cap."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.assess.errors import WrongInput
from usance.assess.offer.knapsack import choose
from usance.assess.offer.profit import (
    MAX_MINOR,
    MAX_MONTHS,
    MAX_RATE_PPM,
    SHIPPED,
    Offers,
    expected_profit,
    read_economics,
)
from usance.assess.offer.rate_card import Segment, rate_card
from usance.base.arrays import I64
from usance.base.errors import UsanceError
from usance.base.parameters import Parameters
from usance.base.rates import PPM


def highest_profit(profit: I64, uses: I64, limits: I64) -> int:
    """The profit of the best choice there is, by whole-number programming."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    people, options = profit.shape
    takes = [[model.new_bool_var(f"{i},{j}") for j in range(options)] for i in range(people)]
    for row in takes:
        model.add_exactly_one(row)
    pairs = [(i, j) for i in range(people) for j in range(options)]
    for use, limit in zip(uses, limits, strict=True):
        model.add(sum(int(use[i, j]) * takes[i][j] for i, j in pairs) <= int(limit))
    model.maximize(sum(int(profit[i, j]) * takes[i][j] for i, j in pairs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL, "no offer to anyone is inside the limits"
    return sum(int(profit[i, j]) * int(solver.value(takes[i][j])) for i, j in pairs)


def test_profit_by_hand() -> None:
    """20,000 at 18 % over 12 months, drawn by 52 % of users to 55 %."""
    drawn = Fraction(20_000) * Fraction(52, 100) * Fraction(55, 100)
    owed = drawn * 13 / 24
    income = owed * Fraction(18, 100) / Fraction(106, 100)
    # Between 15 % (100 %) and 24 % (118 %) the risk by price at 18 % is 106 %.
    loss = drawn * Fraction(2, 100) * Fraction(106, 100) * Fraction(65, 100)
    funding, capital = owed * Fraction(43, 1000), owed * Fraction(10, 100) * Fraction(15, 100)
    service = drawn * Fraction(8, 1000) + 40 * Fraction(52, 100)
    found = expected_profit(
        read_economics(), Offers.of([2_000_000], [180_000], [12]), [20_000], [3], [43_000]
    )
    wanted = {"drawn": drawn, "income": income, "funding": funding, "loss": loss,
              "capital": capital, "service": service}  # fmt: skip
    for name, value in wanted.items():
        assert abs(int(getattr(found, f"{name}_minor")[0]) - value * 100) <= 2, name
    profit = income - funding - loss - capital - service
    assert abs(int(found.profit_minor[0]) - profit * 100) <= 6


def test_one_offer_and_a_column_are_the_same() -> None:
    draw = np.random.default_rng(1)
    lines, rates = draw.integers(0, 10**7, 200), draw.integers(50_000, 300_000, 200)
    months, grades = draw.choice([3, 6, 12, 24], 200), draw.integers(1, 9, 200)
    pds, funding = draw.integers(0, 200_000, 200), draw.integers(20_000, 80_000, 200)
    whole = expected_profit(
        read_economics(), Offers.of(lines, rates, months), pds, grades, funding
    ).profit_minor
    for row in range(0, 200, 7):
        offer = Offers.of([lines[row]], [rates[row]], [months[row]])
        alone = expected_profit(read_economics(), offer, [pds[row]], [grades[row]], [funding[row]])
        assert int(alone.profit_minor[0]) == int(whole[row])


@settings(max_examples=40)
@given(
    people=st.integers(1, 7), options=st.integers(2, 4), limits=st.integers(1, 3),
    tight=st.integers(5, 90), seed=st.integers(0, 10_000),
)  # fmt: skip
def test_choices_are_feasible_and_close_to_the_best_there_is(
    people: int, options: int, limits: int, tight: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    profit = draw.integers(-50, 200, (people, options))
    uses = draw.integers(0, 100, (limits, people, options))
    profit[:, 0], uses[:, :, 0] = 0, 0
    most = uses.max(axis=2).sum(axis=1) * tight // 100
    found, best = choose(profit, uses, most), highest_profit(profit, uses, most)
    assert (found.used <= most).all()
    assert found.profit <= best <= found.bound + 1e-6
    # A relaxed solution splits at most one applicant for each limit.
    assert found.profit >= best - 2 * limits * int(np.abs(profit).max())


def test_prices_of_limits_say_what_one_more_unit_earns() -> None:
    profit = np.array([[0, 100], [0, 80], [0, 30]])
    uses = np.array([[[0, 10], [0, 10], [0, 10]]])
    found = choose(profit, uses, np.array([20]))
    assert found.option.tolist() == [1, 1, 0]
    assert 3.0 <= found.prices[0] <= 8.0
    assert found.bound == pytest.approx(180.0)


def test_a_large_case_comes_close_to_its_bound() -> None:
    draw = np.random.default_rng(5)
    profit = draw.integers(0, 5000, (3000, 5))
    uses = draw.integers(1, 100, (2, 3000, 5))
    profit[:, 0], uses[:, :, 0] = 0, 0
    limits = uses.max(axis=2).sum(axis=1) // 4
    found = choose(profit, uses, limits)
    assert (found.used <= limits).all()
    assert found.profit >= 0.998 * found.bound


@pytest.mark.parametrize("seed", range(12))
def test_prices_are_found_whatever_the_size_of_the_numbers(
    seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Yuan in fen beside limits of a few units: the programme of prices must stay solvable."""
    draw = np.random.default_rng(seed)
    people, options, limits = 25, 5, int(draw.integers(1, 4))
    profit = draw.integers(-300, 3 * 10 ** int(draw.integers(3, 7)), (people, options))
    uses = draw.integers(0, 10 ** int(draw.integers(2, 9)), (limits, people, options))
    profit[:, 0], uses[:, :, 0] = 0, 0
    most = uses.max(axis=2).sum(axis=1) * int(draw.integers(2, 60)) // 100
    found = choose(profit, uses, most)
    assert "No solution" not in capfd.readouterr().err
    best = highest_profit(profit, uses, most)
    assert (found.used <= most).all()
    assert 0.8 * best <= found.profit <= best <= found.bound * (1 + 1e-9)
    assert found.bound <= 1.5 * best


def test_few_or_no_applicants() -> None:
    nobody = choose(np.zeros((0, 3), np.int64), np.zeros((1, 0, 3), np.int64), np.array([5]))
    assert (nobody.option.tolist(), nobody.profit, nobody.bound) == ([], 0, 0.0)
    free = choose(np.array([[0, 5], [0, -5]]), np.zeros((0, 2, 2), np.int64), np.zeros(0, np.int64))
    assert free.option.tolist() == [1, 0]


def test_wrong_shapes_and_signs_are_refused() -> None:
    profit, uses = np.array([[0, 5]]), np.array([[[0, 5]]])
    with pytest.raises(WrongInput, match="shapes"):
        choose(profit, uses, np.array([1, 2]))
    with pytest.raises(WrongInput, match="option 0"):
        choose(np.array([[1, 5]]), uses, np.array([1]))
    with pytest.raises(WrongInput, match="negative"):
        choose(profit, -uses, np.array([1]))
    with pytest.raises(WrongInput, match="not all whole"):
        choose(profit * 0.5, uses, np.array([1]))  # type: ignore[arg-type]
    with pytest.raises(WrongInput, match="too large"):
        choose(profit * 10**15, uses, np.array([1]))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"pd_ppm": [0.02]}, "pd_ppm is not whole"),
        ({"pd_ppm": [float("nan")]}, "pd_ppm is not whole"),
        ({"pd_ppm": [1_000_001]}, "pd_ppm is out of range"),
        ({"funding_ppm": [-1]}, "funding_ppm is out of range"),
        ({"grade": [1, 2]}, "grade has another number of rows"),
    ],
)
def test_nothing_is_rounded_away_or_stretched(changes: dict[str, list[float]], what: str) -> None:
    given = {"pd_ppm": [20_000], "grade": [3], "funding_ppm": [43_000]} | changes
    with pytest.raises(WrongInput, match=what):
        expected_profit(read_economics(), Offers.of([10**6], [180_000], [12]), **given)


def test_a_rate_of_a_fraction_is_not_a_rate_of_nothing() -> None:
    with pytest.raises(WrongInput, match="rate_ppm is not whole"):
        Offers.of([10**6], [0.18], [12])


def test_the_largest_offer_does_not_overflow() -> None:
    most = Offers.of([MAX_MINOR], [MAX_RATE_PPM], [MAX_MONTHS])
    found = expected_profit(read_economics(), most, [PPM], [8], [PPM]).parts()
    drawn = Fraction(MAX_MINOR) * Fraction(33, 100) * Fraction(85, 100)
    income = drawn * 361 / 24 * 2 / Fraction(106, 100)
    assert abs(int(found["income_minor"][0]) - income) <= 2
    assert int(found["loss_minor"][0]) <= int(found["drawn_minor"][0])
    with pytest.raises(WrongInput, match="line_minor is out of range"):
        Offers.of([MAX_MINOR + 1], [1], [1])


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("8%: 72%", "8%: 172%", "172% is too large"),
        ("8%: 72%", "12.0%: 72%", "a rate is there twice"),
        ("1: 42%", "1: x", "'x' is not a rate"),
    ],
)
def test_wrong_economics_are_named(tmp_path: Path, old: str, new: str, what: str) -> None:
    file = tmp_path / "economics.yaml"
    file.write_text(SHIPPED.read_text().replace(old, new, 1))
    with pytest.raises(UsanceError, match=f"economics.yaml line .*{what}"):
        read_economics(file)


SEGMENTS = [Segment("prime", 1, 4_000, 5_000_000), Segment("near", 4, 24_000, 2_000_000),
            Segment("risky", 8, 400_000, 500_000)]  # fmt: skip
PRICES = range(80_000, 380_000, 10_000)


def test_no_price_above_the_cap_is_on_the_menu() -> None:
    from datetime import date

    cap = Parameters.load().at("pricing.rate_cap", date(2024, 6, 30)).integer
    funding = {6: 40_000, 12: 43_000}
    menu = rate_card(read_economics(), SEGMENTS, [6, 12], list(PRICES), funding, cap)
    assert len(menu) == 6
    assert max(cell.rate_ppm for cell in menu) <= cap
    by_segment = {(cell.segment, cell.months): cell for cell in menu}
    assert by_segment["risky", 12].rate_ppm == 0
    assert by_segment["prime", 12].break_even_ppm < by_segment["near", 12].break_even_ppm
    assert by_segment["prime", 12].profit_minor > 0


def test_the_best_price_is_the_best_of_all_listed() -> None:
    economics, segment = read_economics(), SEGMENTS[1]
    (cell,) = rate_card(economics, [segment], [12], list(PRICES), {12: 43_000}, 240_000)
    tried = {}
    for price in (price for price in PRICES if price <= 240_000):
        offer = Offers.of([segment.line_minor], [price], [12])
        tried[price] = int(
            expected_profit(economics, offer, [24_000], [4], [43_000]).profit_minor[0]
        )
    assert cell.profit_minor == max(tried.values()) == tried[cell.rate_ppm]


def test_a_dearer_fund_never_earns_more() -> None:
    economics, segment = read_economics(), SEGMENTS[1]
    earned = [
        rate_card(economics, [segment], [12], list(PRICES), {12: funding}, 240_000)[0].profit_minor
        for funding in (20_000, 40_000, 80_000)
    ]
    assert earned == sorted(earned, reverse=True)


def test_menus_name_what_is_missing() -> None:
    with pytest.raises(WrongInput, match="above the cap"):
        rate_card(read_economics(), SEGMENTS, [12], [300_000], {12: 1}, 240_000)
    with pytest.raises(WrongInput, match="segment 'prime' is there twice"):
        rate_card(read_economics(), [SEGMENTS[0]] * 2, [12], [200_000], {12: 1}, 240_000)
    with pytest.raises(WrongInput, match="no cost of funds for 6 months"):
        rate_card(read_economics(), SEGMENTS, [6], [200_000], {12: 1}, 240_000)
    with pytest.raises(WrongInput, match="no utilisation of grade 9"):
        expected_profit(read_economics(), Offers.of([1], [1], [1]), [1], [9], [1])
    with pytest.raises(WrongInput, match="months is out of range"):
        Offers.of([1], [1], [0])
