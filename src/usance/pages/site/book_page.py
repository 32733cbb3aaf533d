"""The book itself: its closes with their controls, its tables with their digests."""

from __future__ import annotations

from typing import Any

from usance.books.close.closes import controls_of
from usance.pages.markup import Html, joined, tag
from usance.pages.numbers import grouped
from usance.pages.site.page import Page, missing
from usance.pages.site.book_view import BookView
from usance.pages.components import cell, number, pairs, table, tr


def book_page(view: BookView) -> Page:
    """The page of the book."""
    manifest, run = view.book.manifest, view.run
    told = [("currency", manifest.currency), ("time zone", manifest.time_zone)]
    told += [(name, str(run[name])) for name in ("scenario", "seed", "scale", "from", "to")
             if name in run]  # fmt: skip
    body = joined([
        pairs(told), tag("h2", "Closes"), _closes(view), tag("h2", "Tables"), _tables(view),
    ])  # fmt: skip
    lead = "Two books with the same digests hold the same rows."
    return Page("book.html", "Book", body, lead=lead)


def _closes(view: BookView) -> Html:
    if not view.all_periods:
        return missing("No period is closed.")
    rows = []
    for period in view.all_periods:
        controls: list[dict[str, Any]] = controls_of(view.book, period.close).get("controls", [])
        failed = [each["name"] for each in controls if not each.get("holds", True)]
        held = f"{len(controls) - len(failed)} of {len(controls)} hold"
        rows.append(tr([
            cell(period.close.name), cell(period.label), cell(str(period.day)),
            cell(held, class_="bad" if failed else "good"), cell(", ".join(failed)),
        ]))  # fmt: skip
    return table(["close", "period", "balance sheet", "controls", ""], rows)


def _tables(view: BookView) -> Html:
    rows = [
        tr([cell(name), number(grouped(entry.digest.rows)), number(grouped(len(entry.files))),
            cell(tag("code", str(entry.digest)))])
        for name, entry in sorted(view.book.manifest.tables.items())
    ]  # fmt: skip
    return table(["table", "rows", "files", "digest"], rows, numbers=[1, 2])
