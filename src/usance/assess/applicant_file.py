"""A file of applicants, one row each: CSV, gzipped CSV or Parquet, read into Arrow columns.

A cell is a number, a text, or nothing. What a column *is* is not decided here: a training file may
hold codes such as `Missing` among its numbers, and the same column of tomorrow's file may not.

>>> import pyarrow as pa
>>> numbers, texts = numbers_and_texts(pa.array(["1.5", "Missing", None]))
>>> numbers.tolist(), texts.to_pylist()
([1.5, nan, nan], [None, 'Missing', None])
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import DataError
from usance.base.arrays import F64, I64
from usance.base.column_files import ColumnNames
from usance.base.csv_lines import row_place, separator_of
from usance.base.encodings import csv_refusal
from usance.base.renamed_tables import plainly_written

EMPTY_WORDS = ["", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"]
"""Words that files write for an empty cell."""

BLANK_CHARACTERS = " \t\r\n"
"""Characters that may stand around a cell; the same few in a file, a single call and a query."""

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""The form of a number, in the digits that every program reads."""


@dataclass(frozen=True)
class Table:
    """Columns by name, as they were read, and the name of the file for messages."""

    file: str
    columns: Mapping[str, Any]
    rows: int
    numbers: I64 | None = None
    """The place of each row in the file, from 0; None if all of them are there."""
    own: Mapping[str, str] = field(default_factory=dict)
    """The file's own names of columns, by ours."""

    def column(self, name: str) -> Any:
        """One column; an error names the nearest if there is none."""
        if name not in self.columns:
            raise no_column(self, name)
        return self.columns[name]

    def where(self, mask: NDArray[np.bool_]) -> Table:
        """Some of the rows."""
        import pyarrow as pa

        chosen = pa.array(mask)
        columns = {name: column.filter(chosen) for name, column in self.columns.items()}
        numbers = np.arange(self.rows) if self.numbers is None else self.numbers
        return Table(self.file, columns, int(mask.sum()), numbers[mask], self.own)

    def place(self, row: int) -> str:
        """File and line of a row, for a message."""
        return row_place(self.file, int(row if self.numbers is None else self.numbers[row]) + 1)


def no_column(table: Table, name: str) -> DataError:
    """The error for a column that is not there."""
    from difflib import get_close_matches

    ours = next((our for our, theirs in table.own.items() if theirs == name), "")
    if ours:
        fix = f"Write {ours}, as the mapping calls it"
        return DataError(f"column '{name}' has another name here", where=table.file, fix=fix)
    written = [table.own.get(each, each) for each in table.columns]
    near = get_close_matches(table.own.get(name, name), written, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"It has {', '.join(written[:12])}"
    what = f"has no column '{table.own.get(name, name)}'"
    return DataError(
        what + (f" for {name}" if name in table.own else ""), where=table.file, fix=hint
    )


def read_table(path: Path | str, names: ColumnNames | None = None) -> Table:
    """The rows of a file, by its ending: `.parquet`, else CSV, gzipped or not.

    With `names` it has our names of columns and our words, and amounts and days are plain.
    """
    import pyarrow as pa

    file = Path(path)
    if file.is_dir():
        fix = "Name a file of applicants: CSV, its .gz, or Parquet"
        raise DataError("is a folder", where=str(path), fix=fix)
    if not file.is_file():
        raise DataError("there is no such file", where=str(path), fix="Check the name")
    try:
        read = _parquet(file) if file.suffix == ".parquet" else _csv(file)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeDecodeError) as error:
        fix = "Give CSV in UTF-8 with a header, gzipped if its name ends in .gz, or Parquet"
        what, fix = csv_refusal(file) or (f"cannot be read: {error}", fix)
        raise DataError(what, where=str(path), fix=fix) from error
    _check_names(read.column_names, str(path))
    if not read.num_rows:
        raise DataError("has no rows", where=str(path), fix="Give at least one row")
    _check_types(read.schema, str(path))
    if names is not None:
        read = plainly_written(names.in_our_words(read), names, str(path))
        _check_names(read.column_names, str(path))
    columns = {name: read[name].combine_chunks() for name in read.column_names}
    return Table(str(path), columns, read.num_rows, own=names.columns if names else {})


def _check_names(names: list[str], file: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        what = f"has more than one column '{twice[0]}'"
        raise DataError(what, where=file, fix="Give every column its own name")


def _check_types(schema: Any, file: str) -> None:
    """Refuse every column whose cells are neither numbers nor texts."""
    from pyarrow import types

    from usance.base.errors import raise_all

    fix = "Give numbers or texts, or leave the column out of the file"
    raise_all(
        [
            DataError(f"column '{each.name}' holds {each.type}", where=file, fix=fix)
            for each in schema
            if types.is_nested(each.type) or types.is_binary(each.type)
        ],
        where=file,
    )


def is_number(text: str) -> bool:
    """True if a text is written as a number."""
    return re.fullmatch(NUMBER, text.strip(BLANK_CHARACTERS)) is not None


def table_of(columns: Mapping[str, Any], name: str = "columns") -> Table:
    """A table from columns in memory: Arrow or NumPy arrays, or lists."""
    import pyarrow as pa

    try:
        arrays = {key: pa.array(column, from_pandas=True) for key, column in columns.items()}
    except (pa.ArrowException, OverflowError, TypeError) as error:
        fix = "Give numbers or texts"
        raise DataError(f"cannot be read: {error}", where=name, fix=fix) from error
    _check_types(pa.schema([(key, array.type) for key, array in arrays.items()]), name)
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) != 1:
        raise DataError("columns differ in length", where=name, fix="Give one value for each row")
    return Table(name, arrays, lengths.pop())


def _parquet(file: Path) -> Any:
    import pyarrow.parquet as parquet

    return parquet.read_table(file)


def _csv(file: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    # Types are ours to decide, so every cell is read as text.
    parse = csv.ParseOptions(delimiter=separator_of(file))
    with csv.open_csv(file, parse_options=parse) as reader:
        names = reader.schema.names
    types = dict.fromkeys(names, pa.string())
    convert = csv.ConvertOptions(
        column_types=types, null_values=EMPTY_WORDS, strings_can_be_null=True
    )
    return csv.read_csv(file, parse_options=parse, convert_options=convert)


def numbers_and_texts(array: Any) -> tuple[F64, Any]:
    """The numbers of a column (NaN where there is none) and its texts (null where none)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        return numbers_and_texts(array.cast(kind.value_type))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        if pa.types.is_temporal(kind):
            return numbers_and_texts(array.cast(pa.string()))
        numbers = array.cast(pa.float64(), safe=False)
        return _floats(numbers), pa.nulls(len(array), pa.string())
    text = pc.utf8_trim(array.cast(pa.string()), characters=BLANK_CHARACTERS)
    is_number = pc.match_substring_regex(text, f"^{NUMBER}$")
    nothing = pa.scalar(None, pa.string())
    numbers = pc.if_else(is_number, text, nothing).cast(pa.float64())
    empty = pc.or_(is_number, pc.is_in(text, pa.array(EMPTY_WORDS)))
    return _floats(numbers), pc.if_else(empty, nothing, text)


def _floats(array: Any) -> F64:
    import pyarrow.compute as pc

    filled = pc.fill_null(array, float("nan"))
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.float64)


_MONTH_SPELLINGS = (
    re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.]\d{1,2}(?:[T ].*)?)?"),
    re.compile(r"(\d{4})(\d{2})(?:\d{2})?(?:\.0)?"),
)


def months_of(name: str, array: Any, *, file: str = "") -> I64:
    """The month of each row, counted from January 1970; a row without a date is an error.

    >>> import pyarrow as pa
    >>> months_of("issue_d", pa.array(["2018/5/1", "2018-06-30"])).tolist()
    [580, 581]
    """
    import pyarrow as pa

    coded = array.cast(pa.string()).dictionary_encode()
    found = [_month(text) for text in coded.dictionary.to_pylist()]
    months = np.array([-1 if month is None else month for month in (*found, None)], np.int64)
    out = months.take(np.asarray(coded.indices.fill_null(len(found)), np.int64))
    wrong = np.flatnonzero(out < 0)
    if len(wrong):
        row = int(wrong[0])
        where = f"{row_place(file, row + 1) if file else f'row {row + 1}'}, column '{name}'"
        what = f"'{array[row].as_py()}' is no date, in {len(wrong)} rows"
        fix = "Write dates as 2024-06-30 or months as 2024-06, or say in a mapping how (--map)"
        raise DataError(what, where=where, fix=fix)
    return out


def _month(text: str | None) -> int | None:
    for spelling in _MONTH_SPELLINGS if text else ():
        found = spelling.fullmatch(str(text).strip())
        if found and 1 <= int(found[2]) <= 12:
            month = (int(found[1]) - 1970) * 12 + int(found[2]) - 1
            return month if month >= 0 else None
    return None
