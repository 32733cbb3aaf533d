"""The random-number function of `draws` as a compiled kernel; both give the same bits."""

from __future__ import annotations

import numpy as np

from usance.base.compiled import kernel
from usance.base.draws import GOLDEN, MULTIPLIERS

# Typed here, because Numba turns int64 met with uint64 into float.
_ONE = np.uint64(1)
_GOLDEN = np.uint64(GOLDEN)
_FIRST = np.uint64(MULTIPLIERS[0])
_SECOND = np.uint64(MULTIPLIERS[1])
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def mix_kernel(z: np.uint64) -> np.uint64:
    """The splitmix64 finaliser on an unsigned integer."""
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@kernel
def draw_kernel(seed: int, stream: int, entity: int, counter: int) -> np.uint64:
    """Sixty-four random bits that depend on these four integers and nothing else."""
    z = mix_kernel(_GOLDEN * (np.uint64(seed) + _ONE))
    z = mix_kernel(z + _GOLDEN * (np.uint64(stream) + _ONE))
    z = mix_kernel(z + _GOLDEN * (np.uint64(entity) + _ONE))
    return mix_kernel(z + _GOLDEN * (np.uint64(counter) + _ONE))


@kernel
def happens_kernel(drawn: np.uint64, limit: int) -> np.bool_:
    """True if an event with that threshold happens at this draw."""
    return (drawn >> _S11) < np.uint64(limit)
