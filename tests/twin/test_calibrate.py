"""Calibration: one answer from any start, an expected book that adds up, and what it writes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from usance.base.codes import FactKind
from usance.base.columns import arrays
from usance.base.dates import first_of_month, last_of_month, to_day
from usance.base.errors import InputError
from usance.base.rates import PPM
from usance.cli import main
from usance.loan.batch import schedule_columns
from usance.loan.visible_facts import term_columns
from usance.twin.calibrate.expected_book import SEARCHED, SELECTED, ExpectedBook, Fitted
from usance.twin.calibrate.search import Fit, fit_scenario, fitted_values, least_squares, place_of
from usance.twin.calibrate.targets import read_targets, targets_of
from usance.twin.month.collection_effect import effect_of
from usance.twin.month.opening_shard import open_shard
from usance.twin.run.run_context import RunContext
from usance.world.debtors import ChannelOutage
from usance.world.scenario.file import PACKAGED, read_scenario
from usance.world.scenario.scenario import Behaviour, Collections, Scenario


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return read_scenario("2024")


def off_by(behaviour: Behaviour, factor: float) -> Behaviour:
    def times(ppm: int) -> int:
        return min(int(ppm * factor), PPM * 99 // 100)

    return replace(
        behaviour, late_ppm=times(behaviour.late_ppm), prepay_ppm=times(behaviour.prepay_ppm),
        collected30_ppm=times(behaviour.collected30_ppm),
        cure_ppm=tuple(map(times, behaviour.cure_ppm)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def fits(scenario: Scenario) -> list[Fit]:
    targets = read_targets(targets_of("2024"), scenario)
    return [
        fit_scenario(replace(scenario, behaviour=off_by(scenario.behaviour, factor)), targets)
        for factor in (0.7, 1.3)
    ]


def test_a_start_off_by_thirty_percent_gives_the_same_answer(fits: list[Fit]) -> None:
    assert fitted_values(fits[0].fitted) == fitted_values(fits[1].fitted)
    assert fits[0].objective == fits[1].objective


def test_the_packaged_scenario_holds_what_calibration_writes(
    fits: list[Fit], scenario: Scenario
) -> None:
    assert fits[0].fitted == Fitted.of(scenario.behaviour)


def test_every_target_is_met_within_its_tolerance(fits: list[Fit]) -> None:
    for target, expected in fits[0].rows:
        assert abs(expected / target.value - 1) <= target.tolerance, target


def test_the_answer_is_a_minimum(fits: list[Fit], scenario: Scenario) -> None:
    targets = read_targets(targets_of("2024"), scenario)
    book = ExpectedBook(scenario, targets.volume_minor)
    best = fits[0].fitted

    def objective(fitted: Fitted) -> float:
        months = book.months(fitted)
        return sum(each.miss(months) ** 2 for each in targets.targets)

    assert objective(best) == pytest.approx(fits[0].objective)
    for name in ("late", "collected30", "prepay"):
        for factor in (0.99, 1.005):
            assert objective(best._replace(**{name: getattr(best, name) * factor})) > objective(
                best
            )


def test_least_squares_finds_a_known_answer() -> None:
    x = np.linspace(0, 1, 9)
    found, _ = least_squares(
        lambda place: np.exp(-place[0] * x) * place[1] - np.exp(-2 * x) * 3, np.array([1.0, 1.0])
    )
    assert found == pytest.approx([2.0, 3.0], abs=1e-9)


def test_least_squares_ends_where_two_values_cannot_be_told_apart() -> None:
    found, _ = least_squares(
        lambda place: np.array([place.sum() - 3, np.exp(place.sum()) - np.exp(3)]), np.zeros(2)
    )
    assert found.sum() == pytest.approx(3)


def test_a_step_that_cannot_be_solved_is_damped_more(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = np.linalg.solve
    failed: list[bool] = []

    def once_singular(*given: np.ndarray) -> np.ndarray:
        if not failed:
            failed.append(True)
            raise np.linalg.LinAlgError
        return np.asarray(solve(*given))

    monkeypatch.setattr(np.linalg, "solve", once_singular)
    found, _ = least_squares(lambda place: place - 1, np.zeros(2))
    assert found == pytest.approx([1, 1])


def test_every_value_that_is_searched_has_a_name(scenario: Scenario) -> None:
    assert len(place_of(scenario.behaviour)) == len(SEARCHED)


# The expected book


def quiet(scenario: Scenario) -> Scenario:
    """No opening book, no season, no shocks, everyone alike."""
    behaviour = replace(
        scenario.behaviour, hazard_spread_ppm=0, season_ppm=(PPM,) * 12, early_ppm=0,
        first_loan_hazard_ppm=PPM, partial_ppm=0,
    )  # fmt: skip
    none = dict.fromkeys(scenario.opening.balance_minor, 0)
    return replace(
        scenario, behaviour=behaviour, opening=replace(scenario.opening, balance_minor=none),
        macro=replace(scenario.macro, shocks=()),
    )  # fmt: skip


def test_without_lateness_the_book_runs_off_by_its_schedules(scenario: Scenario) -> None:
    calm = quiet(scenario)
    book = ExpectedBook(calm, {636: 10**9, **dict.fromkeys(range(637, 654), 0)})
    months = book.months(Fitted(0.0, 1.0, 0.0, (0.0,) * 5))
    for month in range(636, 654):
        left = sum(
            each.minor * book.left[each.tenor, min(month - 636, each.tenor)]
            for each in book.cohorts(0.0)
            if each.month == 636
        )
        assert months[month].balance == pytest.approx(left)
    assert all(sum(each.behind) == 0 for each in months.values())


def test_what_misses_for_good_grows_old_and_leaves(scenario: Scenario) -> None:
    calm = quiet(scenario)
    lent = {636: 10**9, **dict.fromkeys(range(637, 654), 0)}
    always = 1 / (1 - 2 * SELECTED)  # in the month of the first due
    months = ExpectedBook(calm, lent).months(Fitted(always, 0.0, 0.0, (0.0,) * 5))
    scope = months[636].balance_in_scope
    # Nobody ever pays: all of it falls behind in the first month and is gone after six more.
    assert [months[637 + k].behind[k] for k in range(5)] == pytest.approx([scope] * 5)
    assert months[641].late_90 == pytest.approx(scope)
    assert months[643].balance == pytest.approx(0, abs=1e-3)


def test_arrears_that_are_cured_are_current_again(scenario: Scenario) -> None:
    calm = quiet(scenario)
    lent = {636: 10**9, **dict.fromkeys(range(637, 654), 0)}
    book = ExpectedBook(calm, lent)
    months = book.months(Fitted(0.1, 0.0, 0.0, (1.0,) * 5))
    assert all(each.late_90 == 0 for each in months.values())
    never = book.months(Fitted(0.1, 0.0, 0.0, (0.0,) * 5))
    assert months[640].balance < never[640].balance


def test_day_one_and_collection_are_what_they_are_set_to(scenario: Scenario) -> None:
    calm = quiet(scenario)
    months = ExpectedBook(calm, {}).months(Fitted(0.05, 0.8, 0.1, (0.1,) * 5))
    month = months[650]
    assert month.overdue / month.due == pytest.approx(0.05 / 0.9 * (1 - 15 * SELECTED))
    assert month.collected / month.overdue == pytest.approx(0.8)


def test_an_outage_of_collections_is_in_the_expected_book(scenario: Scenario) -> None:
    """What operations do to a month's behaviour, they do to its expectation."""
    calm = quiet(scenario)
    days = to_day(first_of_month(650)), to_day(last_of_month(650))
    outages = tuple(ChannelOutage(each, *days, is_rerouted=False) for each in ("voice", "ai_voice"))
    down = replace(calm, collections=Collections(outages=outages))
    effect = effect_of(down, 650)
    assert effect.collected30_ppm < PPM
    fitted = Fitted.of(calm.behaviour)
    before, after = (ExpectedBook(each, {}).months(fitted) for each in (calm, down))
    assert after[647] == before[647]  # thirty days after the last of 648 the outage has begun
    for months, factor in ((before, 1.0), (after, effect.collected30_ppm / PPM)):
        month = months[650]
        wanted = fitted.collected30 * factor
        assert month.collected / month.overdue == pytest.approx(wanted, rel=1e-6)
    assert after[651].behind[1] > before[651].behind[1]


@pytest.mark.nightly
def test_a_fit_with_an_outage_collects_more_by_itself(scenario: Scenario, fits: list[Fit]) -> None:
    """The figures are the same, so what an outage took must have been there before it."""
    days = to_day(first_of_month(648)), to_day(last_of_month(653))
    down = replace(
        scenario, collections=Collections(outages=(ChannelOutage("voice", *days, False),))
    )
    found = fit_scenario(down, read_targets(targets_of("2024"), down))
    assert found.fitted.collected30 > fits[0].fitted.collected30
    behaviour = replace(
        scenario.behaviour, late_ppm=round(found.fitted.late * PPM),
        collected30_ppm=round(found.fitted.collected30 * PPM),
        prepay_ppm=round(found.fitted.prepay * PPM),
        cure_ppm=tuple(round(each * PPM) for each in found.fitted.cure),
    )  # fmt: skip
    again = fit_scenario(replace(down, behaviour=behaviour), read_targets(targets_of("2024"), down))
    assert again.fitted == found.fitted


def test_the_opening_book_has_the_balance_that_is_stated() -> None:
    calm, scale = read_scenario("calm"), Fraction(4)
    context = RunContext(calm, scale)
    tape = arrays(open_shard(context, 0, workers=1).tables["tape"])
    there = int(tape["principal_minor"][tape["dpd"] <= 180].sum())
    stated = sum(calm.opening.balance_minor.values()) * scale
    # Chance alone moves it by one part in a hundred.
    assert float(there / stated) == pytest.approx(1, abs=0.025)


def test_loans_settled_early_before_the_opening_are_closed_and_lost_fees() -> None:
    context = RunContext(read_scenario("calm"), Fraction(2))
    tables = open_shard(context, 0, workers=1).tables
    loans, facts = arrays(tables["loans"]), arrays(tables["facts"])
    users = np.unique(loans["loan_id"] >> 14)
    opening = context.opening.users(users)
    settled = context.opening.loans(users, opening.grade).settled
    early = np.flatnonzero(settled >= 0)
    assert len(early) > 100
    assert not np.isin(loans["loan_id"][early], arrays(tables["tape"])["loan_id"]).any()
    paid = np.isin(facts["loan_id"], loans["loan_id"][early]) & (
        facts["kind"] == int(FactKind.PAID)
    )
    owner = np.searchsorted(loans["loan_id"], facts["loan_id"][paid])
    many = np.bincount(owner, minlength=len(settled))[early]
    assert (many == settled[early] + 1).all()
    received = np.bincount(owner, facts["amount_minor"][paid], len(settled))[early]
    plan = schedule_columns(term_columns(tables["loans"]))
    whole = np.add.reduceat(plan.total, plan.offsets[:-1])[early]
    assert (received >= loans["principal_minor"][early]).all()
    assert (received < whole).all()


@pytest.mark.parametrize("prepay", [0.0, 0.08])
def test_the_expected_book_opens_with_the_balance_that_is_stated(
    scenario: Scenario, prepay: float
) -> None:
    book, eve = ExpectedBook(scenario, {}), scenario.first_month - 1
    held = sum(
        each.minor * book.left[each.tenor, eve - each.month - each.behind]
        for each in book.cohorts(prepay)
        if each.month <= eve
    )
    assert held == pytest.approx(sum(scenario.opening.balance_minor.values()), rel=1e-9)


def test_a_scenario_may_charge_late_fees_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "dear.yaml"
    path.write_text("based_on: calm\nname: dear\ntext: Dear.\npricing: {late_fee: {2023H1: 7%}}\n")
    own, usual = (
        RunContext(read_scenario(path), Fraction(1)),
        RunContext(read_scenario("calm"), Fraction(1)),
    )
    assert own.rules(641).late_fee_ppm == 70_000
    assert own.rules(642) == usual.rules(642)


# What is written


def test_the_command_writes_the_same_file_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "again.yaml"
    assert main(["twin", "calibrate", "2024", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["data"]
    assert out.read_text() == (PACKAGED / "2024.yaml").read_text()
    assert {"objective", "residuals", "fitted"} <= told.keys()


def test_a_scenario_without_targets_is_refused() -> None:
    with pytest.raises(InputError, match="has no targets"):
        targets_of("calm")
