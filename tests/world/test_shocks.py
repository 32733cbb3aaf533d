"""Work and prices act on what people do, as far as a scenario says so."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.test_scenario_file import CALM, refusals, written
from usance.base.dates import parse_month
from usance.base.rates import PPM
from usance.world.applicants import application_inputs, income_minor
from usance.world.behaviour import behaviour_params
from usance.world.demand import RequestSampler
from usance.world.institutions import Institutions
from usance.world.population import Population
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario
from usance.world.shocks import ShockKind, factor_ppm, income_ppm, late_ppm, ticket_ppm

FIRST, LAST = parse_month("2023-01"), parse_month("2024-06")
USERS = np.arange(1, 20_001)


@pytest.fixture(scope="module")
def calm() -> Scenario:
    return read_scenario("calm")


def with_macro(scenario: Scenario, **more: object) -> Scenario:
    return replace(scenario, macro=replace(scenario.macro, **more))  # type: ignore[arg-type]


@given(st.integers(FIRST - 2, LAST))
def test_what_a_scenario_does_not_tie_to_the_economy_stays(calm: Scenario, month: int) -> None:
    wild = with_macro(
        calm,
        cpi_ppm={m: 30_000 * (m - FIRST) for m in range(FIRST, LAST + 1)},
        unemployment_ppm={m: 50_000 + 9_000 * (m - FIRST) for m in range(FIRST, LAST + 1)},
    )
    assert (late_ppm(wild, month), income_ppm(wild, month)) == (PPM, PPM)
    assert ticket_ppm(wild, month) == wild.demand.ticket_ppm.get(month, PPM)
    assert behaviour_params(wild, month) == behaviour_params(calm, month)


def late_chance(scenario: Scenario) -> int:
    return behaviour_params(scenario, FIRST + 1).dues[2].late


def test_late_payment_follows_unemployment(calm: Scenario) -> None:
    tied = with_macro(
        calm,
        late_elasticity_ppm=2 * PPM,
        unemployment_ppm={FIRST: 50_000, FIRST + 1: 60_000, FIRST + 2: 40_000, FIRST + 3: 1_000},
    )
    found = [late_ppm(tied, FIRST + n) for n in range(5)]
    assert found == [PPM, 1_400_000, 600_000, PPM // 10, PPM]
    assert factor_ppm(tied, ShockKind.HAZARD, FIRST + 1) == 1_400_000
    assert factor_ppm(tied, ShockKind.COLLECTION, FIRST + 1) == PPM
    level = late_chance(tied) / late_chance(calm)
    assert abs(level - (1.4 * 0.045 * 1.08 - 0.01) / (0.045 * 1.08 - 0.01)) < 1e-3


def test_tickets_budgets_and_incomes_follow_prices(calm: Scenario) -> None:
    """Prices that rise by 12 % a year are 1 % higher after a month, 2.01 % after two."""
    cpi = dict.fromkeys(range(FIRST, LAST + 1), 120_000)
    tied = with_macro(calm, cpi_ppm=cpi, ticket_elasticity_ppm=PPM // 2, income_elasticity_ppm=PPM)
    assert [income_ppm(tied, FIRST + n) for n in (-1, 0, 1, 2)] == [PPM, PPM, 1_010_000, 1_020_100]
    assert ticket_ppm(tied, FIRST + 2) == 1_010_050
    people = Population(tied, Fraction(1))
    before, after = (income_minor(people, USERS, FIRST + n).sum() for n in (0, 17))
    assert abs(after / before - 1.01**17) < 0.003
    then, plain = (RequestSampler(each).of(USERS, LAST).amount_minor.sum() for each in (tied, calm))
    assert abs(then / plain - (1 + (1.01**17 - 1) / 2)) < 0.003
    room, usual = (Institutions(each, Fraction(1)).volume_minor(LAST) for each in (tied, calm))
    assert abs(room / usual - then / plain) < 0.003


def test_a_recession_makes_late_payment_likelier_by_work_alone() -> None:
    recession = read_scenario("recession")
    assert all(each.kind is not ShockKind.HAZARD for each in recession.macro.shocks)
    found = [factor_ppm(recession, ShockKind.HAZARD, parse_month(each))
             for each in ("2023-06", "2023-07", "2023-10", "2024-01")]  # fmt: skip
    assert found[0] == PPM
    assert found == sorted(found)
    assert abs(found[-1] - 1_800_000) < 10_000


def test_scenario_2024_is_not_tied_to_the_economy() -> None:
    """Its behaviour is fitted as it is."""
    macro = read_scenario("2024").macro
    told = (macro.late_elasticity_ppm, macro.ticket_elasticity_ppm, macro.income_elasticity_ppm)
    assert told == (0, 0, 0)


def test_elasticities_that_are_none_are_named_once(tmp_path: Path) -> None:
    text = CALM.replace("macro:\n", "macro:\n  elasticities: {late: much, tiket: 1}\n")
    found = refusals(written(tmp_path, text))
    assert len(found) == 2
    assert any("macro.elasticities.late" in each for each in found)
    assert any("'tiket'. Did you mean 'ticket'" in each for each in found)


def test_rings_are_seen_by_the_devices_they_share() -> None:
    """In the wave and not before it; of those seen, everybody is over what the flow lets pass."""
    wave = read_scenario("fraud-wave")
    people = Population(wave, Fraction(1))
    month = parse_month("2023-10")
    ring = people.in_ring(USERS, month)
    assert abs(ring.mean() - 0.1) < 0.01
    inputs = application_inputs(people, USERS, month)
    seen = inputs["device_users_30d"] > 4
    assert not seen[~ring].any()
    assert abs(seen[ring].mean() - 0.4) < 0.03
    assert (inputs["link_size"][seen] > 10).all()
    calmer = application_inputs(people, USERS, parse_month("2023-06"))["device_users_30d"] > 4
    assert calmer.sum() < seen.sum() / 10
    assert (people.hazard_ppm(USERS, np.ones(len(USERS), bool), month)[ring] == -1).all()


def test_rings_of_other_scenarios_hide(calm: Scenario) -> None:
    people = Population(calm, Fraction(1))
    ring = people.in_ring(USERS, FIRST)
    assert ring.any()
    crowd = application_inputs(people, USERS, FIRST)["device_users_30d"]
    assert crowd.max() == 3
    assert abs(crowd[ring].mean() - crowd[~ring].mean()) < 0.2


def test_a_life_event_lasts_its_months_and_makes_late() -> None:
    """Each month shakes as many users as it should; who is shaken stays so, and then recovers."""
    recession = read_scenario("recession")
    people, months = Population(recession, Fraction(1)), recession.behaviour.life_event_months
    shaken = np.array([people.has_life_event(USERS, FIRST + n) for n in range(40)])
    expected = 1 - (1 - recession.behaviour.life_event_ppm / PPM) ** months
    assert abs(shaken.mean() - expected) < 0.003
    # The length of every spell that begins and ends within the time looked at.
    begins = ~shaken[:-1] & shaken[1:]
    lengths = [
        int(np.argmin(np.append(shaken[month + 1 :, user], False)))
        for month, user in zip(*np.nonzero(begins[: -4 * months]), strict=True)
    ]
    assert min(lengths) == months
    hazard = np.full(len(USERS), PPM // 2)
    hazard[:5] = -1
    found = people.hazard_in(USERS, hazard, np.full(len(USERS), FIRST + 9))
    usual = np.where(hazard < 0, -1, np.where(shaken[9], PPM, PPM // 2))
    assert (found == usual).all()
    assert (found > hazard).any()


def test_a_life_event_needs_a_chance_and_months(tmp_path: Path) -> None:
    (found,) = refusals(
        written(tmp_path, CALM.replace("  late: 4.5%", "  late: 4.5%\n  life_event: 1%"))
    )
    assert "a life event has a chance and months" in found
