"""`usance twin pages`: a book as a static site, and a server for one's own machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.command_line import print_json, print_line, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def twin(ctx: typer.Context) -> None:
    """The whole platform on columns: a simulated economy from registration to release."""
    show_help(ctx)


@app.command()
def pages(
    book_folder: Annotated[Path, typer.Argument(metavar="BOOK", help="A book folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The site's own folder.")],
    loans: Annotated[
        int, typer.Option(metavar="N", min=0, max=10_000, help="Loans told in full.")
    ] = 20,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the site to this machine until interrupted.")
    ] = False,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65_535, help="For --serve; 0 is any.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a book as pages: statements, metrics, matching, down to single loans."""
    from usance.base.book import Book
    from usance.twin.pages.server import serving
    from usance.twin.pages.site import write_site

    first = write_site(Book.open(book_folder), out, loans=loans)
    answer = {"index": str(first), "pages": sum(1 for _ in out.rglob("*.html"))}
    if not serve:
        _tell(answer, as_json)
        return
    with serving(out, port) as server:
        _tell({**answer, "address": f"http://127.0.0.1:{server.server_port}/"}, as_json)
        server.serve_forever()


def _tell(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        print_line(f"{answer['pages']:,} pages, beginning with {answer['index']}")
        if "address" in answer:
            print_line(f"{answer['address']} until interrupted")
    # Who waits for the address may read from a pipe.
    sys.stdout.flush()
