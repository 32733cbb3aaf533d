"""The fold of `digest` as compiled kernels: a column into the hashes of many rows, in place."""

from __future__ import annotations

import numpy as np

from usance.base.arrays import U64
from usance.base.compiled import kernel
from usance.base.draws import GOLDEN
from usance.base.draws_kernel import mix_kernel

_GOLDEN, _ONE = np.uint64(GOLDEN), np.uint64(1)


@kernel
def fold_column(hashes: U64, values: U64) -> None:
    """Fold a value into the hash of each row."""
    for row in range(len(hashes)):
        hashes[row] = mix_kernel(hashes[row] + _GOLDEN * (values[row] + _ONE))


@kernel
def fold_optional(hashes: U64, values: U64, position: np.uint64, absent: np.uint64) -> None:
    """Fold a column's position and value where the value is not its default."""
    for row in range(len(hashes)):
        if values[row] != absent:
            z = mix_kernel(hashes[row] + _GOLDEN * (position + _ONE))
            hashes[row] = mix_kernel(z + _GOLDEN * (values[row] + _ONE))
