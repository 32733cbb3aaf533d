"""The commands of the lake: `usance lake …`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from usance.base.command_line import AsJson, print_answer, print_line, print_table, show_help

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.store.database import Database

T = TypeVar("T")

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

BookFolder = Annotated[Path, typer.Argument(metavar="BOOK", help="The book folder of the lake.")]
Home = Annotated[
    Path, typer.Option("--home", metavar="DIR", envvar="USANCE_HOME", help="The platform's folder.")
]


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
        print_answer({"through": done.mark.transaction, "rows": dict(done.rows)})
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
        print_answer({"differences": [each._asdict() for each in found]})
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
    as_json: AsJson = False,
) -> None:
    """Join the daily files of past months into one a month."""
    from usance.base.dates import parse_month
    from usance.platform.lake.export import compact

    gone = compact(book, parse_month(before))
    if as_json:
        print_answer({"book": str(book), "files_joined": gone})
        return
    print_line(f"{gone} files were joined" if gone else "nothing to join")


def _with_loader(home: Path, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    from usance.platform.store.home import with_database

    async def run(database: Database) -> T:
        async with database.loader() as connection:
            return await work(connection)

    return with_database(home, run)
