"""The closes of a book: effective ones, the one a period follows, reopening and locking.

A close lives in `closes/<month>.<version>/`. Of each month the latest version is effective while
its period is closed or locked; a reopened period keeps its old versions and gets the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from usance.base.book import Book
from usance.base.book_step import Step
from usance.base.dates import format_month, last_of_month, parse_moment, parse_month
from usance.books.errors import PeriodError
from usance.books.periods import MAX_CLOSES, ClosePeriod

_FOLDER = re.compile(r"closes/(\d{4}-\d{2}\.\d+)/")
OPEN, CLOSED, LOCKED = "open", "closed", "locked"
REOPENERS = 2
"""People who reopen a period together."""


@dataclass(frozen=True, slots=True, order=True)
class CloseRef:
    """One close of a book."""

    month: int
    version: int

    @property
    def name(self) -> str:
        """Its name, such as `2024-06.1`."""
        return f"{format_month(self.month)}.{self.version}"

    @property
    def folder(self) -> str:
        """Its folder in the book."""
        return f"closes/{self.name}"

    @classmethod
    def parse(cls, name: str) -> CloseRef:
        """The close of a folder name, such as `2024-06.1`."""
        month, _, version = name.partition(".")
        return cls(parse_month(month), int(version))

    @classmethod
    def of_number(cls, close_no: int) -> CloseRef:
        """The close of a number in tables."""
        return cls(*divmod(close_no, MAX_CLOSES))

    @property
    def close_no(self) -> int:
        """Its number in tables."""
        return self.month * MAX_CLOSES + self.version

    @property
    def day(self) -> date:
        """The day of its balance sheet."""
        return last_of_month(self.month)


def all_closes(book: Book) -> list[CloseRef]:
    """Every close that was ever written, in order."""
    found = {
        CloseRef.parse(match[1])
        for file in book.files("journals")
        if (match := _FOLDER.match(file.path))
    }
    return sorted(found)


def effective_closes(book: Book) -> list[CloseRef]:
    """The closes whose journals make up the books."""
    periods = book.manifest.periods
    return [
        close
        for close in all_closes(book)
        if (period := periods.get(format_month(close.month)))
        and period.state != OPEN
        and period.close_no == close.version
    ]


def closed_months(book: Book, period: ClosePeriod) -> list[str]:
    """The months of a period that are closed or locked."""
    states = book.manifest.periods
    months = map(format_month, period.months)
    return [month for month in months if month in states and states[month].state != OPEN]


def begin(book: Book, period: ClosePeriod) -> tuple[CloseRef, CloseRef | None]:
    """The close to be made and the one before it, or why the period cannot be closed."""
    chain = effective_closes(book)
    later = [close for close in chain if close.month >= period.months[0]]
    if later and not closed_months(book, period):
        fix = f"The books begin later; to begin with {period.label}, reopen every close"
        what = f"{period.label} lies before {later[0].name}, which is closed"
        raise PeriodError(what, where=str(book.path), fix=fix)
    if later:
        raise PeriodError(
            f"{period.label} is closed ({later[0].name})",
            where=str(book.path),
            fix=f"Reopen it first: usance books reopen {format_month(later[-1].month)}",
        )
    reopened = [
        month
        for month, found in sorted(book.manifest.periods.items())
        if found.state == OPEN and parse_month(month) < period.months[0]
    ]
    if reopened:
        fix = f"Close it again before {period.label}"
        raise PeriodError(f"{reopened[0]} was reopened", where=str(book.path), fix=fix)
    before = chain[-1] if chain else None
    if before and before.month != period.months[0] - 1:
        missing = format_month(before.month + 1)
        raise PeriodError(
            f"{missing} is not closed yet",
            where=str(book.path),
            fix=f"Close the months from {missing} on before {period.label}",
        )
    versions = [close.version for close in all_closes(book) if close.month == period.last_month]
    return CloseRef(period.last_month, max(versions, default=0) + 1), before


def controls_of(book: Book, close: CloseRef) -> dict[str, Any]:
    """The control file of a close."""
    found: dict[str, Any] = json.loads(book.kept(_controls(close)))
    return found


def known_at_of(book: Book, close: CloseRef) -> datetime:
    """The moment up to which a close knew facts."""
    return parse_moment(controls_of(book, close)["known_at"])


def keep_controls(step: Step, close: CloseRef, content: dict[str, Any]) -> None:
    """Write the control file of a close."""
    step.keep(_controls(close), (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def _controls(close: CloseRef) -> str:
    return f"{close.folder}/controls.json"


def postings_of(book: Book, closes: Sequence[CloseRef]) -> pa.Table:
    """The postings of some closes."""
    parts = [book.read("postings", folder=close.folder) for close in closes]
    return pa.concat_tables(parts) if parts else book.read("postings", folder="closes/none")


def last_hash(book: Book, before: CloseRef | None) -> str:
    """The hash that the next journal is chained to."""
    if before is None:
        return ""
    hashes = book.read("journals", ["hash"], folder=before.folder)["hash"]
    return hashes[-1].as_py() if len(hashes) else last_hash(book, previous_close(book, before))


def previous_close(book: Book, close: CloseRef) -> CloseRef | None:
    """The close that a close followed, as it wrote down."""
    name = controls_of(book, close)["before"]
    return CloseRef.parse(name) if name else None


def reopen(book: Book, period: ClosePeriod, people: Sequence[str]) -> list[CloseRef]:
    """Open a period and all after it; what they closed stays beside what they will close."""
    named = sorted({person.strip() for person in people if person.strip()})
    if len({person.casefold() for person in named}) < REOPENERS:
        fix = "Give --by twice, with two names"
        raise PeriodError("two people reopen a period together", where=period.label, fix=fix)
    chain = [close for close in effective_closes(book) if close.month >= period.months[0]]
    if not chain or not closed_months(book, period):
        fix = "See the periods with: usance books periods"
        raise PeriodError(f"{period.label} is not closed", where=str(book.path), fix=fix)
    states = book.manifest.periods
    months = [
        month
        for month in sorted(states)
        if parse_month(month) >= period.months[0] and states[month].state != OPEN
    ]
    locked = [month for month in months if states[month].state == LOCKED]
    if locked:
        fix = "Correct it in the open period; a locked one is never opened again"
        raise PeriodError(f"{locked[0]} is locked", where=str(book.path), fix=fix)
    with book.writing() as step:
        for month in months:
            step.period(month, OPEN, states[month].close_no)
        step.keep(
            f"closes/reopened-{chain[0].name}.json",
            (json.dumps({"by": named, "closes": [close.name for close in chain]}) + "\n").encode(),
        )
    return chain


def lock(book: Book, period: ClosePeriod) -> None:
    """Lock a closed period for good."""
    states = book.manifest.periods
    for month in map(format_month, period.months):
        state = states[month].state if month in states else OPEN
        if state == OPEN:
            fix = f"Close it first: usance close {month}"
            raise PeriodError(f"{month} is open", where=str(book.path), fix=fix)
    with book.writing() as step:
        for month in map(format_month, period.months):
            step.period(month, LOCKED, states[month].close_no)
