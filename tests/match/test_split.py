"""Shares of a co-funded loan: exact, fair to a unit, blind to order, and following receipts."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import AmountError, Problems
from usance.base.parameters import Parameters
from usance.match.errors import ShareError
from usance.match.reservation.split import co_fund, split_by_weight, split_columns, split_receipt

totals = st.integers(0, 10**13)
weights = st.dictionaries(
    st.integers(1, 300), st.integers(1, 10**9), min_size=2, max_size=6
)  # fmt: skip


@st.composite
def portions(draw: st.DrawFn, most: int = 5) -> dict[int, int]:
    """Two to `most` sources whose portions make a million."""
    cuts = draw(st.sets(st.integers(1, 999_999), min_size=1, max_size=most - 1))
    edges = [0, *sorted(cuts), 1_000_000]
    sources = draw(st.permutations(range(1, 20)))
    return {source: b - a for source, (a, b) in zip(sources, pairwise(edges), strict=False)}


def by_hand(total: int, given: dict[int, int]) -> dict[int, int]:
    """Largest remainder as one does it on paper, with fractions."""
    whole = sum(given.values())
    exact = {source: Fraction(total * weight, whole) for source, weight in given.items()}
    parts = {source: int(share) for source, share in exact.items()}
    queue = sorted(exact, key=lambda source: (parts[source] - exact[source], source))
    for source in queue[: total - sum(parts.values())]:
        parts[source] += 1
    return parts


@given(totals, weights)
def test_shares_are_whole_and_within_a_unit_of_exact(total: int, given: dict[int, int]) -> None:
    parts = split_by_weight(total, given)
    whole = sum(given.values())
    assert sum(parts.values()) == total
    assert all(abs(parts[each] - Fraction(total * given[each], whole)) < 1 for each in given)
    assert parts == by_hand(total, given)


@given(totals, weights, st.randoms(use_true_random=False))
def test_the_order_of_sources_does_not_matter(
    total: int, given: dict[int, int], random: Random
) -> None:
    mixed = list(given.items())
    random.shuffle(mixed)
    assert list(split_by_weight(total, dict(mixed)).items()) == list(
        split_by_weight(total, given).items()
    )


@given(weights, st.lists(st.integers(0, 10**7), max_size=12))
def test_receipts_add_up_to_the_split_of_their_sum(
    shares: dict[int, int], amounts: list[int]
) -> None:
    paid, before = dict.fromkeys(shares, 0), 0
    for amount in amounts:
        parts = split_receipt(before, amount, shares)
        assert sum(parts.values()) == amount
        before += amount
        paid = {source: paid[source] + parts[source] for source in paid}
    assert paid == split_by_weight(before, shares)


@given(totals, st.integers(0, 1000), weights)
def test_cumulative_parts_rise(before: int, amount: int, shares: dict[int, int]) -> None:
    """Always for two; for more, one due less than a unit may fall by one."""
    whole = sum(shares.values())
    for source, part in split_receipt(before, amount, shares).items():
        is_sure = len(shares) == 2 or amount * shares[source] >= whole
        assert part >= (0 if is_sure else -1)


def test_with_three_sources_the_largest_remainder_can_move() -> None:
    """The oldest known flaw of the method (Alabama, 1880), bounded by one minor unit."""
    assert split_by_weight(10, {1: 6, 2: 6, 3: 2}) == {1: 4, 2: 4, 3: 2}
    assert split_by_weight(11, {1: 6, 2: 6, 3: 2}) == {1: 5, 2: 5, 3: 1}


@given(totals, st.integers(0, 10**6), weights)
def test_a_charge_back_undoes_a_receipt(before: int, amount: int, shares: dict[int, int]) -> None:
    parts = split_receipt(before, amount, shares)
    back = split_receipt(before + amount, -amount, shares)
    assert back == {source: -part for source, part in parts.items()}


def test_receipts_never_fall_below_zero() -> None:
    with pytest.raises(AmountError, match="below zero"):
        split_receipt(5, -6, {1: 1, 2: 1})


@given(st.integers(0, 10**10), portions(), st.integers(0, 1_000_000), st.data())
def test_partners_provide_their_minimum_to_the_last_unit(
    principal: int, given: dict[int, int], minimum: int, data: st.DataObject
) -> None:
    partners = data.draw(st.sets(st.sampled_from(sorted(given)), min_size=1, max_size=len(given)))
    provided = sum(given[source] for source in partners)
    if provided < minimum or len(partners) == len(given):
        with pytest.raises((ShareError, Problems)):
            co_fund(principal, given, partners=partners, minimum_ppm=minimum)
        return
    parts = co_fund(principal, given, partners=partners, minimum_ppm=minimum)
    theirs = sum(parts[source] for source in partners)
    assert sum(parts.values()) == principal
    assert theirs * 1_000_000 >= principal * minimum
    assert min(parts.values()) >= 0
    plain = split_by_weight(principal, given)
    assert all(abs(parts[source] - plain[source]) <= len(given) for source in given)
    if sum(plain[source] for source in partners) * 1_000_000 >= principal * minimum:
        assert parts == plain


def test_the_dated_minimum_rounds_up() -> None:
    minimum = Parameters.load().at("funding.co_lender_minimum_share", date(2024, 6, 30)).integer
    given = {7: 700_000, 8: 300_000}
    assert co_fund(101, given) == {7: 71, 8: 30}  # 29.7 %
    assert co_fund(101, given, partners={8}, minimum_ppm=minimum) == {7: 70, 8: 31}


def test_every_problem_of_the_portions_is_named() -> None:
    with pytest.raises(Problems) as caught:
        co_fund(100, {7: 900_000, 8: -5, 9: 0}, partners={8, 5}, minimum_ppm=300_000)
    assert [error.what for error in caught.value.errors] == [
        "source 8 has the portion -5 ppm",
        "source 9 has the portion 0 ppm",
        "the portions make 89.9995%",
        "partner 5 has no portion",
        "the partners provide -0.0005%",
    ]
    with pytest.raises(ShareError, match="fewer than two"):
        co_fund(100, {7: 1_000_000})


@given(st.lists(st.tuples(totals, weights), max_size=6), st.randoms(use_true_random=False))
def test_a_column_of_loans_is_each_loan(
    loans: list[tuple[int, dict[int, int]]], random: Random
) -> None:
    rows = [
        (place, source, weight)
        for place, (_, given) in enumerate(loans)
        for source, weight in given.items()
    ]
    random.shuffle(rows)
    place, source, weight = np.array(rows, np.int64).reshape(-1, 3).T
    parts = split_columns(np.array([total for total, _ in loans], np.int64), place, source, weight)
    expected = [split_by_weight(*loans[loan])[each] for loan, each, _ in rows]
    assert parts.tolist() == expected
    assert parts.dtype == np.int64


@pytest.mark.parametrize(
    ("total", "loans", "sources", "weights", "what"),
    [
        ([-1], [0, 0], [1, 2], [1, 1], "loan 0 has the total -1"),
        ([1], [0, 0], [1, 2], [2, -1], "row 1 has the weight -1"),
        ([1, 1], [0, 0], [1, 2], [1, 1], "loan 1 has no share above zero"),
        ([1], [0, 0], [2, 2], [1, 1], "loan 0 has source 2 twice"),
        ([1], [0, 1], [1, 2], [1, 1], "row 1 is of loan 1"),
        ([1], [-1, 0], [1, 2], [1, 1], "row 0 is of loan -1"),
    ],
)
def test_a_column_that_makes_no_sense_is_named(
    total: list[int], loans: list[int], sources: list[int], weights: list[int], what: str
) -> None:
    with pytest.raises((AmountError, ShareError), match=what):
        split_columns(*(np.array(each, np.int64) for each in (total, loans, sources, weights)))
