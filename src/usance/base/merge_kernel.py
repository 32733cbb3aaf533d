"""Runs of rising numbers merged two by two, compiled: files in order become one in order."""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64, Bools
from usance.base.compiled import in_threads, kernel


@kernel
def merge_pair(
    start: int, middle: int, stop: int, keys: I64, places: I64, to_keys: I64, to_places: I64
) -> None:
    """Two neighbouring runs into one; of equal keys that of the first run comes first."""
    left, right = start, middle
    for at in range(start, stop):
        if right == stop or (left < middle and keys[left] <= keys[right]):
            to_keys[at], to_places[at] = keys[left], places[left]
            left += 1
        else:
            to_keys[at], to_places[at] = keys[right], places[right]
            right += 1


@kernel
def has_shared(one: I64, other: I64) -> bool:
    """True if two columns of rising numbers have any in common."""
    left = right = 0
    while left < len(one) and right < len(other):
        if one[left] == other[right]:
            return True
        if one[left] < other[right]:
            left += 1
        else:
            right += 1
    return False


@kernel
def mark_shared(one: I64, other: I64, found: Bools) -> None:
    """Mark the numbers of a rising column that are in another one."""
    at, end = 0, len(other)
    for place in range(len(one)):
        while at < end and other[at] < one[place]:
            at += 1
        found[place] = at < end and other[at] == one[place]


def merged_places(keys: I64, bounds: list[int]) -> I64:
    """The places of keys in rising order; `bounds` are where runs begin, and the end."""
    keys, places = keys.copy(), np.arange(len(keys), dtype=np.int64)
    to_keys, to_places = np.empty_like(keys), np.empty_like(places)
    while len(bounds) > 2:
        ends = bounds if len(bounds) % 2 else [*bounds, bounds[-1]]
        pairs = list(zip(ends[:-2:2], ends[1:-1:2], ends[2::2], strict=True))

        def pair(first: int, _last: int, pairs: list[tuple[int, int, int]] = pairs) -> None:
            merge_pair(*pairs[first], keys, places, to_keys, to_places)  # noqa: B023

        in_threads(pair, len(pairs), chunk=1)
        keys, places, to_keys, to_places = to_keys, to_places, keys, places
        bounds = ends[::2]
    return places
