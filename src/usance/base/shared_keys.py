"""Keys that two files of a table share, found without reading more of them than may be shared.

Files of a month hold all loans, so the ranges of their whole keys overlap. The least and largest
value of each key column stand in a file's footer by row group: only groups that meet in every
column, such as those with back-dated facts, are read, and of these the first column comes first:
months of loans, decisions and routing have no id in common.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.columns import as_numpy, packed, shown_key, sort
from usance.base.manifest import FileEntry
from usance.base.parquet import opened
from usance.base.schemas import Table

_MANY = 1 << 15
Ranges = list[tuple[Any, Any] | None]
"""Least and largest value by key column, or None where the footer does not say."""


def may_share(one: FileEntry, other: FileEntry) -> bool:
    """Whether the ranges of two files' keys, as the manifest has them, overlap."""
    there = one.rows and other.rows
    return bool(there) and one.first <= other.last and other.first <= one.last


def shared_key(one: Path, other: Path, spec: Table) -> str:
    """The first key that both files hold, as people read it; empty if there is none."""
    with opened(one) as left, opened(other) as right:
        ranges = _ranges(left, spec), _ranges(right, spec)
        mine = [n for n, here in enumerate(ranges[0]) if any(_meet(here, r) for r in ranges[1])]
        theirs = [n for n, here in enumerate(ranges[1]) if any(_meet(here, r) for r in ranges[0])]
        if not mine:
            return ""
        key = list(spec.key)
        is_plain = all(spec.column(name).type != "text" for name in key)
        if is_plain and not _meet_first(left, mine, right, theirs, key[0]):
            return ""
        here = left.read_row_groups(mine, columns=key)
        there = right.read_row_groups(theirs, columns=key)
    if is_plain:
        here, there = _near(here, there, spec)
    both = here.join(there, key, join_type="inner")
    return shown_key(sort(both, spec), spec, 0) if both.num_rows else ""


def _meet_first(one: Any, mine: list[int], other: Any, theirs: list[int], name: str) -> bool:
    """Whether any value of the first key column is in both files, which alone may say no."""
    here, there = (
        as_numpy(file.read_row_groups(groups, columns=[name]).column(name))
        for file, groups in ((one, mine), (other, theirs))
    )
    few, many = sorted((here, there), key=len)
    if len(few) < _MANY or few.dtype != np.int64:
        return bool(_among(few, many).any())
    from usance.base.merge_kernel import has_shared

    return has_shared(few, many)


def _near(one: pa.Table, other: pa.Table, spec: Table) -> tuple[pa.Table, pa.Table]:
    """Of two tables of sorted keys the rows that may be in both: few, where a join reads all."""
    for name in spec.key:
        a, b = as_numpy(one.column(name)), as_numpy(other.column(name))
        if not len(a) or not len(b):
            break
        least, most = max(a.min(), b.min()), min(a.max(), b.max())
        one, other = _between(one, a, least, most), _between(other, b, least, most)
    few, many = sorted((one, other), key=len)
    if not len(few):
        return few, few
    (leading, wanted), _ = packed(
        [(as_numpy(many.column(name)), as_numpy(few.column(name))) for name in spec.key]
    )
    asked = few.filter(pa.array(_among(wanted, leading)))
    return asked, many.filter(pa.array(_among(leading, wanted))) if len(asked) else asked


def _among(numbers: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rising numbers are also among other rising ones."""
    places = np.searchsorted(others, numbers).clip(0, len(others) - 1)
    return np.asarray(others[places] == numbers)


def _between(keys: pa.Table, values: NDArray[Any], least: Any, most: Any) -> pa.Table:
    inside = (values >= least) & (values <= most)
    return keys if inside.all() else keys.filter(pa.array(inside))


def _ranges(file: Any, spec: Table) -> list[Ranges]:
    """The ranges of every row group."""
    groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
    return [
        [
            _range(group.column(place))
            for place in range(group.num_columns)
            if group.column(place).path_in_schema in spec.key
        ]
        for group in groups
    ]


def _range(column: Any) -> tuple[Any, Any] | None:
    known = column.statistics
    # Raw values: Python has no date beyond the year 9999, and bytes sort as the text does.
    return (known.min_raw, known.max_raw) if known is not None and known.has_min_max else None


def _meet(one: Ranges, other: Ranges) -> bool:
    return all(
        a is None or b is None or (a[0] <= b[1] and b[0] <= a[1])
        for a, b in zip(one, other, strict=True)
    )
