"""Strategy files: what is refused, with its line; champion and challengers; the uplift."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from usance.base.draws import draw
from usance.base.errors import UsanceError
from usance.service import (
    Stage,
    StrategyError,
    assigned_arms,
    in_force,
    parse_strategy,
    shipped_strategy,
    uplift,
)
from usance.service.collections.experiment import draw_column
from usance.service.collections.strategy_file import shipped_text

TWICE = """\
  - {stage: senior_desk, channel: letter, desk: senior, script: m2, tone: firm, every_days: 9}
  - {stage: senior_desk"""


def changed(old: str, new: str) -> str:
    text = shipped_text()
    assert old in text
    return text.replace(old, new, 1)


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("per_day: 2, latest: '20:30'", "per_day: 4", "4 calls a day are asked for"),
        ("latest: '21:00'", "latest: '22:01'", "until 22:01"),
        ("every_days: 2, latest: '21:00'", "every_days: 2, earliest: '07:30'", "from 07:30"),
        ("script: m2_call, tone: firm", "script: m2_call, tone: firm, party: family", "the family"),
        ("{stage: senior_desk, channel: voice", "{stage: senior_desk, channel: push",
         "does not use the channel push"),
        ("{stage: senior_desk, channel: voice, desk: senior",
         "{stage: senior_desk, channel: voice, desk: nobody", "unknown desk 'nobody'"),
    ],
)  # fmt: skip
def test_a_forbidden_contact_is_refused_with_its_line(old: str, new: str, what: str) -> None:
    text = changed(old, new)
    with pytest.raises(UsanceError, match=what) as found:
        parse_strategy(text, "mine.yaml")
    assert f"mine.yaml line {line_of(text, new)}" in str(found.value)


def test_a_segment_without_action_is_refused_with_its_line() -> None:
    text = "\n".join(line for line in shipped_text().splitlines() if "stage: agency" not in line)
    with pytest.raises(UsanceError, match="segment large has no action at agency") as found:
        parse_strategy(text, "mine.yaml")
    assert f"mine.yaml line {line_of(text, 'name: large')}" in str(found.value)
    assert "segment other has no action at agency" in str(found.value)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("  - {name: other}\n", "", "cases outside every segment"),
        ("{name: large, balance_from: 20000}", "{name: large}", "takes every case"),
        ("balance_from: 20000", "balance_from: 20000, balance_below: 20000", "takes no case"),
        ("share: 90%", "share: 80%", "add up to 90.00%"),
        ("seed: 20230101\n", "", "seed is missing"),
        ("share: 90%}", "share: 110%}\n  - {name: less, share: -20%}", "-20% is too small"),
        ("share: 90%}", "share: 90%}\n  - {name: early_call, share: 5%}", "arm early_call is"),
        ("desks:\n", "desks:\n  - {name: m1, kind: automatic, minutes: 0, channels: [voice]}\n",
         "desk m1 is there twice"),
        ("  - {name: large, bal", "  - {name: all, pay_from: 99%}\n  - {name: large, bal",
         "a segment is called all"),
        ("voice: 4.00", "voice: -4.00", "costs.voice: is below zero"),
        ("broken_promise_bonus: 20%", "broken_promise_bonus: -20%", "-20% is too small"),
        ("latest: '21:00'", "latest: '21:00+08:00'", r"latest: '21:00\+08:00' has a time zone"),
        ("  - {stage: senior_desk", TWICE, "has two actions for segment all at senior_desk"),
        ("{stage: agency, channel", "{stage: [agency, agency], channel", "segment all at agency"),
    ],
)  # fmt: skip
def test_a_strategy_that_contradicts_itself_is_refused(old: str, new: str, what: str) -> None:
    with pytest.raises(UsanceError, match=what):
        parse_strategy(changed(old, new), "mine.yaml")


def test_what_is_written_for_one_segment_comes_before_all() -> None:
    strategy = shipped_strategy()
    assert strategy.action("champion", "large", Stage.IN_HOUSE).every_days == 1
    assert strategy.action("champion", "other", Stage.IN_HOUSE).every_days == 2
    assert strategy.action("early_call", "other", Stage.AI_VOICE).desk == "m1"
    assert strategy.action("early_call", "other", Stage.AGENCY).desk == "agencies"


def test_a_strategy_of_one_approver_is_not_in_force() -> None:
    strategy = shipped_strategy()
    alone = strategy._replace(name="next", valid_from=date(2024, 1, 1), approved_by=("ann", "ann"))
    assert in_force([strategy, alone], date(2024, 7, 1)).name == "standard"
    with pytest.raises(StrategyError, match="waits for approval"):
        in_force([alone], date(2024, 7, 1))


def test_an_arm_is_drawn_as_the_contract_of_random_numbers_says() -> None:
    users = np.array([1, 2, 77, 2**40])
    assert draw_column(9, 3, users).tolist() == [
        draw(9, 3, each, 0) >> 11 for each in users.tolist()
    ]


def test_an_arm_never_changes_and_shares_hold() -> None:
    users = np.arange(1, 200_001)
    arms = assigned_arms(users, 5, (700_000, 200_000, 100_000))
    assert (arms == assigned_arms(users[::-1], 5, (700_000, 200_000, 100_000))[::-1]).all()
    shares = np.bincount(arms) / len(users)
    assert abs(shares - (0.7, 0.2, 0.1)).max() < 0.005


def outcomes(rate: float, count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.random.default_rng(seed).binomial(1, rate, count)


def test_a_planted_better_challenger_is_found_with_sign_and_interval() -> None:
    found = uplift(outcomes(0.40, 8_000, 1), outcomes(0.44, 2_000, 2))
    assert found.is_better
    assert found.low < 0.04 < found.high
    assert uplift(outcomes(0.44, 8_000, 1), outcomes(0.40, 2_000, 2)).is_worse


def test_a_small_arm_is_refused() -> None:
    with pytest.raises(StrategyError, match="29 cases"):
        uplift([0, 1] * 50, [1] * 29)


@pytest.mark.nightly
def test_without_a_difference_one_test_of_twenty_finds_one() -> None:
    """1,000 tests at 95 %: 50 expected, four standard deviations are 28."""
    random = np.random.default_rng(20240701)
    false, covered = 0, 0
    for _ in range(1_000):
        champion, same = random.binomial(1, 0.4, 4_000), random.binomial(1, 0.4, 1_000)
        found = uplift(champion, same)
        false += found.is_better or found.is_worse
        amounts = random.lognormal(6, 1, 2_000)
        planted = uplift(amounts[:1_500], amounts[1_500:] + 25)
        covered += planted.low < 25 < planted.high
    assert 22 <= false <= 78
    assert covered >= 920
