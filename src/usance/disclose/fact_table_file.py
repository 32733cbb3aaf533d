"""Fact tables from CSV files, with everything that is wrong with them in one list."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from pathlib import Path

from usance.base.documents import read_text
from usance.base.errors import UsanceError, raise_all
from usance.disclose.errors import FactError
from usance.disclose.facts import COLUMNS, UNITS, WORDS, Fact
from usance.disclose.periods import parse_period
from usance.disclose.profile import Profile

# Longer than any figure of a filing; what is longer is a scanner's mistake.
_NUMBER = re.compile(r"-?[0-9]{1,24}(\.[0-9]{1,12})?")
_CURRENCY = re.compile(r"[A-Z]{3}|n/a")
_DATES = (
    (re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4}"), "%B %d, %Y"),
    (re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}"), "%d %B %Y"),
    (re.compile(r"\d{4}-\d{2}-\d{2}"), "%Y-%m-%d"),
)
# A digit inside a word is what a scanner makes of a letter.
_SCANNED = re.compile(r"[A-Za-z]{2}[015][A-Za-z]|\b[015][a-z]{3}|[a-z]{3}[015]\b")
_UNREADABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffd]")


@dataclass(slots=True)
class Row:
    """One row as it was read, before it is a fact."""

    file: str
    number: int
    cells: dict[str, str]

    def wrong(self, what: str, fix: str) -> FactError:
        """An error that names the file and the line."""
        return FactError(what, where=f"{self.file} line {self.number}", fix=fix)


def read_facts(paths: Sequence[Path | str], profile: Profile) -> list[Fact]:
    """The facts of several files; every problem of every file is in the error, by line."""
    wrong: list[UsanceError] = []
    texts: list[tuple[str, str]] = []
    for path in paths:
        try:
            texts.append((str(path), read_text(path)))
        except UsanceError as error:
            wrong.append(error)
    return _facts(texts, profile, wrong, ", ".join(str(path) for path in paths))


def facts_of_text(text: str, profile: Profile, name: str, *, signs: bool = True) -> list[Fact]:
    """The facts of a table that is already read, or everything that is wrong with it.

    Without `signs`, amounts that no page should show below zero are taken as they are: books
    that lack their funding have less than no cash, and can still be followed.
    """
    return _facts([(name, text)], profile, [], name, signs=signs)


def _facts(
    texts: Sequence[tuple[str, str]], profile: Profile, wrong: list[UsanceError], where: str,
    *, signs: bool = True,
) -> list[Fact]:  # fmt: skip
    from usance.disclose.problems import problems

    facts: list[Fact] = []
    for file, text in texts:
        rows, broken = _rows(file, text)
        wrong += broken
        for row in rows:
            found = _fact(row, profile)
            if isinstance(found, Fact):
                facts.append(found)
            else:
                wrong += found
    facts = _in_whole_thousands(facts)
    wrong += problems(facts, profile, signs=signs)
    raise_all(sorted(wrong, key=_by_line), where=where)
    return _deduplicated(facts)


def _in_whole_thousands(facts: Sequence[Fact]) -> list[Fact]:
    """Thousands are printed whole; where all of a document end in `.0`, a program wrote them so."""
    printed = {
        fact.document
        for fact in facts
        if fact.unit == "thousand" and fact.text.partition(".")[2].strip("0")
    }
    one = Fraction(UNITS["thousand"])
    return [
        replace(fact, step=one)
        if fact.unit == "thousand" and fact.document not in printed and fact.step != one
        else fact
        for fact in facts
    ]


def _by_line(error: UsanceError) -> tuple[str, int]:
    file, _, line = error.where.rpartition(" line ")
    return (file, int(line)) if line.isdigit() and file else (error.where, 0)


def _deduplicated(facts: Sequence[Fact]) -> list[Fact]:
    """Each cell once; a row that says the same again is left out."""
    seen: dict[tuple[str, ...], Fact] = {}
    for fact in facts:
        seen.setdefault(cell_key(fact), fact)
    return list(seen.values())


def cell_key(fact: Fact) -> tuple[str, ...]:
    """The key of a cell, which may hold one value only."""
    return (
        fact.document, fact.statement, fact.line, fact.parent, fact.period.name, fact.currency,
    )  # fmt: skip


def _rows(file: str, text: str) -> tuple[list[Row], list[UsanceError]]:
    lines = list(StringIO(text, newline=None))  # as an editor counts them
    try:
        header = [name.strip() for name in next(csv.reader(lines[:1]), [])]
        records = list(_records(lines))
    except csv.Error as error:
        return [], [FactError(str(error), where=file, fix="Check quotes and line ends")]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        what = f"the header has no {', '.join(missing)}"
        fix = f"Write the columns {', '.join(COLUMNS)}"
        return [], [FactError(what, where=f"{file} line 1", fix=fix)]
    rows: list[Row] = []
    wrong: list[UsanceError] = []
    for number, cells in records:
        if any(_UNREADABLE.search(each) for each in cells):
            what = "has an unreadable character"
            fix = "Save the table as text again and correct the row"
            wrong.append(FactError(what, where=f"{file} line {number}", fix=fix))
            continue
        if len(cells) != len(header):
            what = f"{len(cells)} cells under {len(header)} columns"
            fix = "Give each row a cell for every column, quoted if it holds a comma"
            wrong.append(FactError(what, where=f"{file} line {number}", fix=fix))
            continue
        stripped = (each.strip() for each in cells)
        rows.append(Row(file, number, dict(zip(header, stripped, strict=True))))
    if not rows and not wrong:
        wrong.append(FactError("has no rows", where=file, fix="Give at least one fact"))
    return rows, wrong


def _records(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row after the header.

    A quote that is never closed would swallow the rest of the file: each line is then read alone.
    """
    reader = csv.reader(lines)
    start = 0
    for cells in reader:
        first, start = start + 1, reader.line_num
        if first == 1 or not any(cells):
            continue
        if reader.line_num - first > 3:
            for number in range(first, reader.line_num + 1):
                yield number, next(csv.reader([lines[number - 1]]), [])
        else:
            yield first, cells


def _fact(row: Row, profile: Profile) -> Fact | list[UsanceError]:
    cells = row.cells
    wrong = list(_wrong(row, profile))
    period = parse_period(cells["period_or_date"])
    if wrong or period is None:
        return wrong
    unit, text = cells["unit"], cells["value"]
    value, step = _value(unit, text)
    return Fact(
        cells["document"], cells["statement"], cells["line"], cells["parent_line"], period,
        cells["currency"], unit, text, cells["is_total"] == "1", row.number, row.file, value, step,
    )  # fmt: skip


def _value(unit: str, text: str) -> tuple[Fraction, Fraction]:
    if unit in UNITS:
        number = Decimal(text)
        places = len(text.partition(".")[2])
        return Fraction(number) * UNITS[unit], Fraction(UNITS[unit], 10**places)
    return (Fraction(_ordinal(text)), Fraction(1)) if unit == "date" else (Fraction(0), Fraction(1))


def _ordinal(text: str) -> int:
    """The number of the day a text names; 0 if it names none."""
    for pattern, form in _DATES:
        if found := pattern.search(text):
            try:
                return datetime.strptime(found[0], form).toordinal()  # noqa: DTZ007 -- a day
            except ValueError:
                return 0
    return 0


def _wrong(row: Row, profile: Profile) -> Iterator[UsanceError]:
    cells = row.cells
    for name in ("document", "statement", "line"):
        if not cells[name]:
            yield row.wrong(f"has no {name}", f"Fill in {name}")
    period = cells["period_or_date"]
    if parse_period(period) is None:
        fix = "Write a day as 2024-03-31, a duration as 2024Q1, 2024H1, 9M2024 or FY2024"
        yield row.wrong(f"unknown period '{period}'", fix)
    if not _CURRENCY.fullmatch(cells["currency"]):
        fix = "Write three capital letters, or n/a"
        yield row.wrong(f"'{cells['currency']}' is not a currency", fix)
    if cells["is_total"] not in ("0", "1"):
        yield row.wrong(f"is_total is '{cells['is_total']}'", "Write 1 for a total, else 0")
    yield from _wrong_value(row)
    for name in ("line", "parent_line"):
        if found := _SCANNED.search(cells[name]):
            yield row.wrong(
                f"{name} '{cells[name]}' has a digit inside a word ('{found[0]}')",
                "Correct what the scanner misread",
            )
    yield from _misspelt(row, "statement", profile.known_statements())
    yield from _misspelt(row, "unit", [*UNITS, *WORDS])


def _wrong_value(row: Row) -> Iterator[UsanceError]:
    unit, value = row.cells["unit"], row.cells["value"]
    if not value:
        yield row.wrong("has no value", "Fill it in, or leave the row out")
    elif unit in UNITS and not _NUMBER.fullmatch(value):
        fix = "Write digits with a point and a minus sign, no separators or brackets"
        yield row.wrong(f"'{value}' is not a number", fix)


def _misspelt(row: Row, name: str, known: Sequence[str]) -> Iterator[UsanceError]:
    from difflib import get_close_matches

    given = row.cells[name]
    if not given or given in known or ":" in given:
        return
    near = get_close_matches(given.lower(), known, n=1, cutoff=0.85)
    if near:
        yield row.wrong(f"unknown {name} '{given}'", f"Did you mean '{near[0]}'?")
