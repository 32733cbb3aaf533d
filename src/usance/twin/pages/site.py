"""The whole site of a book: pages of plain HTML that need nothing but a browser."""

from __future__ import annotations

import tempfile
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

INDEX, STYLES, MARK = "index.html", "style.css", ".usance-site"
"""The mark lists the files of a site, so that no other file is ever taken for one of them."""
LOANS = 20
"""Loans told in full, unless another number is given."""


def write_site(book: Book, folder: Path, *, loans: int = LOANS) -> Path:
    """Write the site of a book into a folder of its own; gives its first page."""
    _check(folder)
    shown = Shown(book, loans)
    measured = Measured(shown)
    whole = folder.absolute()
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{whole.name}.", dir=whole.parent) as beside:
            made, old = Path(beside) / "new", Path(beside) / "old"
            names = [_write(made, path, content) for path, content in files(shown, measured)]
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


def files(shown: Shown, measured: Measured) -> Iterator[tuple[str, bytes]]:
    """Every file of the site: its path and its content."""
    for page in pages(shown, measured):
        yield page.path, page.text(shown.name).encode()
    yield from copied(shown, measured)
    yield STYLES, STYLE.read_bytes()


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
