"""Input columns as a model knows them, and the encoding of a cell as the number that models read.

A number stays itself; a special code keeps its own number and its own bin; a category becomes the
position of its level; nothing becomes NaN; a level that training never saw becomes −1.

>>> import pyarrow as pa
>>> job = learn_column("job", pa.array(["clerk", "smith", "clerk", None]), least=1)
>>> job.kind, job.levels, encode(job, pa.array(["smith", "nurse", None])).tolist()
('category', ('clerk', 'smith'), [1.0, -1.0, nan])
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from usance.assess.applicant_file import BLANK_CHARACTERS, EMPTY_WORDS, numbers_and_texts
from usance.assess.errors import DataError
from usance.base.arrays import F64
from usance.base.errors import UsanceError

Kind = Literal["number", "category", "date"]

# Codes that files use for "not applicable", "unknown" and the like when no real value is negative,
# and the nines at the top of a counter whose real values end well below.
_BELOW = frozenset([*range(-9, 0), -99, -999, -9999, -99999])
_ABOVE = frozenset([*range(96, 100), *range(996, 1000), *range(9996, 10000), 99999, 999999])
_MAX_CODES = 4
_TEXT_CODE = -1e12  # far below any amount; the k-th text code is this minus k
_FEWEST_NUMBERS = 10
_DATE = re.compile(r"\d{4}[-/]\d{1,2}([-/]\d{1,2}([T ].*)?)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One input of a model, as training saw it."""

    name: str
    kind: Kind
    specials: tuple[tuple[str, float], ...] = ()
    levels: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    median: float = 0.0
    has_missing: bool = False
    trend: int = 0
    codes: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", {level: at for at, level in enumerate(self.levels)})

    def as_dict(self) -> dict[str, Any]:
        """The column as a model file holds it."""
        numbers_and_texts = asdict(self)
        del numbers_and_texts["codes"]
        return numbers_and_texts

    @classmethod
    def from_dict(cls, read: Mapping[str, Any]) -> Column:
        """The column of a model file."""
        lists = {"levels": tuple(read["levels"]), "rare": tuple(read["rare"])}
        specials = tuple((str(label), float(code)) for label, code in read["specials"])
        return cls(**{**read, **lists, "specials": specials})


def learn_column(name: str, array: Any, *, least: int, file: str = "") -> Column:
    """The input column learned from a training column; levels below `least` rows are rare."""
    numbers, texts = numbers_and_texts(array)
    seen = [text for text in texts.unique().to_pylist() if text is not None]
    values = np.unique(numbers[~np.isnan(numbers)])
    missing = bool(np.any(np.isnan(numbers) & np.asarray(texts.is_null())))
    if seen and all(_DATE.fullmatch(text) for text in seen):
        return Column(name, "date")
    if len(seen) > _MAX_CODES or (seen and len(values) < _FEWEST_NUMBERS):
        levels, rare = _levels(array, least)
        return Column(name, "category", levels=levels, rare=rare, has_missing=missing)
    if endless := [text for text in seen if _INFINITE.fullmatch(text)]:
        rows = np.flatnonzero(np.isin(np.array(texts.to_pylist(), object), endless))
        raise infinite_number_error(name, int(rows[0]) + 1, len(rows), file)
    codes = _special_numbers(values)
    specials = [(f"{code:g}", code) for code in codes]
    specials += [(text, _TEXT_CODE - at) for at, text in enumerate(sorted(seen))]
    plain = numbers[~np.isnan(numbers) & ~np.isin(numbers, codes)]
    if not len(plain):
        return Column(name, "number", tuple(specials), has_missing=missing)
    low, high, median = float(plain.min()), float(plain.max()), float(np.median(plain))
    return Column(
        name, "number", tuple(specials), low=low, high=high, median=median, has_missing=missing
    )


def with_trend(column: Column, trend: int) -> Column:
    """The same column with a declared direction of risk: 1 rises with it, −1 falls, 0 either."""
    return replace(column, trend=trend)


def _levels(array: Any, least: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    counted = {
        pair["values"]: pair["counts"] for pair in texts_of(array).value_counts().to_pylist()
    }
    counted.pop(None, None)
    levels = sorted(level for level, count in counted.items() if count >= least)
    return tuple(levels), tuple(sorted(set(counted) - set(levels)))


def _special_numbers(values: F64) -> list[float]:
    below, above = values[values < 0], values[np.isin(values, list(_ABOVE))]
    plain = values[(values >= 0) & ~np.isin(values, above)]
    codes: list[float] = []
    if 0 < len(below) <= _MAX_CODES and len(plain) and set(below.tolist()) <= _BELOW:
        codes += below.tolist()
    if 0 < len(above) <= _MAX_CODES and len(plain) and plain.max() <= above.min() / 2:
        codes += above.tolist()
    return codes


def texts_of(array: Any) -> Any:
    """Every cell as text, nothing as null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim(array.cast(pa.string()), characters=BLANK_CHARACTERS)
    return pc.if_else(pc.is_in(text, pa.array(EMPTY_WORDS)), pa.scalar(None, pa.string()), text)


def encode(column: Column, array: Any, *, file: str = "") -> F64:
    """A column of cells as the numbers models read; every cell that cannot be is in the error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.kind == "category":
        place = pc.index_in(texts_of(array), pa.array(column.levels, pa.string()))
        codes = np.asarray(place.fill_null(-1).to_numpy(zero_copy_only=False), np.float64)
        codes[np.asarray(texts_of(array).is_null())] = np.nan
        return codes
    numbers, texts = numbers_and_texts(array)
    numbers = apart_from_codes(column, numbers)
    if texts.null_count < len(texts):
        place = pc.index_in(texts, pa.array([label for label, _ in column.specials], pa.string()))
        known, given = np.asarray(place.is_valid()), np.asarray(texts.is_valid())
        if wrong := np.flatnonzero(given & ~known).tolist():
            raise _not_numbers(column, [(at + 1, texts[at].as_py()) for at in wrong], file)
        codes = np.array([code for _, code in column.specials])
        numbers = np.where(known, codes[np.asarray(place.fill_null(0))], numbers)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise infinite_number_error(column.name, int(infinite[0]) + 1, len(infinite), file)
    return numbers


def apart_from_codes(column: Column, numbers: F64) -> F64:
    """The same numbers; one that happens to be the number of a text code moves by the least step.

    >>> income = Column("income", "number", specials=(("Missing", -1e12),))
    >>> apart_from_codes(income, np.array([-1e12, 5.0])).tolist()
    [-999999999999.9999, 5.0]
    """
    taken = [code for _, code in column.specials if code <= _TEXT_CODE]
    if not taken or not (numbers <= _TEXT_CODE).any():
        return numbers
    return np.where(np.isin(numbers, taken), np.nextafter(numbers, 0.0), numbers)


def _not_numbers(column: Column, wrong: list[tuple[int, str]], file: str) -> DataError:
    row, text = wrong[0]
    if _INFINITE.fullmatch(text):
        return infinite_number_error(column.name, row, len(wrong), file)
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    codes = ", ".join(label for label, _ in column.specials)
    fix = "Give a number" + (f" or one of the codes {codes}" if codes else "")
    where = f"{_place(file, row)}, column '{column.name}'"
    return DataError(f"'{text}' is not a number{more}", where=where, fix=fix)


def _place(file: str, row: int) -> str:
    """The line of a file, or the row of what is no file."""
    from usance.base.csv_lines import row_place

    return row_place(file, row) if file else f"row {row}"


def infinite_number_error(name: str, row: int, count: int, file: str) -> DataError:
    """The error for an infinite number."""
    more = f", and {count - 1} more" if count > 1 else ""
    where = f"{_place(file, row)}, column '{name}'"
    return DataError(f"an infinite number{more}", where=where, fix="Give a number or nothing")


def matrix(columns: tuple[Column, ...], table: Any) -> F64:
    """All inputs of a table, a row each; all problems of all columns in one error."""
    from usance.base.errors import raise_all

    encoded: list[F64] = []
    wrong: list[UsanceError] = []
    for column in columns:
        try:
            encoded.append(encode(column, table.column(column.name), file=table.file))
        except UsanceError as error:
            wrong.append(error)
    raise_all(wrong, where=table.file)
    shape = (table.rows, len(columns))
    return np.column_stack(encoded) if encoded else np.empty(shape, np.float64)


def unseen_warnings(column: Column, value: float, text: str | None = None) -> Iterator[str]:
    """The warning, in plain words, about one encoded cell that training never saw."""
    if np.isnan(value):
        if not column.has_missing:
            yield f"{column.name} is missing, which training never saw"
    elif column.kind == "category":
        if value < 0 and text not in column.rare:
            yield f"{column.name} is '{text}', which training never saw"
    elif not column.low <= value <= column.high and all(
        value != code for _, code in column.specials
    ):
        yield f"{column.name} is {value:g}, outside {column.low:g} to {column.high:g} of training"


def batch_unseen_warnings(columns: tuple[Column, ...], table: Any, inputs: F64) -> list[str]:
    """Warnings, in plain words, about values of a table that training never saw, by column."""
    found: list[str] = []
    for column, values in zip(columns, inputs.T, strict=True):
        gone, new = int(np.isnan(values).sum()), _new_cells(column, table, values)
        if gone and not column.has_missing:
            found.append(f"column '{column.name}' is missing in {gone} rows, never in training")
        if new and column.kind == "category":
            found.append(f"column '{column.name}' has levels that training never saw in {new} rows")
        elif new:
            found.append(f"column '{column.name}' is outside what training saw in {new} rows")
    return found


def _new_cells(column: Column, table: Any, values: F64) -> int:
    """The number of cells with a level, or a number, that training never saw."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.kind == "category":
        known = pa.array([*column.levels, *column.rare], pa.string())
        texts = texts_of(table.column(column.name)).drop_null()
        return len(texts) - int(pc.sum(pc.is_in(texts, known)).as_py() or 0)
    codes = [code for _, code in column.specials]
    outside = (values < column.low) | (values > column.high)
    return int((outside & ~np.isin(values, codes)).sum())
