"""Keys that two files of a table share, found without reading more of them than may be shared.

Files of a month hold all loans, so the ranges of their whole keys overlap. The least and largest
value of each key column stand in a file's footer by row group: only groups that meet in every
column, such as those with back-dated facts, are read, and of these one column comes first:
months of loans, decisions and routing have no id in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    """True if the ranges of two files' keys, as the manifest has them, overlap."""
    there = one.rows and other.rows
    return bool(there) and one.first <= other.last and other.first <= one.last


def shared_keys(one: Path, others: Iterable[Path], spec: Table) -> Iterator[str]:
    """With each other file the first key a file shares, as people read it; empty if none."""
    with opened(one) as file:
        mine = _Keys(file, spec)
        for other in others:
            with opened(other) as another:
                yield mine.shared(_Keys(another, spec))


class _Keys:
    """The keys of an open file; what was read of them is kept, to be compared with many files."""

    def __init__(self, file: Any, spec: Table) -> None:
        self.file, self.spec = file, spec
        self.is_plain = all(spec.column(name).type != "text" for name in spec.key)
        self.ranges = _ranges(file, spec)
        self._read: dict[tuple[str, ...], tuple[list[int], pa.Table]] = {}

    def shared(self, other: _Keys) -> str:
        """The first key that both hold."""
        mine, theirs = self._meeting(other), other._meeting(self)
        if not mine or (self.is_plain and not self._has_common(mine, other, theirs)):
            return ""
        here, there = self.columns(mine, self.spec.key), other.columns(theirs, self.spec.key)
        if self.is_plain:
            here, there = _near(here, there, self.spec)
        both = here.join(there, list(self.spec.key), join_type="inner")
        return shown_key(sort(both, self.spec), self.spec, 0) if both.num_rows else ""

    def _meeting(self, other: _Keys) -> list[int]:
        """The row groups that may share a key with another file."""
        return [n for n, own in enumerate(self.ranges) if any(_meet(own, r) for r in other.ranges)]

    def _has_common(self, mine: list[int], other: _Keys, theirs: list[int]) -> bool:
        """True if any value of one key column is in both; no key is shared otherwise.

        It is the first that has more than one value, such as the loan in a month of the tape:
        before it all rows are alike, so it rises.
        """
        ranges = [self.ranges[n] for n in mine] + [other.ranges[n] for n in theirs]
        columns = dict(zip(self.spec.key, zip(*ranges, strict=True), strict=True))
        many_valued = (each for each, spans in columns.items() if not _is_one_value(spans))
        name = next(many_valued, self.spec.key[0])
        here, there = (
            as_numpy(keys.columns(groups, (name,)).column(name))
            for keys, groups in ((self, mine), (other, theirs))
        )
        few, many = sorted((here, there), key=len)
        if len(few) < _MANY or few.dtype != np.int64:
            return bool(_among(few, many).any())
        from usance.base.merge_kernel import has_shared

        return has_shared(few, many)

    def columns(self, groups: list[int], names: tuple[str, ...]) -> pa.Table:
        """Columns of some row groups; the same as the last time are not read again."""
        known = self._read.get(names)
        if known is None or known[0] != groups:
            known = groups, self.file.read_row_groups(groups, columns=list(names))
            self._read[names] = known
        return known[1]


def _is_one_value(spans: Sequence[tuple[Any, Any] | None]) -> bool:
    first = spans[0]
    return first is not None and first[0] == first[1] and all(span == first for span in spans)


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
    """A mark for each rising number that is also among other rising ones."""
    places = np.searchsorted(others, numbers).clip(0, len(others) - 1)
    return np.asarray(others[places] == numbers)


def _between(keys: pa.Table, values: NDArray[Any], least: Any, most: Any) -> pa.Table:
    inside = (values >= least) & (values <= most)
    return keys if inside.all() else keys.filter(pa.array(inside))


def _ranges(file: Any, spec: Table) -> list[Ranges]:
    """The ranges of every row group."""
    head = file.metadata
    places = {head.schema.column(n).name: n for n in range(head.num_columns)}
    return [
        [_range(head.row_group(n).column(places[name])) for name in spec.key]
        for n in range(head.num_row_groups)
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
