"""The last close as a checklist: its controls with both sides, what changed much, roll-forwards."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from usance.base.codes import Currency, parse
from usance.base.dates import to_month
from usance.base.errors import UsanceError
from usance.books.close.closes import controls_of
from usance.books.statements.roll_forwards import roll_forwards
from usance.pages.components import (
    cell,
    definitions,
    missing,
    number,
    section,
    table,
    table_row,
    text_table,
)
from usance.pages.numbers import grouped
from usance.pages.site.book_view import BookView, Period
from usance.pages.site.page import Page, Part

NO_CLOSE = "No period of this book is closed, so there is no checklist."
MAX_NOTES = 40
MAX_LOANS = 5
"""Loans that are named behind a control that fails."""


def close_page(view: BookView) -> Page:
    """The page of the last close."""
    if not view.all_periods:
        return Page.without("close.html", "Close", NO_CLOSE)
    period = view.all_periods[-1]
    found = controls_of(view.book, period.close)
    controls: list[dict[str, Any]] = found["controls"]
    failed = [each for each in controls if not each["holds"]]
    head = definitions([
        ("close", period.close.name), ("period", period.label), ("known until", found["known_at"]),
        ("by", found["actor"]), ("loans", grouped(found["loans"])),
        ("controls", f"{len(controls) - len(failed)} of {len(controls)} hold"),
    ])  # fmt: skip
    parts = [Part("Ties", _controls(view, controls)), Part("Flux and notes", _notes(found)),
             Part("Roll-forwards", _rolls(view, period))]  # fmt: skip
    lead = "A close is a checklist that is executed: what does not hold stops it."
    return Page("close.html", "Close", "sections", {"opening": head, "parts": parts}, lead=lead)


def _controls(view: BookView, controls: list[dict[str, Any]]) -> Markup:
    """Every control; those that fail come first, with loans behind them."""
    rows = [
        table_row([
            cell(each["name"]), cell("holds" if each["holds"] else "fails",
                                     kind="good" if each["holds"] else "bad"),
            number(view.money(each["expected_minor"]), minor=each["expected_minor"]),
            number(view.money(each["found_minor"]), minor=each["found_minor"]),
            cell(", ".join(map(str, each["loans"][:MAX_LOANS]))),
        ])
        for each in sorted(controls, key=lambda each: each["holds"])
    ]  # fmt: skip
    return table(["control", "", "expected", "found", "loans"], rows, numbers=[2, 3])


def _notes(found: dict[str, Any]) -> Markup:
    notes: list[str] = found["notes"]
    if not notes:
        return missing("Nothing changed much, and nothing was left open.")
    return text_table(["note"], [[each] for each in notes[:MAX_NOTES]])


def _rolls(view: BookView, period: Period) -> Markup:
    """Opening, movements and closing of every account that is rolled forward."""
    if not period.flows:
        return missing("An opening balance sheet has no movements.")
    first, last = to_month(period.before) + 1, to_month(period.day)
    currency = int(parse(Currency, view.need_closed.currency))
    try:
        rolls = roll_forwards(view.need_closed.books.ledger, first, last, currency=currency)
    except UsanceError as error:
        return missing(str(error))
    rows = []
    for roll in rolls:
        rows.append(section(roll.name))
        rows += [table_row([cell(name, depth=0 if is_total else 1),
                            number(view.money(minor), minor=minor)], total=is_total)
                 for name, minor, is_total in roll.lines()]  # fmt: skip
    return table(["roll-forward", ""], rows, numbers=1, kind="narrow")
