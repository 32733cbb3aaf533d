"""A lender's own files: terms and expected instalments, every problem with its line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, TypeVar

from usance.base.documents import read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.loan.convention import Unit
from usance.loan.foreign.portfolio_map import Mapped, decimal
from usance.loan.foreign.terms import ForeignTerms

_MOST_PROBLEMS = 1_000  # a file with more is of another kind; the rest would not help
_T = TypeVar("_T")


class Expected(NamedTuple):
    """One instalment as the lender has it."""

    due_on: date
    principal: int
    interest: int


@dataclass(slots=True)
class Loan:
    """One loan of the lender: its line, its terms and its instalments."""

    name: str
    line: int
    terms: ForeignTerms
    principal: int
    rows: list[Expected] = field(default_factory=list)


class _File:
    """A CSV file being read, with the problems found so far."""

    def __init__(self, path: Path | str, problems: list[UsanceError]) -> None:
        self.path, self.problems = str(path), problems

    def problem(self, line: int, what: str, fix: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            place = f"{self.path} line {line}"
            self.problems.append(DocumentError(what, where=place, fix=fix))

    def rows(self, columns: Mapping[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Line and named cells of each row that has all its cells."""
        reader = csv.reader(read_text(self.path).splitlines(keepends=True))
        header = [name.strip() for name in next(reader)]
        missing = [name for name in columns.values() if name not in header]
        for name in missing:
            self.problem(1, f"has no column {name!r}", "Correct the mapping or the file")
        if missing:
            return
        places = {key: header.index(name) for key, name in columns.items()}
        for row in reader:
            if len(row) == len(header):
                yield reader.line_num, {key: row[at].strip() for key, at in places.items()}
            elif row:
                what = f"{len(row)} cells under {len(header)} columns"
                self.problem(reader.line_num, what, "Give each row a cell for every column")

    def value(self, line: int, name: str, read: Callable[[str], _T], text: str, no: _T) -> _T:
        """A cell as a value; what it cannot be is a problem."""
        try:
            return read(text)
        except (ValueError, ArithmeticError):
            self.problem(line, f"{name} is {text!r}", "Write it as the mapping says")
            return no


def read_loans(terms: Path | str, instalments: Path | str, mapped: Mapped) -> list[Loan]:
    """All loans of two files, or all that is wrong with them."""
    problems: list[UsanceError] = []
    loans: dict[str, Loan] = {}
    file = _File(terms, problems)
    for line, cells in file.rows(mapped.terms):
        loan = _loan(file, line, cells, mapped)
        if loan.name in loans:
            file.problem(line, f"loan {loan.name!r} is there twice", "Keep one of them")
        loans[loan.name] = loan
    _add_rows(_File(instalments, problems), loans, mapped)
    if not problems:
        _note_empty(file, loans)
    raise_all(problems)
    return list(loans.values())


def _loan(file: _File, line: int, cells: Mapping[str, str], mapped: Mapped) -> Loan:
    def read(name: str, how: Callable[[str], _T], no: _T) -> _T:
        return file.value(line, name, how, cells[name], no) if name in cells else no

    terms = ForeignTerms(
        disbursed_on=read("disbursed_on", mapped.day, date.min),
        rate_pct=read("rate", mapped.rate_pct, Decimal(0)),
        instalments=read("instalments", _count, 1),
        first_due_on=read("first_due_on", lambda text: mapped.day(text) if text else None, None),
        down_payment_pct=read("down_payment_pct", decimal, Decimal(0)),
        grace_principal=read("grace_principal", _whole, 0),
        grace_interest=read("grace_interest", _whole, 0),
    ).changed(**mapped.options)
    per_loan = {
        "every": read("every", _count, terms.every),
        "unit": read("unit", Unit, terms.unit),
        "multiple_of": read("multiple_of", _whole, terms.multiple_of),
    }
    terms = terms.changed(**per_loan)
    return Loan(cells["loan"], line, terms, read("principal", _minor_of(terms), 0))


def _whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _count(text: str) -> int:
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def _minor_of(terms: ForeignTerms) -> Callable[[str], int]:
    scale = 10**terms.decimals

    def minor(text: str) -> int:
        amount = decimal(text) * scale
        if amount != int(amount) or amount < 0:
            raise ValueError(text)
        return int(amount)

    return minor


def _add_rows(file: _File, loans: Mapping[str, Loan], mapped: Mapped) -> None:
    for line, cells in file.rows(mapped.instalments):
        loan = loans.get(cells["loan"])
        if loan is None:
            file.problem(line, f"loan {cells['loan']!r} has no terms", "Add them, or drop this row")
            continue
        minor = _minor_of(loan.terms)
        due_on = file.value(line, "due_on", mapped.day, cells["due_on"], date.min)
        principal = file.value(line, "principal", minor, cells["principal"], 0)
        interest = file.value(line, "interest", minor, cells["interest"], 0)
        loan.rows.append(Expected(due_on, principal, interest))
    for loan in loans.values():
        loan.rows.sort(key=lambda row: row.due_on)


def _note_empty(file: _File, loans: Mapping[str, Loan]) -> None:
    for loan in loans.values():
        if not loan.rows:
            file.problem(loan.line, f"loan {loan.name!r} has no instalments", "Add its instalments")
    if not loans:
        file.problem(1, "has no loan", "Give at least one")
