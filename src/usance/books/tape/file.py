"""A tape from its file, CSV or Parquet: whole numbers by column, sorted by loan and month.

Everything that is wrong with single cells or with the columns is found in one pass. Row 1 is the
first one under the header.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.column_files import ColumnNames
from usance.base.csv_lines import row_word, separator_of
from usance.base.encodings import csv_refusal
from usance.base.errors import UsanceError
from usance.base.renamed_tables import under_our_names
from usance.books.errors import TapeError
from usance.books.tape.columns import COLUMNS, FORMER_NAMES, NOT_GIVEN, TapeColumn
from usance.books.tape.numbers import Wrong, read_cells
from usance.measure.tape.file import read_rows

MAX_PROBLEMS = 1_000
"""A file with more is of another kind; the rest would not help."""
_MONEY = [name for spec in COLUMNS.values() if spec.is_money for name in spec.names]
_DAYS = [spec.name for spec in COLUMNS.values() if spec.kind in ("day", "month")]
_RATES = ["rate_ppm"]
_KIND = ("model", "product")
_KEYS = ("month", "loan_id", "dpd", "status", "originated", "principal")


@dataclass(frozen=True, slots=True)
class GivenTape:
    """A tape as it was read: rows sorted by loan and month, and what is wrong with its cells."""

    path: str
    columns: Mapping[str, I64]
    """`NOT_GIVEN` where a cell is empty or cannot be read."""
    row: I64
    """The line of the file, or the row of a Parquet file, from 1."""
    refs: pa.Array | None
    """The foreign name of every row's loan, if it brings names."""
    named: frozenset[str]
    """The columns the file has."""
    problems: list[UsanceError]

    def __len__(self) -> int:
        return len(self.row)

    def get(self, name: str, default: int | I64 = NOT_GIVEN) -> I64:
        """A column with something else for its empty cells."""
        column = self.columns.get(name)
        if column is None:
            column = np.full(len(self), NOT_GIVEN, np.int64)
        return np.asarray(np.where(column == NOT_GIVEN, default, column), np.int64)

    def wrong(self, place: int, what: str, fix: str) -> TapeError:
        """An error of a row, by its place in the sorted rows."""
        return TapeError(
            f"loan {self.loan(place)}: {what}", where=f"{self.path} {self.place(place)}", fix=fix
        )

    def place(self, place: int) -> str:
        """A row for people, by its place in the sorted rows."""
        return f"{row_word(self.path)} {self.row[place]}"

    def loan(self, place: int) -> str:
        """The loan of a row as the tape names it."""
        return str(self.refs[place] if self.refs is not None else self.columns["loan_id"][place])


def read_tape(
    path: Path, *, currency: str, cells: pa.Table | None = None,
    known_refs: Mapping[str, int] | None = None, names: ColumnNames | None = None,
) -> GivenTape:  # fmt: skip
    """The rows of a file; `cells` says what its cells are, `known_refs` which names have ids.

    `names` are the file's own names of columns, as in a mapping for `measure tape`.
    """
    data, numbers, problems = _read_file(path)
    if names is not None:
        data = under_our_names(
            data, names, money=_MONEY, days=_DAYS, rates=_RATES, where=str(path), lines=numbers
        )
    found = _found(data.column_names)
    problems += list(_given_twice(path, data.column_names))
    problems += list(_missing(path, found, has_cells=cells is not None))
    if data.num_rows == 0:
        fix = "Give a row for every loan and month end"
        problems.append(TapeError("has no rows", where=str(path), fix=fix))
    columns = {}
    for name, (given, is_minor) in found.items():
        if COLUMNS[name].kind != "text":
            cell, wrong = read_cells(data[given], COLUMNS[name], currency, is_minor=is_minor)
            columns[name] = cell
            problems += _named(path, numbers, wrong, given)
    refs = _loan_ids(columns, data, found, known_refs or {})
    if cells is not None and "cell" in columns:
        problems += _named(path, numbers, list(_of_cells(columns, cells)))
    empty = list(_empty(columns, found, numbers, path)) if not problems else []
    if problems or empty:
        return GivenTape(str(path), {}, numbers[:0], None, frozenset(found), problems + empty)
    source = columns.get("source", numbers * 0 + NOT_GIVEN)
    columns["source"] = np.where(source == NOT_GIVEN, 1, source)
    order = np.lexsort((columns["month"], columns["loan_id"]))
    for name, column in columns.items():
        columns[name] = column[order]
    named = refs.take(pa.array(order)) if refs is not None else None
    return GivenTape(str(path), columns, numbers[order], named, frozenset(found), [])


def _read_file(path: Path) -> tuple[pa.Table, I64, list[UsanceError]]:
    """All columns, the number of every row, and rows that could not be read."""
    if path.suffix != ".parquet":
        return _read_csv(path)
    import pyarrow.parquet as pq

    try:
        data = pq.ParquetFile(path).read()
    except FileNotFoundError:
        raise TapeError("no such file", where=str(path), fix="Check the name") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        fix = "Give a Parquet file, or name a CSV file .csv"
        raise TapeError(f"is no Parquet file ({reason})", where=str(path), fix=fix) from None
    return data, np.arange(1, data.num_rows + 1), []


def _read_csv(path: Path) -> tuple[pa.Table, I64, list[UsanceError]]:
    known = {name: name for name in _header(path)}
    given = read_rows(path, known, dict.fromkeys(known, False), {}, {})
    rows = np.array(given.table["row"].to_numpy(), np.int64)
    return given.table.drop_columns(["row"]), rows, list(given.problems)


def _header(path: Path) -> list[str]:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    if path.is_dir():
        raise TapeError("is a folder", where=str(path), fix="Name a file inside it")
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file, delimiter=separator_of(path)), [])
    except FileNotFoundError:
        raise TapeError("no such file", where=str(path), fix="Check the name") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        fix = "Give a CSV file in UTF-8 with a header, its .gz, or Parquet"
        what, fix = csv_refusal(path) or (f"cannot be read ({error})", fix)
        raise TapeError(what, where=str(path), fix=fix) from None
    if not names:
        fix = "Give a header and a row for every loan and month end"
        raise TapeError("is empty", where=str(path), fix=fix)
    return [name for name in names if name != "row"]


def _found(names: list[str]) -> dict[str, tuple[str, bool]]:
    """Of the columns we know, how the file calls each, and whether in minor units."""
    found = {}
    for column in COLUMNS.values():
        for place, name in enumerate(column.names):
            if name in names and column.name not in found:
                found[column.name] = (name, column.is_money and place % 2 == 0)
    return found


def _given_twice(path: Path, names: list[str]) -> Iterator[UsanceError]:
    """Columns that a file has under their name and under their former one."""
    for former, name in FORMER_NAMES.items():
        old, new = (
            [each for each in (f"{called}_minor", called) if each in names]
            for called in (former, name)
        )
        if old and new:
            what = f"has both {new[0]} and {old[0]}, which is its former name"
            yield TapeError(what, where=str(path), fix=f"Keep {new[0]}")


def _missing(path: Path, found: Mapping[str, Any], *, has_cells: bool) -> Iterator[UsanceError]:
    """Columns a tape cannot do without, with what they mean."""
    by_cell = has_cells and "cell" in found
    for column in COLUMNS.values():
        if column.is_needed and column.name not in found and not (by_cell and column.name in _KIND):
            yield _lacks(path, column)
    for one, other in (("loan_id", "loan_ref"), ("cohort", "disbursed_on")):
        if one not in found and other not in found:
            yield _lacks(path, COLUMNS[one], f" or {other}")
    if "cell" in found and not has_cells and not set(_KIND) <= found.keys():
        fix = "Put cells.csv into the folder of policies: cell, model, product, source, entity"
        yield TapeError("its cells are not explained", where=str(path), fix=fix)


def _lacks(path: Path, column: TapeColumn, other: str = "") -> TapeError:
    fix = f"Add the column {column.names[0]}{other}: {column.doc}"
    return TapeError(f"lacks {column.names[0]}{other}", where=str(path), fix=fix)


def _named(path: Path, numbers: I64, wrong: Wrong, column: str = "") -> list[UsanceError]:
    found: list[UsanceError] = [
        TapeError(
            what,
            where=f"{path} {row_word(path)} {numbers[row]}" if len(numbers) else str(path),
            fix=fix,
        )
        for row, what, fix in wrong[:MAX_PROBLEMS]
    ]
    if len(wrong) > MAX_PROBLEMS:
        where = f"in column {column}" if column else "in the same way"
        what = f"{len(wrong) - MAX_PROBLEMS} more rows are wrong {where}"
        found.append(TapeError(what, where=str(path), fix="Correct the first ones first"))
    return found


def _loan_ids(
    columns: dict[str, I64], data: pa.Table, found: Mapping[str, Any], known: Mapping[str, int]
) -> pa.Array | None:
    """Numbers for names, in order of first row; the names of all rows, if there are any."""
    if "loan_ref" not in found:
        return None
    column = data[found["loan_ref"][0]].cast(pa.string()).combine_chunks()
    if "loan_id" not in columns:
        coded = column.dictionary_encode()
        last = max(known.values(), default=0)
        ids = []
        for name in coded.dictionary.to_pylist():
            last += name not in known
            ids.append(known.get(name, last))
        place = coded.indices.fill_null(-1).to_numpy()
        columns["loan_id"] = np.array([*ids, NOT_GIVEN], np.int64)[place]
    return column


def _of_cells(columns: dict[str, I64], cells: pa.Table) -> Iterator[tuple[int, str, str]]:
    """Fill model, product and source from the cells where the tape leaves them out."""
    known = cells.to_pydict()
    rows = {cell: place for place, cell in enumerate(known["cell"])}
    given, at = np.unique(columns["cell"], return_inverse=True)
    place = np.array([rows.get(int(cell), NOT_GIVEN) for cell in given])[at]
    for row in np.flatnonzero(place == NOT_GIVEN).tolist():
        numbers = ", ".join(map(str, rows))
        yield (
            row,
            f"cell is {columns['cell'][row]}, which cells.csv lacks",
            f"Give one of {numbers}",
        )
    for name in (*_KIND, "source"):
        if name not in columns:
            columns[name] = np.array([*known[name], NOT_GIVEN], np.int64)[place]


def _empty(
    columns: Mapping[str, I64], found: Mapping[str, Any], numbers: I64, path: Path
) -> Iterator[UsanceError]:
    """Needed cells that are empty."""
    either = "cohort" if "cohort" in found else "disbursed_on"
    for name in (*_KEYS, *_KIND, either):
        bad = np.flatnonzero(columns[name] == NOT_GIVEN)
        fix = f"Fill it: {COLUMNS[name].doc}"
        wrong = [(row, f"{name} is empty", fix) for row in bad.tolist()]
        yield from _named(path, numbers, wrong, name)
