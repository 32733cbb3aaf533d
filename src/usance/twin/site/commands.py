"""`usance pages`: a book as a static site; of a run it shows the last plan too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import AsJson, print_answer, print_line

if TYPE_CHECKING:
    from usance.base.book import Book
    from usance.pages.site.matching import LastPlanOf

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def pages(
    book_folder: Annotated[Path, typer.Argument(metavar="BOOK", help="A book folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The site's own folder.")],
    loans: Annotated[
        int, typer.Option(metavar="N", min=0, max=10_000, help="Loans shown in full.")
    ] = 20,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the site to this machine until interrupted.")
    ] = False,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65_535, help="For --serve; 0 is any.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Write a book as pages: statements, metrics, matching, down to single loans."""
    from usance.base.book import Book
    from usance.pages.server import site_server
    from usance.pages.site.write import write_site

    book = Book.open(book_folder)
    first = write_site(book, out, loans=loans, last_plan=_last_plan(book))
    answer = {"index": str(first), "pages": sum(1 for _ in out.rglob("*.html"))}
    if not serve:
        _print(answer, as_json)
        return
    with site_server(out, port) as server:
        _print({**answer, "address": f"http://127.0.0.1:{server.server_port}/"}, as_json)
        server.serve_forever()


def _last_plan(book: Book) -> LastPlanOf:
    """The twin's own finder for a run; the twin is loaded for nothing else."""
    from usance.pages.site.book_view import RUN
    from usance.pages.site.matching import no_plan

    if not (book.path / RUN).exists():
        return no_plan
    from usance.twin.site.last_plan import last_plan

    return last_plan


def _print(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_answer(answer)
    else:
        print_line(f"{answer['pages']:,} pages, beginning with {answer['index']}")
        if "address" in answer:
            print_line(f"{answer['address']} until interrupted")
    # Who waits for the address may read from a pipe.
    sys.stdout.flush()
