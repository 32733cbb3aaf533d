"""Walks every tree for a piece of the applicants and adds the leaves, tree after tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from usance.base.compiled import kernel

BLOCK = 128
"""Rows that walk one tree before the next: their inputs and the tree stay near the processor."""

# Columns of a node. A negative child is a leaf, counted from −1 downwards.
FEATURE, KIND, LEFT, RIGHT, FIRST_WORD, LAST_WORD = range(6)
# What a node asks; a number that is not there goes right, or left.
NUMBER_RIGHT, NUMBER_LEFT, CATEGORY = range(3)


@kernel
def forest_kernel(
    inputs: NDArray[np.float64], roots: NDArray[np.int32], nodes: NDArray[np.int32],
    thresholds: NDArray[np.float64], words: NDArray[np.uint32], leaves: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:  # fmt: skip
    """Add the leaf of every tree to `out`, in the order of the trees."""
    rows = inputs.shape[0]
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        for tree in range(len(roots)):
            for row in range(start, stop):
                node = roots[tree]
                while node >= 0:
                    value, kind = inputs[row, nodes[node, FEATURE]], nodes[node, KIND]
                    if kind == CATEGORY:
                        left = _has(words, nodes[node, FIRST_WORD], nodes[node, LAST_WORD], value)
                    elif np.isnan(value):
                        left = kind == NUMBER_LEFT
                    else:
                        left = value <= thresholds[node]
                    node = nodes[node, LEFT] if left else nodes[node, RIGHT]
                out[row] += leaves[-1 - node]


@kernel(inline=True)
def _has(words: NDArray[np.uint32], first: int, last: int, value: float) -> bool:
    """True if a set of levels, a bit each, has this one; what is no level is in none."""
    if not 0 <= value < 32 * (last - first):
        return False
    level = np.int64(value)
    bit: bool = (np.int64(words[first + (level >> 5)]) >> (level & 31)) & 1 == 1
    return bit
