"""A DuckDB leaves the memory of others alone, and its tables to whoever made them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from usance.measure.duck import connect

ASKED = """
import duckdb, numpy
from pathlib import Path
from usance.base.memory import keep_memory
from usance.measure.duck import connect

def held():
    return int(Path("/proc/self/statm").read_text().split()[1])

can = keep_memory()
with connect():
    pass
large = [numpy.ones(1_000_000) for _ in range(40)]
del large
found = [held()]
for begin in (connect, duckdb.connect):
    with begin() as engine:
        engine.sql("SELECT sum(n) FROM range(1_000_000) AS t (n)").fetchall()
    found.append(held())
print(int(can), *found)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is kept on Linux alone")
def test_memory_that_was_kept_stays_kept() -> None:
    told = subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, check=True, timeout=120
    )
    can, before, ours, plain = map(int, told.stdout.split())
    if not can:
        pytest.skip("this C library does not keep memory")
    assert ours > before * 0.9
    assert plain < before * 0.6, "DuckDB gives nothing back any more: `connect` can be plain again"


def test_tables_are_those_of_a_connection() -> None:
    with connect() as one, connect() as other:
        one.execute("CREATE TABLE same AS SELECT 1 AS n")
        other.execute("CREATE TABLE same AS SELECT 2 AS n")
        assert one.sql("SELECT n FROM same").fetchall() == [(1,)]
        assert other.sql("SELECT n FROM same").fetchall() == [(2,)]
    with connect() as third:
        found = third.sql("SELECT count(*) FROM duckdb_tables()").fetchall()
    assert found == [(0,)]
