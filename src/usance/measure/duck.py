"""A DuckDB of our own, in memory: what it is asked goes to no one else's output."""

from __future__ import annotations

from typing import Any


def connect() -> Any:
    """A fresh connection; slow queries draw no bar on standard output, where answers go."""
    import duckdb

    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false")
    return engine
