"""The whole site of a book: pages of plain HTML that need nothing but a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from usance.base.book import Book
from usance.twin.pages.book_page import book_page
from usance.twin.pages.line_pages import line_pages
from usance.twin.pages.loans import loan_pages
from usance.twin.pages.matching import matching_page
from usance.twin.pages.metrics import Measured, metric_pages
from usance.twin.pages.overview import overview_page
from usance.twin.pages.page import STYLE, Page, SiteError
from usance.twin.pages.postings import posting_pages
from usance.twin.pages.release import copied, release_page
from usance.twin.pages.shown import Shown
from usance.twin.pages.statements import statement_pages

INDEX, MARK = "index.html", "style.css"
LOANS = 20
"""Loans told in full, unless another number is given."""


def write_site(book: Book, folder: Path, *, loans: int = LOANS) -> Path:
    """Write the site of a book into a folder of its own; gives its first page."""
    _check(folder)
    shown = Shown(book, loans)
    measured = Measured(shown)
    made = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    for page in pages(shown, measured):
        _write(made / page.path, page.text(shown.name).encode())
    for path, content in copied(shown, measured):
        _write(made / path, content)
    _write(made / MARK, STYLE.read_bytes())
    # A reader sees the old site or the new one: the new is whole before the old one goes.
    if folder.exists():
        shutil.rmtree(folder)
    made.rename(folder)
    return folder / INDEX


def pages(shown: Shown, measured: Measured) -> Iterator[Page]:
    """Every page of the site."""
    yield overview_page(shown, measured)
    yield release_page(shown)
    yield from statement_pages(shown)
    yield from line_pages(shown)
    yield from posting_pages(shown)
    yield from metric_pages(shown, measured)
    yield matching_page(shown)
    yield from loan_pages(shown)
    yield book_page(shown)


def _check(folder: Path) -> None:
    """Only a site is ever replaced."""
    if not folder.exists():
        return
    is_site = (folder / INDEX).is_file() and (folder / MARK).is_file()
    if not folder.is_dir() or (any(folder.iterdir()) and not is_site):
        fix = "Choose a new or empty folder, or one that holds a site"
        raise SiteError("holds something else", where=str(folder), fix=fix)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
