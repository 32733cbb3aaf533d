"""Seals: what was appended is chained by hash, so that a later change is found with its place."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncpg

STREAMS = ("facts", "journals", "postings", "audit", "setting_changes")
"""The append-only tables that are sealed."""


class BrokenSeal(NamedTuple):
    """A seal that does not hold: its stream, its number, and the reason."""

    stream: str
    no: int
    problem: str


async def seal(connection: asyncpg.Connection, at: datetime) -> dict[str, int]:
    """Seal what has been added to each stream; the numbers of the new seals."""
    made: dict[str, int] = {}
    for stream in STREAMS:
        no = await connection.fetchval("select usance.seal($1, $2)", stream, at)
        if no is not None:
            made[stream] = no
    return made


async def verify(connection: asyncpg.Connection) -> list[BrokenSeal]:
    """Every seal that does not hold, the first of each stream first."""
    broken: list[BrokenSeal] = []
    for stream in STREAMS:
        await connection.execute("select usance.summarize($1)", stream)
        rows = await connection.fetch("select * from usance.broken_seals($1)", stream)
        broken += [BrokenSeal(stream, row["no"], row["problem"]) for row in rows]
    return broken
