"""Tables of many loans or applicants in files: CSV, Parquet or JSON lines, by their ending.

>>> check_table_place(Path("answer.xls"))
Traceback (most recent call last):
usance.base.errors.CodeError: --out: unknown ending '.xls'. Choices: .csv, .parquet, .jsonl.
"""

from __future__ import annotations

import csv
import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.atomic_files import check_file_place
from usance.base.errors import unknown

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".parquet", ".jsonl")


def check_table_place(out: Path) -> None:
    """Refuse an ending that no table has, and a place that cannot be written."""
    if out.suffix not in ENDINGS:
        raise unknown("ending", out.suffix, ENDINGS, where="--out")
    check_file_place(out, "--out")


def print_table_rows(table: pa.Table, out: Path | None, *, as_json: bool = False) -> None:
    """A table as CSV or JSON lines to standard output, or to a file by its ending."""
    import pyarrow.parquet as pq

    if out is not None and out.suffix == ".parquet":
        pq.write_table(table, out)
    elif out is not None and out.suffix == ".csv":
        out.write_text(_csv_text(table), encoding="utf-8")
    elif out is not None:
        with out.open("w", encoding="utf-8") as file:
            _write_json_lines(table, file)
    elif as_json:
        _write_json_lines(table, sys.stdout)
    else:
        sys.stdout.write(_csv_text(table))


def _csv_text(table: pa.Table) -> str:
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    head = StringIO()
    csv.writer(head, lineterminator="\n").writerow(table.column_names)
    sink = pa.BufferOutputStream()
    style = "needed" if _has_special(table) else "none"  # the writer would quote every text
    options = pa_csv.WriteOptions(include_header=False, quoting_style=style)
    pa_csv.write_csv(table, sink, options)
    return head.getvalue() + str(sink.getvalue().to_pybytes().decode())


def _has_special(table: pa.Table) -> bool:
    """True if a text of the table cannot stand in CSV without quotes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [column for column in table.itercolumns() if pa.types.is_string(column.type)]
    found = (pc.any(pc.match_substring_regex(each, '[",\\r\\n]')) for each in texts)
    return any(each.as_py() for each in found)


def _write_json_lines(table: pa.Table, file: Any) -> None:
    import json

    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
