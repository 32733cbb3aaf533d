"""Tables of other names and notations, rewritten: our names of columns, plain amounts, ISO days.

>>> import pyarrow as pa
>>> given = pa.table({"Rest": ["1.200,50"], "Start": ["15.01.2024"]})
>>> own = ColumnNames({"balance": "Rest", "day": "Start"}, "1.234,56", "%d.%m.%Y")
>>> under_our_names(given, own, money=("balance",), days=("day",)).to_pylist()
[{'balance': '1200.50', 'day': '2024-01-15'}]
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.amount_notations import amount_fix, plain_amounts
from usance.base.arrays import I64
from usance.base.column_files import ColumnNames, bad_cells, read_day
from usance.base.csv_lines import row_lines
from usance.base.dates import from_day
from usance.base.errors import DocumentError, InputError, UsanceError, raise_all

_NUMBER = r"^[+-]?[0-9]*[.][0-9]+$"
"""Amounts with a point and no groups, which is no format with a decimal comma."""


def under_our_names(
    table: Any, names: ColumnNames, *, money: Collection[str], days: Collection[str],
    rates: Collection[str] = (), where: str = "columns", lines: I64 | None = None,
) -> Any:  # fmt: skip
    """A table with our names of columns, plain amounts, ISO days, and 18% in parts per million.

    Texts alone are rewritten; `lines` are those of the rows in their file. A day that is none
    stays as it is.
    """
    import pyarrow as pa

    ours = {theirs: name for name, theirs in names.columns.items()}
    missing = [theirs for theirs in ours if theirs not in table.column_names]
    if missing:
        fix = f"It has {', '.join(table.column_names[:12])}"
        what = f"has no column '{missing[0]}' for {ours[missing[0]]}"
        raise DocumentError(what, where=where, fix=fix)
    made = names.in_our_words(table)
    problems: list[UsanceError] = []
    for place, column in enumerate(map(_plain_texts, made.itercolumns())):
        name = made.column_names[place]
        if not pa.types.is_string(column.type):
            continue
        if name in money and names.amounts != ColumnNames.amounts:
            plain, wrong = plain_amounts(column, names.amounts)
            theirs, fix = names.columns.get(name, name), amount_fix(names.amounts)
            problems += _problem(Path(where), theirs, "amount", column, wrong, lines, fix)
            made = made.set_column(place, name, plain)
        elif name in days and names.dates != ColumnNames.dates:
            made = made.set_column(place, name, _iso_days(column, names.dates))
        elif name in rates:
            made = made.set_column(place, name, _parts_per_million(column, names))
    raise_all(problems, where=where)
    return made


def plainly_written(table: Any, names: ColumnNames, where: str = "columns") -> Any:
    """A table whose amounts and days are plain, in whatever column they stand.

    An amount is a cell with separators as the mapping says, and a number in another format is
    refused. A column of days has no other cell.

    >>> import pyarrow as pa
    >>> given = pa.table({"use": ["1.200,5", "n/a"], "day": ["15.01.2024", None]})
    >>> plainly_written(given, ColumnNames({}, "1.234,56", "%d.%m.%Y")).to_pylist()
    [{'use': '1200.5', 'day': '2024-01-15'}, {'use': 'n/a', 'day': None}]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    path, problems = Path(where), list[UsanceError]()
    for place, column in enumerate(map(_plain_texts, table.itercolumns())):
        if not pa.types.is_string(column.type):
            continue
        name = table.column_names[place]
        cells = pc.utf8_trim_whitespace(column)
        theirs = names.columns.get(name, name)
        if names.dates != ColumnNames.dates:
            # strptime of Arrow takes February 31 for March 2.
            like_days = pc.is_valid(pc.strptime(cells, names.dates, "s", error_is_null=True))
            iso = _iso_days(cells, names.dates)
            if pc.sum(like_days).as_py() == len(cells) - cells.null_count > 0:
                wrong = pc.and_(like_days, pc.equal(iso, cells))
                fix = f"Write it as {names.dates}, or change dates in the mapping"
                problems += _problem(path, theirs, "day", column, wrong, None, fix)
                table = table.set_column(place, name, iso)
                continue
        if names.amounts != ColumnNames.amounts:
            plain, other = plain_amounts(cells, names.amounts)
            wrong = pc.and_(other, pc.match_substring_regex(cells, _NUMBER))
            fix = amount_fix(names.amounts)
            problems += _problem(path, theirs, "amount", column, wrong, None, fix)
            table = table.set_column(place, name, pc.coalesce(plain, cells))
    raise_all(problems, where=where)
    return table


def _plain_texts(column: Any) -> Any:
    """Texts as one type, however a file stores them; other columns as they are."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return column.cast(pa.string()) if is_text else column


def _problem(
    path: Path, column: str, what: str, cells: Any, wrong: Any, lines: I64 | None, fix: str
) -> list[UsanceError]:
    """One problem for all bad cells of a column, or none."""
    rows = np.flatnonzero(np.asarray(wrong.fill_null(False)))
    if not len(rows):
        return []
    if lines is None:
        lines = row_lines(path, len(cells)) if path.is_file() else np.arange(1, len(cells) + 1)
    return [bad_cells(path, column, what, cells, rows, lines, fix)]


def _iso_days(column: Any, pattern: str) -> Any:
    """Days in the ISO form, each text read once; one that is none stays as it is."""
    import pyarrow as pa

    coded = column.combine_chunks().dictionary_encode()
    made = []
    for cell in coded.dictionary.to_pylist():
        try:
            made.append(from_day(read_day(cell.strip(), pattern)).isoformat())
        except (InputError, ValueError):
            made.append(cell)
    return pa.chunked_array([pa.array(made, pa.string()).take(coded.indices)])


def _parts_per_million(column: Any, names: ColumnNames) -> Any:
    """Rates written as 18% in parts per million; other cells stay as they are."""
    import pyarrow as pa

    coded = column.combine_chunks().dictionary_encode()
    made = []
    for cell in coded.dictionary.to_pylist():
        try:
            made.append(str(names.rate(cell).ppm) if cell.strip().endswith("%") else cell)
        except InputError:
            made.append(cell)
    return pa.chunked_array([pa.array(made, pa.string()).take(coded.indices)])
