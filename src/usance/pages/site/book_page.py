"""Page of the book itself: its closes with their controls, its tables with their digests."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from usance.books.close.closes import controls_of
from usance.pages.components import cell, code, definitions, missing, number, table, table_row
from usance.pages.numbers import grouped
from usance.pages.site.book_view import BookView
from usance.pages.site.page import Page, Part


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
