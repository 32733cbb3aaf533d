"""Check of a lender's book before it moves: `usance conform portfolio`.

Every loan is checked under the options the mapping states. Where loans do not tie, options are
searched for over a sample, and every loan is tried under what is found.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from usance.migration.portfolio_files import SourceLoan, read_loans
from usance.migration.portfolio_map import read_map
from usance.migration.portfolio_search import Gap, Options, described, first_gap, search

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
    if pool is None:
        return [gap for chunk in chunks for gap in _gaps_of(chunk, changes)]
    found = pool.map(_gaps_of, chunks, repeat(changes))
    return [gap for gaps in found for gap in gaps]


def _gaps_of(loans: Sequence[SourceLoan], changes: Options) -> list[Gap | None]:
    return [first_gap(loan, changes) for loan in loans]
