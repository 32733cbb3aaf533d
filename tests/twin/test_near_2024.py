"""`2024` beside the filings with draws that nothing in it was taken from."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.twin.runs import ticking
from usance.twin.compare.comparison import compare_run
from usance.twin.compare.headline import IN_SAMPLE, OUT_OF_SAMPLE, headline
from usance.twin.compare.tolerances import load_rules
from usance.twin.run.runner import run_scenario
from usance.world.scenario.file import read_scenario

pytestmark = [pytest.mark.nightly, pytest.mark.slow]  # two minutes each
SCALE = Fraction(1, 500)
FILINGS = ("000.csv", "002.csv", "003.csv")


@pytest.mark.parametrize("seed", [7, 11])
def test_an_unseen_draw_is_as_near_as_the_one_that_factors_are_from(
    shared: Path, tmp_path: Path, seed: int
) -> None:
    scenario = replace(read_scenario("2024"), seed=seed)
    run = run_scenario(
        scenario, tmp_path / "run", scale=SCALE, first=scenario.first_month,
        last=scenario.last_month, clock=ticking(),
    )  # fmt: skip
    filings = [shared / "filings" / name for name in FILINGS]
    counts = {
        each.sample: each
        for each in headline(compare_run(run.book, filings, SCALE).rows, load_rules())
        if each.line_class == "all"
    }
    near, forecast = counts[IN_SAMPLE], counts[OUT_OF_SAMPLE]
    assert near.figures > 600
    assert near.within >= 0.8 * near.figures
    assert near.wrong_sign == 0
    assert forecast.within >= 0.6 * forecast.figures
    assert forecast.wrong_sign <= 3
