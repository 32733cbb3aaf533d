"""A stream of requests from somebody's own table: own names of columns, amounts, days and ids.

The file is read by a mapping (`usance.base.column_files`) that names `requested_at`, `loan`,
`product`, `amount`, `months`, `rate`, `grade`, `region`, and, where it has them, `borrower`,
`channel` and `attributes`. Loans are numbered by borrower; the stream keeps their own names.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from usance.base.arrays import I64
from usance.base.atomic_files import check_file_place, naming_failures, replace
from usance.base.column_files import ColumnFile, ColumnNames, first_rows, unique_first
from usance.base.csv_lines import row_place
from usance.base.errors import raise_all
from usance.base.ids import PER_USER
from usance.match.csv_columns import Column, IntegerColumn, read_cell, write_columns
from usance.match.errors import StreamError
from usance.match.mandates.mandate import Mandates
from usance.match.router.requests import stream_columns

NEEDED = ("requested_at", "loan", "product", "amount", "months", "rate", "grade", "region")
WORDS = ("product", "region", "channel", "attributes")
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def write_own_requests(path: Path, out: Path, names: ColumnNames, mandates: Mandates) -> int:
    """Write the stream of a table, in order; the number of its requests.

    Moments without an offset are by the clocks of the mandates. A table with something that they
    do not know is refused, with its lines, and nothing is written.
    """
    check_file_place(out, "--out")
    zone = ZoneInfo(mandates.time_zone)
    file = ColumnFile(path, names)
    file.need(*NEEDED)
    at = file.read("requested_at", "moment", lambda cell: _moment(cell, names.dates, zone))
    known = stream_columns(mandates)
    numbers = {
        "amount_minor": file.amounts("amount", mandates.currency), "months": file.wholes("months"),
        "rate_ppm": file.rates("rate"), "grade": file.wholes("grade"),
    }  # fmt: skip
    for name, ours in (("amount", "amount_minor"), ("months", "months"), ("rate", "rate_ppm")):
        _check_range(file, name, numbers[ours], known[ours])
    for name in (*WORDS, "grade"):
        if file.has(name):
            _check_words(file, name, known[name])
    raise_all(file.problems, where=str(path))
    if not len(file):
        raise StreamError("no requests", where=str(path), fix="Give a row for each")
    loans, refs = first_rows(file.texts("loan"))
    if len(refs) < len(file) or "" in refs:
        raise _no_own_name(path, loans, refs)
    loan_id = _loan_ids(file, loans)
    words = {name: file.texts(name).fill_null("") for name in WORDS if file.has(name)}
    order = np.lexsort((loan_id, at))
    columns: dict[str, Any] = {
        "requested_at": [_written(int(each)) for each in at[order]], "loan_id": loan_id[order],
        **{name: values[order] for name, values in numbers.items()},
        **{name: texts.take(order) for name, texts in words.items()},
        "loan_ref": file.texts("loan").take(order),
    }  # fmt: skip
    with naming_failures(out), TemporaryDirectory() as folder:
        stream = Path(folder) / "stream.csv"
        write_columns(stream, columns)
        out.parent.mkdir(parents=True, exist_ok=True)
        replace(out, stream.read_bytes())
    return len(order)


def _no_own_name(path: Path, loans: I64, refs: list[str]) -> StreamError:
    """The first request without a name, else the first with that of another, at its line."""
    if "" in refs:
        row, what = int(np.flatnonzero(loans == refs.index(""))[0]), "a loan has no name"
    else:
        row = int(unique_first(loans)[0])
        what = f"loan {refs[loans[row]]!r} is there twice"
    fix = "Give every request a name of its own"
    return StreamError(what, where=row_place(path, row + 1), fix=fix)


def _check_range(file: ColumnFile, name: str, values: I64, column: Column) -> None:
    """Keep a problem for numbers that no request has, however they are written."""
    assert isinstance(column, IntegerColumn), "amounts, months and rates are numbers"
    wrong = (values < column.lowest) | (values > column.highest)
    if not file.problems:  # what could not be read is zero
        file.refuse(name, f"{name} of a request", wrong)


def _check_words(file: ColumnFile, name: str, column: Column) -> None:
    """Keep a problem for words that the mandates do not know."""
    assert isinstance(column, IntegerColumn), "words stand for numbers"
    choices = [word for word in column.names if word]
    shown = f" ({', '.join(choices[:8])}{' …' * (len(choices) > 8)})" if choices else ""
    what = f"{name} of the mandates{shown}"
    file.read(name, what, lambda cell: read_cell(cell, name, column))
    if name in NEEDED:
        file.refuse(name, what, np.asarray(file.texts(name).is_null()))


def _loan_ids(file: ColumnFile, loans: I64) -> I64:
    """Numbers of loans: each borrower's own, in the order of the file; else a borrower each."""
    if not file.has("borrower"):
        return (loans + 1) * PER_USER + 1
    users, _ = first_rows(file.texts("borrower"))
    order = np.argsort(users, kind="stable")
    first = np.searchsorted(users[order], users[order])
    number = np.empty(len(users), np.int64)
    number[order] = np.arange(len(users)) - first + 1
    return np.asarray((users + 1) * PER_USER + number, np.int64)


def _moment(cell: str, pattern: str, zone: ZoneInfo) -> int:
    """A moment as the mapping writes days, with or without an hour, or in the ISO form."""
    for hour in ("", " %H:%M", " %H:%M:%S"):
        try:
            given = datetime.strptime(cell, pattern + hour)  # noqa: DTZ007 -- its zone follows
            break
        except ValueError:
            continue
    else:
        given = datetime.fromisoformat(cell)
    known = given if given.tzinfo else given.replace(tzinfo=zone)
    return (known - _EPOCH) // _MICROSECOND


def _written(at: int) -> str:
    return (_EPOCH + at * _MICROSECOND).isoformat().replace("+00:00", "Z")
