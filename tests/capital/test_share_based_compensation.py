"""The cost of awards, against a slow oracle that keeps each person's award by itself."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import CurrencyMismatch, UsanceError
from usance.base.money import half_up
from usance.capital.awards import (
    Award,
    CostFunction,
    Estimate,
    Grant,
    Holding,
    Tranche,
    UnitChange,
    UnitKind,
)
from usance.capital.errors import AwardError
from usance.capital.share_based_compensation import (
    IFRS,
    US_GAAP,
    Attribution,
    Forfeitures,
    RecognitionPolicy,
    cost,
    cost_by_function,
    cost_minor,
    unrecognised,
)

GRANTED = date(2022, 1, 1)
PEOPLE = 12


class Case(NamedTuple):
    """A grant of the same award to twelve people, some of whom leave."""

    grant: Grant
    units_each: list[int]
    left_after: list[int]  # days after the grant, one for each who leaves

    @property
    def held(self) -> Holding:
        changes = []
        for days in self.left_after:
            on = GRANTED + timedelta(days=days)
            unvested = sum(units for units, tranche in zip(self.units_each, self.grant.tranches,
                           strict=True) if tranche.vests_on > on)  # fmt: skip
            if unvested:
                changes.append(UnitChange(UnitKind.FORFEITED, "g", on, unvested))
        return Holding(self.grant, tuple(changes))


def after(days: int) -> date:
    return GRANTED + timedelta(days=days)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    spans = sorted(draw(st.sets(st.integers(1, 1500), min_size=1, max_size=5)))
    each = [draw(st.integers(1, 50)) for _ in spans]
    price = Decimal(draw(st.integers(1, 5000))).scaleb(-2)
    tranches = tuple(Tranche(after(span), units * PEOPLE)
                     for span, units in zip(spans, each, strict=True))  # fmt: skip
    grant = Grant("g", Award.RESTRICTED, GRANTED, "USD", price, tranches)
    left = draw(st.lists(st.integers(0, 1500), max_size=PEOPLE))
    return Case(grant, each, left)


def one_person(case: Case, day: date, left: int | None) -> Fraction:
    """US GAAP for one person: a line with a floor, or what had vested when they left."""
    value = Fraction(case.grant.fair_value)
    ends = [tranche.vests_on for tranche in case.grant.tranches]
    gone = left is not None and after(left) <= day
    until = after(left) if gone and left is not None else day
    earned = value * sum(units for units, end in zip(case.units_each, ends, strict=True)
                         if end <= until)  # fmt: skip
    if gone and any(end > until for end in ends):
        return earned
    whole = value * sum(case.units_each)
    passed = min(max((day - GRANTED).days, 0), (ends[-1] - GRANTED).days)
    return max(earned, whole * passed / (ends[-1] - GRANTED).days)


@given(cases(), st.integers(0, 1600))
def test_us_gaap_is_the_sum_over_people(case: Case, days: int) -> None:
    people: list[int | None] = [*case.left_after, *[None] * (PEOPLE - len(case.left_after))]
    oracle = sum((one_person(case, after(days), left) for left in people), Fraction(0))
    assert cost(case.held, US_GAAP, after(days)) == oracle


@given(cases())
def test_over_a_whole_life_every_policy_costs_what_vested(case: Case) -> None:
    end = case.grant.tranches[-1].vests_on
    vested_value = case.held.vested(end) * Fraction(case.grant.fair_value)
    for attribution in Attribution:
        for forfeitures in Forfeitures:
            assert cost(case.held, RecognitionPolicy(attribution, forfeitures), end) == vested_value


@given(cases(), st.lists(st.integers(0, 1600), min_size=1, max_size=6))
def test_periods_add_up_to_what_is_due(case: Case, cuts: list[int]) -> None:
    ends = sorted({*cuts, 1600})
    starts = [GRANTED - timedelta(days=30), *(after(end + 1) for end in ends[:-1])]
    for policy in (US_GAAP, IFRS):
        due = [cost_minor(case.held, policy, day)
               for first, end in zip(starts, ends, strict=True)
               for day in (first - timedelta(days=1), after(end))]  # fmt: skip
        total = sum(due[1::2]) - sum(due[::2])
        assert total == cost_minor(case.held, policy, after(1600))


@given(cases(), st.integers(0, 1600))
def test_what_is_recognised_and_what_is_not_are_the_value_of_those_who_stay(
    case: Case, days: int
) -> None:
    held, day = case.held, after(days)
    whole = (held.vested(day) + held.unvested(day)) * Fraction(case.grant.fair_value)
    assert cost(held, US_GAAP, day) + unrecognised(held, US_GAAP, day) == whole


def test_ifrs_2_example_1a_by_days() -> None:
    """500 people with 100 options each; three years of 365 days, so days are whole years."""
    first = date(2021, 1, 1)
    ends = [first + timedelta(days=365 * year) for year in (1, 2, 3)]
    grant = Grant("g", Award.OPTION, first, "EUR", Decimal(15), (Tranche(ends[2], 50_000),))
    left = [UnitChange(UnitKind.FORFEITED, "g", ends[year] - timedelta(days=9), units)
            for year, units in ((0, 2_000), (1, 2_200), (2, 1_500))]  # fmt: skip
    expected = (Estimate("g", first, (Fraction(85, 100),)),
                Estimate("g", ends[1], (Fraction(88, 100),)))  # fmt: skip
    held = Holding(grant, tuple(left), expected)
    assert [cost_minor(held, IFRS, end) for end in ends] == [212_500_00, 440_000_00, 664_500_00]


def test_an_estimate_never_counts_people_who_have_left() -> None:
    grant = Grant("g", Award.RESTRICTED, GRANTED, "USD", Decimal(1), (Tranche(after(100), 1_000),))
    left = UnitChange(UnitKind.FORFEITED, "g", after(10), 400)
    held = Holding(grant, (left,), (Estimate("g", GRANTED, (Fraction(9, 10),)),))
    assert cost(held, IFRS, after(9)) == 81
    assert cost(held, IFRS, after(50)) == 300


def test_an_estimate_may_differ_by_tranche() -> None:
    tranches = (Tranche(after(100), 1_000), Tranche(after(200), 1_000))
    grant = Grant("g", Award.RESTRICTED, GRANTED, "USD", Decimal(1), tranches)
    held = Holding(grant, (), (Estimate("g", GRANTED, (Fraction(9, 10), Fraction(8, 10))),))
    assert cost(held, IFRS, after(50)) == 450 + 200
    # The first has vested, and nobody had left.
    assert cost(held, IFRS, after(100)) == 1_000 + 400


def test_cost_falls_when_people_leave_and_never_for_what_vested() -> None:
    tranches = (Tranche(after(100), 600), Tranche(after(200), 400))
    grant = Grant("g", Award.RESTRICTED, GRANTED, "USD", Decimal(1), tranches)
    left = UnitChange(UnitKind.FORFEITED, "g", after(150), 400)
    held = Holding(grant, (left,))
    assert cost(held, US_GAAP, after(149)) == 745
    assert cost(held, US_GAAP, after(150)) == cost(held, US_GAAP, after(500)) == 600


def test_functions_share_every_minor_unit() -> None:
    thirds = ((CostFunction.FACILITATION, 333_333), (CostFunction.MARKETING, 333_333),
              (CostFunction.ADMINISTRATION, 333_334))  # fmt: skip
    grant = Grant("g", Award.RESTRICTED, GRANTED, "USD", Decimal("0.01"),
                  (Tranche(after(100), 1_001),), functions_ppm=thirds)  # fmt: skip
    held = Holding(grant)
    for days in range(0, 101, 7):
        shares = cost_by_function([held], US_GAAP, after(days), "USD")
        assert sum(shares.values()) == cost_minor(held, US_GAAP, after(days))
        assert sum(shares.values()) == half_up(1_001 * days, 100)
        assert max(shares.values()) - min(shares.values()) <= 1


def test_costs_of_two_currencies_do_not_mix() -> None:
    grant = Grant("g", Award.RESTRICTED, GRANTED, "EUR", Decimal(1), (Tranche(after(9), 1),))
    with pytest.raises(CurrencyMismatch, match="'g' is in EUR where costs are in USD"):
        cost_by_function([Holding(grant)], US_GAAP, after(1), "USD")


def options(*changes: UnitChange) -> Holding:
    tranches = (Tranche(after(100), 600), Tranche(after(200), 400))
    grant = Grant("g", Award.OPTION, GRANTED, "USD", Decimal(1), tranches, Decimal(5))
    return Holding(grant, changes)


def test_units_move_from_unvested_to_vested_to_used() -> None:
    held = options(
        UnitChange(UnitKind.EXERCISED, "g", after(120), 100),
        UnitChange(UnitKind.FORFEITED, "g", after(150), 40),
        UnitChange(UnitKind.LAPSED, "g", after(300), 60),
    )
    assert list(held.problems()) == []
    days = [after(day) for day in (-1, 0, 100, 120, 150, 200, 300)]
    assert [held.outstanding(day) for day in days] == [0, 1000, 1000, 900, 860, 860, 800]
    assert held.vested(after(200)) == 600 + 360


@pytest.mark.parametrize(
    ("change", "there"),
    [
        (UnitChange(UnitKind.EXERCISED, "g", after(99), 1), 0),
        (UnitChange(UnitKind.EXERCISED, "g", after(100), 601), 600),
        (UnitChange(UnitKind.FORFEITED, "g", after(100), 401), 400),
        (UnitChange(UnitKind.FORFEITED, "g", after(200), 1), 0),
        (UnitChange(UnitKind.FORFEITED, "g", GRANTED - timedelta(days=1), 1), 0),
        (UnitChange(UnitKind.VESTED, "g", after(100), 1), 0),
    ],
)
def test_nothing_happens_to_more_units_than_there_are(change: UnitChange, there: int) -> None:
    assert [error.what for error in options(change).problems()] == [
        f"{change.units} units {change.kind.value}, of {there} that could be"
    ]


def broken(**changes: object) -> UsanceError:
    plain: dict[str, object] = {
        "name": "g", "award": Award.RESTRICTED, "granted_on": GRANTED, "currency": "USD",
        "fair_value": Decimal(1), "tranches": (Tranche(after(1), 1),),
    }  # fmt: skip
    with pytest.raises(UsanceError) as caught:
        Grant(**(plain | changes))  # type: ignore[arg-type]
    return caught.value


def test_a_grant_is_checked_when_it_is_made() -> None:
    assert "nothing vests" in broken(tranches=()).what
    twice = (Tranche(after(1), 1), Tranche(after(1), 1))
    assert "out of order" in broken(tranches=twice).what
    assert "before the grant" in broken(tranches=(Tranche(after(-1), 1),)).what
    assert "exercise price" in broken(exercise_price=Decimal(1)).what
    assert "whole cost" in broken(functions_ppm=((CostFunction.MARKETING, 999_999),)).what
    assert isinstance(broken(fair_value=Decimal(-1)), AwardError)
