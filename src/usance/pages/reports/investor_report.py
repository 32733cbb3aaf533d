"""Investor report of a payment date as one page, without a network and without a clock."""

from __future__ import annotations

from usance.fund.report_tables import InvestorReport
from usance.pages.components import definitions, text_table
from usance.pages.rendering import render


def investor_report_page(report: InvestorReport) -> str:
    """The whole page."""
    tables = [
        (table.title, text_table(table.headings, table.rows, numbers=table.numbers))
        for table in report.tables
    ]
    return render(
        "reports/investor_report.html.j2", title=report.title, facts=definitions(report.facts),
        tables=tables,
    )  # fmt: skip
