"""`usance close`: close a month, quarter, half or year of a book, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import AsJson, Session, print_answer, print_line, print_table
from usance.base.progress import tell

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def close(
    ctx: typer.Context,
    period: Annotated[
        str, typer.Argument(metavar="PERIOD", help="2024-06, 2024Q2, 2024H1 or 2024.")
    ],
    book: Annotated[
        Path, typer.Option("--book", metavar="DIR", help="The book's folder.")
    ] = Path(),
    policies: Annotated[
        Path | None,
        typer.Option("--policies", metavar="DIR", help="Policies; else those used last."),
    ] = None,
    known_at: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="Leave out what was booked after this."),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Read fully settled loans again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Close a period: every step is executed, timed and shown; a failed control stops it."""
    from usance.base.book import Book
    from usance.base.dates import parse_moment
    from usance.books.close.checklist import close as closes
    from usance.books.periods import parse_close_period

    session: Session = ctx.obj
    made = closes(
        Book.open(book), parse_close_period(period), policies=policies,
        known_at=None if known_at is None else parse_moment(known_at, where="--known-at"),
        clock=session.seconds, progress=tell, whole=whole,
    )  # fmt: skip
    if as_json:
        shown = made.as_dict()
        print_answer(shown, shown.pop("notes"))
        return
    steps = [[name, f"{seconds:,.2f}"] for name, seconds in made.seconds.items()]
    print_table(["step", "seconds"], steps)
    print_line()
    held = sum(control.holds for control in made.controls)
    print_line(f"{held} of {len(made.controls)} controls hold, {made.loans:,} loans")
    for note in made.notes:
        print_line(f"note: {note}")
    print_line(f"{period} is closed as {made.ref.name}")
