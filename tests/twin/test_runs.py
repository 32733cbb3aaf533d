"""Runs that are cut off, cut into shards or made with more threads come to the same tables."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.twin.runs import FIRST, LAST, SCALE, digests, faulty, run_into, ticking
from usance.base.book import Book
from usance.base.digest import digest
from usance.base.errors import CorruptFile, Problems
from usance.base.tables import table
from usance.cli import main
from usance.twin.errors import DiskFull, OtherRun, RunError
from usance.twin.run.commands import Shown
from usance.twin.run.plan import RunPlan
from usance.twin.run.quarter_close import period_of, quarter_metrics
from usance.twin.run.runner import Progress, Run, no_progress, run_scenario
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario

MONTHS = FIRST + 2


class Killed(Exception):
    """The process ends here."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return run_into(tmp_path_factory.mktemp("twin") / "whole", faulty(), last=MONTHS).book


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_a_killed_run_goes_on_to_the_same_tables(whole: Book, tmp_path: Path, steps: int) -> None:
    calls = 0

    def kill(_what: str, _done: int, _whole: int) -> None:
        nonlocal calls
        calls += 1
        if calls > steps:
            raise Killed

    with pytest.raises(Killed):
        run_into(tmp_path / "run", faulty(), last=MONTHS, progress=kill)
    again = run_into(tmp_path / "run", faulty(), last=MONTHS)
    assert digests(again.book) == digests(whole)
    kept = json.loads((whole.path / "run.json").read_text())
    assert again.figures["figures"] == kept["figures"]


def test_metrics_are_of_the_book_as_the_close_left_it_whenever_they_are_made(
    tmp_path: Path,
) -> None:
    calm, april, small = read_scenario("calm"), FIRST + 3, Fraction(1, 20)

    def into(name: str, progress: Progress = no_progress, last: int = april) -> Book:
        return run_scenario(
            calm, tmp_path / name, scale=small, first=FIRST, last=last, clock=ticking(),
            progress=progress,
        ).book  # fmt: skip

    def kill(what: str, _done: int, _whole: int) -> None:
        if what.startswith("2023-04 book"):
            raise Killed

    with pytest.raises(Killed):
        into("cut", kill)
    cut = Book.open(tmp_path / "cut")
    assert cut.files("tape", month=april)
    assert not cut.files("metrics")
    whole, again = into("whole"), into("cut")
    assert digests(again) == digests(whole)
    into("longer", last=FIRST)  # the states of this end are none of the next quarter's
    assert digests(into("longer")) == digests(whole)
    # What has come since would be seen, were it not for the manifest that was kept.
    period = period_of(FIRST + 2, FIRST - 1)
    assert period is not None
    assert digest(quarter_metrics(again, period), table("metrics")) != whole.digest("metrics")


def test_a_run_killed_while_it_writes_leaves_nothing_half(whole: Book, tmp_path: Path) -> None:
    def kill(what: str, _done: int, _whole: int) -> None:
        if what.startswith("2023-02 serve, shard"):
            raise Killed

    with pytest.raises(Killed):
        run_into(tmp_path / "run", faulty(), last=MONTHS, progress=kill)
    half = Book.open(tmp_path / "run")
    assert half.files("tape", month=FIRST + 1) == ()
    assert half.check() == []
    assert digests(run_into(tmp_path / "run", faulty(), last=MONTHS).book) == digests(whole)


def test_a_run_may_be_made_longer(whole: Book, tmp_path: Path) -> None:
    run_into(tmp_path / "run", faulty(), last=FIRST)
    longer = run_into(tmp_path / "run", faulty(), last=MONTHS)
    assert digests(longer.book) == digests(whole)
    with pytest.raises(OtherRun, match="has come to 2023-03"):
        run_into(tmp_path / "run", faulty(), last=FIRST)


@pytest.mark.parametrize(("workers", "shard_bits"), [(2, 22), (1, 11), (2, 10)])
def test_neither_threads_nor_shards_decide_anything(
    whole: Book, tmp_path: Path, workers: int, shard_bits: int
) -> None:
    made = run_into(
        tmp_path / "run", faulty(), last=MONTHS, workers=workers, shard_bits=shard_bits
    ).book
    shards = {file.shard for file in made.files("users")}
    assert len(shards) == {22: 1, 11: 2, 10: 4}[shard_bits]
    assert digests(made) == digests(whole)


def test_demand_that_was_not_reached_is_said(whole: Book, tmp_path: Path) -> None:
    assert json.loads((whole.path / "run.json").read_text())["notes"] == []
    eager = faulty()
    requests = {month: 30 * count for month, count in eager.demand.requests.items()}
    eager = replace(eager, demand=replace(eager.demand, requests=requests))
    figures = run_into(tmp_path / "run", eager, last=FIRST).figures
    asked, wanted = figures["figures"]["asks"], figures["figures"]["asks_wanted"]
    assert wanted == requests[FIRST] // 4
    assert asked < wanted / 2
    (note,) = figures["notes"]
    assert f"asked {asked:,} of the {wanted:,} times" in note


def test_another_seed_is_another_run(whole: Book, tmp_path: Path) -> None:
    other = replace(faulty(), seed=7)
    made = run_into(tmp_path / "run", other, last=FIRST).book
    assert made.digest("facts") != whole.digest("facts")
    with pytest.raises(OtherRun, match="another run"):
        run_into(tmp_path / "run", faulty(), last=FIRST)


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    run_into(tmp_path / "run", faulty(), last=FIRST)
    kept = tmp_path / "run" / "checkpoint" / "run" / str(FIRST % 2) / "s0000"
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(CorruptFile, match="s0000"):
        run_into(tmp_path / "run", faulty(), last=MONTHS)


def test_it_refuses_what_cannot_be_run(tmp_path: Path) -> None:
    def refused(**more: object) -> Exception:
        given = {"scale": SCALE, "first": FIRST, "last": LAST} | more
        with pytest.raises((RunError, Problems, DiskFull)) as error:
            run_scenario(faulty(), tmp_path / "run", clock=ticking(), **given)  # type: ignore[arg-type]
        assert not (tmp_path / "run").exists()
        return error.value

    assert "scale is 0" in str(refused(scale=Fraction(0)))
    assert "comes after" in str(refused(first=FIRST, last=FIRST - 1))
    assert "begins with 2023-01" in str(refused(first=FIRST + 1))
    assert "ends with 2024-06" in str(refused(last=660))


def test_it_says_how_much_disk_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = RunPlan(faulty(), Fraction(1), FIRST, LAST)
    assert plan.bytes_needed > 10_000_000
    usage = type("Usage", (), {"free": 1_000})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(DiskFull, match=r"needs about 6.* MB, and 0\.0 MB are free"):
        plan.check(tmp_path)


def test_the_key_knows_every_number() -> None:
    plan = RunPlan(faulty(), SCALE, FIRST, LAST)
    late = replace(faulty().behaviour, late_ppm=1)
    others = [
        replace(plan, scale=SCALE / 2),
        replace(plan, scenario=replace(faulty(), seed=1)),
        replace(plan, scenario=replace(faulty(), behaviour=late)),
    ]
    assert len({plan.key, *(each.key for each in others)}) == 4
    assert replace(plan, last=LAST - 1).key == plan.key


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "unknown scenario"),
        (["calm", "--scale", "0"], "scale is 0"),
        (["calm", "--scale", "-1"], "scale is -1"),
        (["calm", "--scale", "half"], "is no number"),
        (["calm", "--to", "2022-12"], "comes after"),
        (["calm", "--from", "2023-13"], "2023-13"),
        (["calm", "--to", "2031-01"], "ends with 2024-06"),
        (["calm", "--engine", "steam"], "unknown engine"),
        (["calm", "--workers", "0"], "workers"),
    ],
)
def test_the_command_refuses_before_it_says_anything_else(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["twin", "run", *words, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert not (tmp_path / "run").exists()


def test_the_command_refuses_what_is_no_folder_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    for name, said in (("file", "is no folder"), ("full", "is not an empty folder")):
        assert main(["twin", "run", "calm", "--out", str(tmp_path / name)]) == 2
        told = capsys.readouterr()
        assert said in told.err
        assert told.out == ""
    assert (tmp_path / "file").read_text() == (tmp_path / "full" / "mine").read_text() == "mine"


def test_progress_rises_to_the_end_and_knows_the_time_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[tuple[str, int, int]] = []
    run_into(
        tmp_path / "run", faulty(), last=FIRST, shard_bits=11,
        progress=lambda what, done, whole: told.append((what, done, whole)),
    )  # fmt: skip
    shares = [done / whole for _, done, whole in told]
    assert shares == sorted(shares)
    assert told[0] == ("2022-12 open", 0, told[0][2])
    assert told[-1] == ("done", told[0][2], told[0][2])
    assert "2023-01 serve, shard 2 of 2" in {what for what, _, _ in told}
    capsys.readouterr()  # that kernels are compiled, if they were
    shown = Shown(iter(range(10, 100, 10)).__next__)
    for each in (("a", 4, 10), ("b", 5, 10), ("c", 5, 10), ("d", 6, 10), ("done", 10, 10)):
        shown(*each)
    # Ten seconds for each of what is left; the four that were there took none, and while the fifth
    # was made kernels were compiled.
    assert [part.strip() for part in capsys.readouterr().err.split("\r\x1b[K")] == [
        "", "a 40%", "b 50%", "c 50%", "d 60%, 0 min 40 s left", "done 100%",
    ]  # fmt: skip


@pytest.mark.slow
def test_figures_are_kept_when_the_release_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object) -> dict[str, str]:
        raise Killed

    monkeypatch.setattr("usance.twin.run.quarter_close.publish_release", fails)
    calm = read_scenario("calm")
    with pytest.raises(Killed):
        run_scenario(calm, tmp_path / "run", scale=Fraction(1, 20), first=FIRST, last=MONTHS,
            clock=ticking())  # fmt: skip
    kept = json.loads((tmp_path / "run" / "run.json").read_text())
    assert kept["figures"]["loans"] > 10
    assert kept["release"] == {}


@pytest.mark.slow
def test_a_close_by_hand_is_not_taken_for_the_runs_own(tmp_path: Path) -> None:
    """It was made before the months that it closes were there."""
    words = ["twin", "run", "calm", "--scale", "0.1", "--out", str(tmp_path / "run"), "--to"]
    assert main([*words, "2023-03"]) == 0
    assert main(["close", "2023Q2", "--book", str(tmp_path / "run")]) == 0
    with pytest.raises(OtherRun, match=r"2023-06\.1 was closed by hand"):
        run_scenario(
            read_scenario("calm"), tmp_path / "run", scale=Fraction(1, 10), first=FIRST,
            last=FIRST + 5, clock=ticking(),
        )  # fmt: skip


@pytest.mark.slow
def test_a_release_that_finds_no_room_leaves_the_old_one_whole(tmp_path: Path) -> None:
    words = ["twin", "run", "calm", "--scale", "0.1", "--out", str(tmp_path / "run"), "--to"]
    assert main([*words, "2023-03"]) == 0
    page = tmp_path / "run" / "release" / "2023Q1.html"
    content = page.read_bytes()
    code = (
        "import resource, sys; sys.dont_write_bytecode = True; from usance.cli import main;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(content) - 1},) * 2);"
        "sys.exit(main(sys.argv[1:]))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, *words, "2023-03"], text=True, capture_output=True, check=False
    )
    assert told.returncode == 2
    assert "the disk is full. Make room, and run the same command again" in told.stderr
    assert page.read_bytes() == content
    assert {each.suffix for each in page.parent.iterdir()} == {".csv", ".html"}


@pytest.mark.slow
def test_small_books_open_and_those_without_cash_say_what_to_do(tmp_path: Path) -> None:
    """Loans are funded as they are drawn, however few; cash that runs out is still an error."""
    calm = read_scenario("calm")

    def run(folder: str, scenario: Scenario) -> Run:
        return run_scenario(
            scenario, tmp_path / folder, scale=Fraction(1, 100), first=FIRST, last=FIRST + 2,
            clock=ticking(),
        )  # fmt: skip

    assert run("small", calm).book.manifest.periods
    poor = calm.group.facts.replace("1685000.00", "100.00").replace("-1859500.00", "-174600.00")
    with pytest.raises(RunError, match="cannot be closed for 2022-12: cash is -") as raised:
        run("poor", replace(calm, group=replace(calm.group, facts=poor)))
    assert "Take a larger --scale" in str(raised.value)


@pytest.mark.slow
def test_the_command_runs_from_registration_to_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["twin", "run", "calm", "--scale", "0.25", "--to", "2023-03", "--json"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    told = json.loads(capsys.readouterr().out)["data"]
    assert told["figures"]["loans"] > 1_000
    book = Book.open(tmp_path / "run")
    assert {period.state for period in book.manifest.periods.values()} == {"closed"}
    assert (tmp_path / "run" / told["release"]["html"]).stat().st_size > 10_000
    metrics = book.read("metrics").to_pylist()
    registered = [each for each in metrics if each["metric"] == "registered_users"]
    assert registered
    assert np.isfinite(registered[0]["value"])
    assert registered[0]["numerator"] == book.rows("users")
