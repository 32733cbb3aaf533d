"""Rows of a file under the names of the book, read cell by cell; every problem is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, TypeVar

from usance.base.amount_notations import AMOUNTS, amount_fix, plain_amount
from usance.base.codes import Code, parse
from usance.base.csv_lines import row_word
from usance.base.dates import parse_moment
from usance.base.errors import DateError, DocumentError, InputError, UsanceError, raise_all
from usance.base.money import Money
from usance.base.rates import Rate
from usance.books.intake.mapping import ROWS, IntakeMapping
from usance.measure.tape.file import read_rows

C = TypeVar("C", bound=Code)
T = TypeVar("T")
_AMOUNTS = ("principal", "guarantee_fee", "flat_fee", "upfront_fee", "amount")
MAX_PROBLEMS = 1_000
"""A file with more is of another kind; the rest would not help."""


class IntakeRow:
    """One row; a cell that cannot be read is a problem and gives the type's zero."""

    def __init__(
        self, cells: dict[str, str | None], mapping: IntakeMapping, currency: str, where: str,
        problems: list[UsanceError],
    ) -> None:  # fmt: skip
        self.cells, self.mapping, self.currency = cells, mapping, currency
        self.where, self.problems = where, problems
        self.before = len(problems)

    @property
    def is_good(self) -> bool:
        """True while nothing of the row was wrong."""
        return len(self.problems) == self.before

    def wrong(self, what: str, fix: str, name: str = "") -> None:
        """Keep a problem of the row."""
        place = f"{self.where}, {name}" if name else self.where
        self.problems.append(DocumentError(what, where=place, fix=fix))

    def text(self, name: str, default: str = "") -> str:
        """A cell as text; a default where it is empty or not there."""
        given = self.cells.get(name)
        value = given or self.mapping.defaults.get(name, default)
        if not value and ROWS[self.mapping.rows][name]:
            self.wrong(f"{name} is empty", "Fill it in", name)
        return value

    def amount(self, name: str) -> int:
        """An amount in minor units, 0 where there is none."""
        notation = self.mapping.amounts

        def read(given: str, where: str) -> int:
            plain = plain_amount(given, notation)
            if plain is None:
                raise DocumentError(
                    f"{given!r} is no amount", where=where, fix=amount_fix(notation)
                )
            return Money.parse(plain, self.currency, where=where).minor

        return self._read(name, self.text(name), 0, read)

    def rate(self, name: str, default: int = 0) -> int:
        """A rate in parts per million."""
        _, decimal = AMOUNTS[self.mapping.amounts]
        given = self.text(name)
        plain = given.replace(decimal, ".") if given.count(decimal) == 1 else given
        return self._read(name, plain, default, lambda it, at: Rate.parse(it, where=at).ppm)

    def whole(self, name: str, default: int = 0) -> int:
        """A whole number."""
        return self._read(name, self.text(name), default, _whole)

    def day(self, name: str) -> date:
        """A day as the mapping writes them."""

        def read(given: str, where: str) -> date:
            try:
                return datetime.strptime(given, self.mapping.dates).date()  # noqa: DTZ007 -- a day
            except ValueError:
                fix = f"Write it as {self.mapping.dates}, or change dates in the mapping"
                raise DateError(f"{given!r} is no day", where=where, fix=fix) from None

        return self._read(name, self.text(name), date(1970, 1, 1), read)

    def moment(self, name: str, day: date) -> datetime:
        """A moment; the beginning of a day, in UTC, where there is none."""
        start = datetime.combine(day, time(), UTC)
        given = self.text(name)
        return self._read(name, given, start, lambda it, at: parse_moment(it, where=at))

    def code(self, name: str, codes: type[C], default: C) -> C:
        """A member of a closed set, in the file's own words where the mapping has them."""
        given = self.text(name)
        word = self.mapping.kinds.get(given, given) if name == "kind" else given
        return self._read(name, word, default, lambda it, at: parse(codes, it, where=at))

    def _read(self, name: str, given: str, empty: T, read: Callable[[str, str], T]) -> T:
        if not given:
            return empty
        try:
            return read(given, f"{self.where}, {name}")
        except InputError as error:
            self.problems.append(error)
            return empty


def intake_rows(
    path: Path, mapping: IntakeMapping, currency: str, problems: list[UsanceError]
) -> Iterator[IntakeRow]:
    """Rows of a file in order; stops after `MAX_PROBLEMS` problems."""
    known = ROWS[mapping.rows]
    dates = dict.fromkeys(known, mapping.dates)
    points = dict.fromkeys(_AMOUNTS, AMOUNTS[mapping.amounts][1])
    found = read_rows(path, mapping.columns, known, dates, mapping.places, points)
    problems += found.problems
    place = f"{path} {row_word(path)}"
    for cells in found.table.to_pylist():
        if len(problems) >= MAX_PROBLEMS:
            return
        yield IntakeRow(cells, mapping, currency, f"{place} {cells['row']}", problems)


def refuse(problems: list[UsanceError], where: Path) -> None:
    """Raise the first problems of a file, all if there are few."""
    raise_all(problems[:MAX_PROBLEMS], where=str(where))


def _whole(given: str, where: str) -> int:
    try:
        return int(given)
    except ValueError:
        fix = "Write a whole number such as 12"
        raise DocumentError(f"{given!r} is no whole number", where=where, fix=fix) from None


Row = dict[str, Any]
"""A row of a declared table."""
