"""Names of the array types that rooms and kernels hand to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

I8: TypeAlias = NDArray[np.int8]
I16: TypeAlias = NDArray[np.int16]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
U8: TypeAlias = NDArray[np.uint8]
U64: TypeAlias = NDArray[np.uint64]
F64: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

if TYPE_CHECKING:  # to the compiler a Python int and a NumPy integer are one thing

    def i64(value: object) -> int:
        """A value as a signed 64-bit integer."""

    def u64(value: object) -> int:
        """A value as an unsigned one; its division by a constant is a multiplication."""

else:
    i64, u64 = np.int64, np.uint64
