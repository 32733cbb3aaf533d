"""The commands of the lake: `usance lake …`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from usance.base.command_line import print_json, print_line, print_table, show_help
from usance.platform.errors import LakeError

if TYPE_CHECKING:
    import asyncpg

T = TypeVar("T")

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

BookFolder = Annotated[Path, typer.Argument(metavar="BOOK", help="The book folder of the lake.")]
Home = Annotated[
    Path, typer.Option("--home", metavar="DIR", envvar="USANCE_HOME", help="The platform's folder.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def lake(ctx: typer.Context) -> None:
    """The live platform's records as a book."""
    show_help(ctx)


@app.command("export")
def export_command(book: BookFolder, home: Home, as_json: AsJson = False) -> None:
    """Append everything that is new in the database; BOOK is made if it is not there."""
    from usance.platform.lake.export import export

    done = _with_loader(home, lambda connection: export(connection, book))
    if as_json:
        print_json({"through": done.mark.transaction, "rows": dict(done.rows)})
    elif not done.rows:
        print_line(f"{book} has everything that the database has")
    else:
        print_table(["table", "rows"], [[name, f"{rows:,}"] for name, rows in done.rows.items()])


@app.command("verify")
def verify_command(book: BookFolder, home: Home, as_json: AsJson = False) -> None:
    """Compare the book with the database, table by table."""
    from usance.platform.lake.verify import verify

    found = _with_loader(home, lambda connection: verify(connection, book))
    if as_json:
        print_json({"differences": [each._asdict() for each in found]})
    elif not found:
        print_line(f"{book} and the database hold the same rows")
    else:
        print_table(["what", "problem"], [[each.what, each.problem] for each in found])
    if found:
        raise typer.Exit(1)


@app.command("compact")
def compact_command(
    book: BookFolder,
    before: Annotated[
        str,
        typer.Option("--before", metavar="MONTH", help="Months before this one, such as 2024-07."),
    ],
) -> None:
    """Join the daily files of past months into one a month."""
    from usance.base.dates import parse_month
    from usance.platform.lake.export import compact

    gone = compact(book, parse_month(before))
    print_line(f"{gone} files were joined" if gone else "nothing to join")


def _with_loader(home: Path, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    """The result of some work on a platform that is set up, running or not."""
    from usance.platform.store.database import Database, server_of
    from usance.platform.store.server import Embedded

    server = server_of(home)
    if isinstance(server, Embedded) and not server.data.exists():
        raise LakeError("no platform was started here", where=str(home), fix="Name its --home")

    async def run() -> T:
        async with Database(server).loader() as connection:
            return await work(connection)

    if isinstance(server, Embedded):
        with server:
            return asyncio.run(run())
    return asyncio.run(run())
