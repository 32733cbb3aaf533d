"""What the commands `release`, `drill` and `form` do, from their options to their answers."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.book import Book
from usance.base.errors import InputError, unknown
from usance.books.group.facts import facts_of_table, visible
from usance.books.periods import ClosePeriod, parse_close_period
from usance.capital.documents.capital import read_capital
from usance.disclose.profile import DEFAULT, load_profile
from usance.disclose.reading import read_facts
from usance.disclose.release.announcement import read_announcement
from usance.disclose.release.corporate_actions import CorporateActions
from usance.disclose.release.dividend_form import dividend_form_figures
from usance.disclose.release.filer import read_filer
from usance.disclose.release.publication import (
    FORMATS,
    publish,
    publish_figures,
    publish_table,
    release_of,
)

if TYPE_CHECKING:
    from usance.disclose.drill.drill import Drill


def published(
    period: str | None, *, book: Path, table: Path | None, out: Path, filer: Path | None,
    rate: str | None, profile: Path | None, announcement: Path | None, formats: str,
) -> dict[str, Any]:  # fmt: skip
    """Write a release and say what was written."""
    wanted = _formats(formats)
    rules, who = load_profile(profile or DEFAULT), read_filer(filer).at(rate)
    if (period is None) == (table is None):
        fix = "Give PERIOD for a book, or --table FILE for a fact table"
        raise InputError("a release is made of one period or of one table", fix=fix)
    if table is not None and announcement is not None:
        fix = "Leave it out: a table says its dividends and outlook itself"
        raise InputError("goes with a book", where="--announcement", fix=fix)
    said = read_announcement(announcement)
    if table is not None:
        files = publish_table(table, rules, who, out, wanted)
    else:
        made = release_of(Book.open(book), parse_period(period or ""), rules, who, said)
        files = publish(made, out, wanted)
    return _told(files, rules)


def drilled(
    address: str, *, book: Path, filer: Path | None, rate: str | None, profile: Path | None,
    announcement: Path | None = None,
) -> Drill:  # fmt: skip
    """Follow one address into a book."""
    from usance.disclose.drill.drill import drill, period_of

    rules, who = load_profile(profile or DEFAULT), read_filer(filer).at(rate)
    said = read_announcement(announcement)
    period = period_of(address)
    return drill(release_of(Book.open(book), period, rules, who, said), address)


def filled_form(
    dividend: str, *, book: Path, capital: Path | None, out: Path, filer: Path | None, formats: str
) -> dict[str, Any]:
    """Write the exchange's form of a dividend and say what was written."""
    wanted, rules, who = _formats(formats), load_profile(DEFAULT), read_filer(filer)
    if capital is not None:
        actions = CorporateActions.of_capital(read_capital(capital))
    else:
        facts = facts_of_table(Book.open(book).read("group_facts"))
        actions = CorporateActions.of_facts(
            visible(facts, date.max, datetime.max.replace(tzinfo=UTC))
        )
    figures = dividend_form_figures(actions, dividend)
    issuer = next(each.text for each in figures if each.line == "Issuer name")
    files = publish_figures(f"{dividend}-form", figures, rules, who, issuer, out, wanted)
    return _told(files, rules)


def _formats(given: str) -> list[str]:
    wanted = [each.strip() for each in given.split(",") if each.strip()]
    for each in wanted:
        if each not in FORMATS:
            raise unknown("format", each, FORMATS, where="--formats")
    return wanted


def _told(files: dict[str, Path], rules: Any) -> dict[str, Any]:
    facts = read_facts([files["csv"]], rules)
    return {
        "document": facts[0].document, "figures": len(facts),
        "files": {name: str(path) for name, path in files.items()},
    }  # fmt: skip


def parse_period(text: str) -> ClosePeriod:
    """A period as a close or as a filing writes it.

    >>> parse_period("FY2024").label
    '2024'
    """
    return parse_close_period(text.removeprefix("FY"))
