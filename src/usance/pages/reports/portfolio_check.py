"""Portfolio check: one page that says which loans of another system tie, and which do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from usance.migration.portfolio import PortfolioReport
from usance.pages.components import cell, code, number, table, table_row, text_table
from usance.pages.rendering import render

_MAX_ROWS = 2_000  # beyond this a page is no longer read; the command's JSON has them all


def portfolio_check(report: PortfolioReport, *, sources: Sequence[str]) -> str:
    """The whole page."""
    tiles = [
        ("tie to the last minor unit", f"{report.ties:,}"),
        ("would tie with other options", f"{report.would_tie:,}"),
        ("do not tie", f"{len(report.failures):,}"),
    ]
    more = len(report.failures) - _MAX_ROWS
    return render(
        "reports/portfolio_check.html.j2", title="Migration check", report=report, tiles=tiles,
        sources=", ".join(sources), options=_options(report.options),
        findings=_findings(report) if report.findings else "",
        failures=_failures(report) if report.failures else "",
        more=f"{more:,}" if more > 0 else "",
    )  # fmt: skip


def _options(options: Mapping[str, str]) -> Markup:
    return Markup("<br/>").join(code(f"{name}: {value}") for name, value in options.items())


def _findings(report: PortfolioReport) -> Markup:
    rows = [
        table_row([
            cell(_options(found.changes)), number(f"{len(found.loans):,}"),
            cell(", ".join(found.loans[:5])),
        ])
        for found in report.findings
    ]  # fmt: skip
    return table(["change", "loans", "for example"], rows, numbers=[1])


def _failures(report: PortfolioReport) -> Markup:
    rows = [
        [each.loan, str(each.line), str(each.gap.row or ""), each.gap.cell,
         str(each.gap.expected), str(each.gap.found)]
        for each in report.failures[:_MAX_ROWS]
    ]  # fmt: skip
    headings = ["loan", "line", "instalment", "cell", "given", "computed"]
    return text_table(headings, rows, numbers=(1, 2, 4, 5))
