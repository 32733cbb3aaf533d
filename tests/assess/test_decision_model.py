"""A trained model inside a flow: one applicant and columns, reasons, approval and replay."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.assess.applicants import JOBS, rows
from tests.assess.conftest import RECIPE
from tests.assess.requests import ticking
from tests.assess.test_decision_log import copied, random_decisions
from usance.assess.backtest import differences, replay_log
from usance.assess.decision.columns import decide_columns
from usance.assess.decision.decide import Decider
from usance.assess.decision.log import Log, read_log
from usance.assess.decision.request import Request
from usance.assess.errors import NotApproved
from usance.assess.flow.files import Flow, read_flow
from usance.assess.monitoring.approval import approve
from usance.assess.scoring.model import Model
from usance.assess.scoring.reasons import reasons
from usance.assess.training.train import train
from usance.base.codes import DecisionKind
from usance.base.errors import UsanceError

FLOW = """
flow: trained
number: 3
valid_from: 2024-01-01
reasons: reasons.yaml
inputs:
  age: {type: whole, from: 18, to: 120, special: {-1: not stated}, missing: -1}
  use: {type: real, from: 0, to: 1}
  late: {type: whole, from: 0, to: 99}
  debt: {type: real, from: 0, to: 1000000}
  job: {type: name, names: [not_stated, clerk, smith, nurse, none], missing: not_stated}
  town: {type: name, names: [TOWNS]}
stages:
  a_score:
    model: model
    number: 12
    reads: [age, use, late, debt, job, town]
    gives: {score: {type: whole, from: 0, to: 2000}, pd_ppm: {type: whole, from: 0, to: 1000000}}
  cut: {graph: cut.json, gives: {grade: {type: whole, from: 1, to: 2}}}
explained_by_score: {instead_of: [1]}
input_reasons: {age: 11, use: 12, late: 13, debt: 14, job: 15, town: 16}
"""


@pytest.fixture(scope="module")
def flow(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Flow:
    folder = tmp_path_factory.mktemp("flow") / "trained"
    folder.mkdir()
    towns = ", ".join(f"T{number:02}" for number in range(15))
    (folder / "flow.yaml").write_text(FLOW.replace("TOWNS", towns))
    texts = {1: "too risky", 11: "age", 12: "use", 13: "late", 14: "debt", 15: "job", 16: "town"}
    (folder / "reasons.yaml").write_text(
        "\n".join(f"{code}: {{text: {text}}}" for code, text in texts.items())
    )
    rules = [
        {"_id": "risky", "i": "> 250000", "o": "2", "p": '"decline"', "q": "1"},
        {"_id": "fine", "i": "", "o": "1", "p": '"pass"', "q": "0"},
    ]
    outputs = [
        {"id": i, "field": f} for i, f in (("o", "grade"), ("p", "outcome"), ("q", "reason"))
    ]
    table = {"hitPolicy": "first", "passThrough": True, "rules": rules, "outputs": outputs,
             "inputs": [{"id": "i", "field": "pd_ppm"}]}  # fmt: skip
    nodes = [
        {"id": "a", "name": "a", "type": "inputNode"},
        {"id": "b", "name": "cut", "type": "decisionTableNode", "content": table},
        {"id": "c", "name": "c", "type": "outputNode"},
    ]
    edges = [{"id": f, "sourceId": f, "targetId": to} for f, to in (("a", "b"), ("b", "c"))]
    (folder / "cut.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    shutil.copytree(model_folder, folder / "model")
    approve(folder / "model", "risk committee", date(2024, 1, 1))
    return read_flow(folder)


def applicants(count: int) -> list[dict[str, Any]]:
    found = []
    for row in rows(count, seed=77):
        debt = row["debt"] if isinstance(row["debt"], float) else 500.0
        plain = {name: row[name] for name in ("age", "use", "late", "job", "town")}
        found.append(plain | {"debt": debt})
    return found


def request(number: int, inputs: dict[str, Any]) -> Request:
    at = datetime(2024, 6, 30, tzinfo=UTC)
    return Request(number, 1, DecisionKind.APPLICATION, at, inputs, {})


def test_one_applicant_and_columns_are_the_same(flow: Flow, model: Model) -> None:
    people = applicants(120)
    decider = Decider(flow)
    single = [decider.decide(request(at + 1, each), ticking()) for at, each in enumerate(people)]
    columns = {
        name: np.array([one.inputs[place] for one in single])
        for place, name in enumerate(flow.inputs)
    }
    for name in ("age", "late", "job", "town"):
        columns[name] = columns[name].astype(np.int64)
    batch = decide_columns(flow, DecisionKind.APPLICATION, columns)
    for at, one in enumerate(single):
        answer = one.answer
        assert bool(batch.approved[at]) == answer.approved
        assert int(batch.values["score"][at]) == answer.number("score")
        assert int(batch.values["pd_ppm"][at]) == answer.number("pd_ppm")
        assert tuple(batch.reasons[:, at].tolist()) == answer.reasons
        # The model itself, asked without the flow.
        alone = model.score_one({**people[at]})
        assert (alone.score, alone.pd_ppm) == (answer.number("score"), answer.number("pd_ppm"))
        assert answer.model_no == 12
        if not answer.approved:
            (why,) = reasons(model, alone.inputs)
            codes = [flow.input_reasons[each.column] for each in why]
            assert [code for code in answer.reasons if code] == codes
    assert 10 < sum(one.answer.approved for one in single) < 110
    assert set(JOBS) <= set(flow.inputs["job"].names)


def test_a_model_decides_live_only_if_approved(flow: Flow, tmp_path: Path) -> None:
    folder = tmp_path / "flow"
    shutil.copytree(flow.folder, folder)
    (folder / "model" / "approvals.json").unlink()
    with pytest.raises(NotApproved):
        Decider(read_flow(folder))
    assert Decider(read_flow(folder), live=False).flow.number == 3
    with pytest.raises(NotApproved):
        decide_columns(read_flow(folder), DecisionKind.APPLICATION, codes())
    tried = decide_columns(read_flow(folder), DecisionKind.APPLICATION, codes(), live=False)
    assert len(tried.approved) == 2


def codes() -> dict[str, Any]:
    """Two applicants as columns."""
    return {"age": [30, -1], "use": [0.2, 0.9], "late": [0, 2], "debt": [900.0, 0.0],
            "job": [1, 0], "town": [3, 14]}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("use", [0.2, float("nan")], "use: row 2 has nan"),
        ("use", [0.2, float("inf")], "use: row 2 has inf"),
        ("use", [7.0, -0.1], "use: row 1 has 7.0, and 1 more rows"),
        ("age", [30, 17], "age: row 2 has 17"),
        ("age", [30.5, 31.0], "age: is float64"),
        ("job", [1, -1], "job: row 2 has -1"),
        ("job", [5, 0], "job: row 1 has 5"),
        ("use", ["0.2", "0.3"], "use: is <U3"),
        ("use", None, "use is missing"),
        ("use", [0.2], "columns differ in length"),
    ],
)
def test_a_column_a_model_cannot_take_is_refused(
    flow: Flow, name: str, values: Any, told: str
) -> None:
    columns = {**codes(), name: values}
    if values is None:
        del columns[name]
    with pytest.raises(UsanceError, match=re.escape(told)):
        decide_columns(flow, DecisionKind.APPLICATION, columns)


def test_a_score_outside_what_the_flow_declares_is_refused_in_columns_too(
    flow: Flow, tmp_path: Path
) -> None:
    folder = tmp_path / "flow"
    shutil.copytree(flow.folder, folder)
    text = (folder / "flow.yaml").read_text()
    (folder / "flow.yaml").write_text(text.replace("from: 0, to: 2000", "from: 0, to: 10"))
    narrow = read_flow(folder)
    person = {**applicants(1)[0]}
    with pytest.raises(UsanceError, match=r"a_score\.score"):
        Decider(narrow).decide(request(1, person), ticking())
    with pytest.raises(UsanceError, match=r"a_score\.score"):
        decide_columns(narrow, DecisionKind.APPLICATION, codes())


@pytest.mark.parametrize("use", [10**400, float("nan"), float("inf"), True, "0.2", None, 1.5])
def test_a_real_input_that_is_no_number_in_range_is_refused(flow: Flow, use: Any) -> None:
    person = applicants(1)[0] | {"use": use}
    with pytest.raises(UsanceError, match=r"inputs\.use"):
        Decider(flow).decide(request(1, person), ticking())


def test_no_columns_are_no_batch(flow: Flow) -> None:
    with pytest.raises(UsanceError, match="age is missing"):
        decide_columns(flow, DecisionKind.APPLICATION, {})


def test_a_model_that_needs_more_than_the_flow_reads_is_refused(flow: Flow, tmp_path: Path) -> None:
    folder = tmp_path / "flow"
    shutil.copytree(flow.folder, folder)
    text = (folder / "flow.yaml").read_text()
    (folder / "flow.yaml").write_text(text.replace("reads: [age, use,", "reads: [age,"))
    with pytest.raises(UsanceError, match="its model needs use"):
        Decider(read_flow(folder))


def test_decisions_by_a_model_replay(flow: Flow, tmp_path: Path) -> None:
    decider = Decider(flow)
    with Log(tmp_path / "log") as log:
        for at, each in enumerate(applicants(25)):
            log.append(decider.decide(request(at + 1, each), ticking()), flow)
        log.seal()
    assert replay_log(tmp_path / "log").differences == ()


def upgraded(trained: Path, applicants_file: Path) -> Flow:
    """The flow with the next number, another cut-off and a model trained anew, in its old place."""
    shutil.rmtree(trained / "model")
    train(applicants_file, replace(RECIPE, seed=2), trained / "model", threads=1)
    approve(trained / "model", "risk committee", date(2024, 3, 1))
    for name, old, new in (
        ("flow.yaml", "number: 3", "number: 4"), ("flow.yaml", "number: 12", "number: 13"),
        ("cut.json", "> 250000", "> 200000"), ("reasons.yaml", "too risky", "the risk is high"),
    ):  # fmt: skip
        text = (trained / name).read_text()
        assert old in text
        (trained / name).write_text(text.replace(old, new))
    return read_flow(trained)


@pytest.mark.nightly
def test_ten_thousand_decisions_replay_after_an_upgrade_of_every_version(
    flow: Flow, applicants_file: Path, tmp_path: Path
) -> None:
    """Flow, tables, points, features, reasons and model are all replaced where they live."""
    log_folder, trained, plain = tmp_path / "log", tmp_path / "trained", tmp_path / "plain"
    shutil.copytree(flow.folder, trained)
    before, decider = copied(plain, 1), Decider(read_flow(trained))
    people = applicants(3_000)
    with Log(log_folder) as log:
        for decision in random_decisions(before, 7_000, seed=4):
            log.append(decision, before)
        for at, each in enumerate(people):
            log.append(decider.decide(request(8_000 + at, each), ticking()), decider.flow)
        log.seal()
    shutil.rmtree(plain)
    after = copied(
        plain, 2, ("score.json", '">= 7"', '">= 5"'), ("score.json", '"55"', '"11"'),
        ("reasons.yaml", "Your age.", "How old you are."),
        ("features.yaml", "days: 90", "days: 60"),
    )  # fmt: skip
    renewed = Decider(upgraded(trained, applicants_file))
    with Log(log_folder) as log:
        for decision in random_decisions(after, 50, seed=5, first_user=20_000):
            log.append(decision, after)
        for at, each in enumerate(people[:50]):
            log.append(renewed.decide(request(30_000 + at, each), ticking()), renewed.flow)
    found = replay_log(log_folder)
    assert (found.decisions, found.flows, found.differences) == (10_100, 4, ())
    # The control: with today's versions many of the old ones come out different.
    today = {"trained": renewed, "consumer": Decider(after)}
    changed = sum(
        bool(differences(stored, today["trained" if stored.row["model_no"] else "consumer"]))
        for stored in read_log(log_folder)
        if stored.row["flow_no"] in (1, 3)
    )
    assert changed > 3_000
