"""What the commands `release` and `drill` do, from their options to their answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.base.book import Book
from usance.base.errors import InputError, unknown
from usance.books.periods import ClosePeriod, parse_close_period
from usance.disclose.profile import DEFAULT, load_profile
from usance.disclose.reading import read_facts
from usance.disclose.release.filer import read_filer
from usance.disclose.release.publication import FORMATS, publish, publish_table, release_of

if TYPE_CHECKING:
    from usance.disclose.drill import Drill


def published(
    period: str | None, *, book: Path, table: Path | None, out: Path, filer: Path | None,
    rate: str | None, profile: Path | None, formats: str,
) -> dict[str, Any]:  # fmt: skip
    """Write a release and say what was written."""
    wanted = [each.strip() for each in formats.split(",") if each.strip()]
    for each in wanted:
        if each not in FORMATS:
            raise unknown("format", each, FORMATS, where="--formats")
    rules, who = load_profile(profile or DEFAULT), read_filer(filer).at(rate)
    if (period is None) == (table is None):
        fix = "Give PERIOD for a book, or --table FILE for a fact table"
        raise InputError("a release is made of one period or of one table", fix=fix)
    if table is not None:
        files = publish_table(table, rules, who, out, wanted)
    else:
        made = release_of(Book.open(book), parse_period(period or ""), rules, who)
        files = publish(made, out, wanted)
    facts = read_facts([files["csv"]], rules)
    return {
        "document": facts[0].document, "figures": len(facts),
        "files": {name: str(path) for name, path in files.items()},
    }  # fmt: skip


def drilled(
    address: str, *, book: Path, filer: Path | None, rate: str | None, profile: Path | None
) -> Drill:
    """Follow one address into a book."""
    from usance.disclose.drill import drill, period_of

    rules, who = load_profile(profile or DEFAULT), read_filer(filer).at(rate)
    opened = Book.open(book)
    period = period_of(address)
    return drill(release_of(opened, period, rules, who), address)


def parse_period(text: str) -> ClosePeriod:
    """A period as a close or as a filing writes it.

    >>> parse_period("FY2024").label
    '2024'
    """
    return parse_close_period(text.removeprefix("FY"))
