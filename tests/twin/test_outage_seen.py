"""An outage in a run: what was expected of it before is what its facts show, in size and month."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.twin.runs import FIRST, faulty, ticking
from usance.base.arrays import F64, I64
from usance.base.book import Book
from usance.base.dates import first_of_month, last_of_month, to_day
from usance.base.errors import UsanceError
from usance.base.rates import PPM
from usance.twin.compare.arms import late_dues
from usance.twin.compare.expected_collection import expected_collection
from usance.twin.run.runner import run_scenario
from usance.world.debtors import ChannelOutage
from usance.world.scenario.scenario import Collections, Scenario

DOWN, LAST = FIRST + 2, FIRST + 3


def outage() -> tuple[Scenario, Scenario]:
    """A lender whose debtors often fall late, and the same when nobody is called for a month."""
    given = faulty()
    calm = replace(given, behaviour=replace(given.behaviour, partial_ppm=0, fraud_ppm=0))
    first, last = to_day(first_of_month(DOWN)), to_day(last_of_month(DOWN))
    outages = tuple(ChannelOutage(each, first, last, False) for each in ("voice", "ai_voice"))
    return calm, replace(calm, collections=Collections(outages=outages))


def collected(folder: Path, scenario: Scenario) -> tuple[I64, F64]:
    """Month and outcome of each first due that was late, of a run."""
    run_scenario(
        scenario, folder, scale=Fraction(4), first=FIRST, last=LAST, workers=1,
        progress=lambda *_: None, clock=ticking(),
    )  # fmt: skip
    found = late_dues(Book.open(folder), scenario)
    return found.month, found.collected


@pytest.mark.slow
def test_the_expected_loss_of_an_outage_is_seen_in_a_run(tmp_path: Path) -> None:
    calm, down = outage()
    before = collected(tmp_path / "calm", calm)
    after = collected(tmp_path / "down", down)
    told = {each.month: each for each in expected_collection(down, FIRST, LAST)}
    assert told[DOWN].written_ppm == calm.behaviour.collected30_ppm
    for month in (DOWN - 1, DOWN):
        shares = [outcome[at == month] for at, outcome in (before, after)]
        assert min(map(len, shares)) > 200
        expected = (told[month].expected_ppm - told[month].written_ppm) / PPM
        seen = float(shares[1].mean() - shares[0].mean())
        noise = float(np.sqrt(sum(each.var() / len(each) for each in shares)))
        assert expected < -0.01
        assert abs(seen - expected) < 3 * noise, (month, seen, expected, noise)
    lost = [float(outcome[at == DOWN].mean()) for at, outcome in (before, after)]
    assert lost[1] < lost[0] - 0.03


def test_a_span_that_is_none_is_refused() -> None:
    for first, last in ((FIRST, FIRST - 1), (FIRST, FIRST + 9_999)):
        with pytest.raises(UsanceError, match="no span"):
            expected_collection(faulty(), first, last)
