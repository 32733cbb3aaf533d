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
from usance.base.errors import DateError, DocumentError, UsanceError, raise_all
from usance.loan.convention import PeriodUnit
from usance.migration.bounds import (
    MAX_AMOUNT,
    MAX_EVERY,
    MAX_INSTALMENTS,
    minor,
    plain_decimal,
    whole,
)
from usance.migration.dates import due_dates
from usance.migration.portfolio_map import PortfolioMapping
from usance.migration.terms import MigratedTerms

_MAX_PROBLEMS = 1_000  # a file with more is of another kind; the rest would not help
_T = TypeVar("_T")


class ExpectedInstalment(NamedTuple):
    """One instalment as the lender has it."""

    due_on: date
    principal: int
    interest: int


@dataclass(slots=True)
class SourceLoan:
    """One loan of the lender: its line, its terms and its instalments."""

    name: str
    line: int
    terms: MigratedTerms
    principal: int
    rows: list[ExpectedInstalment] = field(default_factory=list)


class _File:
    """A CSV file being read, with the problems found so far."""

    def __init__(self, path: Path | str, problems: list[UsanceError]) -> None:
        self.path, self.problems = str(path), problems
        self.is_whole = True  # every row could be read

    def problem(self, line: int, what: str, fix: str) -> None:
        if len(self.problems) < _MAX_PROBLEMS:
            place = f"{self.path} line {line}"
            self.problems.append(DocumentError(what, where=place, fix=fix))

    def rows(self, columns: Mapping[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Line and named cells of each row that has all its cells."""
        reader = csv.reader(read_text(self.path).splitlines(keepends=True))
        header = [name.strip() for name in next(reader)]
        for name in {name for name in header if header.count(name) > 1}:
            if name in columns.values():
                self.problem(1, f"has the column {name!r} twice", "Keep one of them")
                self.is_whole = False
        missing = [name for name in columns.values() if name not in header]
        for name in missing:
            self.problem(1, f"has no column {name!r}", "Correct the mapping or the file")
        if missing:
            self.is_whole = False
            return
        places = {key: header.index(name) for key, name in columns.items()}
        for row in reader:
            if len(row) == len(header):
                yield reader.line_num, {key: row[at].strip() for key, at in places.items()}
            elif row:
                self.is_whole = False
                what = f"{len(row)} cells under {len(header)} columns"
                self.problem(reader.line_num, what, "Give each row a cell for every column")

    def value(self, line: int, name: str, read: Callable[[str], _T], text: str, no: _T) -> _T:
        """A cell as a value; what it cannot be is a problem."""
        try:
            return read(text)
        except (ValueError, ArithmeticError):
            self.problem(line, f"{name} is {text!r}", "Write it as the mapping says")
            return no


def read_loans(
    terms: Path | str, instalments: Path | str, mapped: PortfolioMapping
) -> list[SourceLoan]:
    """All loans of two files, or all that is wrong with them."""
    problems: list[UsanceError] = []
    loans: dict[str, SourceLoan] = {}
    file = _File(terms, problems)
    for line, cells in file.rows(mapped.terms):
        loan = _loan(file, line, cells, mapped)
        if not loan.name:
            file.problem(line, "loan is empty", "Give its number")
            file.is_whole = False
            continue
        if loan.name in loans:
            file.problem(line, f"loan {loan.name!r} is there twice", "Keep one of them")
        loans[loan.name] = loan
    rows = _File(instalments, problems)
    _add_rows(rows, loans, mapped, all_known=file.is_whole)
    _note_empty(file, loans, rows)
    raise_all(problems)
    return list(loans.values())


def _loan(file: _File, line: int, cells: Mapping[str, str], mapped: PortfolioMapping) -> SourceLoan:
    before = len(file.problems)

    def read(name: str, how: Callable[[str], _T], no: _T) -> _T:
        return file.value(line, name, how, cells[name], no) if name in cells else no

    terms = MigratedTerms(
        disbursed_on=read("disbursed_on", mapped.day, date.min),
        rate_pct=read("rate", mapped.rate_pct, Decimal(0)),
        instalments=read("instalments", _count(MAX_INSTALMENTS), 1),
        first_due_on=read("first_due_on", lambda text: mapped.day(text) if text else None, None),
        down_payment_pct=read("down_payment_pct", _part, Decimal(0)),
        grace_principal=read("grace_principal", _whole, 0),
        grace_interest=read("grace_interest", _whole, 0),
    ).changed(**mapped.options)
    per_loan = {
        "every": read("every", _count(MAX_EVERY), terms.every),
        "unit": read("unit", PeriodUnit, terms.unit),
        "multiple_of": read("multiple_of", _whole, terms.multiple_of),
    }
    terms = terms.changed(**per_loan)
    principal = read("principal", _minor_of(terms), 0)
    if len(file.problems) == before:
        _check_terms(file, line, terms, principal)
    return SourceLoan(cells["loan"], line, terms, principal)


def _check_terms(file: _File, line: int, terms: MigratedTerms, principal: int) -> None:
    """Refuse terms that no plan can be made of."""
    if not principal:
        file.problem(line, "principal is 0", "Give an amount above zero")
    for name in ("grace_principal", "grace_interest"):
        if getattr(terms, name) >= terms.instalments:
            fix = "Give less than the number of instalments"
            file.problem(line, f"{name} is {getattr(terms, name)}", fix)
    try:
        due_dates(terms)
    except DateError as error:
        file.problem(line, error.what, error.fix)


def _whole(text: str) -> int:
    return whole(plain_decimal(text), 0, MAX_AMOUNT)


def _count(most: int) -> Callable[[str], int]:
    return lambda text: whole(plain_decimal(text), 1, most)


def _part(text: str) -> Decimal:
    percent = plain_decimal(text)
    if not 0 <= percent < 100:
        raise ValueError(text)
    return percent


def _minor_of(terms: MigratedTerms) -> Callable[[str], int]:
    return lambda text: minor(plain_decimal(text), terms.decimals)


def _add_rows(
    file: _File, loans: Mapping[str, SourceLoan], mapped: PortfolioMapping, *, all_known: bool
) -> None:
    for line, cells in file.rows(mapped.instalments):
        loan = loans.get(cells["loan"])
        if loan is None:
            if all_known:  # otherwise its terms may be what could not be read
                what = f"loan {cells['loan']!r} has no terms"
                file.problem(line, what, "Add them, or drop this row")
            continue
        amount = _minor_of(loan.terms)
        due_on = file.value(line, "due_on", mapped.day, cells["due_on"], date.min)
        principal = file.value(line, "principal", amount, cells["principal"], 0)
        interest = file.value(line, "interest", amount, cells["interest"], 0)
        loan.rows.append(ExpectedInstalment(due_on, principal, interest))
    for loan in loans.values():
        loan.rows.sort(key=lambda row: row.due_on)


def _note_empty(file: _File, loans: Mapping[str, SourceLoan], rows: _File) -> None:
    for loan in loans.values():
        if not loan.rows and rows.is_whole:
            file.problem(loan.line, f"loan {loan.name!r} has no instalments", "Add its instalments")
    if not loans and file.is_whole:
        file.problem(1, "has no loan", "Give at least one")
