"""One applicant's cells as the numbers a model reads, exactly as the same cells in a file.

>>> from usance.assess.columns import Column
>>> age = Column("age", "number", specials=(("-1", -1.0),))
>>> encode_row((age,), {"age": 41})[0].tolist(), encode_row((age,), {"age": " "})[0].tolist()
([[41.0]], [[nan]])

One row goes through a booster by LightGBM's prepared call: no array checks, no threads, no wait.
The settings of the call are made once; after that a prediction is a pointer in and a number out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from math import inf, isinf, nan
from threading import Lock
from typing import Any

import numpy as np

from usance.assess.applicant_file import BLANK_CHARACTERS, EMPTY_WORDS, is_number, table_of
from usance.assess.columns import Column, apart_from_codes, texts_of
from usance.assess.errors import DataError, ModelError
from usance.base.arrays import F64
from usance.base.errors import UsanceError, raise_all

_NOTHING = frozenset(EMPTY_WORDS)


def encode_row(
    columns: Sequence[Column], applicant: Mapping[str, Any]
) -> tuple[F64, list[str | None]]:
    """One row of inputs, and the text of each category."""
    row = np.empty((1, len(columns)))
    texts: list[str | None] = []
    wrong: list[UsanceError] = []
    for at, column in enumerate(columns):
        try:
            row[0, at], text = _cell(column, applicant)
            texts.append(text)
        except UsanceError as error:
            wrong.append(error)
    raise_all(wrong, where="applicant")
    return row, texts


def _cell(column: Column, applicant: Mapping[str, Any]) -> tuple[float, str | None]:
    if column.name not in applicant:
        fix = "Give it, or null if it is not known"
        raise DataError(f"'{column.name}' is not given", where="applicant", fix=fix)
    value = applicant[column.name]
    if isinstance(value, str):
        value = value.strip(BLANK_CHARACTERS)
        value = None if value in _NOTHING else value
    if value is None or _is_nan(value):
        return nan, None
    if column.kind == "category":
        text = value if isinstance(value, str) else _text(column, value)
        return float(column.codes.get(text, -1)), text
    return _number(column, value), None


def _is_nan(value: Any) -> bool:
    return value.is_nan() if isinstance(value, Decimal) else bool(value != value)


def _text(column: Column, value: Any) -> str:
    """A value that is no text, as a file would write it: true, 1 and not 1.0, 2024-06-30."""
    array = table_of({column.name: [value]}, "applicant").column(column.name)
    return str(texts_of(array)[0])


def _number(column: Column, value: Any) -> float:
    if isinstance(value, str):
        for label, code in column.specials:
            if value == label and not is_number(label):
                return code
        if not is_number(value):
            raise _wrong(column, f"'{value}' is not a number")
    elif not isinstance(value, int | float | Decimal | np.integer | np.floating | np.bool_):
        raise _wrong(column, f"{type(value).__name__} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if isinf(number):
        raise _wrong(column, "an infinite number")
    return float(apart_from_codes(column, np.array([number]))[0])


def _wrong(column: Column, what: str) -> DataError:
    codes = ", ".join(label for label, _ in column.specials)
    fix = "Give a number, null" + (f" or one of the codes {codes}" if codes else "")
    return DataError(what, where=f"applicant: column '{column.name}'", fix=fix)


_RAW, _CONTRIBUTIONS = 1, 3  # kinds of prediction in LightGBM's C interface
_FLOAT64 = 1


class SingleRow:
    """A prepared call of one booster; use it from any thread."""

    def __init__(self, booster: Any, width: int, *, contributions: bool = False) -> None:
        library = import_module("lightgbm.basic")
        self._library = library._LIB  # noqa: SLF001 -- there is no public door to the C interface
        self._booster = booster  # the call points into it
        self._lock = Lock()
        self._settings = ctypes.c_void_p()
        self._out = np.zeros(width + 1 if contributions else 1)
        self._length = ctypes.c_int64()
        self._check(
            self._library.LGBM_BoosterPredictForMatSingleRowFastInit(
                booster._handle,  # noqa: SLF001 -- the C interface wants the handle
                ctypes.c_int(_CONTRIBUTIONS if contributions else _RAW),
                ctypes.c_int(0),
                ctypes.c_int(-1),
                ctypes.c_int(_FLOAT64),
                ctypes.c_int32(width),
                ctypes.c_char_p(b"num_threads=1"),
                ctypes.byref(self._settings),
            )
        )
        self._to = self._out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def __call__(self, row: F64) -> F64:
        """The booster's log odds of one encoded row."""
        assert row.dtype == np.float64
        assert row.flags.c_contiguous
        with self._lock:
            answer = self._library.LGBM_BoosterPredictForMatSingleRowFast(
                self._settings, ctypes.c_void_p(row.ctypes.data), ctypes.byref(self._length),
                self._to,
            )  # fmt: skip
            self._check(answer)
            return self._out.copy()

    def __del__(self) -> None:
        if self._settings.value is not None:
            self._library.LGBM_FastConfigFree(self._settings)

    def _check(self, answer: int) -> None:
        if answer != 0:
            text = ctypes.cast(self._library.LGBM_GetLastError(), ctypes.c_char_p).value or b""
            fix = "Train the model again"
            raise ModelError(f"LightGBM: {text.decode()}", where="trees.txt", fix=fix)
