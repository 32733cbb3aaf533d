"""A model in use: alarms when the world moves, silence when it does not, and no use unapproved."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.assess.applicants import rows, write
from usance.assess.applicant_file import read_table
from usance.assess.commands import app
from usance.assess.errors import ModelError, NotApproved
from usance.assess.monitoring.approval import approvals, approve, live_model
from usance.assess.monitoring.monitor import monitor
from usance.assess.scoring.model import Model
from usance.assess.training.recipe import Recipe
from usance.assess.training.train import fit_table
from usance.base.errors import UsanceError
from usance.cli import main

DAY = date(2024, 10, 1)


def test_the_same_world_is_steady(model: Model, tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "same.csv", rows(5400, seed=21)))
    months = monitor(model, table, time="applied", target="target")
    assert [each.month for each in months] == [f"2024-{month:02}" for month in range(1, 10)]
    assert sum(each.rows for each in months) == 5400
    assert not any(each.state == "alarm" for each in months)
    assert max(each.psi for each in months) < 0.1


def test_the_training_rows_of_a_scorecard_have_not_moved(tmp_path: Path) -> None:
    draw = random.Random(7)
    made: list[dict[str, Any]] = [
        {
            "ref": f"B{at}", "applied": f"2023-{at % 12 + 1:02}-15",
            "income": draw.randrange(1800, 9000), "loans": draw.randrange(6),
            "late": draw.choice((0, 0, 0, 1, 2)),
            "job": draw.choice(("employee", "self_employed", "retired")),
        }
        for at in range(1, 1201)
    ]  # fmt: skip
    for each in made:
        risk = 0.03 + 0.03 * each["loans"] + 0.10 * each["late"]
        each["target"] = int(draw.random() < risk * (1.5 if each["income"] < 3500 else 0.7))
    table = read_table(write(tmp_path / "past.csv", made))
    model = fit_table(table, Recipe("target", "ref", "applied"), threads=1)
    assert model.kind == "scorecard"
    assert sum(model.info["reference"]["rows"]) == 1200
    months = monitor(model, table, time="applied")
    assert max(each.psi for each in months) < 0.1, "held-out scores lie between: 1.0"
    assert {each.state for each in months} == {"steady"}


def test_a_moved_input_is_named(model: Model, tmp_path: Path) -> None:
    made = rows(3000, seed=22)
    for each in made[2000:]:
        each["use"] = round(0.7 + each["use"] * 0.3, 3)
    months = monitor(model, read_table(write(tmp_path / "moved.csv", made)), time="applied")
    assert months[0].state == "steady"
    assert months[-1].state == "alarm"
    assert "use" in months[-1].drifting
    assert "the score has moved" in months[-1].notes[0]
    assert months[-1].bad_rate is None


def test_more_bads_than_stated_are_an_alarm(model: Model, tmp_path: Path) -> None:
    made = rows(3000, seed=23)
    for at, each in enumerate(made):
        each["target"] = 1 if at % 2 else each["target"]
    table = read_table(write(tmp_path / "bad.csv", made))
    months = monitor(model, table, time="applied", target="target")
    assert all(each.state == "alarm" for each in months)
    assert any("were stated" in note for note in months[0].notes)


def test_the_command_ends_with_one_when_there_is_an_alarm(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = rows(1000, seed=24)
    path = str(write(tmp_path / "new.csv", made))
    words = ["assess", "monitor", str(model_folder), path, "--time", "applied"]
    assert main(words) == 0
    assert "steady" in capsys.readouterr().out
    path = str(write(tmp_path / "old.csv", [{**each, "use": 0.99} for each in made]))
    assert main(["assess", "monitor", str(model_folder), path, "--time", "applied", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["data"]
    assert {each["state"] for each in told} == {"alarm"}


def test_a_date_that_is_none_is_named(model: Model, tmp_path: Path) -> None:
    made = rows(10, seed=1)
    made[4]["applied"] = "soon"
    with pytest.raises(UsanceError, match="'soon' is no date") as caught:
        monitor(model, read_table(write(tmp_path / "x.csv", made)), time="applied")
    assert caught.value.where.endswith("x.csv line 6, column 'applied'")


def test_a_model_decides_live_only_with_its_approver(model_folder: Path, tmp_path: Path) -> None:
    folder = copytree(model_folder, tmp_path / "model")
    with pytest.raises(NotApproved, match="has no approver"):
        live_model(folder)
    approve(folder, "Credit committee", DAY, "back-test of Q3")
    assert live_model(folder).kind
    assert [entry["by"] for entry in approvals(folder)] == ["Credit committee"]
    text = (folder / "model.json").read_text(encoding="utf-8")
    (folder / "model.json").write_text(text + " ", encoding="utf-8")
    with pytest.raises(NotApproved, match="was changed after its approval"):
        live_model(folder)
    with pytest.raises(UsanceError, match="no name"):
        approve(folder, " ", DAY)


@pytest.mark.parametrize("text", ["[1]", '["a"]', "5", "null", "{", "{}"])
def test_approvals_that_are_none_approve_nothing(
    model_folder: Path, tmp_path: Path, text: str
) -> None:
    folder = copytree(model_folder, tmp_path / "model")
    (folder / "approvals.json").write_text(text)
    with pytest.raises(ModelError, match=r"approvals\.json"):
        live_model(folder)


def test_every_command_says_what_it_does() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        assert command.callback.__doc__


def test_the_commands_score_and_approve(
    model_folder: Path, applicants_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copytree(model_folder, tmp_path / "model")
    scoring = ["assess", "score", str(folder), str(applicants_file), "--id", "ref", "--live"]
    assert main(scoring) == 2
    assert "has no approver" in capsys.readouterr().err
    clock = datetime(2024, 10, 1, 3, tzinfo=UTC)
    assert main(["assess", "approve", str(folder), "--by", "Risk"], now=lambda: clock) == 0
    assert capsys.readouterr().out.endswith("is approved by Risk on 2024-10-01.\n")
    assert main([*scoring, "--reasons"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ref,score,pd_ppm,reasons"
    assert len(lines) == 901
    assert lines[1].startswith("A0,")
    assert main(["assess", "evaluate", str(folder), str(applicants_file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["auc", "ks", "brier", "ece10", "slope", "n"]
    assert found["n"] == 900
