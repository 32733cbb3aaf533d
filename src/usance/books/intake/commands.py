"""`usance books import` and `general-ledger`: a book comes from and leaves for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import AsJson, print_answer, print_line
from usance.base.errors import InputError

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def books() -> None:
    """Periods, balances and exports of a book."""


@app.command("import")
def import_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, .csv.gz, Parquet; group facts as YAML.")
    ],
    book: Annotated[Path, typer.Option("--book", metavar="DIR", help="The book's folder.")],
    mapping: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="For a table: its columns.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take a file into a book, made if it is not there; the same file again adds nothing."""
    from usance.base.book import Book, is_empty
    from usance.books.intake.importer import import_first_rows, import_rows
    from usance.books.intake.mapping import read_intake

    is_document = file.suffix in (".yaml", ".yml", ".json")
    if is_document == (mapping is not None):
        fix = "Leave --map out" if is_document else "Give --map FILE with the names of its columns"
        what = "is a document of facts" if is_document else "is a table"
        raise InputError(what, where=str(file), fix=fix)
    given = read_intake(mapping) if mapping else None
    if is_empty(book):
        done = import_first_rows(book, file, given)
    else:
        done = import_rows(Book.open(book), file, given)
    if as_json:
        print_answer({"table": done.table, "added": done.added, "known": done.known})
        return
    rows = "row" if done.added == 1 else "rows"
    print_line(f"{done.added:,} {rows} added to {done.table}, {done.known:,} were there already")


@app.command("general-ledger")
def general_ledger(
    chart: Annotated[Path, typer.Option("--chart", metavar="FILE", help="Accounts as mapped.")],
    book: Annotated[Path, typer.Option("--book", metavar="DIR", help="The book's folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write.")],
    as_json: AsJson = False,
) -> None:
    """Write every posting under the account numbers of another chart."""
    from usance.base.book import Book
    from usance.books.general_ledger import read_chart_map, write_general_ledger

    written = write_general_ledger(Book.open(book), read_chart_map(chart), out)
    if as_json:
        print_answer({"file": str(out), "postings": written})
        return
    print_line(f"{written:,} postings in {out}")
