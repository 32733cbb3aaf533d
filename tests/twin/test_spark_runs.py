"""Runs on Spark come to the tables of local runs, and either goes on where the other was cut."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.java import needs_java
from tests.twin.runs import FIRST, SCALE, digests, faulty, run_into
from usance.base.book import Book
from usance.base.compiled import available_cores
from usance.base.errors import CorruptFile
from usance.measure.engines import spark_session, without_pandas
from usance.twin.run.engine import Engine, engine_of
from usance.twin.run.run_context import RunContext

pytestmark = [needs_java, pytest.mark.slow]
BITS, SHARDS, LAST = 10, 4, FIRST + 1


def made(folder: Path, engine: Engine, *, last: int = LAST, bits: int = BITS) -> Book:
    return run_into(folder, faulty(), last=last, shard_bits=bits, engine=engine).book


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return made(tmp_path_factory.mktemp("twin") / "local", engine_of("local", 1))


def test_every_table_is_the_same_on_one_thread_two_and_spark(local: Book, tmp_path: Path) -> None:
    threads = made(tmp_path / "threads", engine_of("local", 2))
    spark = made(tmp_path / "spark", engine_of("spark", 2))
    assert {file.shard for file in spark.files("users")} == set(range(SHARDS))
    assert digests(local) == digests(threads) == digests(spark)
    assert spark.check() == []
    told = json.loads((spark.path / "run.json").read_text())
    assert told["engine"] == "spark"
    other = run_into(tmp_path / "other", replace(faulty(), seed=7), last=FIRST, shard_bits=BITS)
    assert digests(other.book)["facts"] != digests(local)["facts"]


def test_files_are_the_same_to_the_byte(local: Book, tmp_path: Path) -> None:
    spark = made(tmp_path / "spark", engine_of("spark", 2), last=FIRST)
    here = [each for each in local.files("facts") if each.month in (FIRST - 1, FIRST)]
    assert [each.sha256 for each in spark.files("facts")] == [each.sha256 for each in here]


@pytest.mark.parametrize("order", [("local", "spark"), ("spark", "local")])
def test_one_engine_goes_on_where_the_other_was(
    local: Book, tmp_path: Path, order: tuple[str, str]
) -> None:
    first, then = order
    made(tmp_path / "run", engine_of(first, 2), last=FIRST)
    assert digests(made(tmp_path / "run", engine_of(then, 2))) == digests(local)


def test_a_message_comes_through_spark_as_it_is(tmp_path: Path) -> None:
    book = made(tmp_path / "run", engine_of("local", 1), last=FIRST)
    (loans,) = book.files("loans", month=FIRST, shard=2)
    (tmp_path / "run" / loans.path).write_bytes(b"nothing")
    with pytest.raises(CorruptFile, match="s0002"):
        made(tmp_path / "run", engine_of("spark", 2))


def test_workers_are_of_this_python_with_one_thread() -> None:
    def told(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            found = {"python": [sys.executable], "threads": [available_cores()]}
            yield pa.RecordBatch.from_pydict(found)

    frame = spark_session().range(0, 2, 1, numPartitions=2)
    with without_pandas():
        rows = frame.mapInArrow(told, "python string, threads bigint").collect()
    assert {(row.python, row.threads) for row in rows} == {(sys.executable, 1)}


def test_a_setting_travels_light() -> None:
    """What follows from it is made again where it arrives, once."""
    context = RunContext(faulty(), SCALE)
    before = pickle.dumps(context)
    assert len(context.assessor.flow.inputs) > 0
    assert context.opening is not None
    sent = pickle.dumps(context)
    assert len(sent) == len(before)
    assert pickle.loads(sent) is pickle.loads(before)
    assert pickle.loads(sent) == context
