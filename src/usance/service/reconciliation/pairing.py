"""Joins on columns from which matching is made: every row is used once at most.

>>> pair_by_key(np.array([7, 7, 8]), np.array([7, 9, 7, 7]))
(array([0, 1]), array([0, 2]))
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.arrays import I64

Ints = NDArray[np.integer]
_RANK_BITS = 31


def text_codes(*columns: pa.Array) -> list[I64]:
    """Texts of several columns as numbers, the same text the same number; −1 for an empty one."""
    joined = pa.chunked_array(columns).combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        joined = joined.chunk(0) if joined.num_chunks else pa.array([], pa.string())
    encoded = joined.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    empty = pc.index(encoded.dictionary, "").as_py()
    if empty >= 0:
        codes[codes == empty] = -1
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return list(np.split(codes, ends))


def row_codes(left: tuple[Ints, ...], right: tuple[Ints, ...]) -> tuple[I64, I64]:
    """Rows of two tables as numbers, equal rows the same number."""
    joined = [np.concatenate(pair).astype(np.int64) for pair in zip(left, right, strict=True)]
    order = np.lexsort(joined)
    new = np.zeros(len(order), np.bool_)
    for column in joined:
        values = column[order]
        new[1:] |= values[1:] != values[:-1]
    codes = np.empty(len(order), np.int64)
    codes[order] = np.cumsum(new)
    return codes[: len(left[0])], codes[len(left[0]) :]


def pair_by_key(left: I64, right: I64) -> tuple[I64, I64]:
    """Places of rows with equal keys: the first with the first, the second with the second."""
    one, other = _ranked(left), _ranked(right)
    _, at_left, at_right = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    order = np.argsort(at_left)
    return at_left[order].astype(np.int64), at_right[order].astype(np.int64)


def sums_by(key: I64, amount_minor: I64) -> tuple[I64, I64]:
    """Distinct keys in order, and the sum of each."""
    keys, place = np.unique(key, return_inverse=True)
    sums = np.zeros(len(keys), np.int64)
    np.add.at(sums, place, amount_minor)
    return keys, sums


def _ranked(key: I64) -> I64:
    """A number for each row: its key, and how many rows before it have the same."""
    order = np.argsort(key, kind="stable")
    values = key[order]
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    lengths = np.diff(np.concatenate((starts, [len(values)])))
    rank = np.empty(len(key), np.int64)
    rank[order] = np.arange(len(key)) - np.repeat(starts, lengths)
    return (key << _RANK_BITS) | rank
