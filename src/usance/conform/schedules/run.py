"""Conformance to other systems' schedules: `usance conform schedules FILE`.

A case reproduces if every published cell of every check comes out to the last minor unit. A case
that cannot be read or played fails with its reasons; the others are still run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from usance.base.errors import UsanceError
from usance.conform.schedules.cells import Difference
from usance.conform.schedules.file import Case, read_cases
from usance.conform.schedules.open_options import MAX_ATTEMPTS, settings
from usance.conform.schedules.steps import Play, Unplayable


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one case."""

    position: int
    group: str
    check: int = 0
    difference: Difference | None = None
    problems: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """What the case leaves open and had to be so for it to reproduce, or to get this far."""
    errors: tuple[UsanceError, ...] = ()
    """Why the case cannot be used at all."""
    attempts: int = 1

    @property
    def passed(self) -> bool:
        """Whether every cell came out."""
        return self.difference is None and not self.problems

    @property
    def reach(self) -> tuple[int, int, Decimal]:
        """How far an attempt got: the check that differs, the row in it, and by how little."""
        found = self.difference
        return (self.check, found.place, -found.size) if found else (0, 0, Decimal(0))

    def as_dict(self) -> dict[str, object]:
        """A failure for `--json`, cells as text so that no digit is lost."""
        found: dict[str, object] = {"case": self.position, "group": self.group}
        if self.difference:
            found |= {
                "check": self.check, "row": self.difference.row, "cell": self.difference.cell,
                "expected": self.difference.expected, "found": self.difference.found,
            }  # fmt: skip
        if self.assumed:
            found["assumed"] = list(self.assumed)
        return found | {"problems": list(self.problems)}

    def line(self) -> str:
        """The same for people."""
        name = f"case {self.position:>4}  {self.group}"
        settings = f" (with {'; '.join(self.assumed)})" if self.assumed else ""
        if self.attempts >= MAX_ATTEMPTS:
            settings += f" (only the first {MAX_ATTEMPTS} combinations of settings were tried)"
        if self.errors:
            return f"FAIL  {name}: cannot be used"
        if self.problems:
            return f"FAIL  {name}: {'; '.join(self.problems)}"
        if self.difference:
            return f"FAIL  {name}: check {self.check}, {self.difference}{settings}"
        return f"ok    {name}{settings}"


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a file of cases."""

    results: tuple[Result, ...]

    @property
    def failures(self) -> tuple[Result, ...]:
        """The cases that did not reproduce."""
        return tuple(result for result in self.results if not result.passed)

    @property
    def errors(self) -> list[UsanceError]:
        """Everything wrong with cases that cannot be used."""
        return [error for result in self.results for error in result.errors]

    @property
    def passed(self) -> int:
        """How many did."""
        return len(self.results) - len(self.failures)

    def by_group(self) -> dict[str, dict[str, int]]:
        """Totals and passes of each group."""
        groups: dict[str, dict[str, int]] = {}
        for result in self.results:
            group = groups.setdefault(result.group, {"total": 0, "passed": 0})
            group["total"] += 1
            group["passed"] += result.passed
        return groups

    def as_dict(self) -> dict[str, object]:
        """The answer of `--json`."""
        assumed = {str(r.position): list(r.assumed) for r in self.results if r.passed and r.assumed}
        return {
            "total": len(self.results),
            "passed": self.passed,
            "by_group": self.by_group(),
            "failures": [result.as_dict() for result in self.failures],
            "assumed": assumed,
        }

    def lines(self) -> Iterator[str]:
        """The same for people: a line per case, then the sums."""
        for result in self.results:
            yield result.line()
        for group, count in self.by_group().items():
            yield f"{group}: {count['passed']} of {count['total']} reproduced to the cent"
        yield f"{self.passed} of {len(self.results)} cases reproduced to the cent"
        assumed = sum(1 for result in self.results if result.passed and result.assumed)
        if assumed:
            yield f"{assumed} of them with a setting that their file leaves open"


def run(path: Path | str, *, as_stated: bool = False) -> Report:
    """Run every case of a file; `as_stated` tries no setting that a case leaves open."""
    return Report(tuple(run_case(case, as_stated=as_stated) for case in read_cases(path)))


def run_case(case: Case, *, as_stated: bool = False) -> Result:
    """Play one case as stated, then with what it leaves open."""
    if case.problems:
        problems = tuple(str(problem) for problem in case.problems)
        return Result(case.position, case.group, problems=problems, errors=case.problems)
    if case.unsupported:
        return Result(case.position, case.group, problems=case.unsupported)
    best: Result | None = None
    attempts = 0
    for assumed, terms in settings(case.terms, case.steps):
        play = Play(terms, case.planned, announces=case.announces)
        result = _played(case, play, tuple(assumed))
        attempts += 1
        if result.passed:
            return result
        if best is None or result.reach > best.reach:
            best = result
        if as_stated:
            break
    assert best is not None
    return replace(best, attempts=attempts)


def _played(case: Case, play: Play, assumed: tuple[str, ...]) -> Result:
    try:
        found = play.run(case.steps)
    except (Unplayable, UsanceError) as reason:
        return Result(case.position, case.group, problems=(str(reason),))
    except (ArithmeticError, LookupError, ValueError) as error:
        # A life that the model does not foresee fails its case, not the file, and says whose fault.
        reason_text = f"a fault of ours, please report it: {type(error).__name__} {error}".strip()
        return Result(case.position, case.group, problems=(reason_text,))
    if found is None:
        return Result(case.position, case.group, assumed=assumed)
    return Result(case.position, case.group, *found, assumed=assumed)
