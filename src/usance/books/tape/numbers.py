"""Cells of a tape made numbers, column by column; what cannot be read is named with its row.

>>> from usance.books.tape.columns import COLUMNS
>>> column = pa.chunked_array([["12", "", "a"]])
>>> numbers, wrong = read_cells(column, COLUMNS["dpd"], "CNY", is_minor=False)
>>> numbers.tolist(), wrong
([12, -1, -1], [(2, "dpd is 'a', no whole number", 'Give 0 to 2147483647')])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.codes import Code, Currency, FundingModel, Product, Status, parse
from usance.base.dates import parse_date, parse_month, to_day, to_month
from usance.base.errors import UsanceError
from usance.books.tape.columns import NOT_GIVEN, TapeColumn
from usance.loan.bounds import MAX_KERNEL_PRINCIPAL_MINOR

Wrong = list[tuple[int, str, str]]
"""Rows from 0, what is wrong there, and what to do."""

_MAX = {"whole": 2**31 - 1, "small": 2**15 - 1, "id": 2**53 - 1, "flag": 1}
"""The largest number of each kind of column."""
CODES: Mapping[str, type[Code]] = {"model": FundingModel, "product": Product, "status": Status}
"""The closed set of each kind of column that has one."""
_FIRST_MONTH, _LAST_MONTH = 1, 1571  # February 1970 to December 2100


def read_cells(
    column: pa.ChunkedArray, spec: TapeColumn, currency: str, *, is_minor: bool
) -> tuple[I64, Wrong]:
    """The numbers of a column, `NOT_GIVEN` for empty cells, and what is wrong with others."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    if spec.is_money:
        exponent = 0 if is_minor else parse(Currency, currency).exponent
        name = spec.names[0 if is_minor else 1]
        return _amounts(column, name, exponent, MAX_KERNEL_PRINCIPAL_MINOR)
    if spec.kind in _MAX:
        return _amounts(column, spec.name, 0, _MAX[spec.kind])
    if spec.kind == "month":
        return _by_value(column, spec.name, _month)
    if spec.kind == "day":
        return _by_value(column, spec.name, lambda value: to_day(parse_date(value)))
    return _by_value(column, spec.name, lambda value: _code(CODES[spec.kind], value))


def _amounts(column: pa.ChunkedArray, name: str, exponent: int, most: int) -> tuple[I64, Wrong]:
    """Whole numbers, or decimals with at most so many places as minor units."""
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type) and exponent:
        fix = f"Store whole minor units as {name}_minor, or amounts as text"
        what = f"{name} is a column of floats, which lose cents"
        return np.full(len(column), NOT_GIVEN, np.int64), [(0, what, fix)]
    text = _text(column)
    if pa.types.is_integer(column.type) and exponent == 0:
        numbers = column.cast(pa.int64(), safe=False)
    else:
        places = rf"(\.[0-9]{{1,{exponent}}})?" if exponent else ""
        reads = pc.match_substring_regex(text, rf"^[0-9]{{1,15}}{places}$")
        exact = pc.if_else(reads, text, None).cast(pa.decimal128(32, exponent))
        scale = pa.scalar(10**exponent, pa.decimal128(4, 0))
        numbers = pc.multiply(exact, scale).cast(pa.int64())
    inside = pc.and_(pc.greater_equal(numbers, 0), pc.less_equal(numbers, most))
    wrong = pc.and_(pc.is_valid(text), pc.invert(pc.fill_null(inside, False)))
    bad = np.flatnonzero(wrong.to_numpy())
    found = np.array(numbers.fill_null(NOT_GIVEN).to_numpy(), np.int64)
    found[bad] = NOT_GIVEN
    wanted = f"amount with at most {exponent} decimals" if exponent else "whole number"
    fix = "Give 0 or 1" if most == 1 else f"Give 0 to {Decimal(most).scaleb(-exponent):f}"
    if name.endswith("_minor"):
        fix += f", or amounts such as 12.50 as {name.removesuffix('_minor')}"
    shown = text.take(pa.array(bad)).to_pylist()
    return found, [
        (row, f"{name} is {_why(value, wanted)}", fix)
        for row, value in zip(bad.tolist(), shown, strict=True)
    ]


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cells as they are written, empty ones null."""
    import pyarrow.compute as pc

    plain = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        # Whole numbers that were stored as floats because some were missing.
        whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 2.0**53))
        numbers = pc.if_else(whole, column, None).cast(pa.int64()).cast(pa.string())
        plain = pc.if_else(pc.is_nan(column), None, pc.coalesce(numbers, plain))
    text = pc.utf8_trim_whitespace(plain)
    return pc.if_else(pc.equal(text, ""), None, text)


def _why(value: str, wanted: str) -> str:
    if value.startswith("-") and value[1:].replace(".", "", 1).isdigit():
        return f"{value}, below zero"
    if value.isdigit():
        return f"{value}, too large"
    return f"{value!r}, no {wanted}"


def _by_value(column: pa.ChunkedArray, name: str, read: Callable[[Any], int]) -> tuple[I64, Wrong]:
    """Cells of few different values: each value is read once."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date64(column.type):
        column = column.cast(pa.date32(), safe=False)
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    place = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
    numbers, problems = [], dict[int, tuple[str, str]]()
    for number, given in enumerate(coded.dictionary.to_pylist()):
        value = given.strip() if isinstance(given, str) else given
        try:
            numbers.append(NOT_GIVEN if value in (None, "") else read(value))
        except UsanceError as error:
            numbers.append(NOT_GIVEN)
            problems[number] = (f"{name}: {error.what}", error.fix)
    found = np.array([*numbers, NOT_GIVEN], np.int64)[place]
    rows = np.flatnonzero(np.isin(place, list(problems))) if problems else np.empty(0, np.int64)
    return found, [(row, *problems[int(place[row])]) for row in rows.tolist()]


def _month(value: str | int | date) -> int:
    if isinstance(value, date):
        return to_month(value)
    if len(str(value)) == len("2024-06-30"):
        return to_month(parse_date(str(value)))
    is_number = isinstance(value, int) or str(value).isdigit()
    month = int(value) if is_number else parse_month(str(value))
    return month if _FIRST_MONTH <= month <= _LAST_MONTH else parse_month(str(value))


def _code(codes: type[Code], value: str | int) -> int:
    known = {int(each) for each in codes}
    if isinstance(value, int) or str(value).isdigit():
        return int(value) if int(value) in known else int(parse(codes, str(value)))
    return int(parse(codes, str(value)))
