"""Users come in order, ask as often as wished, and open with the book that was asked for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from usance.base.codes import FundingModel
from usance.base.rates import PPM
from usance.match.mandates.mandate import Mandates
from usance.twin.month.mandates import mandates_of
from usance.world.demand import (
    EligibleUsers,
    RequestSampler,
    mean_ticket_minor,
    request_chances,
    request_targets,
    requesting_users,
)
from usance.world.institutions import Institutions
from usance.world.opening import Opening, tenor_shares
from usance.world.population import Population, month_days
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import Shock, ShockKind

MONTH = 636


@pytest.fixture(scope="module")
def calm() -> Scenario:
    return read_scenario("calm")


def test_registration_has_no_gaps_and_is_in_order(calm: Scenario) -> None:
    world = Population(calm, Fraction(1, 3))
    before = world.registered_by(MONTH - 1)
    assert before == calm.users.opening // 3
    for month in range(MONTH, MONTH + 18):
        now = world.registered_by(month)
        days = world.registered_on(before + 1, now, month)
        assert (np.diff(days) >= 0).all()
        first, last = month_days(month)
        assert first <= days[0] <= days[-1] <= last
        before = now
    assert before == (calm.users.opening + sum(calm.users.registered.values())) // 3


def test_traits_have_the_shares_of_the_scenario(calm: Scenario) -> None:
    world, users = Population(calm, Fraction(1)), np.arange(1, 60_001)
    region = np.bincount(world.region(users), minlength=12)[1:11] / 60_000
    assert np.abs(region - np.array(calm.users.region_ppm) / PPM).max() < 0.01
    assert abs(world.kind(users).mean() - calm.users.business_ppm / PPM) < 0.01
    first = np.ones(len(users), np.bool_)
    hazard = world.hazard_ppm(users, first, MONTH)
    assert abs((hazard < 0).mean() - calm.behaviour.fraud_ppm / PPM) < 0.002
    again = world.hazard_ppm(users, ~first, MONTH)
    assert abs(again.mean() / PPM - 1) < 0.03


def test_requests_come_to_the_demand(calm: Scenario) -> None:
    users = 400_000
    line = np.full(users, 1_000_000, np.int64)
    borrowed = (np.arange(users) % 2).astype(np.int16)
    overdue = (np.arange(users) % 10 == 9).astype(np.int8)
    repaid = np.where(np.arange(users) % 8 == 1, MONTH - 1, 0).astype(np.int16)
    may = overdue == 0
    eligible = EligibleUsers(
        int((may & (borrowed == 0)).sum()),
        int((may & (borrowed > 0) & (repaid == 0)).sum()),
        int((may & (borrowed > 0) & (repaid > 0)).sum()),
    )
    scale = Fraction(20)
    found = request_chances(calm, scale, MONTH, eligible)
    rows = requesting_users(calm.seed, MONTH, 1, line, borrowed, overdue, repaid, found, workers=2)
    first, repeat = request_targets(calm, scale, MONTH)
    asked_first, asked_again = (borrowed[rows] == 0).sum(), (borrowed[rows] > 0).sum()
    assert abs(asked_first - first) < 5 * first**0.5
    assert abs(asked_again - repeat) < 5 * repeat**0.5
    assert not overdue[rows].any()
    alone = requesting_users(calm.seed, MONTH, 1, line, borrowed, overdue, repaid, found, workers=1)
    assert (alone == rows).all()
    just = (repaid[rows] > 0).sum() / max(eligible.repaid, 1)
    others = ((repaid[rows] == 0) & (borrowed[rows] > 0)).sum() / max(eligible.borrowed, 1)
    assert abs(just / others - calm.behaviour.repeat_ppm / PPM) < 0.12


def test_wishes_follow_the_products(calm: Scenario) -> None:
    asked = RequestSampler(calm).of(np.arange(1, 40_001), MONTH)
    first, last = month_days(MONTH)
    assert (asked.amount_minor % 10_000 == 0).all()
    assert (first, last) == (asked.day.min(), asked.day.max())
    for mix in calm.demand.products:
        own = asked.product == int(mix.product)
        assert abs(own.mean() - mix.request_ppm / PPM) < 0.01
        assert abs(np.median(asked.amount_minor[own]) / mix.ticket_minor - 1) < 0.05
        assert set(asked.months[own]) == set(mix.months_ppm)


def test_the_opening_book_has_its_balances_and_buckets(calm: Scenario) -> None:
    scale = Fraction(8)
    world = Population(calm, scale)
    opening = Opening(world, Institutions(calm, scale))
    users = np.arange(1, world.registered_by(MONTH - 1) + 1)
    drawn = opening.users(users)
    assert abs(drawn.approved.mean() - calm.users.opening_approved_ppm / PPM) < 0.01
    loans = opening.loans(users[drawn.borrowed], drawn.grade[drawn.borrowed])
    left = (loans.months - loans.age + loans.months_behind).clip(0)
    owed = loans.amount_minor * left // loans.months
    model = np.array([int(f.model) for f in opening.institutions.funding])[loans.source - 1]
    for each, minor in calm.opening.balance_minor.items():
        assert abs(owed[model == int(each)].sum() / (minor * 8) - 1) < 0.06
    shares = np.bincount(loans.months_behind, owed, 7) / owed.sum()
    assert np.abs(shares - np.array(calm.opening.bucket_ppm) / PPM).max() < 0.006
    assert set(np.unique(loans.user)) == set(users[drawn.borrowed])


def test_opening_loans_are_those_that_were_not_settled_early(calm: Scenario) -> None:
    scale = Fraction(20)
    world = Population(calm, scale)
    opening = Opening(world, Institutions(calm, scale))
    users = np.arange(1, world.registered_by(MONTH - 1) + 1)
    drawn = opening.users(users)
    loans = opening.loans(users[drawn.borrowed], drawn.grade[drawn.borrowed])
    past = loans.age >= loans.months + 2
    stays = 1 - calm.behaviour.prepay_ppm / PPM
    year = ~past & (loans.months == 12) & (loans.months_behind == 0)
    many = np.bincount(loans.age[year], minlength=12)
    young, old = many[:6].sum(), many[6:12].sum()
    assert abs(old / young / stays**6 - 1) < 5 * (1 / young + 1 / old) ** 0.5
    assert (loans.settled[~past] == -1).all()
    assert (loans.settled[past] < loans.months[past]).all()
    year = past & (loans.months == 12)
    lived = (loans.settled[year] == -1).mean()
    assert abs(lived - stays**12) < 5 * (lived / year.sum()) ** 0.5


def test_every_desk_takes_its_part_of_every_model() -> None:
    scenario = read_scenario("2024")
    banks = Institutions(scenario, Fraction(1, 100))
    rows = mandates_of(banks, MONTH, {}).mandates
    asked = {months: 0 for group in scenario.specialisations.months for months in group}
    for mix in scenario.demand.mix(MONTH):
        for months, share in mix.months_ppm.items():
            asked[months] += mix.request_ppm * share * mean_ticket_minor(mix, PPM)
    for model in FundingModel:
        own = [each for each in rows if each.model is model]
        whole = sum(each.budgets.total_minor for each in own)
        wanted = scenario.demand.model_ppm[MONTH][model] * banks.volume_minor(MONTH) // PPM
        room = next(each for each in scenario.funding if each.model is model).head_room_ppm
        assert abs(whole / (wanted * room // PPM) - 1) < 0.001
        if model is FundingModel.TECH_SOLUTIONS:
            assert all(not each.eligibility.months for each in own)
            continue
        funding = next(each for each in scenario.funding if each.model is model)
        taken = {each: asked[each] * funding.tenor_ppm.get(each, PPM) for each in asked}
        for tenors in scenario.specialisations.months:
            for grades, share in zip(
                scenario.specialisations.grades, scenario.specialisations.grade_ppm, strict=True
            ):
                at = [each for each in own if each.eligibility.months == frozenset(tenors)
                      and each.eligibility.grades == frozenset(grades)]  # fmt: skip
                part = sum(taken[each] for each in tenors) / sum(taken.values()) * share / PPM
                assert abs(sum(each.budgets.total_minor for each in at) / whole / part - 1) < 0.001


def test_a_model_that_prefers_a_tenor_has_more_of_it_from_the_opening_on() -> None:
    """Balances by model stay as stated; guaranteed loans have most of those of two years."""
    scenario = read_scenario("2024")
    scale = Fraction(1, 2000)
    opening = Opening(Population(scenario, scale), Institutions(scenario, scale))
    tenors, shares = tenor_shares(scenario)
    parts = dict(zip(tenors, shares, strict=True))
    chances = {
        tenor: np.diff(choice.ends.astype(float), prepend=0) / choice.ends[-1]
        for tenor, choice in opening.models_by_tenor.items()
    }
    models = opening.models_by_tenor[24].values
    stated = scenario.opening.balance_minor
    for place, model in enumerate(models):
        found = sum(parts[tenor] * chances[tenor][place] for tenor in tenors)
        assert found == pytest.approx(stated[FundingModel(model)] / sum(stated.values()), rel=1e-3)
    heavy = list(models).index(FundingModel.CAPITAL_HEAVY)
    assert chances[24][heavy] > 1.5 * chances[12][heavy]


def test_opening_loans_are_with_sources_of_their_segment() -> None:
    scenario = read_scenario("2024")
    banks = Institutions(scenario, Fraction(1, 2000))
    opening = Opening(Population(scenario, Fraction(1, 2000)), banks)
    users = np.arange(1, 60_000)
    drawn = opening.users(users)
    grade = drawn.grade[drawn.borrowed]
    loans = opening.loans(users[drawn.borrowed], grade)
    of_user = dict(zip(users[drawn.borrowed].tolist(), grade.tolist(), strict=True))
    seen = set()
    columns = (each.tolist() for each in (loans.source, loans.months, loans.user))
    for source, months, user in zip(*columns, strict=True):
        segment = banks.segment[source - 1]
        seen.add(segment)
        if segment >= 0:
            tenors, grades = banks.segments.takes(segment)
            assert months in tenors
            assert of_user[user] in grades
    assert seen == set(range(-1, len(banks.segments)))


def test_mandates_have_room_for_the_demand(calm: Scenario) -> None:
    banks = Institutions(calm, Fraction(1))
    mandates = mandates_of(banks, MONTH, {})
    assert isinstance(mandates, Mandates)
    assert [each.source for each in mandates.mandates] == list(range(1, len(banks.funding) + 1))
    volume = banks.volume_minor(MONTH)
    for funding in calm.funding:
        room = sum(each.budgets.total_minor for each in mandates.mandates
                   if each.model is funding.model)  # fmt: skip
        share = calm.demand.model_ppm[MONTH][funding.model]
        wanted = volume * share // PPM * funding.head_room_ppm // PPM
        assert abs(room / wanted - 1) < 0.01
    frozen = Shock(ShockKind.FUNDING, MONTH, MONTH, 500_000, (FundingModel.CAPITAL_HEAVY,))
    less = replace(calm, macro=replace(calm.macro, shocks=(frozen,)))
    half = mandates_of(Institutions(less, Fraction(1)), MONTH, {})
    for one, other in zip(mandates.mandates, half.mandates, strict=True):
        ratio = other.budgets.total_minor / one.budgets.total_minor
        assert abs(ratio - (0.5 if one.model is FundingModel.CAPITAL_HEAVY else 1)) < 0.01
