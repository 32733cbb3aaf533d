"""Every shipped metric against plain loops, on both engines, in both series, by dimension."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.java import needs_java
from tests.measure import metric_oracle as oracle
from tests.measure.books import random_book
from usance.base.book import Book
from usance.base.columns import make
from usance.base.errors import InputError
from usance.base.parquet import write_parquet
from usance.base.periods import MetricPeriod
from usance.base.tables import table
from usance.measure.definitions import load_definitions
from usance.measure.engines import spark_session
from usance.measure.errors import DimensionError
from usance.measure.inputs import ROLES_FILE, Inputs
from usance.measure.metrics import AS_REPORTED, RESTATED, Result, measure, metrics_table

END = date(2024, 6, 30)


def by_key(results: Sequence[Result], name: str) -> dict[tuple[int, ...], tuple[int, int]]:
    return {
        tuple(value for _, value in each.by): (each.numerator, each.denominator)
        for each in results
        if each.definition.name == name and each.series == AS_REPORTED
    }


def only(results: Sequence[Result], name: str) -> Result:
    (found,) = (r for r in results if r.definition.name == name and r.series == AS_REPORTED)
    return found


def test_every_metric_has_an_oracle() -> None:
    named = {*oracle.SINGLE, *oracle.ALONG, "flow_c_m3", "score_stability"}
    assert named == set(load_definitions())


@pytest.mark.parametrize("seed", range(3))
def test_every_metric_is_what_plain_loops_give(seed: int) -> None:
    _agree(seed)


@pytest.mark.nightly
@settings(max_examples=200)
@given(st.integers(3, 2**32))
def test_every_metric_is_what_plain_loops_give_on_any_book(seed: int) -> None:
    _agree(seed)


def _agree(seed: int) -> None:
    tables = random_book(seed)
    book = oracle.book_of(tables)
    results = measure(Inputs.of_tables(tables), as_of=END, roles=oracle.ROLES)
    for name, plain in oracle.SINGLE.items():
        assert (name, by_key(results, name)) == (name, {(): plain(book)})
    for name, several in oracle.ALONG.items():
        found, wanted = by_key(results, name), several(book)
        assert (name, _some(found)) == (name, _some(wanted))
    flow, index = (only(results, name) for name in ("flow_c_m3", "score_stability"))
    product = oracle.flow(book)
    assert flow.value == (None if product is None else round(product * 10**9) / 10**9)
    wanted_index = oracle.stability(book)
    assert (index.value is None) == (wanted_index is None)
    if wanted_index is not None:
        assert index.value == pytest.approx(wanted_index, abs=1e-6)


def _some(cells: dict[tuple[int, ...], tuple[int, int]]) -> dict[tuple[int, ...], tuple[int, int]]:
    """Cells that hold something: an engine also gives those of rows no part counts."""
    return {key: pair for key, pair in cells.items() if pair != (0, 0)}


@pytest.mark.parametrize("by", ["model", "product", "institution", "channel", "region", "grade"])
def test_segments_are_measured_as_if_they_were_alone(by: str) -> None:
    tables = random_book(11)
    book = oracle.book_of(tables)
    results = measure(Inputs.of_tables(tables), as_of=END, by=[by], roles=oracle.ROLES)
    divided = {each.definition.name for each in results}
    assert {"origination_volume", "delinquency_90"} <= divided
    for name in divided & set(oracle.SINGLE):
        for key, pair in by_key(results, name).items():
            segment = {
                table: [row for row in rows if row.get(by) == key[0]]
                for table, rows in book.items()
            }
            assert (name, key, pair) == (name, key, oracle.SINGLE[name](segment))


def test_an_empty_segment_has_no_data() -> None:
    tables = random_book(3)
    results = measure(Inputs.of_tables(tables), ["delinquency_90", "loans_originated"],
                      as_of=END, by=["model"])  # fmt: skip
    shown = {(r.definition.name, r.segment_label): r for r in results}
    nobody = shown["loans_originated", "model=tech_solutions"]
    assert nobody.value is None
    assert nobody.formatted == "no data"
    assert nobody.as_dict()["value"] is None
    assert nobody.note == f"loans has no such rows for {nobody.period}"
    assert ("delinquency_90", "model=ice") not in shown  # out of its scope
    data = metrics_table(results)
    assert data.num_rows == len(results)
    assert {row["denominator"] for row in data.to_pylist() if row["value"] != row["value"]} == {0}


def test_a_book_without_a_table_has_no_data_and_says_why() -> None:
    tables = {"users": random_book(0)["users"]}
    results = measure(Inputs.of_tables(tables), as_of=END)
    assert only(results, "registered_users").value == 15
    others = [each for each in results if each.definition.name != "registered_users"]
    assert all(each.value is None for each in others)
    assert {"there is no table tape"} < {each.note for each in others}


def test_both_series_live_on_when_a_definition_changes() -> None:
    old = load_definitions()["origination_volume"][0]
    narrow = replace(old.numerator, where={"model": (0, 1, 2)})
    new = replace(old, version=2, valid_from=date(2024, 4, 1), numerator=narrow)
    definitions = {"origination_volume": [old, new]}
    tables = random_book(5)
    book = oracle.book_of(tables)
    for as_of, version in ((date(2024, 3, 31), 1), (END, 2)):
        results = measure(Inputs.of_tables(tables), as_of=as_of, definitions=definitions)
        found = {each.series: each for each in results}
        lent = [row for row in book["loans"] if MetricPeriod.containing(as_of, "quarter").start
                <= row["disbursed_on"] <= as_of]  # fmt: skip
        everything = sum(row["principal_minor"] for row in lent)
        without = sum(row["principal_minor"] for row in lent if row["model"] < 3)
        assert found[AS_REPORTED].definition.version == version
        assert found[AS_REPORTED].numerator == (everything if version == 1 else without)
        assert found[RESTATED].definition.version == 2
        assert found[RESTATED].numerator == without
    assert everything != without


def test_a_figure_says_what_it_is_and_how_far_it_is_known() -> None:
    inputs = Inputs.of_tables(random_book(2))
    quarter = MetricPeriod.of("2024Q2")
    early, late = (
        measure(inputs, ["collection_30"], as_of=day, period=quarter)[0]
        for day in (date(2024, 7, 29), date(2024, 7, 30))
    )
    assert (early.complete, late.complete) == (False, True)
    told = late.as_dict()
    assert told["period"] == "2024Q2"
    assert told["as_of"] == "2024-07-30"
    assert told["version"] == 1
    assert told["snapshot"] == inputs.snapshot
    assert "30 calendar days" in told["definition"]
    assert "--metric collection_30" in told["rows"]
    vintages = measure(inputs, ["vintage_30"], as_of=END)
    young = {each.segment_label: each.complete for each in vintages}
    assert young["cohort=2024Q2,mob=0"]
    assert not young["cohort=2024Q2,mob=1"]


def test_what_no_fact_tells_yet_is_not_complete(tmp_path: Path) -> None:
    """Collections of the 30 days after a period that a book ends with are not known, ever."""
    quarter, later = MetricPeriod.of("2024Q2"), date(2024, 8, 13)
    tables = random_book(2)
    found = []
    for last in ("2024-06", "2024-07"):
        book = Book.create(tmp_path / last, currency="CNY", time_zone="Asia/Shanghai")
        with book.writing() as step:
            step.add("dues", tables["dues"], month=653)
            step.period(last, "closed", 1)
        found += measure(Inputs.of_book(book), ["collection_30"], as_of=later, period=quarter)
    assert [each.complete for each in found if each.series == AS_REPORTED] == [False, True]


def test_another_state_of_the_data_has_another_snapshot() -> None:
    assert Inputs.of_tables(random_book(1)).snapshot != Inputs.of_tables(random_book(2)).snapshot
    assert Inputs.of_tables(random_book(1)).snapshot == Inputs.of_tables(random_book(1)).snapshot


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"metrics": ["delinquency_9"]}, InputError),
        ({"by": ["modle"]}, InputError),
        ({"engine": "duck"}, InputError),
        ({"metrics": ["day_1_delinquency"], "by": ["grade"]}, DimensionError),
        ({"metrics": ["delinquency_90"], "as_of": date(2024, 6, 15)}, InputError),
    ],
)
def test_what_cannot_be_measured_is_said(call: dict[str, object], error: type[Exception]) -> None:
    arguments = {"as_of": END, **call}
    with pytest.raises(error):
        measure(Inputs.of_tables(random_book(0)), **arguments)  # type: ignore[arg-type]


def _written(tables: dict[str, pa.Table], folder: Path) -> Inputs:
    for name, data in tables.items():
        write_parquet(data, table(name), folder / f"{name}.parquet")
    return Inputs.open(folder)


def test_files_give_what_tables_give(tmp_path: Path) -> None:
    tables = random_book(6)
    one = measure(Inputs.of_tables(tables), as_of=END, by=["channel"])
    other = measure(_written(tables, tmp_path), as_of=END, by=["channel"])
    assert [replace(each, snapshot="") for each in one] == [
        replace(each, snapshot="") for each in other
    ]


@pytest.mark.slow
@needs_java
def test_spark_gives_what_duckdb_gives(tmp_path: Path) -> None:
    inputs = _written(random_book(8), tmp_path)
    names = ["delinquency_90", "borrowers", "approved_users"]
    call = {"as_of": END, "roles": oracle.ROLES}
    one, other = (measure(inputs, names, engine=engine, **call) for engine in ("duckdb", "spark"))  # type: ignore[arg-type]
    assert one == other


@needs_java
def test_spark_sends_no_table_to_all_that_is_small_as_a_file_alone(tmp_path: Path) -> None:
    rows = pa.table({"n": np.cumsum(np.random.default_rng(1).integers(1, 9, 2_000_000))})
    for name in ("one", "other"):
        pq.write_table(rows, tmp_path / name, use_dictionary=False, compression="zstd",
                       column_encoding={"n": "DELTA_BINARY_PACKED"})  # fmt: skip
    session = spark_session()
    one, other = (session.read.parquet(str(tmp_path / name)) for name in ("one", "other"))
    joined = one.join(other, "n")
    assert joined.count() == rows.num_rows
    plan = joined._jdf.queryExecution().executedPlan().toString()
    assert "SortMergeJoin" in plan
    assert "BroadcastHashJoin" not in plan


@pytest.mark.nightly
@needs_java
@pytest.mark.parametrize("by", [[], ["model"], ["institution"], ["channel"]])
def test_spark_gives_what_duckdb_gives_for_every_metric(by: list[str]) -> None:
    inputs = Inputs.of_tables(random_book(9))
    one, other = (
        measure(inputs, as_of=END, by=by, roles=oracle.ROLES, engine=engine)
        for engine in ("duckdb", "spark")
    )
    assert one == other


def test_of_closes_only_those_that_stand_are_measured(tmp_path: Path) -> None:
    spec = table("postings")
    book = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    with book.writing() as step:
        for version, amount in ((1, 700), (2, 900)):
            rows = make(
                "postings", journal_id=[version], line=[1], entity=[1], basis=[0], tag=[0],
                account=[1010], period=[653], effective_on=[19904], rule=[1], cell=[0],
                loan_id=[0], amount_minor=[amount],
            )  # fmt: skip
            step.add_to_folder(f"closes/2024-06.{version}", spec, [rows], month=653)
        step.period("2024-06", "closed", 2)
        roles = {"cash_restricted_cash_and_deposits": {"accounts": [1010]}}
        step.use(ROLES_FILE, json.dumps(roles).encode())
    found = only(measure(Inputs.of_book(book), ["total_cash"], as_of=END), "total_cash")
    assert found.value == 900
    with book.writing() as step:
        step.period("2024-06", "open", 2)
    found = only(measure(Inputs.of_book(book), ["total_cash"], as_of=END), "total_cash")
    assert found.value is None


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=needs_java)])
def test_files_from_before_a_column_was_added_have_its_default(engine: str, tmp_path: Path) -> None:
    postings = random_book(3)["postings"]
    last = ["currency", "fact_id", "activity"]
    older = postings.slice(0, 40).drop_columns(last)
    newer = postings.slice(40)
    for name, rows in (("old", older), ("new", newer)):
        (tmp_path / "postings").mkdir(exist_ok=True)
        pq.write_table(rows, tmp_path / "postings" / f"{name}.parquet")
    whole = postings.set_column(
        postings.column_names.index("currency"), "currency",
        pa.array([0] * 40 + newer.column("currency").to_pylist(), pa.int8()),
    )  # fmt: skip
    mixed, plain = (
        measure(inputs, ["total_cash"], as_of=END, roles=oracle.ROLES, engine=engine)
        for inputs in (Inputs.open(tmp_path), Inputs.of_tables({"postings": whole}))
    )
    assert only(mixed, "total_cash").value == only(plain, "total_cash").value
