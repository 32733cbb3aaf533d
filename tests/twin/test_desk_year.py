"""A simulated year at a desk: the same debtors for each way, limits held, the allocation ahead."""

from __future__ import annotations

import json

import numpy as np
import pytest

from usance.cli import main
from usance.twin.desk_year import (
    ALLOCATION,
    BY_BALANCE,
    DAYS_OPEN,
    FIRST_COME,
    MINUTES,
    Desk,
    drawn_debtors,
    years,
)

SMALL = Desk(arrivals=60, agents=2, slots=60, days=100)
SEEDS = (1, 2, 3)


@pytest.mark.slow
def test_an_hour_brings_more_by_allocation_than_by_balance_and_by_queue() -> None:
    made = [{year.way: year for year in years(SMALL, seed)} for seed in SEEDS]
    per_hour = {way: np.array([each[way].per_hour_minor for each in made])
                for way in (ALLOCATION, BY_BALANCE, FIRST_COME)}  # fmt: skip
    assert per_hour[ALLOCATION].mean() > 1.05 * per_hour[BY_BALANCE].mean()
    assert per_hour[ALLOCATION].mean() > 1.10 * per_hour[FIRST_COME].mean()
    most = SMALL.agents * SMALL.slots * SMALL.days * MINUTES
    for each in made:
        assert all(year.minutes <= most for year in each.values())
        # People are short: every way uses nearly all of their hours.
        assert all(year.minutes > 0.9 * most for year in each.values())
        # What came by itself is the same for all.
        by_itself = {year.paid_minor - year.brought_minor for year in each.values()}
        assert len(by_itself) == 1


def test_without_calls_debtors_pay_as_they_would() -> None:
    """Chances of single days, against the share that is paid within the desk's days."""
    idle = Desk(arrivals=400, agents=1, slots=0, days=40)
    debtors = drawn_debtors(idle, 7)
    [year, *_] = years(idle, 7)
    assert (year.minutes, year.brought_minor) == (0, 0)
    seen = np.minimum(idle.days - debtors.day, DAYS_OPEN)
    expected = (debtors.owed_minor * (1 - (1 - debtors.pays) ** seen)).sum()
    assert year.paid_minor == pytest.approx(expected, rel=0.03)


def test_the_same_seed_gives_the_same_year(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["twin", "desks", "--seeds", "1", "--days", "20", "--json"]
    said = []
    for _ in range(2):
        assert main(asked) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert [each["way"] for each in json.loads(said[0])["data"]] == [
        ALLOCATION,
        BY_BALANCE,
        FIRST_COME,
    ]
