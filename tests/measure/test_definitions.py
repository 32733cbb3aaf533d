"""Definitions as data: complete, dated, and refused with file, line and key when they are not."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from usance.base.columns import make
from usance.base.errors import Problems, UsanceError
from usance.measure import engines
from usance.measure.definitions import in_force, load_definitions
from usance.measure.errors import EngineError
from usance.measure.expressions import condition_expression, parse_amount
from usance.measure.inputs import Inputs
from usance.measure.relations import COLUMNS, SOURCE_TABLES, TIME_COLUMNS, relation

GOOD = """metrics:
  - name: volume
    version: 1
    valid_from: 2020-01-01
    sentence: Principal disbursed in the period.
    unit: money
    table: loans
    window: period
    numerator: {sum: principal_minor}
"""


def test_every_shipped_definition_is_whole() -> None:
    for versions in load_definitions().values():
        for one in versions:
            assert one.sentence.endswith(".")
            assert one.unit in ("count", "money") or one.denominator or one.transform != "none"
            assert in_force(versions, date(2024, 6, 30)) is versions[-1]


def test_every_view_has_the_columns_it_says() -> None:
    for name in SOURCE_TABLES:
        assert set(COLUMNS[name]) <= set(relation(name).columns), name
        assert TIME_COLUMNS[name] in COLUMNS[name]


def test_versions_follow_each_other(tmp_path: Path) -> None:
    second = GOOD.replace("version: 1", "version: 2").replace("2020", "2024")
    (tmp_path / "one.yaml").write_text(GOOD)
    (tmp_path / "two.yaml").write_text(second)
    versions = load_definitions(tmp_path)["volume"]
    early, late = in_force(versions, date(2023, 12, 31)), in_force(versions, date(2024, 1, 1))
    assert early is not None
    assert late is not None
    assert (early.version, late.version) == (1, 2)
    assert in_force(versions, date(2019, 12, 31)) is None


def test_versions_that_overlap_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(GOOD)
    (tmp_path / "two.yaml").write_text(GOOD.replace("version: 1", "version: 2"))
    with pytest.raises(UsanceError, match="later valid_from"):
        load_definitions(tmp_path)


def test_every_problem_is_named_with_its_line(tmp_path: Path) -> None:
    text = """metrics:
  - name: volume
    version: first
    valid_from: 2020-01-01
    unit: francs
    table: loans
    window: period
    numerator: {sum: principle_minor, where: {model: capital_hevy}}
    denominator: {sum: principal_minor, count: rows}
    filter: {model: ice}
"""
    (tmp_path / "wrong.yaml").write_text(text)
    with pytest.raises(Problems) as raised:
        load_definitions(tmp_path)
    found = [(e.where.split(" line ")[-1].split(",")[0], e.what) for e in raised.value.errors]
    assert [line for line, _ in found] == ["3", "2", "5", "8", "8", "9", "10"]
    assert any("'principle_minor'" in what for _, what in found)
    assert any("'capital_hevy'" in what for _, what in found)


@pytest.mark.parametrize("text", ["", "a b", "a /", "1.5", "a; drop", "a*(b)"])
def test_amounts_are_columns_and_whole_numbers(text: str) -> None:
    with pytest.raises(UsanceError, match="no amount"):
        parse_amount(text)


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsanceError, match="holds no definitions"):
        load_definitions(tmp_path)


def test_spark_without_java_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with (
        pytest.raises(EngineError, match="needs Java") as raised,
        engines.open_engine(Inputs.of_tables({}), "spark"),
    ):
        pass
    assert "openjdk-17-jre-headless" in raised.value.fix
    assert "another --engine" in raised.value.fix


@pytest.mark.parametrize(
    "values",
    [
        (),
        (3,),
        (3, 3),
        (5, 1),
        tuple(range(2, 40)),
        (*range(20, 40), *range(9)),
        (*range(0, 90, 3),),
    ],
)
def test_many_values_asked_for_as_spans_are_those_values(values: tuple[int, ...]) -> None:
    numbers = list(range(99))
    shares = make("shares", loan_id=numbers, source=numbers, principal_minor=numbers)
    asked = engines.unbound("shares")
    chosen = asked.filter(condition_expression(asked.source, values)).select("source")
    with engines.open_engine(Inputs.of_tables({"shares": shares})) as engine:
        assert sorted(row[0] for row in engine.rows(chosen)) == sorted(set(values))
