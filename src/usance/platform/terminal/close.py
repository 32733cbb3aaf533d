"""`usance close`: a period of a book, or of a live lender with everything that belongs to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.command_line import AsJson, Session, print_answer, print_line, print_table
from usance.base.errors import InputError
from usance.books.commands import close_book

if TYPE_CHECKING:
    from usance.platform.closing.month_end import MonthEnd
    from usance.platform.live import Platform

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def close(
    ctx: typer.Context,
    period: Annotated[
        str, typer.Argument(metavar="PERIOD", help="2024-06, 2024Q2, 2024H1 or 2024.")
    ],
    book: Annotated[
        Path | None, typer.Option("--book", metavar="DIR", help="The book's folder, or this one.")
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option("--home", metavar="DIR", help="A live lender: day, export, close, release."),
    ] = None,
    policies: Annotated[
        Path | None,
        typer.Option("--policies", metavar="DIR", help="Policies; else those used last."),
    ] = None,
    known_at: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="Leave out what was booked after this."),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Read fully settled loans again.")] = False,
    close_only: Annotated[
        bool, typer.Option("--close-only", help="With --home: no metrics and no release.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Close a period: every step is executed, timed and shown; a failed control stops it."""
    if home is None:
        close_book(ctx.obj, period, book or Path(), policies, known_at, whole=whole,
                   as_json=as_json)  # fmt: skip
        return
    if book or policies or known_at or whole:
        fix = "Leave --book, --policies, --known-at and --whole out"
        raise InputError("a live lender says all this itself", where="--home", fix=fix)
    _close_live(ctx.obj, period, home, not close_only, as_json)


def _close_live(session: Session, label: str, home: Path, publishes: bool, as_json: bool) -> None:
    from usance.books.periods import parse_close_period
    from usance.platform.closing.month_end import LiveClose, as_answer
    from usance.platform.terminal.homes import on_platform

    period = parse_close_period(label)

    async def work(platform: Platform) -> MonthEnd:
        return await LiveClose(platform, home, period, session.seconds, publishes=publishes).run()

    made = on_platform(home, work)
    if as_json:
        shown = as_answer(made)
        print_answer(shown, shown.pop("notes"))
        return
    print_table(["step", "seconds"], [[name, f"{s:,.2f}"] for name, s in made.seconds.items()])
    print_line()
    print_line(
        f"{made.loans:,} loans, {made.controls} controls hold, {made.journals} journals came back "
        f"into the ledger, {made.metrics} metrics"
    )
    for note in made.notes:
        print_line(f"note: {note}")
    for path in made.files:
        print_line(f"published {path}")
    print_line(f"{label} is closed as {made.close}")
