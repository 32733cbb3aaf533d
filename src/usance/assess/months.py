"""The month of each row, from a column of dates in any of the usual spellings.

>>> import pyarrow as pa
>>> months_of("issue_d", pa.array(["2018/5/1", "2018-06-30"])).tolist()
[580, 581]
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import DataError

_SPELLINGS = (
    re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.]\d{1,2}(?:[T ].*)?)?"),
    re.compile(r"(\d{4})(\d{2})(?:\d{2})?(?:\.0)?"),
)


def months_of(name: str, array: Any, *, file: str = "") -> NDArray[np.int64]:
    """Months counted from January 1970; a row without one is an error."""
    import pyarrow as pa

    coded = array.cast(pa.string()).dictionary_encode()
    found = [_month(text) for text in coded.dictionary.to_pylist()]
    months = np.array([-1 if month is None else month for month in (*found, None)], np.int64)
    out = months.take(np.asarray(coded.indices.fill_null(len(found)), np.int64))
    wrong = np.flatnonzero(out < 0)
    if len(wrong):
        row = int(wrong[0])
        where = f"{file}: column '{name}', row {row + 1}".removeprefix(": ")
        what = f"'{array[row].as_py()}' is no date, in {len(wrong)} rows"
        raise DataError(what, where=where, fix="Write dates as 2024-06-30 or months as 2024-06")
    return out


def _month(text: str | None) -> int | None:
    for spelling in _SPELLINGS if text else ():
        found = spelling.fullmatch(str(text).strip())
        if found and 1 <= int(found[2]) <= 12:
            month = (int(found[1]) - 1970) * 12 + int(found[2]) - 1
            return month if month >= 0 else None
    return None
