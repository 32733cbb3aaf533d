"""Memory of a process, kept for reuse instead of given back to the system.

Large arrays are given back to the system as soon as they are free, and every page of the next one
is new. On a virtual machine a new page can cost more than all that is computed on it: up to 18 µs,
against 0.02 µs for one that was kept. The wish must come before there are other threads: one that
already has a heap of its own keeps to it, and may hand it on.
"""

from __future__ import annotations

import ctypes
import sys
from threading import Event
from typing import Any

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8
"""The numbers of `mallopt`, from `malloc.h` of the GNU C library."""
_NEVER, _PAD = -1, 1 << 26
_KEPT = Event()


def is_kept() -> bool:
    """True if this process keeps its memory: no library in it should give it back."""
    return _KEPT.is_set()


def keep_memory() -> bool:
    """Ask the C library to keep what is freed, and Arrow to use it; whether that can be done."""
    if not sys.platform.startswith("linux"):
        return False
    ask: Any = getattr(ctypes.CDLL(None), "mallopt", None)
    if ask is None:  # another C library
        return False
    # One heap for all threads, which grows and never shrinks; nothing is mapped by itself.
    wishes = {_ARENA_MAX: 1, _MMAP_MAX: 0, _TRIM_THRESHOLD: _NEVER, _TOP_PAD: _PAD}
    granted = [bool(ask(what, value)) for what, value in wishes.items()]
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())
    if all(granted):
        _KEPT.set()
    return is_kept()
