"""Files of a loan tape as text columns under canonical names, with the place of every row.

CSV, `.csv.gz` and Parquet are read alike, and so is text whose header is parted by semicolons,
tabs or bars. Rows of text are told by their line, as an editor counts it.
"""

from __future__ import annotations

import csv as plain_csv
import gzip
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.csv_lines import row_lines, row_place
from usance.base.encodings import csv_refusal
from usance.base.errors import UsanceError, raise_all, unknown
from usance.measure.errors import TapeError

_MAX_PROBLEMS = 1_000  # a file with more is of another kind; the rest would not help
_HEAD = 1 << 16  # bytes that are enough for a header and to tell text from other files
_SEPARATORS = (",", ";", "\t", "|")


class FileRows(NamedTuple):
    """The rows of a file as text, the number that could not be read, and why."""

    table: pa.Table
    broken: int
    problems: list[UsanceError]


def read_rows(
    path: Path | str,
    columns: Mapping[str, str],
    expected: Mapping[str, bool],
    dates: Mapping[str, str],
    places: Mapping[str, str],
    points: Mapping[str, str] | None = None,
) -> FileRows:
    """The named columns as text, missing ones all null, and what is wrong with whole rows.

    `dates` has the format in which a column of real dates is written out as text, `points` the
    decimal separator for one of numbers.
    """
    file = Path(path)
    # Rows that could be read; None for all of them.
    numbers: I64 | None = None
    if file.suffix == ".parquet":
        data, broken, problems = _parquet(file)
    else:
        (data, broken, problems), numbers = _csv(file, columns.values())
    raise_all(
        [
            unknown("column", name, data.column_names, where=places.get(key, str(path)))
            for key, name in columns.items()
            if name not in data.column_names
        ],
        where=str(path),
    )
    raise_all(
        [
            TapeError(f"has the column {name!r} twice", where=str(path), fix="Keep one of them")
            for name in columns.values()
            if data.column_names.count(name) > 1
        ],
        where=str(path),
    )
    lines = row_lines(file, len(data) + broken)
    shown = lines if numbers is None else lines[numbers - 1]
    made: dict[str, Any] = {"row": pa.array(shown, pa.int64())}
    for key in expected:
        if key in columns:
            made[key] = _text(
                data.column(columns[key]), dates.get(key, "%Y-%m-%d"), (points or {}).get(key, ".")
            )
        else:
            made[key] = pa.nulls(len(data), pa.string())
    return FileRows(pa.table(made), broken, problems)


def _csv(file: Path, wanted: Collection[str]) -> tuple[FileRows, I64 | None]:
    from pyarrow import csv

    problems: list[UsanceError] = []
    broken: list[int] = []

    def refuse(row: Any) -> str:
        broken.append(row.number)
        if len(problems) < _MAX_PROBLEMS:
            what = f"{row.actual_columns} cells under {row.expected_columns} columns"
            where = row_place(file, row.number - 1)
            fix = "Give each row a cell for every column, quoted if it holds a comma"
            problems.append(TapeError(what, where=where, fix=fix))
        return "skip"

    # Rows are numbered only when read in order.
    reading = csv.ReadOptions(use_threads=False)
    try:
        parsing = csv.ParseOptions(
            invalid_row_handler=refuse, newlines_in_values=True, delimiter=_separator(file, wanted)
        )
        head = csv.open_csv(file, reading, parsing).schema.names
        broken.clear()
        problems.clear()
        converting = csv.ConvertOptions(
            column_types=dict.fromkeys(head, pa.string()), null_values=[""],
            strings_can_be_null=True, quoted_strings_can_be_null=True,
        )  # fmt: skip
        data = csv.read_csv(file, reading, parsing, converting)
    except FileNotFoundError:
        raise TapeError(
            "no such file", where=str(file), fix="Check the name and the folder"
        ) from None
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise _unreadable(file, error) from None
    if not broken:
        return FileRows(data, 0, problems), None
    numbers = np.arange(1, len(data) + len(broken) + 1)
    return FileRows(data, len(broken), problems), np.setdiff1d(numbers, np.array(broken) - 1)


def _separator(file: Path, wanted: Collection[str]) -> str:
    """The separator that divides the header into most of the wanted columns."""
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
        head = opened.read(_HEAD)
    # The last character may be cut in two.
    text = head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    if "\0" in text:
        raise UnicodeDecodeError("utf-8", head, 0, 1, "this is no text")
    header = text.partition("\n")[0].rstrip("\r")

    def found(separator: str) -> int:
        names = next(plain_csv.reader([header], delimiter=separator), [])
        return sum(name in wanted for name in names)

    return max(_SEPARATORS, key=found)


def _parquet(file: Path) -> FileRows:
    import pyarrow.parquet as pq

    try:
        return FileRows(pq.ParquetFile(file).read(), 0, [])
    except FileNotFoundError:
        raise TapeError(
            "no such file", where=str(file), fix="Check the name and the folder"
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path, error: Exception) -> TapeError:
    reason = str(error).partition("\n")[0]
    fix = "Give a CSV file in UTF-8 with a header, its .gz, or Parquet"
    what, fix = csv_refusal(file) or (f"cannot be read ({reason})", fix)
    return TapeError(what, where=str(file), fix=fix)


def _text(column: pa.ChunkedArray, date_format: str, point: str) -> pa.ChunkedArray:
    """A column as text: dates and decimals as the mapping writes them, the rest plainly."""
    import pyarrow.compute as pc

    if pa.types.is_temporal(column.type):
        return pc.strftime(column, date_format)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        # Whole numbers that were stored as floats because some were missing.
        whole = pc.all(pc.equal(pc.floor(column), column)).as_py()
        column = column.cast(pa.int64()) if whole else column
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    is_number = pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    return pc.replace_substring(text, ".", point) if is_number and point != "." else text
