"""The packaged variations of calm: each runs to a release, and what it is about shows."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.twin.runs import run_into, ticking
from usance.base.book import Book
from usance.base.dates import first_of_month, to_day
from usance.base.errors import UsanceError
from usance.twin.month.assessment import FLOW
from usance.twin.run.options import named_scenario
from usance.twin.run.runner import run_scenario
from usance.twin.what_if.figures import METRICS, figures_of
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario

SCALE = Fraction(1, 2)
FIRST, MARCH = 636, 638
ABOUT = {
    "recession": [("collection_30", "", -1), ("origination_volume", "", -1)],
    "funding-freeze": [
        ("origination_volume", "model=capital_heavy", -1),
        ("origination_volume", "model=on_balance_sheet", -1),
    ],
    "fraud-wave": [("first_payment_default_30", "", 1)],
    "collection-outage": [("collection_30", "", -1), ("c_m2", "", 1)],
    "growth": [("registered_users", "", 1), ("origination_volume", "", 1)],
}
"""What moves, and which way."""
BY_DAY = ("collection-outage", "growth")
BY_DAY_AND_NIGHT = [
    name if name in BY_DAY else pytest.param(name, marks=pytest.mark.nightly) for name in ABOUT
]


def at_once(scenario: Scenario) -> Scenario:
    """The same scenario, with its shocks and outages moved so that the first begins with it."""
    shocks = scenario.macro.shocks
    sooner = min((each.first_month for each in shocks), default=FIRST) - FIRST
    moved = tuple(
        replace(each, first_month=each.first_month - sooner, last_month=each.last_month - sooner)
        for each in shocks
    )
    outages, begin = scenario.collections.outages, to_day(first_of_month(FIRST))
    days = min((each.first_day for each in outages), default=begin) - begin
    down = tuple(
        each._replace(first_day=each.first_day - days, last_day=each.last_day - days)
        for each in outages
    )
    return replace(
        scenario, macro=replace(scenario.macro, shocks=moved),
        collections=replace(scenario.collections, outages=down),
    )  # fmt: skip


def quarter(folder: Path, name: str) -> Book:
    scenario = at_once(read_scenario(name))
    made = run_scenario(
        scenario, folder / name, scale=SCALE, first=FIRST, last=MARCH, workers=1, clock=ticking()
    )
    return made.book


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Fraction]:
    return measured(quarter(tmp_path_factory.mktemp("calm"), "calm"))


def measured(book: Book) -> dict[tuple[str, str], Fraction]:
    return {
        (place.line, place.within): value
        for place, value in figures_of(book).items()
        if place.part == METRICS
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_DAY_AND_NIGHT)
def test_a_variation_runs_to_its_release_and_shows_what_it_is_about(
    name: str, calm: dict[tuple[str, str], Fraction], tmp_path: Path
) -> None:
    book = quarter(tmp_path, name)
    assert {each.state for each in book.manifest.periods.values()} == {"closed"}
    assert (book.path / "release" / "2023Q1.html").stat().st_size > 10_000
    assert book.check() == []
    found = measured(book)
    for metric, within, way in ABOUT[name]:
        moved = found[metric, within] - calm[metric, within]
        assert moved * way > 0, (metric, within, float(moved))


def strict(folder: Path, old: str, new: str) -> Path:
    """A scenario beside a credit policy of its own, in which one thing is not as in the usual."""
    shutil.copytree(FLOW, folder / "policy")
    graph = folder / "policy" / "drawdown.json"
    assert old in graph.read_text()
    graph.write_text(graph.read_text().replace(old, new))
    scenario = folder / "strict.yaml"
    scenario.write_text("based_on: calm\nname: strict\ntext: Strict.\nflow: policy\n")
    return scenario


def test_a_credit_policy_of_ones_own_decides(tmp_path: Path) -> None:
    # Lines older than a third of a year no longer pay out; they are up to a year old.
    given = read_scenario(strict(tmp_path, '"> 365"', '"> 121"'))
    calm = read_scenario("calm")
    assert given.flow.keys() == {path.name for path in FLOW.iterdir()}
    bare = replace(calm.group, policies={}, facts="")
    lent = {
        name: run_into(tmp_path / name, replace(each, group=bare), last=FIRST).figures["figures"]
        for name, each in (("calm", calm), ("strict", given))
    }
    asked = {name: each["requests"] for name, each in lent.items()}
    assert 0.2 < asked["strict"] / asked["calm"] < 0.45


def test_a_policy_that_is_none_is_refused(tmp_path: Path) -> None:
    path = strict(tmp_path, '"> 365"', '"> line"')
    with pytest.raises(UsanceError, match="drawdown"):
        named_scenario(str(path))
    shutil.rmtree(tmp_path / "policy")
    with pytest.raises(UsanceError, match="policy is not there"):
        named_scenario(str(path))
