"""`usance conform`: run published cases with known answers through the platform's own functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import print_json, print_line, show_help
from usance.base.errors import InputError, raise_all

if TYPE_CHECKING:
    from usance.conform.report import Report
    from usance.migration.portfolio import PortfolioReport

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

CaseFile = Annotated[Path, typer.Argument(metavar="FILE", help="A JSON file of cases.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print total, passed and failures as JSON.")]


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
    from usance.conform.accounting.run import check_accounting

    _show(check_accounting(file), as_json)


@app.command()
def apr(file: CaseFile, as_json: AsJson = False) -> None:
    """Check annual rates against worked examples of regulators. Ends with 1 if any fails."""
    from usance.conform.apr.run import check_annual_rates

    _show(check_annual_rates(file), as_json)


@app.command()
def deals(file: CaseFile, as_json: AsJson = False) -> None:
    """Check asset-backed deals against worked ones. Ends with 1 if any value differs."""
    from usance.conform.deals import check_deals

    _show(check_deals(file), as_json)


@app.command()
def schedules(
    file: CaseFile,
    as_json: AsJson = False,
    as_stated: Annotated[
        bool, typer.Option("--as-stated", help="Try no setting that a case leaves open.")
    ] = False,
) -> None:
    """Check schedules and lives of loans on other systems.

    Ends with 1 if any differs, with 2 if any case cannot be used.
    """
    from usance.conform.schedules.run import check_schedules

    report = check_schedules(file, as_stated=as_stated)
    _print(report, as_json)
    if report.errors and as_json:
        raise typer.Exit(2)  # the answer lists the problems with their cases
    raise_all(report.errors)
    if report.failures:
        raise typer.Exit(1)


@app.command()
def portfolio(
    terms: Annotated[Path, typer.Argument(metavar="TERMS.csv", help="A row for each loan.")],
    instalments: Annotated[
        Path, typer.Argument(metavar="INSTALMENTS.csv", help="A row for each instalment.")
    ],
    mapping: Annotated[Path, typer.Option("--map", help="How the columns are called.")],
    out: Annotated[Path | None, typer.Option("--out", help="Write an HTML report.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a lender's own loans before they move. Ends with 1 if any does not tie."""
    from usance.migration.portfolio import check_portfolio

    report = check_portfolio(terms, instalments, mapping)
    if out:
        from usance.pages.reports.portfolio_check import portfolio_check

        sources = [terms.name, instalments.name, mapping.name]
        try:
            out.write_text(portfolio_check(report, sources=sources), encoding="utf-8")
        except OSError as error:
            what, fix = f"cannot be written: {error.strerror}", "Name a file that can be"
            raise InputError(what, where=str(out), fix=fix) from None
    _print(report, as_json)
    if report.ties < report.total:
        raise typer.Exit(1)


def _show(report: Report[Any], as_json: bool) -> None:
    _print(report, as_json)
    if report.failures:
        raise typer.Exit(1)


def _print(report: Report[Any] | PortfolioReport, as_json: bool) -> None:
    if as_json:
        print_json(report.as_dict())
        return
    for line in report.lines():
        print_line(line)
