"""The whole site of a book: pages of plain HTML that need nothing but a browser.

The last of them is of the book itself: its closes with their controls, its tables with digests.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from usance.base.book import Book
from usance.base.progress import with_progress
from usance.books.close.closes import controls_of
from usance.pages.components import cell, code, definitions, missing, number, table, table_row
from usance.pages.errors import SiteError
from usance.pages.numbers import grouped
from usance.pages.rendering import stylesheet
from usance.pages.site.book_view import BookView
from usance.pages.site.closing import close_page
from usance.pages.site.journals import account_pages
from usance.pages.site.loans import loan_pages
from usance.pages.site.matching import LastPlan, LastPlanOf, matching_page, no_plan
from usance.pages.site.metrics import Measured, metric_pages
from usance.pages.site.overview import overview_page
from usance.pages.site.page import Page, Part
from usance.pages.site.release import copied, release_page
from usance.pages.site.risk import risk_page
from usance.pages.site.statement_lines import statement_line_pages
from usance.pages.site.statements import statement_pages

INDEX, STYLES, MARK = "index.html", "style.css", ".usance-site"
"""The mark lists the files of a site, so that no other file is ever taken for one of them."""
LOANS = 20
"""Loans shown in full, unless another number is given."""


def write_site(
    book: Book, folder: Path, *, loans: int = LOANS, last_plan: LastPlanOf = no_plan
) -> Path:
    """Write the site of a book into a folder of its own; gives its first page.

    `last_plan` finds the plan of the last month, which a book alone does not hold.
    """
    _check(folder)
    view = BookView(book, loans)
    measured = Measured(view)
    whole = folder.absolute()
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{whole.name}.", dir=whole.parent) as workspace:
            made, old = Path(workspace) / "new", Path(workspace) / "old"
            names = [_write(made, path, content) for path, content in
                     files(view, measured, last_plan(book))]  # fmt: skip
            _write(made, MARK, "".join(f"{name}\n" for name in names).encode())
            # The new site is whole before the old one goes, and the old one goes in one step.
            if whole.exists():
                whole.rename(old)
            made.rename(whole)
    except OSError as error:
        fix = "Make room there, or choose another folder with --out"
        what = f"cannot be written: {error.strerror}"
        raise SiteError(what, where=str(folder), fix=fix) from None
    return folder / INDEX


def files(view: BookView, measured: Measured, last: LastPlan) -> Iterator[tuple[str, bytes]]:
    """Every file of the site: its path and its content."""
    every = list(pages(view, measured, last))
    for page in with_progress("writing pages", every, len(every)):
        yield page.path, page.text(view.name).encode()
    yield from copied(view, measured)
    yield STYLES, stylesheet("style.css", "charts.css").encode()


def pages(view: BookView, measured: Measured, last: LastPlan) -> Iterator[Page]:
    """Every page of the site."""
    yield overview_page(view, measured)
    yield release_page(view)
    yield from statement_pages(view)
    yield from statement_line_pages(view)
    yield from account_pages(view)
    yield from metric_pages(view, measured)
    yield risk_page(view, measured)
    yield matching_page(view, last)
    yield from loan_pages(view)
    yield close_page(view)
    yield book_page(view)


def _check(folder: Path) -> None:
    """Only a site is ever replaced."""
    if not folder.exists():
        return
    if folder.is_dir():
        mark = folder / MARK
        own = {MARK, *(mark.read_text(encoding="utf-8").splitlines() if mark.is_file() else ())}
        held = (each for each in folder.rglob("*") if not each.is_dir())
        other = {each.relative_to(folder).as_posix() for each in held} - own
        if not other:
            return
        what = f"holds something else, {min(other)}"
    else:
        what = "is not a folder"
    fix = "Choose a new or empty folder, or one that holds a site and nothing else"
    raise SiteError(what, where=str(folder), fix=fix)


def _write(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return name


def book_page(view: BookView) -> Page:
    """The page of the book."""
    manifest, run = view.book.manifest, view.run
    about = [("currency", manifest.currency), ("time zone", manifest.time_zone)]
    about += [(name, str(run[name])) for name in ("scenario", "seed", "scale", "from", "to")
              if name in run]  # fmt: skip
    parts = [Part("Closes", _closes(view)), Part("Tables", _tables(view))]
    lead = "Two books with the same digests hold the same rows."
    values = {"opening": definitions(about), "parts": parts}
    return Page("book.html", "Book", "sections", values, lead=lead)


def _closes(view: BookView) -> Markup:
    if not view.all_periods:
        return missing("No period is closed.")
    rows = []
    for period in view.all_periods:
        controls: list[dict[str, Any]] = controls_of(view.book, period.close).get("controls", [])
        failed = [each["name"] for each in controls if not each.get("holds", True)]
        held = f"{len(controls) - len(failed)} of {len(controls)} hold"
        rows.append(table_row([
            cell(period.close.name), cell(period.label), cell(str(period.day)),
            cell(held, kind="bad" if failed else "good"), cell(", ".join(failed)),
        ]))  # fmt: skip
    return table(["close", "period", "balance sheet", "controls", ""], rows)


def _tables(view: BookView) -> Markup:
    rows = [
        table_row([cell(name), number(grouped(entry.digest.rows)),
                   number(grouped(len(entry.files))), cell(code(str(entry.digest)))])
        for name, entry in sorted(view.book.manifest.tables.items())
    ]  # fmt: skip
    return table(["table", "rows", "files", "digest"], rows, numbers=[1, 2])
