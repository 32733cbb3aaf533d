"""A DuckDB leaves the memory of others alone, and its tables to whoever made them."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

from usance.measure.duck import shared

ASKED = """
import duckdb, numpy
from pathlib import Path
from usance.base.memory import keep_memory
from usance.measure.duck import shared

def held():
    return int(Path("/proc/self/statm").read_text().split()[1])

can = keep_memory()
with shared():
    pass
large = [numpy.ones(1_000_000) for _ in range(40)]
del large
found = [held()]
for begin in (shared, duckdb.connect):
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
    assert plain < before * 0.6, "DuckDB gives nothing back any more: one a process is not needed"


def test_what_is_registered_is_that_of_a_connection() -> None:
    one_row, two_rows = pa.table({"n": [1]}), pa.table({"n": [1, 2]})
    with shared() as one, shared() as other:
        one.register("same", one_row)
        other.register("same", other.sql("SELECT * FROM two_rows"))
        counts = [each.sql("SELECT count(*) FROM same").fetchall() for each in (one, other)]
    assert counts == [[(1,)], [(two_rows.num_rows,)]]
    with shared() as third, pytest.raises(duckdb.CatalogException, match="same"):
        third.sql("SELECT count(*) FROM same").fetchall()
