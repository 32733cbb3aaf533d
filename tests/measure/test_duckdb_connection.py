"""A DuckDB leaves the memory of others alone, and its tables to whoever made them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from usance.measure.duckdb_connection import shared_connection

ASKED = """
import duckdb, numpy, pyarrow, sys, time
import pyarrow.parquet
from pathlib import Path
from usance.base.memory import keep_memory
from usance.measure.duckdb_connection import shared_connection

def held():
    return int(Path("/proc/self/statm").read_text().split()[1])

can = keep_memory()
with shared_connection():
    pass
rows = pyarrow.table({"n": numpy.arange(6_000_000)})
pyarrow.parquet.write_table(rows, sys.argv[1], row_group_size=100_000)
large = [numpy.ones(1_000_000) for _ in range(40)]
last = numpy.ones(1_000_000)  # what is free lies between what is not
del large
found = [held()]
for begin in (shared_connection, duckdb.connect):
    with begin() as engine:
        engine.register("own", rows)
        for given in ("own", f"'{sys.argv[1]}'"):
            engine.sql(f"SELECT n % 1000, count(*) FROM {given} GROUP BY 1").fetchall()
            time.sleep(1)  # threads of DuckDB that are idle for half a second tidy up
    found.append(held())
print(int(can), *found)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is kept on Linux alone")
def test_memory_that_was_kept_stays_kept(tmp_path: Path) -> None:
    asked = [sys.executable, "-c", ASKED, str(tmp_path / "rows.parquet")]
    told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120)
    can, before, ours, plain = map(int, told.stdout.split())
    if not can:
        pytest.skip("this C library does not keep memory")
    assert ours > before * 0.9
    assert plain < before * 0.6, "DuckDB gives nothing back any more: one a process is not needed"


def test_all_cores_are_used_for_a_while_where_memory_is_kept() -> None:
    asked = """
from usance.base.memory import keep_memory
from usance.measure.duckdb_connection import shared_connection, use_all_cores
can, found = keep_memory(), []
with shared_connection() as engine:
    def look():
        found.append(engine.sql("SELECT current_setting('threads')").fetchall()[0][0])
    look()
    with use_all_cores():
        look()
    look()
print(int(can), *found)
"""
    told = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=120
    )
    can, first, inside, after = map(int, told.stdout.split())
    with duckdb.connect() as plain:
        usual = plain.sql("SELECT current_setting('threads')").fetchall()[0][0]
    assert (first, inside, after) == ((1, usual, 1) if can else (usual, usual, usual))


def test_what_is_registered_is_that_of_a_connection() -> None:
    one_row, two_rows = pa.table({"n": [1]}), pa.table({"n": [1, 2]})
    with shared_connection() as one, shared_connection() as other:
        one.register("same", one_row)
        other.register("same", other.sql("SELECT * FROM two_rows"))
        counts = [each.sql("SELECT count(*) FROM same").fetchall() for each in (one, other)]
    assert counts == [[(1,)], [(two_rows.num_rows,)]]
    with shared_connection() as third, pytest.raises(duckdb.CatalogException, match="same"):
        third.sql("SELECT count(*) FROM same").fetchall()
