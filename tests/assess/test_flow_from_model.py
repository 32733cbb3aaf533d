"""A trained model becomes a flow in one step, and the flow decides a file of applicants."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.assess.applicants import rows
from usance.assess.applicant_file import read_table
from usance.assess.decision.applicant_columns import decision_table, flow_columns
from usance.assess.decision.columns import decide_columns
from usance.assess.errors import FlowError, NotApproved
from usance.assess.flow.files import Flow, read_flow
from usance.assess.flow.from_model import flow_of_model
from usance.assess.monitoring.approval import approve
from usance.assess.scoring.model import Model
from usance.base.codes import DecisionKind
from usance.base.column_files import ColumnNames
from usance.base.errors import DocumentError, UsanceError
from usance.base.parameters import Parameters
from usance.cli import main

DAY = date(2024, 6, 30)
CUT = 250_000


@pytest.fixture(scope="module")
def flow(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Flow:
    folder = tmp_path_factory.mktemp("from_model") / "flow"
    made = flow_of_model(model_folder, folder, cut_off_ppm=CUT, valid_from=date(2024, 1, 1))
    approve(folder / "model", "risk committee", date(2024, 1, 1))
    assert read_flow(folder).inputs == made.inputs
    return read_flow(folder)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    people = rows(60, seed=5)
    with (tmp_path / "new.csv").open("w", newline="") as opened:
        writer = csv.DictWriter(opened, people[0])
        writer.writeheader()
        writer.writerows(people)
    return tmp_path / "new.csv"


def decided(file: Path, flow: Flow, **names: str) -> Any:
    table = read_table(file, ColumnNames(names))
    columns = flow_columns(table, flow, DecisionKind.APPLICATION, Parameters.load(), DAY)
    return table, decide_columns(flow, DecisionKind.APPLICATION, columns)


def test_the_flow_answers_as_its_model_and_cut_off_do(flow: Flow, model: Model, file: Path) -> None:
    table, found = decided(file, flow)
    risk = model.score(table).pd
    assert np.abs(found.values["pd_ppm"] - np.asarray(risk) * 1e6).max() <= 1
    assert (found.approved == (found.values["pd_ppm"] <= CUT)).all()
    assert set(found.values["grade"][found.approved]) <= {1, 2, 3, 4}
    assert 0 < found.approved.sum() < table.rows
    shown = decision_table(table, found, "").to_pylist()
    declined = [row for row in shown if not row["approved"]]
    assert all(row["declined_by"] == "cut" for row in declined)
    assert all(row["reason_1"] in flow.input_reasons.values() for row in declined)


def test_columns_of_other_names_and_cells_that_cannot_be_read(
    flow: Flow, file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    text = file.read_text()
    other.write_text(text.replace("use", "nutzung", 1))
    _, found = decided(other, flow, use="nutzung")
    assert (found.approved == decided(file, flow)[1].approved).all()
    with pytest.raises(UsanceError, match="has no column 'use'"):
        decided(other, flow)
    lines = text.splitlines()
    place = lines[0].split(",").index("late")
    for at in range(1, 9):
        cells = lines[at].split(",")
        cells[place] = "often"
        lines[at] = ",".join(cells)
    other.write_text("\n".join(lines))
    with pytest.raises(UsanceError) as caught:
        decided(other, flow)
    said = str(caught.value)
    assert "other.csv line 2: late is 'often'" in said
    assert "(and 5 more rows)" in said
    assert said.count("late is") == 3


def test_a_model_without_an_approver_decides_nothing(
    model_folder: Path, file: Path, tmp_path: Path
) -> None:
    made = flow_of_model(model_folder, tmp_path / "flow", cut_off_ppm=CUT, valid_from=DAY)
    with pytest.raises(NotApproved):
        decided(file, made)
    with pytest.raises(DocumentError, match="is not an empty folder"):
        flow_of_model(model_folder, tmp_path / "flow", cut_off_ppm=CUT, valid_from=DAY)
    for wrong in (0, 1_000_000):
        with pytest.raises(FlowError, match="cut-off"):
            flow_of_model(model_folder, tmp_path / "x", cut_off_ppm=wrong, valid_from=DAY)


def test_three_forms_of_one_answer(
    flow: Flow, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["assess", "decide", str(file), "--flow", str(flow.folder)]
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        assert main([*call, "--out", str(tmp_path / name)]) == 0, capsys.readouterr().err
    with (tmp_path / "a.csv").open() as opened:
        plain = [row["pd_ppm"] for row in csv.DictReader(opened)]
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    columns = pq.read_table(tmp_path / "a.parquet")["pd_ppm"].to_pylist()
    assert [int(each) for each in plain] == columns == [json.loads(row)["pd_ppm"] for row in lines]
    capsys.readouterr()
    assert main([*call, "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(columns)
    assert main([*call, "--out", str(tmp_path / "a.xlsx")]) == 2
    assert "unknown ending '.xlsx'" in capsys.readouterr().err
