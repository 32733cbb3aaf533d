"""A DuckDB of our own, in memory: what it is asked goes to no one else's output.

A process has one. Whenever a DuckDB begins or ends, and after large tasks, it makes the C library
give back all memory that lies free, also that of others, who then pay for every page again (see
`base.memory`). So one begins, is told not to do so, and lives as long as the process.

>>> with connect() as engine:
...     engine.sql("SELECT 6 * 7").fetchall()
[(42,)]
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any

_KEEPS = ("allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold")
_NEVER = "1000000 GB"
_NUMBERS, _BEGINS = count(1), threading.Lock()


@contextmanager
def connect() -> Iterator[Any]:
    """A connection with tables of its own, which are gone when the block ends."""
    with _BEGINS:
        own, engine = f"own{next(_NUMBERS)}", _process().cursor()
    engine.execute(f"ATTACH ':memory:' AS {own}")
    try:
        engine.execute(f"USE {own}")
        # Slow queries draw no bar on standard output, where answers go.
        engine.execute("SET enable_progress_bar = false")
        yield engine
    finally:
        engine.execute("USE memory")
        engine.execute(f"DETACH {own}")
        engine.close()


@cache
def _process() -> Any:
    import duckdb

    engine = duckdb.connect()
    for name in _KEEPS:
        engine.execute(f"SET {name} = '{_NEVER}'")
    return engine
