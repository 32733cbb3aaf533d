"""Two scenarios on the same seeds: differences, noise, and what cannot be set side by side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from csv import DictReader
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist, mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pages.checks import words
from tests.twin.runs import run_into, ticking
from usance.base.draws import draw
from usance.base.periods import MetricPeriod
from usance.cli import main
from usance.measure.inputs import Inputs
from usance.measure.metrics import RESTATED, measure
from usance.twin.what_if.figures import METRICS, STATEMENTS, FigureKey
from usance.twin.what_if.noise import Difference, difference, student_quantile
from usance.twin.what_if.pairs import BASE, OTHER, WhatIf, WhatIfAnswer, differences, run_pairs
from usance.twin.what_if.table import write_files
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario

SCALE = Fraction(1)
FIRST, MARCH = 636, 638
SEEDS = 3


def later(scenario: Scenario) -> Scenario:
    """The same economy, where a fifth more dues are late."""
    late = scenario.behaviour.late_ppm * 12 // 10
    return replace(scenario, name="late", behaviour=replace(scenario.behaviour, late_ppm=late))


def asked(other: Callable[[Scenario], Scenario], pairs: int = SEEDS) -> WhatIf:
    calm = read_scenario("calm")
    return WhatIf(calm, other(calm), SCALE, FIRST, MARCH, pairs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("what-if") / "late"


@pytest.fixture(scope="module")
def answer(folder: Path) -> WhatIfAnswer:
    return run_pairs(asked(later), folder, workers=1, clock=ticking())


def of(answer: WhatIfAnswer, line: str, within: str = "", part: str = METRICS) -> Difference:
    return next(
        each
        for place, each in answer.rows
        if (place.part, place.line, place.within) == (part, line, within)
    )


# Runs


@pytest.mark.slow
def test_a_known_change_shows_beyond_its_noise(answer: WhatIfAnswer) -> None:
    day_1 = of(answer, "day_1_delinquency")
    assert day_1.is_beyond
    # A fifth more dues are late. Debits that fail on their day are late too, and are as many.
    assert 0.14 < float(day_1.relative or 0) < 0.22
    unpaid = of(answer, "c_m2")
    assert unpaid.difference > 0
    assert unpaid.is_beyond
    paid = of(answer, "collection_30")
    assert abs(paid.difference) < Fraction(3, 100)


@pytest.mark.slow
def test_what_the_change_cannot_move_does_not_move(answer: WhatIfAnswer) -> None:
    for name in ("registered_users", "approved_users", "institutions"):
        found = of(answer, name)
        assert found.difference == 0
        assert found.error == 0
        assert not found.is_beyond


@pytest.mark.slow
def test_every_metric_and_statement_is_told(answer: WhatIfAnswer) -> None:
    parts = {place.part for place, _ in answer.rows}
    assert parts == {METRICS, *STATEMENTS}
    assert of(answer, "origination_volume", "model=ice").base > 0
    totals = [each for place, each in answer.rows
              if place[:2] == ("operations", "Total net revenue")]  # fmt: skip
    assert totals[0].base > 0
    assert {each.pairs for place, each in answer.rows if not place.within} == {SEEDS}


@pytest.mark.slow
def test_equal_scenarios_differ_by_exactly_nothing(
    answer: WhatIfAnswer, folder: Path, tmp_path: Path
) -> None:
    first = answer.asked.seeds[:2]
    for seed in first:
        place = f"seed-{seed}"
        shutil.copytree(folder / place / BASE, tmp_path / "same" / place / BASE)
    same = run_pairs(
        asked(lambda calm: replace(calm, name="same"), 2), tmp_path / "same",
        workers=2, clock=ticking(),
    )  # fmt: skip
    assert len(same.rows) > 300
    assert {each.difference for _, each in same.rows} == {0}
    assert {each.error for _, each in same.rows if each.pairs > 1} == {0}
    assert not any(each.is_beyond for _, each in same.rows)


@pytest.mark.slow
def test_what_was_run_is_not_run_again(answer: WhatIfAnswer, folder: Path) -> None:
    runs = sorted(folder.glob("seed-*/*/run.json"))
    assert {path.parent.name for path in runs} == {BASE, OTHER}
    before = [path.parent.joinpath("manifest.json").read_bytes() for path in runs]
    stages: list[str] = []

    def saw(what: str, done: int, whole: int) -> None:
        if "shard" in what:
            stages.append(what)
        assert done <= whole

    again = run_pairs(asked(later), folder, progress=saw, clock=ticking())
    assert again.rows == answer.rows
    assert stages == []
    assert len(before) == 2 * SEEDS


@pytest.mark.slow
def test_the_answer_is_written_three_times(answer: WhatIfAnswer, folder: Path) -> None:
    files = write_files(answer, folder)
    told = json.loads(files["json"].read_text())
    with files["csv"].open(newline="") as file:
        rows = list(DictReader(file))
    assert len(rows) == len(told["differences"]) == told["figures"] == len(answer.rows)
    assert sum(row["beyond_noise"] == "1" for row in rows) == told["beyond_noise"] > 0
    day_1 = of(answer, "day_1_delinquency")
    (written,) = (row for row in rows if row["line"] == "day_1_delinquency")
    assert float(written["difference"]) == float(day_1.difference)
    assert float(written["se"]) == day_1.error
    page = files["html"].read_text()
    text = words(page)
    assert "late instead of calm" in text
    assert "beyond noise" in text


# Noise


@given(st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)),
                min_size=2, max_size=9))  # fmt: skip
def test_the_error_is_that_of_the_mean_of_paired_differences(pairs: list[tuple[int, int]]) -> None:
    found = difference([Fraction(a) for a, _ in pairs], [Fraction(b) for _, b in pairs])
    apart = [b - a for a, b in pairs]
    assert float(found.difference) == pytest.approx(mean(apart), abs=1e-9)
    assert found.error == pytest.approx(stdev(apart) / len(pairs) ** 0.5)
    assert found.is_beyond is (abs(found.difference) > (found.reach or 0))


def test_students_factor_is_the_printed_one() -> None:
    printed = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 99: 1.984}
    assert {each: round(student_quantile(each), 3) for each in printed} == printed


def test_one_pair_tells_no_noise() -> None:
    found = difference([Fraction(1)], [Fraction(2)])
    assert found.difference == 1
    assert (found.error, found.reach, found.is_beyond) == (None, None, None)


@pytest.mark.parametrize("pairs", [2, 3, 5])
@pytest.mark.parametrize("common", [0, 1])
def test_the_interval_holds_the_truth_as_often_as_it_says(pairs: int, common: int) -> None:
    """Two figures with a common and an own part of chance; the true difference is 1."""
    normal, times = NormalDist(), 2_000

    def chance(n: int, k: int) -> float:
        return normal.inv_cdf((draw(7, 1, n, k) + 0.5) / 2**64)

    held = 0
    for n in range(times):
        base = [
            Fraction(3 * common * chance(n, 3 * k) + chance(n, 3 * k + 1)) for k in range(pairs)
        ]
        other = [
            Fraction(1 + 3 * common * chance(n, 3 * k) + chance(n, 3 * k + 2)) for k in range(pairs)
        ]
        found = difference(base, other)
        held += abs(float(found.difference) - 1) <= (found.reach or 0)
    # Three standard deviations of a share of 2,000.
    assert abs(held / times - 0.95) < 3 * (0.95 * 0.05 / times) ** 0.5


@pytest.mark.nightly
def test_intervals_of_runs_hold_the_difference_as_often_as_they_say(tmp_path: Path) -> None:
    """Forty pairs of real runs in groups of four, each group against the mean of all others."""
    size, pairs = 4, [pair_of_runs(tmp_path, seed) for seed in range(40)]
    held, squares, errors = [], dict.fromkeys(WATCHED, 0.0), dict.fromkeys(WATCHED, 0.0)
    for start in range(0, len(pairs), size):
        group, rest = pairs[start : start + size], pairs[:start] + pairs[start + size :]
        for name in WATCHED:
            found, truth = (
                difference(*zip(*(pair[name] for pair in each), strict=True))
                for each in (group, rest)
            )
            off = abs(float(found.difference - truth.difference))
            held.append(off <= (found.reach or 0))
            squares[name] += off**2
            errors[name] += (found.error or 0) ** 2 + (truth.error or 0) ** 2
    assert 0.85 <= sum(held) / len(held) <= 1.0
    # The stated error is as large as what is seen. Thirty degrees of freedom stand against nine, so
    # that the quotient lies between these in 998 of 1,000 cases (F distribution).
    assert all(0.228 < errors[name] / squares[name] < 8.55 for name in WATCHED)


WATCHED = ("day_1_delinquency", "collection_30", "origination_volume", "outstanding_balance")


def pair_of_runs(folder: Path, seed: int) -> dict[str, tuple[Fraction, Fraction]]:
    """Two months without books of calm, and of calm with more late dues and fewer requests."""
    calm = read_scenario("calm")
    bare = replace(calm, seed=seed, group=replace(calm.group, policies={}, facts=""))
    requests = {month: n * 9 // 10 for month, n in bare.demand.requests.items()}
    fewer = replace(later(bare), demand=replace(bare.demand, requests=requests))
    told = []
    for name, scenario in ((BASE, bare), (OTHER, fewer)):
        book = run_into(folder / f"{seed}-{name}", scenario, last=FIRST + 1).book
        span = MetricPeriod(date(2023, 1, 1), date(2023, 2, 28))
        found = measure(Inputs.of_book(book), WATCHED, as_of=span.end, period=span)
        told.append({
            each.definition.name: Fraction(each.numerator, each.denominator)
            for each in found if each.series == RESTATED
        })  # fmt: skip
        shutil.rmtree(book.path)
    return {name: (told[0][name], told[1][name]) for name in WATCHED}


def test_pairs_that_do_not_tell_a_figure_are_left_out() -> None:
    place = FigureKey(METRICS, "roll_rate", "bucket=2", "2023Q1", "ratio")
    base = [{place: Fraction(1)}, {}, {place: Fraction(3)}]
    other = [{place: Fraction(2)}, {place: Fraction(9)}, {place: Fraction(5)}]
    ((found, told),) = differences(base, other)
    assert (found, told.pairs) == (place, 2)
    assert (told.base, told.other) == (Fraction(2), Fraction(7, 2))


# What is refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["calm", "nowhere"], "unknown scenario"),
        (["calm", "recession", "--seeds", "0"], "0 seeds"),
        (["calm", "recession", "--seeds", "1"], "1 seeds"),
        (["calm", "recession", "--scale", "0"], "scale is 0"),
        (["calm", "recession", "--scale", "half"], "is no scale"),
        (["calm", "recession", "--to", "2023-02"], "no quarter ends"),
        (["calm", "recession", "--from", "2023-04"], "calm begins with 2023-01"),
        (["calm", "recession", "--to", "2025-03"], "ends with 2024-06"),
        (["calm", "recession", "--from", "2023-06", "--to", "2023-03"], "no quarter ends"),
    ],
)
def test_the_command_refuses_with_a_message(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["twin", "what-if", *words, "--out", str(tmp_path / "asked")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("differs", "said"),
    [
        ("currency: USD", "the currency is CNY in calm and USD"),
        ("time_zone: UTC", "the time zone is Asia/Shanghai in calm and UTC"),
        ("seed: 7", "the seed is 20240630 in calm and 7"),
    ],
)
def test_scenarios_that_share_too_little_are_refused(
    differs: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.yaml").write_text(f"based_on: calm\nname: other\ntext: Other.\n{differs}\n")
    words = ["calm", str(tmp_path / "other.yaml"), "--out", str(tmp_path / "asked")]
    assert main(["twin", "what-if", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()


def test_other_months_and_a_lender_without_books_are_refused(tmp_path: Path) -> None:
    calm = read_scenario("calm")
    months = replace(calm, name="other", first_month=637)
    bare = replace(calm, name="bare", group=replace(calm.group, policies={}))
    for other, said in ((months, "first month is 2023-01"), (bare, "no books")):
        with pytest.raises(Exception, match=said):
            WhatIf(calm, other, SCALE, FIRST, MARCH, 2).check(tmp_path)


def test_a_folder_that_holds_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    for name, said in (("file", "is no folder"), ("run", "holds a run")):
        words = ["calm", "recession", "--out", str(tmp_path / name)]
        assert main(["twin", "what-if", *words]) == 2
        assert said in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_room_for_all_runs_is_asked_for_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = next(asked(later).plans())[2].bytes_needed
    usage = type("Usage", (), {"free": one * 2})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    words = ["calm", "recession", "--scale", str(SCALE), "--out", str(tmp_path / "asked")]
    assert main(["twin", "what-if", *words]) == 2
    assert "10 runs need about" in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()
