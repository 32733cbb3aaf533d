r"""Lines of a text table as an editor counts them, for rows that are counted below the header.

Blank lines and line ends inside quotes are counted; a Parquet file has rows and no lines.

>>> from tempfile import NamedTemporaryFile
>>> with NamedTemporaryFile("w", suffix=".csv") as file:
...     _ = file.write('a,b\n1,2\n\n3,"4\n5"\n6,7\n')
...     file.flush()
...     row_lines(Path(file.name), 3).tolist(), row_place(file.name, 3).removeprefix(file.name)
([2, 4, 6], ' line 6')
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np

from usance.base.arrays import I64

SEPARATORS = (",", ";", "\t", "|")
_HEAD = 1 << 16  # bytes that are enough for a header


def separator_of(path: Path) -> str:
    r"""The separator that parts the header of a text table into most cells; else a comma.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("Antrag;Betrag\\nA-1;25860,0\\n")
    ...     file.flush()
    ...     separator_of(Path(file.name))
    ';'
    """
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        header = file.read(_HEAD).partition(b"\n")[0].decode("utf-8-sig", "replace")

    def cells(separator: str) -> int:
        return len(next(csv.reader([header.rstrip("\r")], delimiter=separator), []))

    return max(SEPARATORS, key=cells)


def row_word(path: Path | str) -> str:
    """The word for a place in a file: `line`, or `row` where there are no lines."""
    return "row" if Path(path).suffix == ".parquet" else "line"


def row_lines(path: Path, rows: int) -> I64:
    """The line of each row, the first below the header; of Parquet its number from 1."""
    numbers = np.arange(1, rows + 1, dtype=np.int64)
    if row_word(path) == "row":
        return numbers
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        content = file.read()
    plain = content.rstrip(b"\r\n").replace(b"\r\n", b"\n")
    if plain.count(b"\n") == rows and b"\n\n" not in plain and b"\r" not in plain:
        return numbers + 1
    reader = csv.reader(content.decode("utf-8-sig", "replace").splitlines(keepends=True))
    first, starts = 1, []
    for cells in reader:
        if cells:
            starts.append(first)
        first = reader.line_num + 1
    return np.array([*starts[1:], *range(first, first + rows)], np.int64)[:rows]


def row_place(path: Path | str, row: int) -> str:
    """File and line of one row, counted from 1 below the header; its number where there is no file.

    >>> row_place("columns", 3)
    'columns row 3'
    """
    file = Path(path)
    if not file.is_file():
        return f"{path} row {row}"
    return f"{path} {row_word(path)} {row_lines(file, row)[row - 1]}"
