"""Bad input of `usance twin calibrate`: each is refused by name, with its place and a way on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from usance.cli import main
from usance.world.scenario.file import PACKAGED

TARGETS = PACKAGED / "2024" / "targets.yaml"
GIVEN = TARGETS.read_text()
SCENARIO = (PACKAGED / "2024.yaml").read_text()
SPAN = "outside the scenario, which runs from 2023-01 to 2024-06"
Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Calls the command where it must fail, and gives its message."""

    def call(scenario: object = "2024", *, targets: object = TARGETS, out: object = "") -> str:
        place = out or tmp_path / "out.yaml"
        words = ["twin", "calibrate", str(scenario), "--targets", str(targets)]
        assert main([*words, "--out", str(place)]) == 2
        told = capsys.readouterr()
        assert not told.out
        assert told.err.startswith("error: ")
        assert not list(tmp_path.glob("out.yaml*"))
        return told.err

    return call


def with_target(figure: str, period: str, value: str, tolerance: str = "5%") -> str:
    """The packaged targets and one more."""
    item = f"{{figure: {figure}, period: {period}, value: {value}, tolerance: {tolerance}}}"
    return f"{GIVEN}  - {item}\n"


# Targets


@pytest.mark.parametrize(
    ("figure", "value", "what"),
    [
        ("day_1", "0%", "day_1 of 2023Q2: 0% is too small. Give a share above 0%"),
        ("day_1", "-5%", "day_1 of 2023Q2: -5% is too small. Give a share above 0%"),
        ("day_1", "100.1%", "day_1 of 2023Q2: 100.1% is too large"),
        ("day_1", "nan", "day_1 of 2023Q2: 'nan' is not a rate"),
        ("day_1", ".inf", "line 22: .inf is not a number"),
        ("day_1", "1e999999", "day_1 of 2023Q2: "),
        ("balance", "0", "balance of 2023Q2: 0 is too small. Give an amount above zero in CNY"),
        ("balance", "-5 million", "balance of 2023Q2: -5000000 is too small"),
        ("balance", "nan million", "balance of 2023Q2: "),
        ("balance", "inf million", "balance of 2023Q2: 'inf' is not an amount"),
        ("balance", "1e9999 million", "balance of 2023Q2: '1e9999' is not an amount"),
    ],
)
def test_a_value_that_nothing_can_be_measured_by_is_refused(
    refused: Refused, tmp_path: Path, figure: str, value: str, what: str
) -> None:
    path = tmp_path / "targets.yaml"
    text = GIVEN.replace("{figure: balance, period: 2023Q2,", "{figure: balance, period: 2023Q3,")
    path.write_text(text + with_target(figure, "2023Q2", value).removeprefix(GIVEN))
    told = refused(targets=path)
    assert what in told
    assert "targets.yaml line 22" in told


def test_fewer_targets_than_values_are_refused(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "targets.yaml"
    path.write_text("".join(GIVEN.splitlines(keepends=True)[:13]))
    told = refused(targets=path)
    assert "4 targets tell too little to fit 5 values: late, collected30, prepay, cure" in told
    assert "List 1 more under 'targets:'" in told


@pytest.mark.parametrize(
    ("figure", "period", "what", "fix"),
    [
        ("day_1", "2024Q3", f"day_1 of 2024Q3 is {SPAN}", "from 2023-01 to 2024-06"),
        ("day_1", "2024", f"day_1 of 2024 is {SPAN}", "from 2023-01 to 2024-06"),
        ("day_1", "2022-12", f"day_1 of 2022-12 is {SPAN}", "from 2023-01 to 2024-06"),
        (
            "roll_31_60", "2023Q1", f"roll_31_60 of 2023Q1 is {SPAN}, and a roll needs",
            "from 2023-02 to 2024-06",
        ),
    ],
)  # fmt: skip
def test_a_period_outside_the_scenario_is_named_with_its_span(
    refused: Refused, tmp_path: Path, figure: str, period: str, what: str, fix: str
) -> None:
    path = tmp_path / "targets.yaml"
    path.write_text(with_target(figure, period, "5%"))
    told = refused(targets=path)
    assert what in told
    assert f"Name a period {fix}, or drop the target" in told


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("targets: []", "no target is listed"),
        ("targets: 5", "line 1, targets: 5 stands where keys and values belong"),
        ("targets: [1]", "targets[1]: 1 stands where keys and values belong"),
        ("[1, 2]", "[1, 2] stands where keys and values belong"),
        ("figure,period\nday_1,2023Q1", "stands where keys and values belong"),
        ("targets: [{figure: day_1, period: 2023Q1, value: 5%}]", "tolerance is missing"),
        ("targets: [{fig: day_1}]", "unknown key 'fig'. Did you mean 'figure'?"),
        (with_target("ballance", "2023Q1", "1"), "Did you mean 'balance'?"),
        (with_target("[day_1]", "2023Q1", "5%"), "unknown figure '['day_1']'"),
        (with_target("day_1", "2023Q5", "5%"), "'2023Q5' is no period"),
        (with_target("day_1", "0000Q1", "5%"), "'0000Q1' is no period"),
        (with_target("day_1", "2023Q4", "5%"), "targets[13]: day_1 of 2023Q4 is listed twice"),
        (with_target("day_1", "2023Q1", "5%", "0%"), "tolerance: 0% is too small"),
        (GIVEN.replace("2023Q1: 109456", "2022Q4: 109456"), f"volume of 2022-10 is {SPAN}"),
        (GIVEN.replace("109456 million", "inf million"), "volume.2023Q1: 'inf' is not an amount"),
    ],
)
def test_targets_that_cannot_be_met_are_named(
    refused: Refused, tmp_path: Path, text: str, what: str
) -> None:
    path = tmp_path / "targets.yaml"
    path.write_text(text)
    told = refused(targets=path)
    assert "targets.yaml" in told
    assert what in told


def test_a_target_that_nothing_comes_near_is_named(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "targets.yaml"
    path.write_text(GIVEN.replace("value: 90%", "value: 0.0001%"))
    told = refused(targets=path)
    assert "where the search ends, the expected book has nothing to measure" in told
    assert "Warning" not in told


def test_balances_far_too_large_leave_a_large_objective(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "targets.yaml", tmp_path / "out.yaml"
    path.write_text(GIVEN.replace(" million, tolerance", "00 million, tolerance"))
    words = ["twin", "calibrate", "2024", "--targets", str(path), "--out", str(out), "--json"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["data"]["objective"] > 1_000
    assert told.err == ""
    assert out.exists()


def test_values_that_no_scenario_may_have_are_not_written(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "targets.yaml"
    quarters = ("2023Q1", "2023Q2", "2023Q3", "2023Q4", "2024Q1", "2024Q2")
    rest = "value: 171302 million, tolerance: 5%"
    items = [f"  - {{figure: balance, period: {each}, {rest}}}" for each in quarters]
    path.write_text("\n".join(["targets:", *items]))
    told = refused(targets=path)
    assert "the values that come nearest are impossible: cure and partial payment" in told


# Files


@pytest.mark.parametrize("option", ["scenario", "targets"])
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "no such file"),
        (b"", "the file is empty"),
        (b"# nothing\n", "nothing stands where keys and values belong"),
        (b"name: \xff\n", "line 1 is not UTF-8"),
        (b"a: [1\n", "line 2"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    refused: Refused, tmp_path: Path, option: str, content: bytes | None, what: str
) -> None:
    path = tmp_path / "given.yaml"
    if content is not None:
        path.write_bytes(content)
    told = refused(**{option: path})
    assert str(path) in told
    assert what in told


@pytest.mark.parametrize("option", ["scenario", "targets", "out"])
def test_a_folder_instead_of_a_file_is_named(refused: Refused, tmp_path: Path, option: str) -> None:
    folder = tmp_path / "given.yaml"
    folder.mkdir()
    assert f"{folder}: is a folder. Name a file" in refused(**{option: folder})
    assert [each.name for each in tmp_path.iterdir()] == ["given.yaml"]


def test_a_scenario_without_a_fitted_block_is_refused(refused: Refused) -> None:
    assert "has no fitted values. Move late" in refused("calm")
    assert "recession.yaml: is based on calm" in refused("recession")


def test_a_scenario_that_lends_nothing_is_refused(refused: Refused, tmp_path: Path) -> None:
    path, targets = tmp_path / "none.yaml", tmp_path / "targets.yaml"
    head, opening = SCENARIO.split("\nopening:\n")
    models = ("capital_heavy", "on_balance_sheet", "capital_light", "ice", "tech_solutions")
    for model in models:
        line = next(each for each in opening.splitlines() if each.startswith(f"    {model}:"))
        opening = opening.replace(line, f"    {model}: 0")
    path.write_text(f"{head}\nopening:\n{opening}")
    targets.write_text(f"volume: {{2023: 0, 2024H1: 0}}\n{GIVEN[GIVEN.index('targets:') :]}")
    assert "lends nothing to be measured" in refused(path, targets=targets)


# Where it is written


def test_a_missing_folder_is_named(refused: Refused, tmp_path: Path) -> None:
    told = refused(out=tmp_path / "none" / "out.yaml")
    assert f"{tmp_path / 'none'} is no folder. Make that folder" in told


@pytest.mark.parametrize("out", [".", "..", "/"])
def test_a_place_without_a_name_is_a_folder(refused: Refused, out: str) -> None:
    assert f"{out}: is a folder. Name a file with --out" in refused(out=out)


def test_a_name_too_long_is_refused(refused: Refused, tmp_path: Path) -> None:
    assert "File name too long" in refused(out=tmp_path / ("a" * 300))


def test_a_file_below_a_file_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert f"{tmp_path / 'file'} is no folder" in refused(out=tmp_path / "file" / "out.yaml")


def test_a_read_only_file_stays(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "kept.yaml"
    path.write_text("mine")
    path.chmod(0o444)
    assert f"{path}: is read-only. Make it writable" in refused(out=path)
    assert path.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into any folder")
def test_a_read_only_folder_is_named(refused: Refused, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir(mode=0o555)
    assert f"{folder} is read-only. Make that folder writable" in refused(out=folder / "a.yaml")


def test_a_pipe_is_never_replaced(refused: Refused, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert f"{pipe}: is no plain file" in refused(out=pipe)
    assert pipe.is_fifo()


def test_the_targets_are_never_replaced(refused: Refused, tmp_path: Path) -> None:
    path, link = tmp_path / "targets.yaml", tmp_path / "link.yaml"
    path.write_text(GIVEN)
    link.symlink_to(path)
    for out in (path, link):
        assert f"{out}: holds the targets" in refused(targets=path, out=out)
    assert path.read_text() == GIVEN


def test_behind_a_link_its_file_is_written(tmp_path: Path) -> None:
    path, link = tmp_path / "there.yaml", tmp_path / "link.yaml"
    path.write_text("old")
    link.symlink_to(path)
    assert main(["twin", "calibrate", "2024", "--out", str(link)]) == 0
    assert link.is_symlink()
    assert path.read_text() == SCENARIO
