"""Arrays as bytes and back: a line that names them, then their memory, narrow and compressed.

>>> kept = pack({"a": np.arange(3), "b": np.zeros((2, 2), np.int8)})
>>> {name: values.tolist() for name, values in unpack(kept).items()}
{'a': [0, 1, 2], 'b': [[0, 0], [0, 0]]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.concurrency import parallel_map

_THREADS = 2
_KINDS = (np.int8, np.int16, np.int32, np.int64)
_CODEC = "lz4"  # three times as fast as zstd, and a checkpoint lives two months


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Named arrays as bytes; the same arrays give the same bytes."""
    parts = list(parallel_map(_squeezed, arrays.values(), _THREADS))
    named = [
        [name, values.dtype.str, list(values.shape), kind, size, len(part)]
        for (name, values), (kind, size, part) in zip(arrays.items(), parts, strict=True)
    ]
    return b"".join((json.dumps(named).encode(), b"\n", *(part for *_, part in parts)))


def unpack(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays that `pack` was given."""
    head, _, _ = content.partition(b"\n")
    memory, at, places = memoryview(content), len(head) + 1, []
    named = json.loads(head)
    for *_, squeezed in named:
        places.append(memory[at : at + squeezed])
        at += squeezed
    arrays = parallel_map(lambda each: _array(*each), zip(named, places, strict=True), _THREADS)
    return {name: values for (name, *_), values in zip(named, arrays, strict=True)}


def _squeezed(values: NDArray[Any]) -> tuple[str, int, bytes]:
    """The type an array is kept as, its bytes in that, and what is left of them."""
    kept = np.ascontiguousarray(values, _narrowest(values))
    memory = pa.py_buffer(kept.reshape(-1).view(np.uint8))
    return kept.dtype.str, kept.nbytes, pa.Codec(_CODEC).compress(memory, asbytes=True)


def _narrowest(values: NDArray[Any]) -> Any:
    """The narrowest type that holds all of an array's whole numbers: less to compress."""
    if values.dtype.kind != "i" or not values.size:
        return values.dtype
    least, most = int(values.min()), int(values.max())
    fits = (kind for kind in _KINDS if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max)
    return next(fits)


def _array(named: list[Any], content: memoryview) -> NDArray[Any]:
    _, kind, shape, kept, size, _ = named
    memory = pa.Codec(_CODEC).decompress(pa.py_buffer(content), size)
    found = np.frombuffer(memory, np.dtype(kept)).reshape(shape)
    return found if kept == kind and found.flags.writeable else found.astype(kind)
