"""`usance conform`: run published cases with known answers through the platform's own functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import print_json, print_line, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

CaseFile = Annotated[Path, typer.Argument(metavar="FILE", help="A JSON file of cases.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print total, passed and failures as JSON.")]


@app.callback()
def conform(ctx: typer.Context) -> None:
    """Check results against cases with known answers."""
    show_help(ctx)


@app.command()
def apr(file: CaseFile, as_json: AsJson = False) -> None:
    """Check annual rates against worked examples of regulators. Ends with 1 if any fails."""
    from usance.loan.rates.apr_cases import run

    report = run(file)
    if as_json:
        print_json(report.as_dict())
    else:
        for line in report.lines():
            print_line(line)
    if report.failures:
        raise typer.Exit(1)
