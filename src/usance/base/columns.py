"""Declared tables as Arrow: built from arrays, handed to kernels as arrays, types checked.

>>> import numpy as np
>>> shares = make("shares", loan_id=np.array([16385]), source=[3], principal_minor=[900000])
>>> shares.column("source").type, arrays(shares)["principal_minor"]
(DataType(int16), array([900000]))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.codes import code_lists
from usance.base.errors import DuplicateKey, SchemaError, TableError, raise_all
from usance.base.schemas import INTEGERS, Column, Table
from usance.base.tables import table

SCHEMA_KEY = b"usance.schema"

ARROW = {
    "i8": pa.int8(),
    "i16": pa.int16(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f64": pa.float64(),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "text": pa.string(),
}
# Key columns together, as one number that cannot be negative.
_PACKED_BITS = 62
_MANY, _FEW_RUNS, _THREADS = 1 << 18, 64, 2
# What kernels see: the same buffer as plain integers.
_PLAIN = {"day": pa.int32(), "moment": pa.int64()}


def arrow_schema(declared: Table, inputs: int = 0) -> pa.Schema:
    """The exact Arrow schema, with its number; `inputs` is the width of a list of inputs."""
    fields = [
        pa.field(
            column.name,
            pa.list_(pa.float64(), inputs) if column.type == "inputs" else ARROW[column.type],
            nullable=column.optional and column.default is None,
        )
        for column in declared.columns
    ]
    return pa.schema(fields, metadata={SCHEMA_KEY: declared.tag.encode()})


def make(declared: Table | str, /, **columns: Any) -> pa.Table:
    """A checked table from arrays by column name; integers may be wider than the column."""
    spec = table(declared) if isinstance(declared, str) else declared
    if unknown := columns.keys() - set(spec.names):
        spec.column(min(unknown))
    lengths = {name: _length(name, values, spec) for name, values in columns.items()}
    rows = next(iter(lengths.values()), 0)
    if any(length != rows for length in lengths.values()):
        raise SchemaError(f"columns of unequal length {lengths}", where=spec.name, fix="Align them")
    return conform(
        {name: _array(spec.column(name), values, spec.name) for name, values in columns.items()},
        spec,
        rows=rows,
        where=spec.name,
    )


def conform(
    columns: Mapping[str, Any], spec: Table, *, rows: int, where: str, only: Iterable[str] = ()
) -> pa.Table:
    """Arrow columns as a declared table: defaults filled, unknown columns dropped, types exact."""
    wanted = set(only) or set(spec.names)
    findings: list[TableError] = []
    chosen: dict[str, Any] = {}
    for column in spec.columns:
        if column.name not in wanted:
            continue
        if column.name in columns:
            chosen[column.name] = columns[column.name]
            findings += _type_findings(column, columns[column.name], where)
        elif column.optional:
            chosen[column.name] = pa.array([column.default] * rows, ARROW[column.type])
        else:
            fix = f"Add the column {column.name} ({column.type}): {column.doc}"
            findings.append(SchemaError(f"lacks {column.name}", where=where, fix=fix))
    raise_all(findings, where=where)
    width = chosen["inputs"].type.list_size if "inputs" in chosen else 0
    full = arrow_schema(spec, width)
    schema = pa.schema([full.field(name) for name in chosen], metadata=full.metadata)
    return pa.table(chosen, schema=schema)


def check_keys(data: pa.Table, spec: Table, *, where: str = "") -> None:
    """Raise `DuplicateKey` at the first row that repeats its key or is out of order."""
    if data.num_rows < 2:
        return
    views = arrays(data.select(list(spec.key)))
    row = _first_not_rising(list(views.values()))
    if row is None:
        return
    shown = shown_key(data, spec, row)
    repeats = all(values[row] == values[row - 1] for values in views.values())
    what, fix = ("repeats the key", "Keep one") if repeats else ("is out of order", "Sort")
    raise DuplicateKey(
        f"row {row} {what} ({shown})",
        where=where or spec.name,
        fix=f"{fix}; rows are sorted by {', '.join(spec.key)}",
    )


def _first_not_rising(keys: list[NDArray[Any]]) -> int | None:
    """The first row whose key is not above the one before; later columns only decide ties."""
    ties, wrong = np.arange(0), []
    for place, values in enumerate(keys):
        before = values[:-1] if place == 0 else values[ties]
        after = values[1:] if place == 0 else values[ties + 1]
        falls, equal = np.flatnonzero(before > after), np.flatnonzero(before == after)
        wrong += (falls if place == 0 else ties[falls])[:1].tolist()
        ties = equal if place == 0 else ties[equal]
    wrong += ties[:1].tolist()
    return min(wrong) + 1 if wrong else None


def shown_key(data: pa.Table, spec: Table, row: int) -> str:
    """The key of a row, for a message."""
    here = data.slice(row, 1)
    return ", ".join(f"{name} {here.column(name).cast(pa.string())[0]}" for name in spec.key)


def sort(data: pa.Table, spec: Table) -> pa.Table:
    """The rows in key order."""
    if any(spec.column(name).type == "text" for name in spec.key):
        return data.sort_by([(name, "ascending") for name in spec.key])
    keys = list(arrays(data.select(list(spec.key))).values())
    if _first_not_rising(keys) is None:
        return data
    order = pa.array(order_of(keys))
    with ThreadPoolExecutor(_THREADS) as pool:
        taken = pool.map(lambda column: column.combine_chunks().take(order), data.columns)
        return pa.table(list(taken), schema=data.schema)


def order_of(keys: list[NDArray[Any]]) -> NDArray[np.int64]:
    """The places of rows in the order of their keys.

    As many columns as fit are packed into one number, so that files in order, one after the other,
    are merged; only where that does not tell rows apart all columns are looked at.
    """
    (numbers,), used = packed([(values,) for values in keys])
    order = _places(numbers)
    if used < len(keys) and _first_not_rising([numbers[order], *(k[order] for k in keys[used:])]):
        return np.lexsort(keys[::-1])
    return order


def packed(
    keys: Sequence[tuple[NDArray[Any], ...]],
) -> tuple[list[NDArray[np.int64]], int]:
    """Key columns of some tables, each row's as one number, and how many columns fit in it."""
    numbers = [np.zeros(len(values), np.int64) for values in keys[0]]
    bits, used = 0, 0
    for column in keys:
        least = min(int(values.min()) for values in column)
        width = (max(int(values.max()) for values in column) - least).bit_length()
        if bits + width > _PACKED_BITS:
            break
        bits, used = bits + width, used + 1
        numbers = [
            (before << width) + (values.astype(np.int64) - least)
            for before, values in zip(numbers, column, strict=True)
        ]
    return numbers, used


def _places(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of numbers in rising order; many in few runs are merged, compiled."""
    falls = np.flatnonzero(numbers[1:] < numbers[:-1]) + 1
    if len(numbers) < _MANY or len(falls) > _FEW_RUNS:
        return np.argsort(numbers, kind="stable")
    from usance.base.merge_kernel import merged_places

    return merged_places(numbers, [0, *falls.tolist(), len(numbers)])


def arrays(data: pa.Table) -> dict[str, NDArray[Any]]:
    """Each column as a NumPy array: days as int32, moments as int64, no copy if in one piece.

    >>> days = make(
    ...     "dues",
    ...     due_on=[19904],
    ...     cell=[1],
    ...     due_minor=[5],
    ...     overdue_minor=[0],
    ...     collected30_minor=[0],
    ...     first_minor=[0],
    ...     first_unpaid7_minor=[0],
    ...     first_unpaid30_minor=[0],
    ... )
    >>> arrays(days)["due_on"]
    array([19904], dtype=int32)
    """
    return {name: as_numpy(data.column(name)) for name in data.column_names}


def as_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    """One column as a NumPy array."""
    joined = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_date32(joined.type):
        joined = joined.view(pa.int32())
    elif pa.types.is_timestamp(joined.type):
        joined = joined.view(pa.int64())
    plain: NDArray[Any] = joined.to_numpy(zero_copy_only=False)
    return plain


def _length(name: str, values: Any, spec: Table) -> int:
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        return len(values)
    except TypeError:
        fix = "Give a list or an array, one value a row"
        raise SchemaError(f"{name} is the one value {values!r}", where=spec.name, fix=fix) from None


def _array(column: Column, values: Any, where: str) -> Any:
    """Values as the column's Arrow type; refuses floats where integers belong, and overflow."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if column.type == "inputs":
        matrix = np.ascontiguousarray(values, np.float64)
        return pa.FixedSizeListArray.from_arrays(matrix.ravel(), matrix.shape[1])
    wanted = ARROW[column.type]
    plain = _PLAIN.get(column.type, wanted)
    try:
        given = pa.array(values) if len(values) else pa.array([], plain)
        if given.type == wanted or pa.types.is_null(given.type):
            return given.cast(wanted)
        if pa.types.is_integer(given.type) and column.type in (*INTEGERS, *_PLAIN):
            return given.cast(plain).view(wanted)
        # A moment is no day (Arrow would cut it), and a moment without a zone is no moment.
        zoned = pa.types.is_timestamp(given.type) and given.type.tz is not None
        if (column.type == "moment" and zoned) or (
            column.type == "day" and pa.types.is_date(given.type)
        ):
            return given.cast(wanted)
    except (pa.ArrowException, OverflowError) as error:
        fix = f"Give values that fit {column.type}"
        raise SchemaError(f"{column.name}: {error}", where=where, fix=fix) from None
    raise SchemaError(
        f"{column.name} is {given.type}", where=where, fix=f"Give {wanted} ({column.doc})"
    )


def _type_findings(column: Column, values: Any, where: str) -> list[TableError]:
    if column.type == "inputs":
        fits = pa.types.is_fixed_size_list(values.type) and values.type.value_type == pa.float64()
        wanted = "fixed_size_list<double>"
    else:
        fits = values.type == ARROW[column.type]
        wanted = str(ARROW[column.type])
    if not fits:
        fix = f"Store it as {wanted}"
        return [SchemaError(f"{column.name} is {values.type}", where=where, fix=fix)]
    if values.null_count and not (column.optional and column.default is None):
        fix = "Fill it; 0 or -1 stand for nothing where the column says so"
        return [SchemaError(f"{column.name} has {values.null_count} nulls", where=where, fix=fix)]
    return _code_findings(column, values, where) if column.codes else []


def _in_one_span(values: Any, known: Iterable[int]) -> bool:
    """True if the codes have no gaps and all values lie between the first and the last."""
    ends, numbers = pc.min_max(values).as_py(), sorted(known)
    if ends["min"] is None or numbers[-1] - numbers[0] + 1 != len(numbers):
        return False
    return bool(numbers[0] <= ends["min"] and ends["max"] <= numbers[-1])


def _code_findings(column: Column, values: Any, where: str) -> list[TableError]:
    known = code_lists()[column.codes]
    if _in_one_span(values, known.values()):
        return []
    strange = set(values.unique().to_pylist()) - {None, *known.values()}
    if not strange:
        return []
    what = f"{column.name} has {min(strange)}, which is no {column.codes.replace('_', ' ')}"
    numbers = ", ".join(f"{number} {label}" for label, number in known.items())
    return [SchemaError(what, where=where, fix=f"Give one of {numbers}")]
