"""Conformance to the worked examples of regulation: `usance conform apr FILE`.

Each case is computed by the public functions and compared with its expected rate at the decimals
that rate shows, rounded half-up. A case that cannot be read or solved fails with its reasons; the
others are still run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from usance.base.errors import UsanceError
from usance.conform.apr.file import Case, read_cases
from usance.conform.apr.timelines import date_mismatch, timeline
from usance.conform.report import Report


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case."""

    id: str
    title: str
    expected_pct: Decimal | None
    got_pct: Decimal | None
    problems: tuple[str, ...] = ()
    note: str | None = None
    """The difference of its dates and times: empty if they agree, None if it lacks one."""

    @property
    def passed(self) -> bool:
        """True if the expected rate came out."""
        return not self.problems and self.got_pct == self.expected_pct

    @property
    def failed(self) -> bool:
        """True if it did not."""
        return not self.passed

    def as_dict(self) -> dict[str, object]:
        """For `--json`, numbers as text so that no digit is lost."""
        return {
            "id": self.id,
            "expected_apr_pct": None if self.expected_pct is None else str(self.expected_pct),
            "got_apr_pct": None if self.got_pct is None else str(self.got_pct),
            "problems": list(self.problems),
        }


class AnnualRateReport(Report[Result]):
    """The results of a file of worked examples of annual rates."""

    __slots__ = ()

    def as_dict(self) -> dict[str, object]:
        """The answer of `--json`."""
        failures = [result.as_dict() for result in self.failures]
        return {"total": len(self.results), "passed": self.passed, "failures": failures}

    def lines(self) -> Iterator[str]:
        """A line per case, then the sums."""
        for result in self.results:
            yield from _lines(result)
        yield f"{self.passed} of {len(self.results)} cases passed"
        notes = [result.note for result in self.results if result.note is not None]
        if notes:
            agree = sum(not note for note in notes)
            yield f"dates and times agree in {agree} of the {len(notes)} cases that have both"


def check_annual_rates(path: Path | str) -> AnnualRateReport:
    """Run every case of a file."""
    return AnnualRateReport(tuple(run_case(case) for case in read_cases(path)))


def run_case(case: Case) -> Result:
    """Compute one case and set it beside what it expects."""
    if case.problems or case.expected_pct is None:
        return _unusable(case, *case.problems)
    decimals = max(0, -int(case.expected_pct.as_tuple().exponent))
    try:
        rate = timeline(case).rate(parts=100 * 10**decimals)
        note = date_mismatch(case)
    except UsanceError as error:
        return _unusable(case, error)
    got = Decimal(rate).scaleb(-decimals)
    return Result(case.id, case.title, case.expected_pct, got, note=note)


def _unusable(case: Case, *errors: UsanceError) -> Result:
    texts = tuple(str(error) if error.where else f"{case.id}: {error}" for error in errors)
    return Result(case.id, case.title, case.expected_pct, None, texts)


def _lines(result: Result) -> Iterator[str]:
    mark = "ok  " if result.passed else "FAIL"
    expected = "no rate" if result.expected_pct is None else f"{result.expected_pct} %"
    got = "no rate" if result.got_pct is None else f"{result.got_pct} %"
    title = f"  {result.title}" if result.title else ""
    yield f"{mark}  {result.id}  expected {expected}, got {got}{title}"
    yield from (f"      {problem}" for problem in result.problems)
    if result.note:
        yield f"      note: {result.note}"
