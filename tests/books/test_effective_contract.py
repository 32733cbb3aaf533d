"""One contract at amortised cost, and guarantees, against what the standards print."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.base.errors import AmountError
from usance.books.effective_interest.contract import (
    HIGHEST_PPB,
    LOWEST_PPB,
    NoEffectiveRate,
    Step,
    amortised_cost,
    as_fraction,
    bullet,
    by_dates,
    by_numbers,
    by_periods,
    compound,
    effective_rate_ppb,
    level,
    present_value,
    repaid_early,
    revised,
    simple,
)
from usance.books.effective_interest.instruments import (
    at_amortised_cost,
    level_until_repaid,
    net_investment,
)
from usance.books.loans.guarantees import (
    fair_value,
    gross_position,
    higher_of,
    net_position,
    straight_line,
)
from usance.loan.rates.annual import Flow, irr_by_dates, irr_by_periods

AMOUNTS = st.lists(st.integers(0, 10**7), min_size=1, max_size=12)


@given(st.integers(1, 10**7), AMOUNTS, st.integers(1, 10**8))
def test_rates_by_periods_are_those_of_the_loan_room(
    advance: int, cash: list[int], last: int
) -> None:
    flows = [*cash, last]
    rate = irr_by_periods([advance, *(-amount for amount in flows)], per_year=1)
    if rate > HIGHEST_PPB:
        with pytest.raises(NoEffectiveRate):
            effective_rate_ppb(advance, by_periods(flows))
    elif rate > LOWEST_PPB:
        assert effective_rate_ppb(advance, by_periods(flows)) == rate


DAYS = st.dates(date(2020, 1, 2), date(2030, 1, 1))


@settings(max_examples=40)
@given(
    st.integers(1, 10**7),
    st.lists(st.tuples(DAYS, st.integers(1, 10**6)), min_size=1, max_size=5),
)
def test_rates_by_dates_are_those_of_the_loan_room(
    advance: int, cash: list[tuple[date, int]]
) -> None:
    start = date(2020, 1, 1)
    rate = irr_by_dates([Flow(start, advance), *(Flow(day, -amount) for day, amount in cash)])
    if LOWEST_PPB < rate <= HIGHEST_PPB:
        assert effective_rate_ppb(advance, by_dates(start, cash)) == rate


@settings(max_examples=20)
@given(st.lists(st.integers(0, 10**6), max_size=3), st.sampled_from(["compound", "simple"]))
def test_a_guess_saves_work_and_changes_nothing(cash: list[int], growth: str) -> None:
    steps = [Step(Fraction(1, 2), Fraction(amount)) for amount in [*cash, 10**6]]
    used = {"compound": compound, "simple": simple}[growth]
    rate = effective_rate_ppb(10**6, steps, used)
    for near in (rate - 2, rate - 1, rate, rate + 1, rate + 2, rate + 1_000_000):
        assert effective_rate_ppb(10**6, steps, used, near) == rate


@given(st.integers(10_000, 10**6), AMOUNTS)
def test_amortised_cost_is_the_value_of_what_is_to_come(advance: int, cash: list[int]) -> None:
    steps = by_periods([*cash, advance])
    held = at_amortised_cost(advance, steps)
    assert held.table[-1].closing == 0
    rate = as_fraction(held.rate_ppb)
    for number, period in enumerate(held.table, start=1):
        rest = present_value(steps[number:], rate)
        slack = Fraction(len(steps) * advance, 10**9) * (1 + rate) ** len(steps)
        assert abs(period.closing - rest) <= slack
        assert period.opening + period.interest - period.cash == period.closing


def test_a_loan_with_a_fee_and_its_direct_costs() -> None:
    """SFAS 91, appendix B: 264 in the first year, 2,000 in all."""
    held = at_amortised_cost(net_investment(100_000, 3_000, 1_000), level(16_275, 10))
    assert held.cost == 98_000
    assert round(held.first_interest) == 10_264


def test_a_revision_at_the_original_rate() -> None:
    found = revised(1_086, by_numbers({"3": 684, "4": 30, "5": 655}), Fraction(1, 10))
    assert (round(found.carrying, 2), round(found.gain, 2)) == (
        Fraction("1138.72"), Fraction("52.72"),
    )  # fmt: skip


def test_gaps_between_periods_count() -> None:
    rate = Fraction(1, 10)
    spread = present_value(by_numbers({"5": 121, "3": 110}), rate)
    assert spread == 100 + Fraction(121) / Fraction(1331, 1000)


@pytest.mark.parametrize(
    ("advance", "steps"),
    [(0, by_periods([1])), (-5, by_periods([1])), (5, by_periods([7, -1])), (5, by_periods([0]))],
)
def test_flows_without_a_rate(advance: int, steps: list[Step]) -> None:
    with pytest.raises(NoEffectiveRate):
        effective_rate_ppb(advance, steps)


def test_periods_that_are_not_there() -> None:
    for call in (
        lambda: bullet(1, 1, 0),
        lambda: repaid_early(level(5, 3), 0, 1),
        lambda: repaid_early(level(5, 3), 4, 1),
        lambda: level_until_repaid(100, Fraction(1, 10), 10),
        lambda: straight_line(5, 1, 0),
        lambda: straight_line(5, -1, 3),
    ):
        with pytest.raises(AmountError):
            call()


def test_the_last_period_earns_what_is_left() -> None:
    table = amortised_cost(100, level(60, 2), Fraction(1, 10))
    assert [period.interest for period in table] == [10, 10]


class TestGuarantees:
    def test_fair_value_is_the_interest_saved(self) -> None:
        """2 a year for three years at 10 %: 4.97, kept as 5; a third of that a year."""
        value = fair_value(100, "0.08", "0.1", 3)
        assert (value, straight_line(value, 1, 3)) == (5, Fraction(5, 3))

    def test_release_ends_with_the_term(self) -> None:
        assert [straight_line(90, month, 3) for month in range(5)] == [0, 30, 60, 90, 90]

    def test_higher_of(self) -> None:
        assert [*higher_of(500, 700)] == [700, 200]
        assert [*higher_of(500, 300)] == [500, 0]

    def test_gross_and_net(self) -> None:
        assert [*gross_position(120, 3, 12, 30, 90)] == [90, 90, 90, 30, 90]
        assert [*net_position(120, 3, 12, 30, 90)] == [0, 0, 90, 30]
        assert net_position(120, 3, 12, 20, 90).receivable == 10
