"""Training: same bytes, honest figures, and guards that name the column."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.assess.applicants import rows, write
from tests.pages.checks import parsed
from usance.assess.applicant_file import Table, no_column, numbers_and_texts, read_table, table_of
from usance.assess.columns import learn_column
from usance.assess.scoring.model import Model, load_model
from usance.assess.training.fit import choose_candidate, folds, latest
from usance.assess.training.logistic import fit
from usance.assess.training.recipe import (
    Recipe,
    check_ids,
    chosen_rows,
    outcomes,
    read_trends,
    rows_where,
)
from usance.assess.training.train import choose_inputs, fit_table, train
from usance.base.column_files import ColumnNames
from usance.base.errors import Problems, UsanceError
from usance.cli import main

BAD = np.array([0.0, 1.0] * 150)


def inputs_of(columns: dict[str, Any], **options: Any) -> Any:
    table = table_of({"plain": [float(at % 7) for at in range(300)], **columns})
    asked = {"left_out": (), "kept": (), "trends": {}, **options}
    return choose_inputs(table, BAD, **asked)


def test_training_again_gives_the_same_bytes(
    model_folder: Path, applicants_file: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    # Two threads where the first had one.
    words = ["assess", "retrain", str(model_folder), str(applicants_file), "--out", str(again)]
    assert main([*words, "--threads", "2"]) == 0
    names = sorted(path.name for path in again.iterdir())
    assert names == ["card.html", "model.json", "scorecard.csv", "scorecard.sql", "trees.txt"]
    for name in names:
        assert (again / name).read_bytes() == (model_folder / name).read_bytes(), name


def test_the_model_says_what_was_used_and_why(model: Model) -> None:
    info = model.info
    assert model.kind in info["why"].partition(" is used")[0]
    assert [each.name for each in model.columns] == ["age", "use", "late", "debt", "job"]
    assert info["recipe"]["trends"] == {"use": 1}
    assert dict(model.columns[2].specials) == {"98": 98.0}
    assert [label for label, _ in model.columns[3].specials] == ["Unknown"]
    assert len(info["months"]) == 9
    assert set(info["groups"]) == {"town"}
    assert 0.5 < info["out_of_time"]["auc"] < 1
    assert sum(row["rows"] for row in info["groups"]["town"]) <= info["data"]["rows"]


def test_held_out_figures_hold_on_new_applicants(model: Model) -> None:
    new = rows(4000, seed=77)
    table = table_of({name: [each[name] for each in new] for name in ("age", "use", "late", "job")})
    debts = [None if each["debt"] is None else str(each["debt"]) for each in new]
    full = Table("new", {**table.columns, **table_of({"debt": debts}).columns}, table.rows)
    bad = np.array([float(each["target"]) for each in new])
    pd = model.score(full).pd
    from usance.assess.model_quality import auc, calibration_error

    assert auc(bad, pd) == pytest.approx(model.info["held_out"][model.kind]["auc"], abs=0.05)
    assert calibration_error(bad, pd) < 0.04


def test_the_card_is_one_page_without_a_network(model_folder: Path) -> None:
    page = (model_folder / "card.html").read_text(encoding="utf-8")
    tree = parsed(page)
    assert len(list(tree.iter("figure"))) == 3
    for told in (
        "AUC", "Gini", "KS", "Brier", "Calibration", "PSI", "Groups by town", "points",
        "reason code", "How to recompute a score", "Stability by month", "latest months",
    ):  # fmt: skip
        assert told in page, told


def test_an_approved_model_is_not_replaced(
    model_folder: Path, applicants_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "approvals.json").write_text("[]")
    words = ["assess", "retrain", str(model_folder), str(applicants_file), "--out", str(tmp_path)]
    assert main(words) == 2
    assert "never replaced" in capsys.readouterr().err


def test_a_column_that_tells_the_outcome_is_left_out() -> None:
    echo = BAD * 10 + np.arange(300) % 3
    found = inputs_of({"echo": echo, "closed": [None if good else 5.0 for good in BAD == 0]})
    assert [each.name for each in found.columns] == ["plain"]
    assert all("known only after the outcome" in note for note in found.warnings)
    kept = inputs_of({"echo": echo}, kept=("echo",))
    assert [each.name for each in kept.columns] == ["plain", "echo"]


def test_a_suspicious_name_is_told() -> None:
    found = inputs_of({"recoveries": [float(at % 5) for at in range(300)]})
    assert [each.name for each in found.columns] == ["plain", "recoveries"]
    assert found.warnings == [
        "column 'recoveries' sounds like something known only after the outcome"
    ]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([f"n{at}" for at in range(300)], "300 different texts"),
        (list(range(5000, 5300)), "as an identifier does"),
        ([7] * 300, "the same in every row"),
        (["train", "valid"] * 150, "names parts of the file"),
        (["2024-01-31", "2024-02-29"] * 150, "it holds dates"),
    ],
)
def test_a_column_of_no_use_is_left_out_by_name(cells: list[Any], why: str) -> None:
    found = inputs_of({"odd": cells})
    assert [each.name for each in found.columns] == ["plain"]
    (note,) = found.warnings
    assert note.startswith("column 'odd' is left out")
    assert why in note


def test_infinite_numbers_are_named_column_by_column() -> None:
    wrong = [1.0, 2.0, float("inf")] * 100
    with pytest.raises(Problems) as caught:
        inputs_of({"x": wrong, "y": wrong})
    assert [error.where for error in caught.value.errors] == [
        "columns row 3, column 'x'", "columns row 3, column 'y'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([1] * 100, "every row is bad"),
        ([0] * 100, "every row is good"),
        ([0, 2] * 50, "columns row 2, column 'y': is '2'"),
        ([0, None] * 50, "is empty, and 49 more"),
        (["0", "maybe"] * 50, "is 'maybe'"),
        ([0] * 95 + [1] * 5, "5 bads and 95 goods"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused(cells: list[Any], told: str) -> None:
    with pytest.raises(UsanceError, match=re.escape(told)) as caught:
        outcomes(table_of({"y": cells}), "y", least=30)
    assert "column 'y'" in caught.value.where


def test_a_file_in_its_own_words_by_a_mapping(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("Nr;Tag;Wert;Ausfall\nA;15.01.2024;1.200,5;ja\nB;29.02.2024;7;nein\n")
    words = {"bad": {"ja": "1", "nein": "0"}}
    ours = {"id": "Nr", "bad": "Ausfall"}
    names = ColumnNames(ours, "1.234,56", "%d.%m.%Y", values=words)
    table = read_table(file, names)
    assert {name: column.to_pylist() for name, column in table.columns.items()} == {
        "id": ["A", "B"], "Tag": ["2024-01-15", "2024-02-29"], "Wert": ["1200.5", "7"],
        "bad": ["1", "0"],
    }  # fmt: skip
    assert outcomes(table, "bad").tolist() == [1, 0]
    with pytest.raises(UsanceError, match=r"own\.csv line 3, column 'Ausfall': is 'nein', no"):
        outcomes(rows_where(read_table(file), "Nr=B"), "Ausfall")
    with pytest.raises(UsanceError, match=r"has no column 'No' for id\. It has Nr, Tag"):
        read_table(file, ColumnNames({"id": "No"})).column("id")


def test_numbers_with_a_comma_are_no_words() -> None:
    made = {"a": [f"{row},5" for row in range(200)], "b": [row % 7 for row in range(200)]}
    found = choose_inputs(
        table_of(made), np.array([0.0, 1.0] * 100), left_out=(), kept=(), trends={}
    )
    assert [each.name for each in found.columns] == ["b"]
    assert "its numbers are written with a comma; say so in a mapping" in found.warnings[0]


def test_outcomes_may_be_words() -> None:
    assert outcomes(table_of({"y": ["bad", "Good", "bad"]}), "y").tolist() == [1.0, 0.0, 1.0]


def test_an_id_that_stands_twice_is_refused() -> None:
    with pytest.raises(UsanceError, match="the first is 'b'"):
        check_ids(table_of({"id": ["a", "b", "b"]}), "id")


def test_every_column_of_the_recipe_must_be_there() -> None:
    recipe = Recipe("targt", time="date", excluded=("x",))
    with pytest.raises(Problems) as caught:
        chosen_rows(table_of({"target": [0, 1]}), recipe)
    assert [error.what for error in caught.value.errors] == [
        "has no column 'targt'", "has no column 'date'", "has no column 'x'",
    ]  # fmt: skip
    with pytest.raises(UsanceError, match="declares no direction"):
        read_trends("age:up")


def test_a_column_by_its_own_name_in_a_mapped_file_is_told_the_name_here(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text("Einkommen,target\n1,0\n2,1\n", encoding="utf-8")
    table = read_table(path, ColumnNames({"income": "Einkommen"}))
    with pytest.raises(UsanceError, match="'Einkommen' has another name here") as caught:
        raise no_column(table, "Einkommen")
    assert caught.value.fix == "Write income, as the mapping calls it"


def test_a_text_in_a_number_column_is_named(model: Model, tmp_path: Path) -> None:
    made = rows(5, seed=1)
    made[3]["age"] = "old"
    with pytest.raises(UsanceError, match="'old' is not a number") as caught:
        model.score(read_table(write(tmp_path / "five.csv", made)))
    assert caught.value.where.endswith("five.csv line 5, column 'age'")


def test_a_single_call_gets_every_problem_at_once(model: Model) -> None:
    with pytest.raises(Problems) as caught:
        model.score_one({"age": "old", "use": float("inf"), "late": [1], "debt": "Unkown"})
    told = [error.what for error in caught.value.errors]
    assert told == [
        "'old' is not a number", "an infinite number", "list is not a number",
        "'Unkown' is not a number", "'job' is not given",
    ]  # fmt: skip


def test_a_model_that_was_edited_is_refused(model_folder: Path, tmp_path: Path) -> None:
    for name in ("model.json", "trees.txt"):
        (tmp_path / name).write_bytes((model_folder / name).read_bytes())
    with (tmp_path / "trees.txt").open("a") as file:
        file.write("\n")
    with pytest.raises(UsanceError, match=r"does not belong to model\.json"):
        load_model(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(UsanceError, match="not a model of this version"):
        load_model(tmp_path)
    with pytest.raises(UsanceError, match="is no model"):
        load_model(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cannot be read"),
        (b"a,b\n", "has no rows"),
        (b"a,a\n1,2\n", "more than one column 'a'"),
        (b"a,b\n1,2\n3\n", "cannot be read"),
        (b"a,b\n1,\xff\xfe\n", "line 2 is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "wrong.csv"
    path.write_bytes(content)
    with pytest.raises(UsanceError, match=told):
        read_table(path)


def test_parquet_and_csv_are_read_alike(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = rows(40, seed=3)
    names = ("age", "use", "job", "late")
    table = pa.table({name: [each[name] for each in made] for name in names})
    pq.write_table(table, tmp_path / "a.parquet")
    one = read_table(write(tmp_path / "a.csv", made))
    other = read_table(tmp_path / "a.parquet")
    for name in names:
        left, right = numbers_and_texts(one.column(name)), numbers_and_texts(other.column(name))
        assert np.array_equal(left[0], right[0], equal_nan=True)
        assert left[1].to_pylist() == right[1].to_pylist()
        assert learn_column(name, one.column(name), least=2) == learn_column(
            name, other.column(name), least=2
        )


def test_folds_are_even_and_repeat() -> None:
    bad = (np.arange(1003) % 4 == 0).astype(float)
    fold = folds(bad, 5, seed=3, repeat=1)
    assert np.array_equal(fold, folds(bad, 5, seed=3, repeat=1))
    assert not np.array_equal(fold, folds(bad, 5, seed=3, repeat=2))
    for outcome in (0, 1):
        counted = np.bincount(fold[bad == outcome])
        assert counted.max() - counted.min() <= 1


def test_the_latest_months_are_the_test() -> None:
    months = np.repeat(np.arange(10), 30)
    late = latest(months, BAD)
    assert late is not None
    assert set(months[late]) == {8, 9}
    assert latest(np.zeros(300, np.int64), BAD) is None


def test_the_simplest_of_equals_is_chosen() -> None:
    sure = np.where(BAD == 1, 1.0, -1.0)
    assert (
        choose_candidate(BAD, {"scorecard": sure, "trees": sure, "blend": sure * 1.0001})
        == "scorecard"
    )
    assert choose_candidate(BAD, {"scorecard": sure, "trees": sure, "blend": sure * 1.5}) == "blend"


def test_columns_that_say_nothing_make_a_model_that_says_the_average() -> None:
    cells = [float(at % 7) for at in range(140)]
    table = table_of({"x": cells * 2, "target": [0.0] * 140 + [1.0] * 140})
    model = fit_table(table, Recipe("target"), threads=1)
    assert "nan" not in model.trees
    assert model.score(table).pd == pytest.approx(0.5, abs=1e-2)


def test_the_logistic_fit_is_at_its_optimum() -> None:
    draw = np.random.default_rng(1)
    x = draw.normal(size=(400, 3))
    bad = (draw.random(400) < 1 / (1 + np.exp(-x @ [1.0, -0.5, 0.0]))).astype(float)
    found = fit(x, bad, ridge=0.01)
    gap = 1 / (1 + np.exp(-found[0] - x @ found[1:])) - bad
    assert np.abs(gap.mean()) < 1e-6
    assert np.abs(x.T @ gap / 400 + 0.01 * found[1:]).max() < 1e-5
    assert fit(x, bad, ridge=0.01, floor=0.0)[1:].min() == 0.0


def test_a_direction_of_a_category_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", rows())
    with pytest.raises(UsanceError, match="column 'job': is a category"):
        train(file, Recipe("target", "ref", trends={"job": 1}), tmp_path / "model", threads=1)


def test_an_infinite_number_is_refused_and_a_rare_code_is_told(tmp_path: Path) -> None:
    people = rows()
    for row in people[3:5]:
        row["use"] = "inf"
    with pytest.raises(UsanceError, match=r"line 5, column 'use': an infinite number, and 1 more"):
        choose_inputs_of(write(tmp_path / "a.csv", people))
    for row in people[3:5]:
        row["use"] = "abc"
    told = choose_inputs_of(write(tmp_path / "b.csv", people))
    expected = "column 'use' has 'abc' among its numbers (rows: 2), taken as a code"
    assert expected in told
    assert not [each for each in told if "'Unknown'" in each]


def choose_inputs_of(file: Path) -> list[str]:
    """The warnings about the columns of a file."""
    table = read_table(file)
    found = choose_inputs(
        table, outcomes(table, "target"), left_out={"target", "ref"}, kept=(), trends={}
    )
    return found.warnings


def test_columns_of_lists_and_bytes_are_refused(tmp_path: Path) -> None:
    made = pa.table({"x": [[1.0]], "y": [b"a"], "z": [1.0], "target": [0]})
    parquet.write_table(made, tmp_path / "a.parquet")
    with pytest.raises(Problems) as caught:
        read_table(tmp_path / "a.parquet")
    assert "column 'x' holds list" in str(caught.value)
    assert "column 'y' holds binary" in str(caught.value)


def test_a_model_does_not_go_where_a_file_is(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", rows())
    with pytest.raises(UsanceError, match="is a file"):
        train(file, Recipe("target"), file, threads=1)
    assert file.read_bytes().startswith(b"ref,")
