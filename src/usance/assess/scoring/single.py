"""One row through a booster by LightGBM's prepared call: no array checks, no threads, no wait.

The settings of the call are made once; after that a prediction is a pointer in and a number out.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np

from usance.assess.errors import ModelError
from usance.base.arrays import F64

_RAW, _CONTRIBUTIONS = 1, 3  # kinds of prediction in LightGBM's C interface
_FLOAT64 = 1


class SingleRow:
    """A prepared call of one booster; use it from any thread."""

    def __init__(self, booster: Any, width: int, *, contributions: bool = False) -> None:
        library = import_module("lightgbm.basic")
        self._library = library._LIB  # noqa: SLF001 -- there is no public door to the C interface
        self._booster = booster  # the call points into it
        self._lock = Lock()
        self._settings = ctypes.c_void_p()
        self._out = np.zeros(width + 1 if contributions else 1)
        self._length = ctypes.c_int64()
        self._check(
            self._library.LGBM_BoosterPredictForMatSingleRowFastInit(
                booster._handle,  # noqa: SLF001 -- the C interface wants the handle
                ctypes.c_int(_CONTRIBUTIONS if contributions else _RAW),
                ctypes.c_int(0),
                ctypes.c_int(-1),
                ctypes.c_int(_FLOAT64),
                ctypes.c_int32(width),
                ctypes.c_char_p(b"num_threads=1"),
                ctypes.byref(self._settings),
            )
        )
        self._to = self._out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def __call__(self, row: F64) -> F64:
        """The booster's log odds of one encoded row."""
        assert row.dtype == np.float64
        assert row.flags.c_contiguous
        with self._lock:
            answer = self._library.LGBM_BoosterPredictForMatSingleRowFast(
                self._settings, ctypes.c_void_p(row.ctypes.data), ctypes.byref(self._length),
                self._to,
            )  # fmt: skip
            self._check(answer)
            return self._out.copy()

    def __del__(self) -> None:
        if self._settings.value is not None:
            self._library.LGBM_FastConfigFree(self._settings)

    def _check(self, answer: int) -> None:
        if answer != 0:
            text = ctypes.cast(self._library.LGBM_GetLastError(), ctypes.c_char_p).value or b""
            fix = "Train the model again"
            raise ModelError(f"LightGBM: {text.decode()}", where="trees.txt", fix=fix)
