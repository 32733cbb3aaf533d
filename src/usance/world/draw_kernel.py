"""Draws of one stream over many entities: the stream's part of the mixing is done once."""

from __future__ import annotations

from typing import Any

import numpy as np

from usance.base.arrays import I64, U64, i64, u64
from usance.base.compiled import in_threads, kernel
from usance.base.draws import GOLDEN, MASK, mix
from usance.base.draws_kernel import mix_kernel
from usance.world.streams import Stream

_GOLDEN, _ONE = np.uint64(GOLDEN), np.uint64(1)
_S11 = np.uint64(11)
BLOCK = 512
"""Draws made at once, where many are needed: a loop of nothing else is several times as quick."""


def stream_prefix(seed: int, *streams: int) -> U64:
    """The prefix of each stream: the part of a draw that seed and stream decide."""
    first = mix(GOLDEN * (seed + 1) & MASK)
    return np.array([mix((first + GOLDEN * (each + 1)) & MASK) for each in streams], np.uint64)


@kernel(inline=True)
def draw_from(prefix: np.uint64, entity: int, counter: int) -> np.uint64:
    """The draw of an entity and a counter, from the prefix of its stream."""
    z = mix_kernel(prefix + _GOLDEN * (np.uint64(entity) + _ONE))
    return mix_kernel(z + _GOLDEN * (np.uint64(counter) + _ONE))


@kernel(inline=True)
def chance(drawn: np.uint64) -> int:
    """The 53 bits that are compared with a threshold."""
    return i64(drawn >> _S11)


@kernel(inline=True)
def draw_block(
    prefix: np.uint64, entity: I64, first: int, stop: int, counter: int, out: U64
) -> None:
    """The draws of up to `BLOCK` entities, with one counter."""
    for nth in range(min(stop - first, BLOCK)):
        out[u64(nth)] = draw_from(prefix, entity[u64(first + nth)], counter)


@kernel
def fill_draws(start: int, stop: int, prefix: U64, entity: I64, counter: I64, out: U64) -> None:
    """One draw for each entity; one counter for all, or one each."""
    stride = 0 if len(counter) == 1 else 1
    for row in range(start, stop):
        out[row] = draw_from(prefix[0], entity[row], counter[row * stride])


def draws(
    seed: int, stream: Stream, entity: Any, counter: Any = 0, *, workers: int | None = None
) -> U64:
    """A column of draws; `counter` is one number or one each.

    >>> from usance.base.draws import draw
    >>> int(draws(1, Stream.REGION, [3], 4)[0]) == draw(1, 2, 3, 4)
    True
    """
    entities = np.ascontiguousarray(entity, np.int64)
    counters = np.atleast_1d(np.ascontiguousarray(counter, np.int64))
    out = np.empty(len(entities), np.uint64)
    prefix = stream_prefix(seed, stream)
    in_threads(
        lambda start, stop: fill_draws(start, stop, prefix, entities, counters, out),
        len(entities), workers,
    )  # fmt: skip
    return out
