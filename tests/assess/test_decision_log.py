"""The log keeps what was decided and with what; it replays for ever and back-tests candidates."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from tests.assess.flow_cases import random_codes
from tests.assess.requests import request, ticking
from usance.assess.backtest import assigned_flow, backtest, differences, replay_log
from usance.assess.decision.decide import Decider, Decision
from usance.assess.decision.log import Log, read_log, stored_flow
from usance.assess.errors import LogError, WrongInput
from usance.assess.flow.files import SHIPPED, Flow, read_flow
from usance.assess.offer.profit import read_economics
from usance.base.codes import DecisionKind
from usance.base.errors import UsanceError
from usance.base.parquet import read_parquet
from usance.base.tables import table


def copied(folder: Path, number: int, *changes: tuple[str, str, str]) -> Flow:
    """The shipped flow under another number, with texts replaced in its files."""
    shutil.copytree(SHIPPED / "consumer", folder)
    flow = folder / "flow.yaml"
    flow.write_text(flow.read_text().replace("number: 1", f"number: {number}"))
    for name, old, new in changes:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))
    return read_flow(folder)


def random_decisions(flow: Flow, count: int, seed: int, first_user: int = 1) -> list[Decision]:
    decider = Decider(flow)
    columns = random_codes(flow, count, seed)
    moment = request().at
    found = []
    for row in range(count):
        inputs = tuple(float(columns[name][row]) for name in flow.inputs)
        kind = DecisionKind(row % 3)
        answer = decider.answer(inputs, kind)
        key = (first_user + row) * 16384 + 1
        found.append(Decision(key, moment, kind, answer, flow.number, flow.sha256, inputs, 900))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_decisions_replay_after_an_upgrade_of_everything(tmp_path: Path, folder: Path) -> None:
    first = copied(tmp_path / "one", 1)
    with Log(folder) as log:
        for decision in random_decisions(first, 150, seed=1):
            log.append(decision, first)
        log.seal()
    # Every version is replaced where it lives: cut-off, points, reasons, features.
    shutil.rmtree(tmp_path / "one")
    second = copied(
        tmp_path / "one", 2, ("score.json", '">= 7"', '">= 5"'), ("score.json", '"55"', '"11"'),
        ("reasons.yaml", "Your age.", "How old you are."),
        ("features.yaml", "days: 90", "days: 60"),
    )  # fmt: skip
    with Log(folder) as log:
        for decision in random_decisions(second, 100, seed=2, first_user=5000):
            log.append(decision, second)
    found = replay_log(folder)
    assert (found.decisions, found.flows, found.differences) == (250, 2, ())


def test_a_change_in_a_flow_is_seen_by_the_replay(tmp_path: Path, folder: Path) -> None:
    """The control: with the wrong version the same decisions come out different."""
    first = copied(tmp_path / "one", 1)
    second = copied(tmp_path / "two", 2, ("score.json", '">= 7"', '">= 3"'))
    with Log(folder) as log:
        for decision in random_decisions(first, 60, seed=1):
            log.append(decision, first)
    decider = Decider(second, live=False)
    assert any(differences(stored, decider) for stored in read_log(folder))


def test_sealed_tables_are_those_of_the_contract(tmp_path: Path, folder: Path) -> None:
    flow = copied(tmp_path / "one", 1)
    decision = Decider(flow).decide(request(), ticking())
    with Log(folder) as log:
        log.append(decision, flow)
        sealed = log.seal()
        assert log.seal() is None
    assert sealed is not None
    (row,) = read_parquet(sealed / "decisions.parquet", table("decisions")).to_pylist()
    assert row == decision.row()
    (inputs,) = sealed.glob("decision_inputs-*.parquet")
    (stored,) = read_parquet(inputs, table("decision_inputs")).to_pylist()
    assert len(stored["inputs"]) == len(flow.inputs)
    (again,) = read_log(folder)
    assert again.path == decision.answer.path
    assert stored_flow(folder, flow.sha256).sha256 == flow.sha256


def test_a_line_cut_short_is_dropped_and_the_rest_stays(tmp_path: Path, folder: Path) -> None:
    flow = copied(tmp_path / "one", 1)
    made = random_decisions(flow, 3, seed=1)
    with Log(folder) as log:
        log.append(made[0], flow)
        log.append(made[1], flow)
    lines = folder / "open.jsonl"
    lines.write_bytes(lines.read_bytes()[:-40])
    assert len([*read_log(folder)]) == 1
    with Log(folder) as log:
        log.append(made[2], flow)
    ids = [stored.row["decision_id"] for stored in read_log(folder)]
    assert ids == [made[0].decision_id, made[2].decision_id]


def test_a_seal_that_stopped_half_way_counts_once(tmp_path: Path, folder: Path) -> None:
    flow = copied(tmp_path / "one", 1)
    with Log(folder) as log:
        for decision in random_decisions(flow, 5, seed=1):
            log.append(decision, flow)
        log.commit()
        lines = (folder / "open.jsonl").read_bytes()
        log.seal()
    (folder / "open.jsonl").write_bytes(lines)  # as if it had stopped before letting go
    assert len([*read_log(folder)]) == 5
    Log(folder).close()
    assert (folder / "open.jsonl").read_bytes() == b""
    assert len([*read_log(folder)]) == 5


def test_a_number_stands_for_one_content(tmp_path: Path, folder: Path) -> None:
    first = copied(tmp_path / "one", 1)
    other = copied(tmp_path / "two", 1, ("score.json", '">= 7"', '">= 5"'))
    (decision,) = random_decisions(first, 1, seed=1)
    with Log(folder) as log:
        log.append(decision, first)
        with pytest.raises(LogError, match="stands for other content"):
            log.append(decision, other)


def test_an_edited_version_is_refused(tmp_path: Path, folder: Path) -> None:
    flow = copied(tmp_path / "one", 1)
    with Log(folder) as log:
        log.append(random_decisions(flow, 1, seed=1)[0], flow)
    kept = folder / "versions" / flow.sha256 / "reasons.yaml"
    kept.write_text(kept.read_text().replace("Your age.", "Age."))
    with pytest.raises(LogError, match="was edited"):
        replay_log(folder)
    shutil.rmtree(folder / "versions")
    with pytest.raises(LogError, match="a flow is missing"):
        replay_log(folder)


def test_one_id_is_sealed_once(tmp_path: Path, folder: Path) -> None:
    flow = copied(tmp_path / "one", 1)
    (decision,) = random_decisions(flow, 1, seed=1)
    with Log(folder) as log:
        log.append(decision, flow)
    lines = folder / "open.jsonl"
    lines.write_bytes(2 * lines.read_bytes())
    with Log(folder) as log, pytest.raises(LogError, match="is there twice"):
        log.seal()


def test_a_folder_that_is_no_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="is no decision log"):
        replay_log(tmp_path)


def test_a_back_test_shows_who_swaps_sides(tmp_path: Path, folder: Path) -> None:
    champion = copied(tmp_path / "one", 1)
    made = random_decisions(champion, 120, seed=3)
    with Log(folder) as log:
        for decision in made:
            log.append(decision, champion)
    outcomes = {decision.decision_id: at % 2 for at, decision in enumerate(made)}
    tested = partial(backtest, folder, economics=read_economics(), months=12, funding_ppm=43_000)
    same = tested(candidate=champion)
    cells = {swap.kind: swap for swap in same.swaps}
    assert cells["swapped_in"].decisions == cells["swapped_out"].decisions == same.gain_minor == 0
    stricter = copied(tmp_path / "two", 2, ("score.json", '">= 7"', '">= 3"'))
    found = tested(candidate=stricter, outcomes=outcomes)
    cells = {swap.kind: swap for swap in found.swaps}
    applications = [each for each in made if each.kind is not DecisionKind.DRAWDOWN]
    assert found.decisions == len(applications) == sum(swap.decisions for swap in found.swaps)
    # By hand: exactly those approved at grades 3 to 6 swap out, nobody swaps in.
    out = [
        each for each in applications if each.answer.approved and each.answer.number("grade") >= 3
    ]
    assert cells["swapped_out"].decisions == len(out) > 0
    assert cells["swapped_out"].bad == sum(outcomes[each.decision_id] for each in out)
    assert cells["swapped_in"].decisions == 0
    assert found.gain_minor == -cells["swapped_out"].stored_profit_minor
    assert json.dumps(found.as_dict())


def test_a_candidate_that_needs_more_than_was_stored_is_refused(
    tmp_path: Path, folder: Path
) -> None:
    champion = copied(tmp_path / "one", 1)
    with Log(folder) as log:
        log.append(random_decisions(champion, 1, seed=3)[0], champion)
    shoes = "shoe_size: {type: whole, from: 1, to: 60}"
    candidate = copied(
        tmp_path / "two", 2, ("flow.yaml", "  age_years:", f"  {shoes}\n  age_years:"),
        ("identity.json", '"in6": "> 65"', '"in6": "> 66"'),
        ("identity.json", '"field": "age_years"', '"field": "shoe_size"'),
    )  # fmt: skip
    with pytest.raises(UsanceError, match="shoe_size is not known"):
        backtest(folder, candidate, read_economics(), months=12, funding_ppm=43_000)


def test_shares_of_a_test_hold_by_user() -> None:
    shares = {"champion": Fraction(3, 4), "challenger": Fraction(1, 4)}
    names = [assigned_flow(user, shares, seed=11) for user in range(1, 8001)]
    assert abs(names.count("challenger") - 2000) < 4 * 39  # four standard deviations
    assert names == [assigned_flow(user, shares, seed=11) for user in range(1, 8001)]
    with pytest.raises(WrongInput, match="do not add up"):
        assigned_flow(1, {"a": Fraction(1, 2)}, seed=1)


@pytest.mark.parametrize("sealed", [False, True])
def test_a_retry_changes_nothing_and_another_request_under_its_id_is_refused(
    tmp_path: Path, folder: Path, sealed: bool
) -> None:
    flow = copied(tmp_path / "one", 1)
    first, other = random_decisions(flow, 2, seed=1)
    with Log(folder) as log:
        log.append(first, flow)
        if sealed:
            log.seal()
        log.append(replace(first, latency_us=5), flow)
    with Log(folder) as log:
        log.append(first, flow)
        with pytest.raises(LogError, match="is there with another request"):
            log.append(replace(other, decision_id=first.decision_id), flow)
        log.append(other, flow)
    ids = [stored.row["decision_id"] for stored in read_log(folder)]
    assert ids == [first.decision_id, other.decision_id]


def test_a_damaged_line_is_named(tmp_path: Path, folder: Path) -> None:
    flow = copied(tmp_path / "one", 1)
    with Log(folder) as log:
        for decision in random_decisions(flow, 2, seed=1):
            log.append(decision, flow)
    file = folder / "open.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    for wrong in (b"garbage\n", b'{"a": 1}\n', b"[]\n"):
        file.write_bytes(lines[0] + wrong)
        with pytest.raises(LogError, match=r"open.jsonl, line 2: the line is damaged"):
            replay_log(folder)
        with pytest.raises(LogError, match="line 2"):
            Log(folder)
