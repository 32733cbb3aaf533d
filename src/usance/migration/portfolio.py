"""Check of a lender's book before it moves: `usance conform portfolio`.

Every loan is checked under the options the mapping states. Where loans do not tie, options are
searched for over a sample, and every loan is tried under what is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from itertools import product, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from usance.base.progress import with_progress
from usance.loan.convention import Amortisation, Rounding
from usance.migration.history import schedule
from usance.migration.portfolio_files import SourceLoan, read_loans
from usance.migration.portfolio_map import read_map
from usance.migration.terms import (
    DaysInMonth,
    DaysInYear,
    InterestBasis,
    InterestMethod,
    LeapYearRule,
    MigratedTerms,
    YearSplit,
)

_ROUNDS = 4  # how many different sets of options a book is searched for
_CHUNK = 250
_ALONE = 1_000  # loans below which other processes cost more than they bring


@dataclass(frozen=True, slots=True)
class Finding:
    """Changes of options, and the loans that tie with them."""

    changes: dict[str, str]
    loans: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A loan that ties under no option tried, and its first cell that differs as mapped."""

    loan: str
    line: int
    gap: Gap

    def as_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {"loan": self.loan, "line": self.line, **self.gap._asdict()}

    def __str__(self) -> str:
        gap = self.gap
        place = f"instalment {gap.row}, {gap.cell}" if gap.row else gap.cell
        return (
            f"{self.loan} (line {self.line}): {place}: {gap.expected} given, {gap.found} computed"
        )


@dataclass(frozen=True, slots=True)
class PortfolioReport:
    """The loans that tie, those that would tie with other options, and those that do not."""

    total: int
    options: dict[str, str]
    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]

    @property
    def would_tie(self) -> int:
        """The number of loans that tie once options are changed."""
        return sum(len(finding.loans) for finding in self.findings)

    @property
    def ties(self) -> int:
        """The number of loans that tie as mapped."""
        return self.total - self.would_tie - len(self.failures)

    def as_dict(self) -> dict[str, object]:
        """The answer of `--json`."""
        return {
            "total": self.total,
            "ties": self.ties,
            "would_tie": self.would_tie,
            "differs": len(self.failures),
            "options": self.options,
            "findings": [
                {"options": found.changes, "loans": list(found.loans)} for found in self.findings
            ],
            "failures": [failure.as_dict() for failure in self.failures],
        }

    def lines(self) -> list[str]:
        """The same for people."""
        lines = [f"{self.ties} of {self.total} loans tie as mapped"]
        for found in self.findings:
            text = ", ".join(f"{name}: {value}" for name, value in found.changes.items())
            lines.append(f"{len(found.loans)} more tie with {text}")
        lines.append(f"{len(self.failures)} do not tie")
        lines.extend(f"  {failure}" for failure in self.failures)
        return lines


def check_portfolio(
    terms: Path | str, instalments: Path | str, mapping: Path | str
) -> PortfolioReport:
    """Check the loans of two files under a mapping."""
    mapped = read_map(mapping)
    loans = read_loans(terms, instalments, mapped)
    workers = min(os.cpu_count() or 1, len(loans) // _ALONE)
    if workers < 2:
        return _report(loans, mapped.options, None)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return _report(loans, mapped.options, pool)


def _report(
    loans: Sequence[SourceLoan], options: Options, pool: ProcessPoolExecutor | None
) -> PortfolioReport:
    gaps = _gaps(loans, {}, pool)
    first = {loan.name: gap for loan, gap in zip(loans, gaps, strict=True) if gap}
    left = [loan for loan in loans if loan.name in first]
    findings: list[Finding] = []
    for _ in range(_ROUNDS):
        changes = search(left) if left else None
        if not changes:
            break
        tied = _gaps(left, changes, pool)
        names = tuple(loan.name for loan, gap in zip(left, tied, strict=True) if gap is None)
        findings.append(Finding(described(changes), names))
        left = [loan for loan, gap in zip(left, tied, strict=True) if gap]
    failures = tuple(Failure(loan.name, loan.line, first[loan.name]) for loan in left)
    return PortfolioReport(len(loans), described(options), tuple(findings), failures)


def _gaps(
    loans: Sequence[SourceLoan], changes: Options, pool: ProcessPoolExecutor | None
) -> list[Gap | None]:
    chunks = [loans[start : start + _CHUNK] for start in range(0, len(loans), _CHUNK)]
    mapped = map if pool is None else pool.map
    found = mapped(_gaps_of, chunks, repeat(changes))
    told = with_progress("comparing loans", found, len(chunks))
    return [gap for gaps in told for gap in gaps]


def _gaps_of(loans: Sequence[SourceLoan], changes: Options) -> list[Gap | None]:
    return [first_gap(loan, changes) for loan in loans]


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
