"""The report of a portfolio check as one page: no scripts, nothing from elsewhere, printable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from usance.migration.portfolio import PortfolioReport

_MAX_ROWS = 2_000  # beyond this a page is no longer read; the command's JSON has them all

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2733; max-width: 62rem;
  margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p { margin: .3rem 0; }
.quiet { color: #5b6b7b; }
.sums { display: flex; gap: 1rem; margin: 1.4rem 0; }
.sums div { flex: 1; border: 1px solid #d8dfe6; border-radius: 8px; padding: .8rem 1rem; }
.sums strong { display: block; font-size: 1.7rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #e4e9ee;
  vertical-align: top; }
th { font-weight: 600; color: #5b6b7b; }
td.n, th.n { text-align: right; }
code { font: 13px/1.4 ui-monospace, monospace; }
@media print { body { margin: 0; max-width: none; font-size: 11px; } h2 { break-after: avoid; }
  tr { break-inside: avoid; } }
"""


def page(report: PortfolioReport, *, sources: Sequence[str]) -> str:
    """The whole page."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Migration check: {report.ties} of {report.total} loans tie</title>",
        f"<style>{_STYLE}</style></head><body>",
        "<h1>Migration check</h1>",
        f'<p class="quiet">{escape(", ".join(sources))}</p>',
        _sums(report),
        "<h2>Options as mapped</h2>",
        _options(report.options) if report.options else '<p class="quiet">None were stated.</p>',
        *_findings(report),
        *_failures(report),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _sums(report: PortfolioReport) -> str:
    shares = (
        (report.ties, "tie to the last minor unit"),
        (report.would_tie, "would tie with other options"),
        (len(report.failures), "do not tie"),
    )
    cells = (f"<div><strong>{count:,}</strong>{text}</div>" for count, text in shares)
    return f'<div class="sums">{"".join(cells)}</div>'


def _options(options: Mapping[str, str]) -> str:
    pairs = (f"<code>{escape(name)}: {escape(value)}</code>" for name, value in options.items())
    return f"<p>{'<br>'.join(pairs)}</p>"


def _findings(report: PortfolioReport) -> list[str]:
    if not report.findings:
        return []
    rows = [
        (_options(found.changes), f"{len(found.loans):,}", escape(", ".join(found.loans[:5])))
        for found in report.findings
    ]
    return [
        "<h2>Options that would make more loans tie</h2>",
        _table(("change", "loans", "for example"), rows, numbers=(1,)),
    ]


def _failures(report: PortfolioReport) -> list[str]:
    if not report.failures:
        return []
    rows = [
        tuple(
            escape(str(cell))
            for cell in (each.loan, each.line, each.gap.row or "", each.gap.cell,
                         each.gap.expected, each.gap.found)
        )
        for each in report.failures[:_MAX_ROWS]
    ]  # fmt: skip
    more = len(report.failures) - len(rows)
    headings = ("loan", "line", "instalment", "cell", "given", "computed")
    found = ["<h2>Loans that do not tie</h2>", _table(headings, rows, numbers=(1, 2, 4, 5))]
    if more:
        found.append(f'<p class="quiet">{more:,} more are in the JSON of the command.</p>')
    return found


def _table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int]
) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        marks = (' class="n"' if at in numbers else "" for at in range(len(row)))
        return "".join(
            f"<{tag}{mark}>{cell}</{tag}>" for mark, cell in zip(marks, row, strict=True)
        )

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f"<table><thead><tr>{cells('th', headings)}</tr></thead><tbody>\n{body}\n</tbody></table>"
    )
