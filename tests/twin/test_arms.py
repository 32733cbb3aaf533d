"""Arms of a strategy in a run: drawn by borrower, read off its facts, found with sign and size."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.twin.runs import FIRST, faulty, ticking
from usance.base.book import Book
from usance.base.errors import InputError
from usance.cli import main
from usance.service.collections.strategy_file import shipped_text
from usance.twin.compare.arms import arm_uplifts
from usance.twin.run.runner import run_scenario
from usance.world.scenario.scenario import Collections, Scenario

TEXT = shipped_text()
for old, new in (
    ("share: 90%", "share: 50%"), ("share: 10%", "share: 50%"),
    # The champion writes, and the challenger calls.
    ("channel: voice, desk: m1, script: m1_call, tone: friendly, every_days: 2",
     "channel: message, desk: robot, script: m1_message, tone: friendly, every_days: 9"),
    ("{arm: early_call, stage: ai_voice,", "{arm: early_call, stage: [ai_voice, in_house],"),
):  # fmt: skip
    assert old in TEXT
    TEXT = TEXT.replace(old, new)


SAID = """based_on: calm
name: arms
text: Late payers in plenty, half of whom are called.
behaviour: {late: 25%, collected30: 60%, partial: 0%, fraud: 0%}
collections: {strategy: strategy.yaml}
"""


def with_strategy(text: str) -> Scenario:
    scenario = faulty()
    behaviour = replace(scenario.behaviour, partial_ppm=0, fraud_ppm=0)
    return replace(scenario, behaviour=behaviour, collections=Collections(strategy=text))


@pytest.mark.slow
def test_a_planted_challenger_is_found_in_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = with_strategy(TEXT)
    run_scenario(
        scenario, tmp_path / "run", scale=Fraction(4), first=FIRST, last=FIRST + 3, workers=1,
        progress=lambda *_: None, clock=ticking(),
    )  # fmt: skip
    book = Book.open(tmp_path / "run")
    [found] = arm_uplifts(book, scenario)
    assert found.arm == "early_call"
    assert found.planted > 0.05
    assert found.found.low < found.planted < found.found.high
    assert min(found.found.champion_cases, found.found.challenger_cases) > 200
    assert found.found.is_better
    with pytest.raises(InputError, match="draws nobody into arms"):
        arm_uplifts(book, with_strategy(""))
    (tmp_path / "strategy.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "arms.yaml").write_text(SAID, encoding="utf-8")
    assert main(["twin", "arms", str(book.path), str(tmp_path / "arms.yaml"), "--json"]) == 0
    [told] = json.loads(capsys.readouterr().out)["data"]
    assert (told["arm"], told["planted"]) == (found.arm, found.planted)
