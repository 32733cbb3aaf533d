"""`usance db`: the schema of a lender's database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from usance.base.command_line import AsJson, print_answer, print_pairs, print_table, show_help
from usance.platform.store.database import Database
from usance.platform.store.home import with_database
from usance.platform.store.migrations import Status, migrate, status
from usance.platform.terminal.up import Home

if TYPE_CHECKING:
    import asyncpg

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def database(ctx: typer.Context) -> None:
    """The schema of a lender's database."""
    show_help(ctx)


@app.command("status")
def show_status(home: Home, as_json: AsJson = False) -> None:
    """Show the migrations that the database has and lacks."""
    found: Status = _as_owner(home, status)
    rows = [(f"{each.number:04d}", each.name, state)
            for each, state in [*((e, "applied") for e in found.applied),
                                *((e, "pending") for e in found.pending)]]  # fmt: skip
    if as_json:
        print_answer([{"number": int(a), "name": b, "state": c} for a, b, c in rows])
    else:
        print_table(["number", "name", "state"], rows)


@app.command("migrate")
def apply_migrations(home: Home, as_json: AsJson = False) -> None:
    """Bring the schema of the database up to date."""
    applied = _as_owner(home, migrate)
    if as_json:
        print_answer([each.number for each in applied])
    else:
        print_pairs([("applied", str(len(applied)))])


def _as_owner(home: Path, work: Callable[[asyncpg.Connection], Awaitable[Any]]) -> Any:
    async def run(database: Database) -> Any:
        import asyncpg

        connection = await asyncpg.connect(**database.server.connection(database=database.name))
        try:
            return await work(connection)
        finally:
            await connection.close()

    return with_database(home, run)
