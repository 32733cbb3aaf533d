"""A model's trees as plain arrays: a column of applicants goes through them in one kernel.

LightGBM's own batch call takes twice the time. Leaves are added in the order of the trees, as it
adds them, so a batch and a single call give the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import ModelError
from usance.base.arrays import F64, I64
from usance.base.compiled import in_threads, kernel

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


PIECE = 1 << 11  # rows that one thread scores at a time
# Bits of LightGBM's `decision_type`, and the two ways it may treat a number that is not there.
_IS_CATEGORY, _GOES_LEFT, _AS_ZERO, _AS_MISSING = 1, 2, 0, 2
_TREE = re.compile(r"^Tree=\d+\n(.*?)\n\n", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"^(\w+)=(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Forest:
    """All nodes, sets of levels and leaves, tree after tree."""

    roots: NDArray[np.int32]
    nodes: NDArray[np.int32]
    thresholds: F64
    words: NDArray[np.uint32]
    leaves: F64

    @classmethod
    def read(cls, text: str) -> Forest:
        """The trees of a model as LightGBM writes them."""
        trees = [dict(_PAIR.findall(tree)) for tree in _TREE.findall(text)]
        leaves = _counts(trees, "leaf_value")
        first_node, first_leaf = _starts(leaves - 1), _starts(leaves)
        return cls(
            np.where(leaves > 1, first_node, -1 - first_leaf).astype(np.int32),
            _nodes(trees, np.repeat(np.arange(len(trees)), leaves - 1), first_node, first_leaf),
            _numbers(trees, "threshold"),
            _numbers(trees, "cat_threshold").astype(np.uint32),
            _numbers(trees, "leaf_value"),
        )

    def sums(self, inputs: F64) -> F64:
        """The sum of leaves of each row."""
        total = np.zeros(len(inputs))

        def piece(start: int, stop: int) -> None:
            forest_kernel(
                inputs[start:stop], self.roots, self.nodes, self.thresholds, self.words,
                self.leaves, total[start:stop],
            )  # fmt: skip

        in_threads(piece, len(inputs), chunk=PIECE)
        return total


def _numbers(trees: Sequence[Mapping[str, str]], name: str) -> F64:
    return np.array(" ".join(tree.get(name, "") for tree in trees).split(), np.float64)


def _counts(trees: Sequence[Mapping[str, str]], name: str) -> I64:
    return np.array([len(tree.get(name, "").split()) for tree in trees], np.int64)


def _starts(counts: I64) -> I64:
    return np.cumsum(counts) - counts


def _nodes(
    trees: Sequence[Mapping[str, str]], tree: I64, first_node: I64, first_leaf: I64
) -> NDArray[np.int32]:
    """Every node in the kernel's columns; `tree` is the tree it belongs to."""
    feature, decision, left, right = (
        _numbers(trees, name).astype(np.int64)
        for name in ("split_feature", "decision_type", "left_child", "right_child")
    )
    thresholds, treats = _numbers(trees, "threshold"), decision >> 2
    if not np.isin(treats, (_AS_ZERO, _AS_MISSING)).all():
        fix = "Train the model again"
        raise ModelError("zeros stand for missing numbers", where="trees.txt", fix=fix)
    goes_left = np.where(treats == _AS_MISSING, (decision & _GOES_LEFT) > 0, thresholds >= 0)
    is_category = (decision & _IS_CATEGORY) > 0
    kind = np.where(goes_left, NUMBER_LEFT, NUMBER_RIGHT)
    children = [
        np.where(child >= 0, child + first_node[tree], child - first_leaf[tree])
        for child in (left, right)
    ]
    # The threshold of a category counts the tree's sets of levels; each set is a run of words.
    own, ends = tree[is_category], _numbers(trees, "cat_boundaries")
    at = thresholds[is_category].astype(np.int64) + _starts(_counts(trees, "cat_boundaries"))[own]
    words = np.zeros((2, len(tree)), np.int64)
    for row, end in enumerate((at, at + 1)):
        words[row, is_category] = ends[end] + _starts(_counts(trees, "cat_threshold"))[own]
    kind[is_category] = CATEGORY
    return np.column_stack([feature, kind, *children, *words]).astype(np.int32)
