"""A plan of offers from files: against every plan there is, inside cap, limits and lines."""

from __future__ import annotations

import json
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from usance import cli
from usance.assess.offer.plan import Applicants, OfferPlan, choose_offers
from usance.assess.offer.profit import Offers, expected_profit, read_economics
from usance.base.parameters import Parameters

PLAN = """
on: 2024-06-30
lines: [5000.00, 20000.00]
prices: [15%, 21%, 30%]
funding: {6: 4.0%, 12: 4.3%}
limits: {drawn: 4000.00, loss: 60.00, capital: 500.00}
segments:
  - {segment: prime, grade: 1, pd: 0.4%, line: 50000.00}
  - {segment: risky, grade: 8, pd: 40%, line: 5000.00}
"""
APPLICANTS = "user_id,grade,pd_ppm,largest_line_minor\n1,1,4000,\n2,4,24000,1000000\n3,8,400000,\n"
CAP = Parameters.load().at("pricing.rate_cap", date(2024, 6, 30)).integer


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Applicants and plan."""
    people, plan = tmp_path / "applicants.csv", tmp_path / "offers.yaml"
    people.write_text(APPLICANTS)
    plan.write_text(PLAN)
    return people, plan


def every_plan(plan: OfferPlan, people: Applicants) -> int:
    """The most that any plan inside every limit earns, by trying all of them."""
    economics = read_economics()
    options = []
    for user in range(len(people.user_id)):
        own = [(0, 0, 0)]
        for line, price, months in product(plan.lines, plan.prices_ppm, plan.funding_ppm):
            if price > CAP or line > people.largest_line_minor[user]:
                continue
            found = expected_profit(
                economics, Offers.of([line], [price], [months]), [people.pd_ppm[user]],
                [people.grade[user]], [plan.funding_ppm[months]],
            )  # fmt: skip
            drawn, loss = int(found.drawn_minor[0]), int(found.loss_minor[0])
            own.append((int(found.profit_minor[0]), drawn, loss))
        options.append(own)
    sums = (tuple(map(sum, zip(*chosen, strict=True))) for chosen in product(*options))
    most = plan.limits
    return max(p for p, drawn, loss in sums if drawn <= most["drawn"] and loss <= most["loss"])


@pytest.mark.parametrize("seed", range(6))
def test_the_plan_earns_almost_what_the_best_of_all_plans_does(seed: int) -> None:
    draw = np.random.default_rng(seed)
    count = 4
    people = Applicants(
        np.arange(1, count + 1), draw.integers(1, 9, count), draw.integers(1_000, 60_000, count),
        draw.choice([400_000, 900_000, 5_000_000], count),
    )  # fmt: skip
    plan = OfferPlan(
        date(2024, 6, 30), "CNY", (500_000, 2_000_000), (150_000, 210_000, 300_000),
        {6: 40_000, 12: 43_000}, {"drawn": int(draw.integers(3, 20)) * 100_000, "loss": 20_000},
    )  # fmt: skip
    found = choose_offers(read_economics(), plan, people, CAP)
    best = every_plan(plan, people)
    assert 0.9 * best <= found.choice.profit <= best <= found.choice.bound + 1e-6
    assert found.choice.profit == found.profit_minor.sum()
    assert (found.rate_ppm <= CAP).all()
    assert (found.line_minor <= people.largest_line_minor).all()
    assert (found.choice.used <= [plan.limits[name] for name in found.limits]).all()


def test_the_commands(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    people, plan = map(str, files)
    assert cli.main(["assess", "offer", people, plan, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["data"]
    assert [each["user_id"] for each in found["offers"]] == [1, 2, 3]
    assert found["offers"][2]["line_minor"] == 0
    assert found["profit_minor"] == sum(each["profit_minor"] for each in found["offers"])
    used = {each["limit"]: each for each in found["limits"]}
    assert set(used) == {"drawn", "loss", "capital"}
    assert all(each["used_minor"] <= each["most_minor"] for each in used.values())
    assert used["drawn"]["price"] > 0
    assert cli.main(["assess", "offer", people, plan]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("user_id,line_minor,rate_ppm,months,profit_minor\n1,")
    assert "the limit of drawn binds" in said.err
    assert cli.main(["assess", "rate-card", plan, "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["data"]
    assert [(each["segment"], each["months"]) for each in cells] == [
        ("prime", 6), ("prime", 12), ("risky", 6), ("risky", 12)
    ]  # fmt: skip
    assert all(each["rate_ppm"] <= CAP for each in cells)
    assert cli.main(["assess", "rate-card", plan]) == 0
    assert "none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("drawn:", "drown:", "offers.yaml line 6, limits: unknown limit 'drown'"),
        ("[15%, 21%, 30%]", "[30%]", "every price is above the cap"),
        ("[5000.00, 20000.00]", "[]", "line 3, lines: is no list"),
        ("{6: 4.0%", "{0: 4.0%", "line 5, funding: 0 is too small"),
        ("on: 2024-06-30", "day: 2024-06-30", "on is missing"),
        ("on: 2024-06-30", "on: 1999-01-01", "has no value on 1999-01-01"),
    ],
)
def test_a_wrong_plan_is_named(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], old: str, new: str, named: str
) -> None:
    people, plan = files
    plan.write_text(PLAN.replace(old, new, 1))
    assert cli.main(["assess", "offer", str(people), str(plan)]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("user_id,grade,pd_ppm\n", "has no applicants"),
        ("user_id,grade\n1,1\n", "has no column pd_ppm"),
        ("user_id,grade,pd_ppm\n1,1,0.02\n", "line 2, pd_ppm: '0.02' is not a whole number"),
        ("user_id,grade,pd_ppm\n1,1,5\n1,1,5\n", "line 3: user 1 is there twice"),
        ("user_id,grade,pd_ppm\n1,9,5\n", "no utilisation of grade 9"),
    ],
)
def test_wrong_applicants_are_named(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], text: str, named: str
) -> None:
    people, plan = files
    people.write_text(text)
    assert cli.main(["assess", "offer", str(people), str(plan)]) == 2
    assert named in capsys.readouterr().err


def test_a_menu_needs_segments(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, plan = files
    plan.write_text(PLAN.partition("segments:")[0])
    assert cli.main(["assess", "rate-card", str(plan)]) == 2
    assert "has no segments" in capsys.readouterr().err
