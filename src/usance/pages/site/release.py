"""Releases of the book, copied into the site with every figure a link down."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path

from markupsafe import escape

from usance.books.statements import cash
from usance.books.statements.ifrs_reconciliation import COLUMNS
from usance.books.statements.primary import ATTRIBUTABLE
from usance.disclose.release import exact_amounts as e
from usance.disclose.release.business_highlights import (
    BUSINESS_HIGHLIGHTS,
    load_highlights,
    load_vintages,
)
from usance.disclose.release.figure import slug
from usance.pages.components import cell, number, table, table_row
from usance.pages.site.book_view import BookView
from usance.pages.site.metrics import Measured
from usance.pages.site.page import Page
from usance.pages.site.statements import covered_statements, lines_in

FOLDER = "release"
KINDS = {
    ".html": "the page, made to be read and printed",
    ".pdf": "the same on paper",
    ".xlsx": "a workbook in which totals are formulas",
    ".csv": "the fact table: one row a figure, with its address",
}
_FIGURE = re.compile(r'(<(td|b)(?: id="[^"]*")? title="([^"]*)"[^>]*>)([^<]*)(</\2>)')
NARRATIVE = ("release_highlights", "release_results")
"""Statements of a release that tell lines of others in words."""
_SAME = {
    "net-income-attributed-to-the-company": (e.OPERATIONS, slug(ATTRIBUTABLE)),
    "income-tax-expense": (e.OPERATIONS, "income-taxes-expense"),
    "cash-from-operations": (e.CASH_FLOWS, slug(cash.OPERATING)),
}
NONE = (
    "This book has no release. Make one into its folder: usance disclose release PERIOD --book "
    "BOOK --out BOOK/release."
)


def release_files(view: BookView) -> list[Path]:
    """The published files of a book, youngest document first."""
    folder = view.book.path / FOLDER
    found = [file for file in folder.glob("*") if file.suffix in KINDS] if folder.is_dir() else []
    order = list(KINDS)
    by_kind = sorted(found, key=lambda file: order.index(file.suffix))
    return sorted(by_kind, key=lambda file: file.stem, reverse=True)


def release_page(view: BookView) -> Page:
    """List of the published files."""
    files = release_files(view)
    if not files:
        return Page.without("release.html", "Release", NONE)
    rows = [
        table_row([cell(file.stem), cell(file.name, to=f"/release/{file.name}"),
            cell(KINDS[file.suffix], kind="quiet"),
            number(f"{file.stat().st_size / 1024:,.0f} KiB")])
        for file in files
    ]  # fmt: skip
    read = next((file for file in files if file.suffix == ".html"), None)
    lead = "Made from the closed books alone. On the page, figures lead down to accounts."
    values = {"read": read, "files": table(["document", "file", "", "size"], rows, numbers=[3])}
    return Page("release.html", "Release", "release", values, lead=lead)


def copied(view: BookView, measured: Measured) -> Iterator[tuple[str, bytes]]:
    """Each published file under its path in the site; pages get their links."""
    targets = Targets(_places(view, measured), _business(measured))
    for file in release_files(view):
        content = file.read_bytes()
        if file.suffix == ".html":
            content = linked(content.decode(), targets.of).encode()
        yield f"{FOLDER}/{file.name}", content


class Targets:
    """Pages that figures lead to, by the statement and line of their address.

    >>> places = {"operations/net-income": "/lines/net.html"}
    >>> targets = Targets(places, {"c-m2": "/metrics/c_m2.html"})
    >>> (
    ...     targets.of("release_results", "net-income"),
    ...     targets.of(BUSINESS_HIGHLIGHTS, "c-m2-incomplete"),
    ... )
    ('/lines/net.html', '/metrics/c_m2.html')
    """

    def __init__(self, places: Mapping[str, str], business: Mapping[str, str]) -> None:
        self.places, self.business = places, business

    def of(self, statement: str, line: str) -> str | None:
        """The page of a figure, if there is one for it."""
        if statement == BUSINESS_HIGHLIGHTS:
            # A line is followed by notes on it: that it is incomplete, its change.
            known = [each for each in self.business if line.startswith(each)]
            return self.business[max(known, key=len)] if known else None
        if statement in (*NARRATIVE, e.ADJUSTED):
            statement, line = _SAME.get(line, (e.OPERATIONS, line))
        return self.places.get(f"{statement}/{line}")


def linked(page: str, to: Callable[[str, str], str | None]) -> str:
    """A published page whose figures lead to the pages of their lines.

    >>> linked('<td title="2024Q1/operations/net-income/2024Q1">7</td>', lambda *_: "/a.html")
    '<td title="2024Q1/operations/net-income/2024Q1"><a href="../a.html">7</a></td>'
    """

    def follow(found: re.Match[str]) -> str:
        _, statement, line, *_ = [*unescape(found[3]).split("/"), "", ""]
        target = to(statement, line)
        if target is None or not found[4].strip():
            return found[0]
        return f'{found[1]}<a href="..{escape(target)}">{found[4]}</a>{found[5]}'

    return _FIGURE.sub(follow, page)


def _business(measured: Measured) -> dict[str, str]:
    """The metrics behind the business highlights."""
    return {
        slug(each.line): f"/metrics/{each.metric}.html"
        for each in load_highlights()
        if each.metric in measured.names
    }


def _places(view: BookView, measured: Measured) -> dict[str, str]:
    """Statement and line of an address, and the page that tells of it."""
    found: dict[str, str] = {}
    for statement in covered_statements(view):
        for line in lines_in(view, statement):
            for column in _columns(statement):
                place = f"{statement}{column}/{slug(line.line)}"
                found.setdefault(place, line.path)
                found[f"{place}~{slug(line.parent)}"] = line.path
    for statement, metric in load_vintages().items():
        if metric in measured.names:
            for row in measured.of(metric):
                keys = dict(part.split("=") for part in row["dimensions"].split(",") if part)
                if "cohort" in keys:
                    place = f"{statement}:{keys['cohort']}/{slug('Month on book ' + keys['mob'])}"
                    found[place] = f"/metrics/{metric}.html"
    return found


def _columns(statement: str) -> list[str]:
    if statement in (e.SHEET_MATRIX, e.OPERATIONS_MATRIX):
        return [f":{column}" for column in COLUMNS]
    return [""]
