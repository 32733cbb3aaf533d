"""Search for options under which loans tie: over a sample, the fewest changes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import NamedTuple

from usance.loan.convention import Amortisation, Rounding
from usance.migration.history import schedule
from usance.migration.portfolio_files import SourceLoan
from usance.migration.terms import (
    DaysInMonth,
    DaysInYear,
    InterestBasis,
    InterestMethod,
    LeapYearRule,
    MigratedTerms,
    YearSplit,
)

Options = Mapping[str, object]
SAMPLE = 12  # loans that stand for all that do not tie
_PROBES = 3  # of them, those on which every combination is tried


class Gap(NamedTuple):
    """The first cell in which a loan does not tie."""

    row: int
    cell: str
    expected: str
    found: str


def first_gap(loan: SourceLoan, changes: Options) -> Gap | None:
    """The first cell of a loan that differs under some options; none if it ties."""
    terms = loan.terms.changed(**changes) if changes else loan.terms
    rows = schedule(terms, loan.principal)
    for number, (wanted, row) in enumerate(zip(loan.rows, rows, strict=False), start=1):
        if wanted.due_on != row.end:
            return Gap(number, "due_on", wanted.due_on.isoformat(), row.end.isoformat())
        if wanted.interest != row.interest:
            return _amount(number, "interest", wanted.interest, row.interest, terms)
        if wanted.principal != row.principal:
            return _amount(number, "principal", wanted.principal, row.principal, terms)
    if len(rows) != len(loan.rows):
        return Gap(0, "instalments", str(len(loan.rows)), str(len(rows)))
    return None


def _amount(row: int, cell: str, wanted: int, found: int, terms: MigratedTerms) -> Gap:
    texts = (str(Decimal(amount).scaleb(-terms.decimals)) for amount in (wanted, found))
    return Gap(row, cell, *texts)


def search(loans: Sequence[SourceLoan]) -> Options | None:
    """The changes of options under which most of a sample ties; none if nothing helps."""
    sample = spread(loans, SAMPLE)
    best: tuple[int, int] = (0, 0)
    found: Options | None = None
    for changes in _promising(sample):
        ties = sum(1 for loan in sample if first_gap(loan, changes) is None)
        if (ties, -len(changes)) > best:
            best, found = (ties, -len(changes)), changes
        if ties == len(sample):
            break
    return found


def spread(loans: Sequence[SourceLoan], count: int) -> list[SourceLoan]:
    """So many loans, evenly spread."""
    if len(loans) <= count:
        return list(loans)
    return [loans[index * len(loans) // count] for index in range(count)]


def _promising(sample: Sequence[SourceLoan]) -> Iterator[Options]:
    """Changes that make at least one probe tie, the fewest first."""
    for probe in sample[:_PROBES]:
        for changes in combinations(probe.terms):
            if first_gap(probe, changes) is None:
                yield changes


def combinations(terms: MigratedTerms) -> list[Options]:
    """Every combination of options worth trying, as changes to the terms, the fewest first."""
    found: dict[frozenset[tuple[str, object]], dict[str, object]] = {}
    for parts in product(_DAY_COUNTS, _SHAPES, _ROUNDINGS, _MULTIPLES):
        chosen: dict[str, object] = {}
        for part in parts:
            chosen |= part
        changes = {name: value for name, value in chosen.items() if getattr(terms, name) != value}
        found.setdefault(frozenset(changes.items()), changes)
    return sorted(found.values(), key=len)


_THIRTY, _DAYS = DaysInMonth.THIRTY, DaysInMonth.ACTUAL
_DAY_COUNTS: list[dict[str, object]] = [
    {"basis": InterestBasis.DAILY, "days_in_year": year, "days_in_month": month}
    for month, years in (
        (_THIRTY, (DaysInYear.D360, DaysInYear.D365)),
        (_DAYS, (DaysInYear.D360, DaysInYear.D364, DaysInYear.D365)),
    )
    for year in years
]
_DAY_COUNTS += [
    {
        "basis": InterestBasis.DAILY, "days_in_year": DaysInYear.ACTUAL, "days_in_month": _DAYS,
        "leap_year": leap, "year_split": split,
    }
    for leap, split in product(LeapYearRule, YearSplit)
]  # fmt: skip
_DAY_COUNTS.append({"basis": InterestBasis.REPAYMENT_PERIOD})

_LEVEL, _EQUAL = Amortisation.EQUAL_INSTALMENT, Amortisation.EQUAL_PRINCIPAL
_SHAPES: list[dict[str, object]] = [
    {"method": InterestMethod.DECLINING, "amortisation": _LEVEL, "levelling": True},
    {"method": InterestMethod.DECLINING, "amortisation": _LEVEL, "levelling": False},
    {"method": InterestMethod.DECLINING, "amortisation": _EQUAL},
    {"method": InterestMethod.FLAT, "amortisation": _LEVEL},
]
_ROUNDINGS: list[dict[str, object]] = [
    {"rounding": rounding} for rounding in (Rounding.HALF_EVEN, Rounding.HALF_UP)
]
_MULTIPLES: list[dict[str, object]] = [{"multiple_of": multiple} for multiple in (0, 1, 10)]


def described(changes: Options) -> dict[str, str]:
    """Options as text."""
    return {name: str(value).lower() for name, value in sorted(changes.items())}
