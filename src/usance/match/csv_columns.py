r"""A large CSV file as integer arrays, column by column; each wrong cell is named with its line.

A column is declared by `IntegerColumn` (a range, names that stand for numbers), `MomentColumn` or
`DateColumn`. Only a column that does not convert in one go is read cell by cell.

>>> from tempfile import TemporaryDirectory
>>> from usance.match.errors import DemandError
>>> with TemporaryDirectory() as folder:
...     file = Path(folder) / "demand.csv"
...     _ = file.write_text("product,requests\nsme,3\ninstalment,-4\n", encoding="utf-8")
...     columns = {
...         "product": IntegerColumn(0, 2, names={"sme": 2, "instalment": 1}),
...         "requests": IntegerColumn(0, 9),
...     }
...     try:
...         read_columns(file, columns, DemandError)
...     except DemandError as error:
...         error.what
'requests is -4, outside 0 to 9'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from usance.base.arrays import I64
from usance.base.dates import parse_date, parse_moment, to_day
from usance.base.documents import read_text
from usance.base.errors import InputError, UsanceError, raise_all, unknown

# A file with the wrong separator has a problem in every row; nobody reads a million messages.
MAX_PROBLEMS = 20
_WHOLE = re.compile(r"-?[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class IntegerColumn:
    """A column of whole numbers in a range, some of which have names."""

    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)
    default: int | None = None
    """Value for a column that is not there; None if it has to be."""
    only_named: bool = False


@dataclass(frozen=True, slots=True)
class MomentColumn:
    """A column of moments with their offset, as microseconds since 1970 in UTC."""


@dataclass(frozen=True, slots=True)
class DateColumn:
    """A column of dates, as day numbers."""

    default: int | None = None


Column = IntegerColumn | MomentColumn | DateColumn


def read_columns(
    path: Path | str, columns: Mapping[str, Column], error: type[InputError]
) -> dict[str, I64]:
    """The columns asked for; others are ignored."""
    table = _texts(path, columns, error)
    missing = [
        error(f"has no column {name}", where=str(path), fix=f"Add it; it has {_shown(table)}")
        for name, column in columns.items()
        if name not in table.column_names and getattr(column, "default", None) is None
    ]
    raise_all(missing, where=str(path))
    found: dict[str, I64] = {}
    problems: list[UsanceError] = []
    for name, column in columns.items():
        if name not in table.column_names:
            found[name] = np.full(table.num_rows, getattr(column, "default", 0), np.int64)
            continue
        cells = pc.utf8_trim_whitespace(table.column(name).combine_chunks())
        values = _fast(cells, column)
        if values is None:
            values, wrong = _slow(cells, name, column, path, error, MAX_PROBLEMS - len(problems))
            problems += wrong
        found[name] = values
    raise_all(problems, where=str(path))
    return found


def text_column(
    path: Path | str, name: str, columns: Mapping[str, Column], error: type[InputError]
) -> list[str]:
    """The cells of a column as they are written; none where the file does not have it."""
    table = _texts(path, columns, error)
    if name not in table.column_names:
        return []
    cells = pc.utf8_trim_whitespace(pc.cast(table.column(name), pa.string()))
    found: list[str] = pc.fill_null(cells, "").to_pylist()
    return found


def column_names(
    path: Path | str, columns: Mapping[str, Column], error: type[InputError]
) -> list[str]:
    """The names in the header of a file."""
    names: list[str] = _texts(path, columns, error).column_names
    return names


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """A CSV file of these columns, header first, without quotes."""
    with path.open("wb") as file:
        file.write(f"{','.join(columns)}\n".encode())
        options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
        pa_csv.write_csv(pa.table(dict(columns)), file, options)


def line_numbers(path: Path | str, rows: Sequence[int]) -> list[str]:
    """File and line of some rows of its table, for messages; -1 is the header."""
    lines = enumerate(_lines(path), start=1)
    filled = [number for number, line in lines if line.strip()]
    return [f"{path} line {filled[min(row + 1, len(filled) - 1)]}" for row in rows]


def _lines(path: Path | str) -> list[str]:
    """Lines however they end: Windows, Unix, or an old Mac."""
    return read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _texts(path: Path | str, columns: Mapping[str, Column], error: type[InputError]) -> pa.Table:
    bad = list[Any]()
    lines = _lines(path)
    content = "\n".join(lines).encode()

    def keep(row: Any) -> str:
        bad.append(row)
        return "skip"

    header = next(line for line in lines if line.strip())
    names = _header(header, str(path), columns, error)
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(content),
            read_options=pa_csv.ReadOptions(use_threads=False),
            parse_options=pa_csv.ParseOptions(invalid_row_handler=keep),
            convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid as problem:
        what = str(problem).splitlines()[0][:200]
        fix = "Save it as UTF-8 CSV with a header"
        raise error(what, where=str(path), fix=fix) from None
    bad = bad[:MAX_PROBLEMS]
    fix = "Give each row a cell for every column"
    problems = [
        error(f"{row.actual_columns} cells under {row.expected_columns} columns", where=at, fix=fix)
        for row, at in zip(bad, line_numbers(path, [row.number - 2 for row in bad]), strict=True)
    ]
    raise_all(problems, where=str(path))
    return table.rename_columns([name.strip() for name in table.column_names])


def _header(
    line: str, where: str, columns: Mapping[str, Column], error: type[InputError]
) -> list[str]:
    """The names as they are written, which have to be there, once each."""
    written = [name.strip('"') for name in line.split(",")]
    names = [name.strip().strip('"') for name in written]
    if not set(names) & set(columns):
        other = next((each for each in ";\t|" if each in line), "")
        what = f"its cells are separated by {other!r}" if other else "it has no header"
        fix = f"Give a first line such as {','.join(columns)}"
        raise error(what, where=where, fix="Separate them by commas" if other else fix)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise error(f"has the column {min(twice)!r} twice", where=where, fix="Keep one of them")
    return written


def _fast(cells: Any, column: Column) -> I64 | None:
    """The whole column at once, or None if a cell needs a closer look."""
    if cells.null_count:
        return None
    try:
        if isinstance(column, MomentColumn):
            return _numbers(pc.cast(cells, pa.timestamp("us", "UTC")).view(pa.int64()))
        if isinstance(column, DateColumn):
            return _numbers(pc.cast(pc.cast(cells, pa.date32()).view(pa.int32()), pa.int64()))
        if column.names:
            cells = _without_names(cells, column.names)
        if pc.any(pc.match_substring_regex(cells, "[^-0-9]")).as_py():
            return None
        values = _numbers(pc.cast(cells, pa.int64()))
    except pa.ArrowInvalid:
        return None
    if len(values) and (values.min() < column.lowest or values.max() > column.highest):
        return None
    if column.only_named and not set(np.unique(values)) <= set(column.names.values()):
        return None
    return values


def _without_names(cells: Any, names: Mapping[str, int]) -> Any:
    encoded = pc.dictionary_encode(cells)
    written = [names.get(text, text) for text in encoded.dictionary.to_pylist()]
    return pa.array([str(each) for each in written], pa.string()).take(encoded.indices)


def _numbers(cells: Any) -> I64:
    return np.ascontiguousarray(cells.to_numpy(zero_copy_only=False), np.int64)


def _slow(
    cells: Any, name: str, column: Column, path: Path | str, error: type[InputError], most: int
) -> tuple[I64, list[UsanceError]]:
    """A column cell by cell; the first that cannot be read are named, each with its line."""
    values, wrong = np.zeros(len(cells), np.int64), dict[int, InputError]()
    for row, text in enumerate(cells.to_pylist()):
        if len(wrong) >= most:
            break
        try:
            values[row] = read_cell(text or "", name, column, error)
        except InputError as problem:
            wrong[row] = problem
    return values, [
        error(problem.what, where=at, fix=problem.fix)
        for problem, at in zip(wrong.values(), line_numbers(path, [*wrong]), strict=True)
    ]


def read_cell(text: str, name: str, column: Column, error: type[InputError] = InputError) -> int:
    """The number of one cell; an error says why it has none."""
    if isinstance(column, MomentColumn):
        return round(parse_moment(text).timestamp() * 1_000_000)
    if isinstance(column, DateColumn):
        return to_day(parse_date(text))
    if text in column.names:
        return column.names[text]
    if not text:
        raise error(f"{name} is empty", fix="Fill it in")
    if not _WHOLE.fullmatch(text):
        if any(column.names):
            raise unknown(name, text, column.names)
        raise error(f"{name} is {text[:40]!r}, no whole number", fix="Write digits")
    value = int(text)
    if column.only_named and value not in column.names.values():
        raise unknown(name, text, column.names)
    if not column.lowest <= value <= column.highest:
        what = f"{name} is {value}, outside {column.lowest} to {column.highest}"
        raise error(what, fix="Give a number in that range")
    return value


def _shown(table: pa.Table) -> str:
    return ", ".join(table.column_names[:15])
