r"""A table in a CSV or Parquet file as typed columns, under our names; what is wrong, per column.

A mapping is YAML: `columns:` with our names and those of the file, `amounts:` and `dates:` with
how they are written, `values:` with our words for those of a column, `constants:` with what holds
for every row. One bad column is one problem, with a count and three examples.

>>> from tempfile import NamedTemporaryFile
>>> with NamedTemporaryFile("w", suffix=".csv") as file:
...     _ = file.write("Betrag,Zins\n1200.50,18%\n900,x\n")
...     _ = file.flush()
...     made = ColumnFile(Path(file.name), ColumnNames({"principal": "Betrag", "rate": "Zins"}))
>>> made.amounts("principal", "CNY").tolist(), made.rates("rate").tolist()
([120050, 90000], [180000, 0])
>>> made.problems[0].what
"1 cell of column 'Zins' is no rate: 'x' (line 3)"
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.amount_notations import AMOUNTS, PLAIN, amount_fix, plain_amounts
from usance.base.arrays import I64
from usance.base.codes import Currency
from usance.base.csv_lines import row_lines, row_word, separator_of
from usance.base.dates import to_day
from usance.base.encodings import csv_refusal
from usance.base.errors import DocumentError, InputError, UsanceError, raise_all, unknown
from usance.base.fields import file_fields, text
from usance.base.rates import Rate

KEYS = ("columns", "facts", "amounts", "dates", "constants", "values")
"""Keys of a mapping that are read here."""
_OTHER_KEYS = (
    "rows", "months", "month", "title", "as_of", "currency", "cohorts", "vintages", "ever",
    "bad_rows", "closed_loans", "statuses", "payments", "kinds", "defaults",
)  # fmt: skip
"""Keys that `measure tape` and `books import` read in the same file."""
EXAMPLES = 3
_FIX = "Correct them, or say in a mapping how they are written (--map)"


@dataclass(frozen=True)
class ColumnNames:
    """A file's own names of columns by ours, and how it writes amounts, days and words."""

    columns: Mapping[str, str] = field(default_factory=dict)
    amounts: str = PLAIN
    dates: str = "%Y-%m-%d"
    constants: Mapping[str, str] = field(default_factory=dict)
    """Cells of columns that the file does not have, by our names."""
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By our name of a column, our words for those of the file."""

    @classmethod
    def read(cls, path: Path, key: str = "columns") -> ColumnNames:
        """The names in a mapping file; keys that other commands read are left alone."""
        given = file_fields(path)
        inner = given.inner(key)
        columns = {name: inner.need(name, text) for name in inner.keys} if inner else {}
        amounts = given.take("amounts", text) or cls.amounts
        if amounts not in AMOUNTS:
            raise unknown("amounts", amounts, AMOUNTS, where=given.where("amounts"))
        dates = given.take("dates", text) or cls.dates
        constants = given.take("constants", _words) or {}
        values = given.take("values", _words_by_column) or {}
        for each in given.keys:
            if each not in (*KEYS, *_OTHER_KEYS):
                given.problems.append(unknown("key", each, KEYS, where=given.where(each)))
        raise_all(given.problems, where=given.where())
        return cls(columns, amounts, dates, constants, values)

    def rate(self, cell: str) -> Rate:
        """A rate whose decimals are parted as those of the amounts, or by a point.

        >>> ColumnNames(amounts="1.234,56").rate("12,61%").ppm
        126100
        """
        _, decimal = AMOUNTS[self.amounts]
        return Rate.parse(cell.replace(decimal, ".") if cell.count(decimal) == 1 else cell)

    def in_our_words(self, table: Any) -> Any:
        """A table with our names of columns, our words in them, and what holds for every row."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ours = {theirs: name for name, theirs in self.columns.items()}
        # Another column of the file that happens to have our name gives way to the one named.
        kept = [name for name in table.column_names if name in ours or name not in self.columns]
        made = table.select(kept).rename_columns([ours.get(name, name) for name in kept])
        for name, words in self.values.items():
            if name in made.column_names:
                cells = pc.utf8_trim_whitespace(made[name].cast(pa.string()))
                place = pc.index_in(cells, pa.array(list(words), pa.string()))
                said = pa.array(list(words.values()), pa.string()).take(place.combine_chunks())
                column = made.column_names.index(name)
                made = made.set_column(column, name, pc.coalesce(pa.chunked_array([said]), cells))
        for name, value in self.constants.items():
            if name not in made.column_names:
                made = made.append_column(name, pa.array([value] * made.num_rows, pa.string()))
        return made


def _words(given: Any, where: str) -> dict[str, str]:
    """Words by words, as they are written; numbers and days are words as well."""
    if not isinstance(given, dict):
        raise DocumentError("is no mapping", where=where, fix="Write {theirs: ours}")
    for name, value in given.items():
        if isinstance(value, dict | list):
            fix = "Write the word for one cell"
            raise DocumentError(f"{name} is no word", where=where, fix=fix)
    return {str(name): str(value) for name, value in given.items()}


def _words_by_column(given: Any, where: str) -> dict[str, dict[str, str]]:
    if not isinstance(given, dict):
        raise DocumentError("is no mapping", where=where, fix="Write {column: {theirs: ours}}")
    return {str(name): _words(words, f"{where}.{name}") for name, words in given.items()}


class ColumnFile:
    """Typed columns of a file; problems are kept, and a bad cell is zero."""

    def __init__(self, path: Path, names: ColumnNames) -> None:
        self.path, self.names = path, names
        given = _read(path)
        self.table = names.in_our_words(given)
        self.problems: list[UsanceError] = []
        for ours, theirs in names.columns.items():
            if theirs not in given.column_names:
                fix = f"It has {', '.join(given.column_names[:12])}"
                what = f"has no column '{theirs}' for {ours}"
                self.problems.append(DocumentError(what, where=str(path), fix=fix))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def has(self, name: str) -> bool:
        """True if the file has the column."""
        return name in self.table.column_names

    def need(self, *names: str) -> None:
        """Raise everything that is wrong so far, and every column that is missing."""
        for name in names:
            if not self.has(name) and name not in self.names.columns:
                fix = "Name its column with --map, or add it"
                missing = DocumentError(f"has no column '{name}'", where=str(self.path), fix=fix)
                self.problems.append(missing)
        raise_all(self.problems, where=str(self.path))

    def texts(self, name: str) -> Any:
        """A column as text, null where a cell is empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.table[name].combine_chunks()
        if not pa.types.is_string(column.type):
            column = column.cast(pa.string())
        trimmed = pc.utf8_trim_whitespace(column)
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)

    def amounts(self, name: str, currency: str) -> I64:
        """Amounts in minor units, digit by digit; 0 where a cell is empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        digits = Currency[currency].exponent
        given = self.texts(name)
        plain, wrong = plain_amounts(self.table[name].combine_chunks(), self.names.amounts)
        self._keep(name, "amount", given, wrong, amount_fix(self.names.amounts))
        plain = pc.utf8_trim_whitespace(plain)
        fraction = rf"(?:\.(?P<f>[0-9]{{1,{digits}}})0*)?" if digits else r"(?:\.0*)?"
        parts = pc.extract_regex(plain, f"^(?P<w>[0-9]{{1,15}}){fraction}$")
        unread = pc.and_(pc.is_valid(given), pc.is_null(parts))
        self._keep(name, "amount", given, pc.and_not(unread, wrong))
        whole = pc.fill_null(pc.struct_field(parts, "w"), "0")
        cents = pc.fill_null(pc.struct_field(parts, "f"), "") if digits else pa.scalar("")
        padded = pc.utf8_rpad(cents, digits, "0") if digits else cents
        joined = pc.binary_join_element_wise(whole, padded, "")
        return np.asarray(joined.cast(pa.int64()))

    def rates(self, name: str) -> I64:
        """Rates in parts per million."""
        return self.read(name, "rate", lambda cell: self.names.rate(cell).ppm)

    def wholes(self, name: str) -> I64:
        """Whole numbers."""
        return self.read(name, "whole number", _whole)

    def days(self, name: str) -> I64:
        """Day numbers, written as the mapping says."""
        pattern = self.names.dates
        return self.read(name, "day", lambda cell: read_day(cell, pattern))

    def read(self, name: str, what: str, read: Callable[[str], int]) -> I64:
        """Every cell by a function of its text, asked once for each text; 0 where it is empty."""
        coded = self.texts(name).dictionary_encode()
        values, wrong = [], []
        for cell in coded.dictionary.to_pylist():
            try:
                values.append(read(cell))
                wrong.append(False)
            except (InputError, ValueError, LookupError):
                values.append(0)
                wrong.append(True)
        places = np.asarray(coded.indices.fill_null(len(values)), np.int64)
        if any(wrong):
            self._keep(name, what, self.texts(name), np.array([*wrong, False]).take(places))
        return np.array([*values, 0], np.int64).take(places)

    def refuse(self, name: str, what: str, wrong: Any) -> None:
        """Keep one problem for all cells of a column that could be read and cannot be."""
        self._keep(name, what, self.texts(name), wrong)

    def _keep(self, name: str, what: str, cells: Any, wrong: Any, fix: str = _FIX) -> None:
        """One problem for all bad cells of a column."""
        rows = np.flatnonzero(np.asarray(wrong))
        if len(rows):
            theirs = self.names.columns.get(name, name)
            count = len(self)
            lines = row_lines(self.path, count) if self.path.is_file() else _lines_of(count)
            self.problems.append(bad_cells(self.path, theirs, what, cells, rows, lines, fix))


def bad_cells(
    path: Path, column: str, what: str, cells: Any, rows: I64, lines: I64, fix: str
) -> DocumentError:
    """The bad cells of a column, with a count and three examples."""
    word = row_word(path)
    given = [cells[int(row)].as_py() for row in rows[:EXAMPLES]]
    shown = ", ".join(
        f"{'empty' if cell is None else repr(cell)} ({word} {lines[row]})"
        for cell, row in zip(given, rows[:EXAMPLES], strict=True)
    )
    more = f" and {len(rows) - EXAMPLES:,} more" if len(rows) > EXAMPLES else ""
    count = f"{len(rows):,} cell{'s' * (len(rows) > 1)} of column '{column}'"
    verb = "is" if len(rows) == 1 else "are"
    return DocumentError(f"{count} {verb} no {what}: {shown}{more}", where=str(path), fix=fix)


def first_rows(keys: Any) -> tuple[I64, list[str]]:
    """The place of each text in the order in which texts first come, and these texts."""
    coded = keys.fill_null("").dictionary_encode()
    return np.asarray(coded.indices, np.int64), coded.dictionary.to_pylist()


def _read(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    if not path.is_file():
        raise DocumentError("there is no such file", where=str(path), fix="Check the name")
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path)
        parse = pa_csv.ParseOptions(delimiter=separator_of(path))
        with pa_csv.open_csv(path, parse_options=parse) as reader:
            names = reader.schema.names
        convert = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        return pa_csv.read_csv(path, parse_options=parse, convert_options=convert)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError, csv.Error) as error:
        fix = "Give CSV in UTF-8 with a header, gzipped if its name ends in .gz, or Parquet"
        what, fix = csv_refusal(path) or (f"cannot be read: {error}", fix)
        raise DocumentError(what, where=str(path), fix=fix) from error


def _lines_of(rows: int) -> I64:
    """Lines of a table whose file is gone: one each, below the header."""
    return np.arange(2, rows + 2)


def _whole(cell: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}(\.0+)?", cell):
        raise ValueError(cell)
    return int(cell.partition(".")[0])


def read_day(cell: str, pattern: str) -> int:
    """The number of a day in the form of `strptime`; a `ValueError` if there is none."""
    found: date = datetime.strptime(cell[:10] if pattern == "%Y-%m-%d" else cell, pattern).date()  # noqa: DTZ007 -- a day
    return to_day(found)


def unique_first(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that come a second time under the same place."""
    _, first = np.unique(places, return_index=True)
    again = np.ones(len(places), bool)
    again[first] = False
    return np.flatnonzero(again)
