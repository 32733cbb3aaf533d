"""The digest of a table: the same rows give the same digest, whatever files or engine hold them.

A row's hash folds its values in column order as `draws` folds its arguments: z = 0, then for each
value k, z = mix(z + G (k + 1)). Text is the first 8 bytes of its BLAKE2b, read big-endian; a float
is its bits. A column that files may lack is folded, after its position, only where it differs from
its default, so that adding a column changes no digest. The table's digest is the count of rows and
the sum of their hashes modulo 2^64: sums of digests are digests of unions.

>>> from usance.base.columns import make
>>> from usance.base.tables import table
>>> shares = make("shares", loan_id=[16385, 16386], source=[3, 3], principal_minor=[7, 8])
>>> str(digest(shares, table("shares")))
'2:c9f7efe7e17feffc'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import U64
from usance.base.columns import as_numpy
from usance.base.draws import GOLDEN, MASK, MULTIPLIERS
from usance.base.schemas import Column, Table

Fold = Callable[[U64, U64], None]
FoldOptional = Callable[[U64, U64, np.uint64, np.uint64], None]

# Rows hashed at a time: small enough to stay in the processor's cache.
_PIECE = 1 << 15

_GOLDEN = np.uint64(GOLDEN)
_ONE = np.uint64(1)
_STEPS = ((np.uint64(30), np.uint64(MULTIPLIERS[0])), (np.uint64(27), np.uint64(MULTIPLIERS[1])))
_LAST = np.uint64(31)


@dataclass(frozen=True, slots=True)
class Digest:
    """Count of rows and sum of their hashes."""

    rows: int = 0
    total: int = 0

    def __add__(self, other: Digest) -> Digest:
        return Digest(self.rows + other.rows, (self.total + other.total) & MASK)

    def __str__(self) -> str:
        """Rows and sixteen hex digits."""
        return f"{self.rows}:{self.total:016x}"

    @classmethod
    def parse(cls, text: str) -> Digest:
        """The digest `str` printed."""
        rows, _, total = text.partition(":")
        return cls(int(rows), int(total, 16))


def digest(data: pa.Table, spec: Table) -> Digest:
    """The digest of a whole declared table."""
    total = 0
    fold, fold_optional = _folds(data.num_rows)
    for start in range(0, data.num_rows, _PIECE):
        hashes = row_hashes(data.slice(start, _PIECE), spec, fold, fold_optional)
        total += int(np.add.reduce(hashes))
    return Digest(data.num_rows, total & MASK)


def _folds(rows: int) -> tuple[Fold, FoldOptional]:
    """Functions that fold a column in: compiled where rows are many, since compiling takes time."""
    if rows <= _PIECE:
        return _fold_into, _fold_optional
    from usance.base.digest_kernel import fold_column, fold_optional

    return fold_column, fold_optional


def row_hashes(data: pa.Table, spec: Table, fold: Fold, fold_optional: FoldOptional) -> U64:
    """The hash of each row."""
    z = np.zeros(data.num_rows, np.uint64)
    for position, column in enumerate(spec.columns):
        values = data.column(column.name)
        if column.type == "inputs":
            flat = _bits_of(values.combine_chunks().flatten().to_numpy())
            for each in flat.reshape(data.num_rows, -1).T:
                fold(z, np.ascontiguousarray(each))
        elif column.optional:
            absent = np.uint64((column.default or 0) & MASK)
            fold_optional(z, _bits(column, values), np.uint64(position), absent)
        else:
            fold(z, _bits(column, values))
    return z


def _fold_into(hashes: U64, values: U64) -> None:
    hashes[:] = _fold(hashes, values)


def _fold_optional(hashes: U64, values: U64, position: np.uint64, absent: np.uint64) -> None:
    there = values != absent
    folded = _fold(_fold(hashes, np.full_like(hashes, position)), values)
    hashes[:] = np.where(there, folded, hashes)


def _fold(z: U64, k: U64) -> U64:
    z = z + _GOLDEN * (k + _ONE)
    for shift, multiplier in _STEPS:
        z = (z ^ (z >> shift)) * multiplier
    return z ^ (z >> _LAST)


def _bits(column: Column, values: pa.ChunkedArray) -> U64:
    if column.type == "text":
        return _text_bits(values)
    return _bits_of(as_numpy(values))


def _bits_of(plain: NDArray[Any]) -> U64:
    # Integers are widened with their sign, so that a column's width does not matter. All are
    # copied, so that kernels see memory of one kind.
    kind = np.float64 if plain.dtype == np.float64 else np.int64
    return plain.astype(kind).view(np.uint64)


def _text_bits(values: pa.ChunkedArray) -> U64:
    coded = values.combine_chunks().dictionary_encode()
    words = [
        int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
        for word in coded.dictionary.to_pylist()
    ]
    # A missing text is 0; the dictionary gets that as its last word.
    index = coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    chosen: U64 = np.array([*words, 0], np.uint64)[index]
    return chosen
