"""Earnings per share: the standards' examples, the filings, and every subset as an oracle."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.documents import read_csv
from usance.capital.awards import Award, Grant, Holding, Tranche, UnitChange, UnitKind
from usance.capital.errors import PerShareError
from usance.capital.per_share import (
    Dilution,
    PotentialShares,
    average_units,
    award_potential,
    dilution,
    earnings_per_share,
    option_shares,
    per_ads_printed,
    per_share_printed,
)
from usance.capital.prices import rounded, whole
from usance.capital.share_based_compensation import US_GAAP, unrecognised

FIRST = date(2024, 1, 1)


def after(days: int) -> date:
    return FIRST + timedelta(days=days)


def test_ias_33_example_5() -> None:
    found = earnings_per_share(1_200_000, 500_000, [option_shares(100_000, 15)], 20)
    assert found.dilution == Dilution(Fraction(75_000), Fraction(25_000))
    assert found.basic == Fraction(12, 5)
    assert found.diluted_shares == 525_000
    assert rounded(found.diluted, 2) == Decimal("2.29")


def test_ias_33_example_9_keeps_the_order_from_most_to_least_dilutive() -> None:
    """Options, a convertible bond and convertible preference shares (continuing operations)."""
    options = option_shares(100_000, 60, name="options")
    preference = PotentialShares(
        "preference", Fraction(1_600_000), Fraction(0), Fraction(6_400_000)
    )
    bond = PotentialShares("bond", Fraction(2_000_000), Fraction(0), Fraction(3_000_000))
    found = earnings_per_share(10_000_000, 2_000_000, [preference, bond, options], 75)
    assert found.basic == 5
    assert found.antidilutive == ("preference",)
    assert found.diluted == Fraction(13_000_000, 4_020_000)


@pytest.mark.parametrize(
    ("options", "price", "printed"),
    [
        ([(999, 10)], 13, (768, 231)),
        ([(30_000, 35)], 55, (19_091, 10_909)),
        ([(12_000, 30)], 36, (10_000, 2_000)),
        ([(50_000, 50), (20_000, 30)], 40, (15_000, 5_000)),
        ([(21, 1)], 2, (11, 10)),
    ],
)
def test_printed_shares_are_whole_and_add_up_to_the_units(
    options: list[tuple[int, int]], price: int, printed: tuple[int, int]
) -> None:
    found = dilution([option_shares(*each) for each in options], price)
    assert found.printed == printed
    inside = sum(units for units, strike in options if strike < price)
    assert sum(printed) == found.bought_back + found.incremental == inside


def ratios(highest: int) -> st.SearchStrategy[Fraction]:
    return st.integers(0, highest).map(lambda number: Fraction(number, 7))


potentials = st.builds(
    PotentialShares, st.text(max_size=3), ratios(7_000),
    ratios(35_000),
    st.one_of(st.just(Fraction(0)), ratios(35_000)),
)  # fmt: skip


@given(
    st.integers(-5_000, 50_000), st.integers(1, 5_000), st.lists(potentials, max_size=5),
    st.integers(1, 60),
)  # fmt: skip
def test_diluted_is_the_least_that_any_subset_gives(
    income: int, shares: int, given_potentials: list[PotentialShares], price: int
) -> None:
    found = earnings_per_share(income, shares, given_potentials, price)
    inside = [each for each in given_potentials if each.incremental(price) > 0]
    least = min(
        (income + sum(each.income for each in chosen))
        / (shares + sum((each.incremental(price) for each in chosen), Fraction(0)))
        for size in range(len(inside) + 1)
        for chosen in combinations(inside, size)
    )
    assert found.diluted == least <= found.basic
    assert found.dilution.incremental >= 0


@given(st.lists(potentials, max_size=5), st.integers(1, 60))
def test_a_loss_is_never_diluted(given_potentials: list[PotentialShares], price: int) -> None:
    found = earnings_per_share(-100, 10, given_potentials, price)
    assert found.diluted == found.basic == -10
    assert found.dilution == Dilution(Fraction(0), Fraction(0))
    assert found.antidilutive == tuple(each.name for each in given_potentials)


@given(potentials, st.integers(1, 60))
def test_bought_back_and_incremental_are_never_negative(each: PotentialShares, price: int) -> None:
    assert each.bought_back(price) >= 0
    assert 0 <= each.incremental(price) <= each.shares


def test_what_changes_nothing_is_left_out() -> None:
    found = earnings_per_share(
        0, 10, [option_shares(10, 1, name="a"), option_shares(10, 2, name="b")], 2
    )
    assert found.diluted == found.basic == 0
    assert found.antidilutive == ("a", "b")


def test_two_equal_awards_are_both_counted() -> None:
    found = earnings_per_share(100, 10, [option_shares(10, 1), option_shares(10, 1)], 2)
    assert found.diluted_shares == 20
    assert found.antidilutive == ()


def test_unvested_shares_bring_their_unrecognised_cost() -> None:
    grant = Grant("g", Award.RESTRICTED, FIRST, "USD", Decimal(20), (Tranche(after(100), 1_000),))
    held = Holding(grant)
    found = award_potential(held, US_GAAP, after(1), after(50))
    # 20,000 at the beginning, 10,000 at the end of the period.
    assert unrecognised(held, US_GAAP, FIRST) == 20_000
    assert unrecognised(held, US_GAAP, after(50)) == 10_000
    assert found.shares == 1_000
    assert found.proceeds == 15_000
    assert found.incremental(25) == 400


def test_units_count_for_the_days_they_were_there() -> None:
    tranches = (Tranche(after(10), 600), Tranche(after(100), 400))
    grant = Grant("g", Award.RESTRICTED, FIRST, "USD", Decimal(20), tranches)
    left = UnitChange(UnitKind.FORFEITED, "g", after(15), 100)
    held = Holding(grant, (left,))
    days = [after(k) for k in range(-5, 25)]
    oracle = Fraction(5 * 0 + 10 * 1_000 + 5 * 400 + 10 * 300, 30)
    assert average_units(held, days[0], days[-1]) == oracle


def test_figures_need_something_to_be_divided_by() -> None:
    with pytest.raises(PerShareError, match="0 weighted shares"):
        earnings_per_share(1, 0)
    with pytest.raises(PerShareError, match="average price of 0"):
        earnings_per_share(1, 1, [option_shares(1, 1)], 0)
    with pytest.raises(PerShareError, match="below zero"):
        option_shares(-1, 1)


def published(shared: Path, heading: str) -> dict[tuple[str, str], Decimal]:
    """Figures in RMB, or without a currency, under a heading of the filings, by line and period."""
    return {
        (row["line"], row["period_or_date"]): Decimal(row["value"])
        for name in ("000", "002", "003")
        for _, row in read_csv(shared / "filings" / f"{name}.csv")
        if row["statement"] in ("operations", "non_gaap_reconciliation")
        and row["currency"] in ("RMB", "n/a")
        and (row["parent_line"] or row["line"]).startswith(heading)
    }


def test_the_published_figures_follow_from_income_and_shares(shared: Path) -> None:
    per_share = published(shared, "Net income per ordinary share attributable to")
    per_ads = published(shared, "Net income per ADS attributable to ordinary")
    income = published(shared, "Net income attributable to ordinary shareholders of the Company")
    shares = published(shared, "Weighted average shares used in")
    ads = published(shared, "Weighted average ADS used in")
    attributable = "Net income attributable to ordinary shareholders of the Company"
    assert len(shares) == 20
    for (line, period), count in shares.items():
        figure = per_share_printed(income[attributable, period] * 1000, count)
        assert figure == per_share[line, period]
        assert per_ads_printed(figure, 2) == per_ads[line, period]
    diluted = {period: whole(Fraction(shares["Diluted", period]) / 2) for _, period in ads}
    assert len(ads) == 10
    assert diluted == {period: count for (_, period), count in ads.items()}
