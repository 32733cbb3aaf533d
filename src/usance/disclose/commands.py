"""`usance disclose`: check published figures and rebuild them from primary facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import print_json, print_line, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Fact tables, CSV.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A fact table, CSV.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ProfileFile = Annotated[
    Path | None,
    typer.Option("--profile", metavar="FILE", help="A rounding profile; else the house's own."),
]


@app.callback()
def disclose(ctx: typer.Context) -> None:
    """Check published figures and rebuild them."""
    show_help(ctx)


@app.command()
def check(files: Files, profile: ProfileFile = None, as_json: AsJson = False) -> None:
    """Tie out one or several documents together: every derivable figure, by kind."""
    from usance.disclose.checker import check as checked
    from usance.disclose.profile import DEFAULT

    report = checked(files, profile=profile or DEFAULT)
    if as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            print_line(line)


@app.command()
def rebuild(file: File, profile: ProfileFile = None, as_json: AsJson = False) -> None:
    """Make every derived figure again from the primary facts, and compare."""
    from usance.disclose.profile import DEFAULT
    from usance.disclose.rebuilder import rebuild as rebuilt

    report = rebuilt(file, profile=profile or DEFAULT)
    if as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            print_line(line)
