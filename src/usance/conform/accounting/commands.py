"""`usance conform accounting`: worked examples of the standards through the books' own functions.

The group `usance conform` begins in `usance.conform.commands`; the command line joins both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import print_json, print_line, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def conform(ctx: typer.Context) -> None:
    """Check results against cases with known answers."""
    show_help(ctx)


@app.command()
def accounting(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON file of examples.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print every result as JSON.")] = False,
) -> None:
    """Check accounting against worked examples of the standards. Ends with 1 if any fails."""
    from usance.conform.accounting.run import run

    report = run(file)
    if as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            print_line(line)
    if report.failures:
        raise typer.Exit(1)
