"""Connections to DuckDB databases in memory, without output of their own.

>>> with shared_connection() as engine:
...     engine.sql("SELECT 6 * 7").fetchall()
[(42,)]
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from usance.base.memory import is_kept

_NEVER = "1000000 GB"
_SINGLE_THREADED: dict[str, Any] = {
    "threads": 1,
    "async_threads": 0,
    "allocator_flush_threshold": _NEVER,
    "allocator_bulk_deallocation_flush_threshold": _NEVER,
}
"""A DuckDB without threads of its own: each query runs in the one that asks. An idle thread of
DuckDB trims the heap of the whole process, and holds up all others meanwhile."""
_START_LOCK = threading.Lock()


def connect() -> Any:
    """A fresh connection; slow queries draw no bar on standard output, where answers go."""
    import duckdb

    return _without_progress_bar(duckdb.connect())


@contextmanager
def shared_connection() -> Iterator[Any]:
    """A connection to the process's one database; what is registered in it is its own.

    Whenever a DuckDB begins or ends, when its threads are idle, and after large tasks, it makes the
    C library give back all memory that lies free, also that of others, who then pay for every page
    again. In a process that keeps its memory (`base.memory`) this one begins once, and does not.
    """
    with _START_LOCK:
        engine = _shared_database().cursor()
    with engine:
        yield _without_progress_bar(engine)


@contextmanager
def use_all_cores() -> Iterator[None]:
    """Let the process's one database use all cores inside the block, also where memory is kept.

    The memory it makes the process give back must not be needed again soon.
    """
    with shared_connection() as engine:
        engine.execute("RESET threads")
        try:
            yield
        finally:
            if is_kept():
                engine.execute("SET threads = 1")


def _without_progress_bar(engine: Any) -> Any:
    engine.execute("SET enable_progress_bar = false")
    return engine


@cache
def _shared_database() -> Any:
    import duckdb

    engine = duckdb.connect(config=_SINGLE_THREADED if is_kept() else {})
    atexit.register(_close_shared)
    return engine


def _close_shared() -> None:
    """Close the database before the interpreter ends, or DuckDB complains."""
    _shared_database().close()
    _shared_database.cache_clear()
