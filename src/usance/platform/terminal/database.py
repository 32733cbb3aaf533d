"""`usance db`: the schema of a lender's database, its backups and their way back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import (
    AsJson,
    Session,
    print_answer,
    print_pairs,
    print_table,
    show_help,
)
from usance.platform.errors import NotInstalled, ServerError
from usance.platform.store.database import URL, Database, server_of
from usance.platform.store.home import with_database
from usance.platform.store.migrations import Status, migrate, status
from usance.platform.store.server import Embedded
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


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of backups.")]


@app.command("backup")
def take_backup(
    ctx: typer.Context,
    folder: Folder,
    home: Home,
    follow: Annotated[
        bool, typer.Option("--follow", help="Receive the log until interrupted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take a base backup, and with --follow receive the log after it."""
    from usance.platform.store.backup import LogReceiver, take_base

    session: Session = ctx.obj
    server = _embedded(home)
    with server, LogReceiver(server, folder, follow=follow) as receiver:
        base = take_base(server, folder, session.now())
        if as_json:
            print_answer({"base": base.folder.name})
        else:
            print_pairs([("base backup", base.folder.name)])
        if follow:
            receiver.wait()


@app.command("verify")
def verify_backups(folder: Folder, as_json: AsJson = False) -> None:
    """Check every base backup file by file, and the log for gaps."""
    from usance.platform.store.backup import verify

    found = [each.folder.name for each in verify(folder)]
    if as_json:
        print_answer({"bases": found})
    else:
        print_pairs([("whole base backups", ", ".join(found))])


@app.command("restore")
def restore_backup(
    folder: Folder,
    home: Home,
    to: Annotated[
        str, typer.Option("--to", metavar="MOMENT", help="Else as far as the log goes.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Restore a lender into an empty home, to a moment; it is paused until released."""
    from usance.base.dates import parse_moment
    from usance.platform.restore import restore_home

    target = parse_moment(to, where="--to") if to else None
    base = restore_home(folder, _embedded(home, is_new=True), target)
    if as_json:
        print_answer({"base": base.folder.name, "paused": True})
    else:
        print_pairs(
            [
                ("restored from", base.folder.name),
                ("state", "paused"),
                ("next", "put master.key beside it, then usance db release"),
            ]
        )


@app.command("release")
def release_home(
    home: Home,
    unasked: Annotated[
        bool, typer.Option("--unasked", help="Also while a provider is silent about its orders.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask about the orders of a restored lender, and let its jobs and deliveries begin."""
    from usance.platform.restore import release
    from usance.platform.terminal.homes import on_platform

    orders = on_platform(home, lambda platform: release(platform, unasked=unasked))
    if as_json:
        print_answer({"orders": orders})
    else:
        print_pairs([("released, with orders that were asked about", str(orders))])


def _embedded(home: Path, *, is_new: bool = False) -> Embedded:
    """The server of a home; another's is backed up where it runs."""
    server = server_of(home)
    if not isinstance(server, Embedded):
        raise ServerError(
            "backs up and restores its own server alone",
            where=URL,
            fix="Use the tools of the server that the address names",
        )
    if not is_new and not server.data.exists():
        raise NotInstalled("has no lender", where=str(home), fix="Run 'usance up' there first")
    return server


def _as_owner(home: Path, work: Callable[[asyncpg.Connection], Awaitable[Any]]) -> Any:
    async def run(database: Database) -> Any:
        connection = await database.owner()
        try:
            return await work(connection)
        finally:
            await connection.close()

    return with_database(home, run)
