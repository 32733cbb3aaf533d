"""A file, a single call, a query and a sheet of paper give one applicant one score."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.assess.applicants import JOBS, rows, write
from usance.assess.applicant_file import EMPTY_WORDS, table_of
from usance.assess.columns import encode, learn_column
from usance.assess.errors import ModelError
from usance.assess.scoring.applicant import encode_row
from usance.assess.scoring.model import Model, load_model
from usance.assess.scoring.reasons import contributions, read_texts, reasons
from usance.assess.scoring.scorecard import Bin, Scorecard, Variable, scorecard_sql
from usance.base.errors import UsanceError
from usance.cli import main

AMOUNTS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 100)
CELLS = {
    "age": st.none() | AMOUNTS,
    "use": st.none() | AMOUNTS | st.floats(-1, 2),
    "late": st.none() | st.sampled_from([0, 1, 2, 3, 98, -1, 97]) | AMOUNTS,
    "debt": st.none() | st.sampled_from(["Unknown", -1e12, -1_000_000_000_001]) | AMOUNTS,
    "job": st.none() | st.sampled_from([*JOBS, "pilot", " nurse ", "O'Neil", ""]) | st.text(),
}
APPLICANTS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=20)
# The fixtures are only read.
READ_ONLY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def as_text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else repr(value)


def columns_of(applicants: list[dict[str, Any]]) -> dict[str, list[str | None]]:
    return {name: [as_text(each[name]) for each in applicants] for name in CELLS}


def on_paper(sheet: list[dict[str, str]], applicant: Mapping[str, Any]) -> int:
    """Add up the lines of the printed card that hold, read as a person reads them."""
    total = sum(int(line["points"]) for line in sheet if line["variable"] == "(base)")
    for name in CELLS:
        lines = [line for line in sheet if line["variable"] == name]
        if lines:
            (points,) = _line(lines, applicant[name])
            total += points
    return total


def _line(lines: list[dict[str, str]], value: Any) -> list[int]:
    text = as_text(value)
    text = None if text is None or text.strip() in EMPTY_WORDS else text.strip()
    bins = {line["bin"]: int(line["points"]) for line in lines}
    if text is None:
        return [bins["missing"]]
    if "any other" in bins:
        held = [worth for label, worth in bins.items() if text in label.split(", ")]
        return held if text in JOBS else [bins["any other"]]
    if f"code {text}" in bins:
        return [bins[f"code {text}"]]
    codes = {
        label.removeprefix("code "): worth for label, worth in bins.items() if "code " in label
    }
    for label, worth in codes.items():
        if label != "Unknown" and float(text) == float(label):
            return [worth]
    return [worth for label, worth in bins.items() if _holds(label, float(text))]


def _holds(label: str, value: float) -> bool:
    match label.split():
        case ["any", "number"]:
            return True
        case ["below", high]:
            return value < float(high)
        case [low, "and", "above"]:
            return value >= float(low)
        case [low, "to", "below", high]:
            return float(low) <= value < float(high)
    return False


@pytest.fixture(scope="module")
def sheet(model_folder: Path) -> list[dict[str, str]]:
    text = (model_folder / "scorecard.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(StringIO(text)))


def by_query(query: str, columns: dict[str, list[str | None]]) -> list[int]:
    with duckdb.connect() as connection:
        names = ", ".join(f'"{name}" VARCHAR' for name in columns)
        connection.execute(f"CREATE TABLE applicants ({names})")
        marks = ", ".join("?" for _ in columns)
        cells = list(zip(*columns.values(), strict=True))
        connection.executemany(f"INSERT INTO applicants VALUES ({marks})", cells)
        return [row[-1] for row in connection.execute(query).fetchall()]


@pytest.mark.parametrize("kind", ["scorecard", "trees", "blend"])
@READ_ONLY
@given(applicants=APPLICANTS)
def test_a_single_call_is_a_row_of_the_file(
    model: Model, kind: str, applicants: list[dict[str, Any]]
) -> None:
    own = replace(model, kind=kind)
    found = own.score(table_of(columns_of(applicants)))
    for at, applicant in enumerate(applicants):
        one = own.score_one(applicant)
        assert one.score == found.score[at]
        assert one.pd == found.pd[at]
        assert one.pd_ppm == found.pd_ppm[at]
        assert one.points == found.points[at]


@READ_ONLY
@given(applicants=APPLICANTS)
def test_paper_and_query_add_the_same_points(
    model: Model, model_folder: Path, sheet: list[dict[str, str]], applicants: list[dict[str, Any]]
) -> None:
    columns = columns_of(applicants)
    found = model.score(table_of(columns)).points.tolist()
    assert [on_paper(sheet, each) for each in applicants] == found
    query = (model_folder / "scorecard.sql").read_text(encoding="utf-8")
    if not any("\0" in (cell or "") for column in columns.values() for cell in column):
        assert by_query(query, columns) == found


# Cells as programs hold them, not only as a file writes them.
ODD_CELLS: list[tuple[str, Any]] = [
    *(("age", each) for each in (
        30, 30.0, True, np.bool_(True), np.int32(30), np.float32(30.1), Decimal("30.5"), 10**18,
        2**53 + 1, -(2**63), " 30 ", "\t30\r\n", "30\xa0", "1e3", ".5", "5.", "+5", "--5", "0x1A",
        "1_000", "٣٠", "inf", "-Infinity", "1e999", float("inf"), -float("inf"), float("nan"),
        "NAN", "-nan", "nan", "true", "3,0", "", " ", "NULL", "None", date(2024, 1, 1),
        datetime(2024, 1, 1, tzinfo=UTC),
    )),
    *(("late", each) for each in (98, "98", "98.0", "+98", "9.8e1", "9_8", 97.99999)),
    *(("debt", each) for each in ("Unknown", " Unknown\t", "unknown", "UNKNOWN", None)),
    *(("job", each) for each in (
        "clerk", "\tclerk", "clerk\n", "clerk\xa0", "CLERK", "cl'erk", "", "NaN", None, True, 1,
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "cell"), ODD_CELLS)
def test_odd_cells_are_the_same_on_every_path_or_refused_on_every_path(
    model: Model, model_folder: Path, name: str, cell: Any
) -> None:
    """No score of a query, and an error of a file and of a call, are one answer."""
    usual = {"age": 30, "use": 0.2, "late": 0, "debt": 900.0, "job": "clerk"}
    applicant = {**usual, name: cell}
    table = pa.table({key: pa.array([value]) for key, value in applicant.items()})
    query = (model_folder / "scorecard.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.register("applicants", table)
        ((by_sql,),) = connection.execute(f"SELECT score FROM ({query})").fetchall()
    own = replace(model, kind="scorecard")
    assert _points(lambda: own.score_one(applicant).score) == by_sql
    assert _points(lambda: int(own.score(table_of(as_columns(applicant))).score[0])) == by_sql


def as_columns(applicant: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: [cell] for name, cell in applicant.items()}


def _points(ask: Callable[[], int]) -> int | None:
    try:
        return ask()
    except UsanceError:
        return None


@pytest.mark.parametrize("cell", [10**400, 2**64, [1], {"a": 1}, 3j, b"30", Decimal("sNaN")])
@pytest.mark.parametrize("name", ["age", "job"])
def test_what_is_no_cell_is_never_scored_as_one(model: Model, name: str, cell: Any) -> None:
    applicant = {"age": 30, "use": 0.2, "late": 0, "debt": 900.0, "job": "clerk", name: cell}
    one, many = (
        _points(lambda: model.score_one(applicant).points),
        _points(lambda: int(model.score(table_of(as_columns(applicant))).points[0])),
    )
    assert many in (None, one)


def test_a_number_is_the_level_that_a_file_would_write() -> None:
    level = learn_column("code", pa.array(["1", "2", "a", "1"]), least=1)
    for cell in (1, 1.0, np.float64(1), Decimal(1)):
        assert encode_row((level,), {"code": cell})[0].tolist() == [[0.0]]
        assert encode(level, pa.array([cell])).tolist() == [0.0]


def test_a_column_name_cannot_end_a_comment_of_the_query() -> None:
    age = learn_column("age\nin years", pa.array(["1", "2", "3"]), least=1)
    variable = Variable(0, age.name, (2.0,), (), (Bin("", 1, 0, 0.0, 5), Bin("", 1, 0, 0.0, 7)))
    bins = (*variable.bins, Bin("missing", 0, 0, 0.0, 0))
    query = scorecard_sql((age,), Scorecard(100, (replace(variable, bins=bins),)))
    with duckdb.connect() as connection:
        connection.register("applicants", pa.table({age.name: [1, 2, None]}))
        found = [row[-1] for row in connection.execute(query).fetchall()]
    assert found == [105, 107, 100]


def test_a_scorecard_model_scores_its_points(model: Model) -> None:
    card = replace(model, kind="scorecard")
    found = card.score(table_of(columns_of(rows(50, seed=9))))
    assert found.score.tolist() == found.points.tolist()
    assert found.pd == pytest.approx(card.scale.pd(found.points))


@pytest.mark.parametrize("kind", ["scorecard", "trees", "blend"])
def test_shares_add_up_to_the_log_odds(model: Model, kind: str) -> None:
    own = replace(model, kind=kind, beta=())
    inputs = own.inputs(table_of(columns_of(rows(80, seed=11))))
    shares = contributions(own, inputs)
    assert shares.sum(axis=1) == pytest.approx(own.score_inputs(inputs).log_odds, abs=1e-6)
    assert np.array_equal(shares[:1], contributions(own, inputs[:1]))  # one alone, or among others


def test_reasons_are_what_raises_the_risk_most(model: Model) -> None:
    risky = {"age": 25, "use": 0.99, "late": 2, "debt": "Unknown", "job": "none"}
    inputs = model.inputs(table_of(columns_of([risky])))
    (told,) = reasons(model, inputs)
    shares = contributions(model, inputs)[0, :-1]
    assert [each.share for each in told] == sorted((s for s in shares if s > 0), reverse=True)[:4]
    assert "use is high (0.99)" in [each.text for each in told]
    assert all(model.columns[each.code - 1].name == each.column for each in told)
    own = {"states": {}, "columns": {"use": {"label": "credit use", "high": "{label} of {value}"}}}
    words = {
        **own,
        "states": dict.fromkeys(("high", "low", "level", "other", "code", "missing"), "{label}"),
    }
    assert "credit use of 0.99" in [each.text for each in reasons(model, inputs, words)[0]]


def test_what_training_never_saw_is_said(model: Model) -> None:
    usual = {"age": 30, "use": 0.2, "late": 0, "debt": 900, "job": "clerk"}
    assert model.score_one(usual).unseen == ()
    strange = model.score_one({**usual, "use": None, "job": "pilot", "age": 400})
    assert strange.unseen == (
        "age is 400, outside 18 to 74 of training",
        "use is missing, which training never saw",
        "job is 'pilot', which training never saw",
    )


def test_risk_rises_with_a_column_that_is_declared_so(model: Model) -> None:
    usual = {"age": 30, "late": 0, "debt": 900, "job": "clerk"}
    risks = [model.score_one({**usual, "use": use}).pd for use in np.linspace(0, 1, 40)]
    assert risks == sorted(risks)
    assert risks[-1] > risks[0]


def test_a_batch_names_what_training_never_saw(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = rows(50, seed=9)
    for row in people[:3]:
        row["job"] = "pilot"
    people[7]["use"] = 5.5
    people[8]["use"] = None
    file = write(tmp_path / "new.csv", people)
    assert main(["assess", "score", str(model_folder), str(file)]) == 0
    told = capsys.readouterr().err
    assert "column 'job' has levels that training never saw in 3 rows" in told
    assert "column 'use' is outside what training saw in 1 rows" in told
    assert "column 'use' is missing in 1 rows, never in training" in told
    assert "town" not in told


def test_a_damaged_model_is_refused(model_folder: Path, tmp_path: Path) -> None:
    for text in ("[]", "{", '{"format": "usance-model", "version": 1}'):
        (tmp_path / "model.json").write_text(text)
        (tmp_path / "trees.txt").write_bytes((model_folder / "trees.txt").read_bytes())
        with pytest.raises(ModelError):
            load_model(tmp_path)


def test_a_model_that_training_would_not_write_is_refused(
    model_folder: Path, tmp_path: Path
) -> None:
    text = (model_folder / "model.json").read_text(encoding="utf-8")
    (tmp_path / "trees.txt").write_bytes((model_folder / "trees.txt").read_bytes())
    changes: list[dict[str, Any]] = [{"kind": "magic"}, {"info": {}}, {"columns": []}]
    for change in changes:
        (tmp_path / "model.json").write_text(json.dumps(json.loads(text) | change))
        with pytest.raises(ModelError, match=r"model\.json is damaged"):
            load_model(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("columns: 5", "columns is 5"),
        ("columns: {use: high}", "use is 'high'"),
        ("states: {high: '{labl} is high'}", "high is '{labl} is high'. Leave only the gaps"),
        ("states: {high: 'a {'}", "high is 'a {'"),
        ("states: {hihg: up}", "unknown state 'hihg'. Did you mean 'high'?"),
    ],
)
def test_words_that_could_not_be_told_are_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "words.yaml"
    file.write_text(text)
    with pytest.raises(UsanceError, match=re.escape(told)):
        read_texts(file)
