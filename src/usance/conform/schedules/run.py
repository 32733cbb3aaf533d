"""Conformance to other systems' schedules: `usance conform schedules FILE`.

A case reproduces if every published cell of every check comes out to the last minor unit. A case
that cannot be read or played fails with its reasons; the others are still run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice, product
from pathlib import Path
from typing import Any

from usance.base.codes import Component
from usance.base.errors import UsanceError
from usance.conform.report import Report
from usance.conform.schedules.cells import Difference
from usance.conform.schedules.file import Case, read_cases
from usance.conform.schedules.steps import PAYMENTS, CaseRun, Step, UnsupportedStep
from usance.conform.schedules.terms import FUTURE
from usance.loan.convention import EarlyPayment, Sweep
from usance.migration.terms import (
    FEE,
    PENALTY,
    AllocationRule,
    DaysInYear,
    InterestBasis,
    LeapYearRule,
    MigratedTerms,
    PlanMethod,
    TrancheTerm,
    YearSplit,
)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case."""

    position: int
    group: str
    check: int = 0
    difference: Difference | None = None
    problems: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """Settings of unstated options under which the case reproduces, or gets this far."""
    errors: tuple[UsanceError, ...] = ()
    """Reasons why the case cannot be used at all."""
    attempts: int = 1

    @property
    def passed(self) -> bool:
        """True if every cell came out."""
        return self.difference is None and not self.problems

    @property
    def failed(self) -> bool:
        """True if a cell did not."""
        return not self.passed

    @property
    def progress(self) -> tuple[int, int, Decimal]:
        """Progress of an attempt: the check that differs, its row, and the difference."""
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
        option_settings = f" (with {'; '.join(self.assumed)})" if self.assumed else ""
        if self.attempts >= MAX_ATTEMPTS:
            option_settings += (
                f" (only the first {MAX_ATTEMPTS} combinations of settings were tried)"
            )
        if self.errors:
            return f"FAIL  {name}: cannot be used"
        if self.problems:
            return f"FAIL  {name}: {'; '.join(self.problems)}"
        if self.difference:
            return f"FAIL  {name}: check {self.check}, {self.difference}{option_settings}"
        return f"ok    {name}{option_settings}"


class ScheduleReport(Report[Result]):
    """The results of a file of schedules and life cycles of other systems."""

    __slots__ = ()

    @property
    def errors(self) -> list[UsanceError]:
        """Everything wrong with cases that cannot be used."""
        return [error for result in self.results for error in result.errors]

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
        """A line per case, then the sums."""
        for result in self.results:
            yield result.line()
        for group, count in self.by_group().items():
            yield f"{group}: {count['passed']} of {count['total']} reproduced to the cent"
        yield f"{self.passed} of {len(self.results)} cases reproduced to the cent"
        assumed = sum(1 for result in self.results if result.passed and result.assumed)
        if assumed:
            yield f"{assumed} of them with a setting that their file leaves open"


def check_schedules(path: Path | str, *, as_stated: bool = False) -> ScheduleReport:
    """Run every case of a file; `as_stated` tries no setting that a case leaves open."""
    return ScheduleReport(tuple(run_case(case, as_stated=as_stated) for case in read_cases(path)))


def run_case(case: Case, *, as_stated: bool = False) -> Result:
    """Run one case as stated, then with every setting of what it leaves open."""
    if case.problems:
        problems = tuple(str(problem) for problem in case.problems)
        return Result(case.position, case.group, problems=problems, errors=case.problems)
    if case.unsupported:
        return Result(case.position, case.group, problems=case.unsupported)
    best: Result | None = None
    attempts = 0
    for assumed, terms in option_settings(case.terms, case.steps):
        attempt = CaseRun(terms, case.planned, lists_disbursements=case.lists_disbursements)
        result = _attempt(case, attempt, tuple(assumed))
        attempts += 1
        if result.passed:
            return result
        if best is None or result.progress > best.progress:
            best = result
        if as_stated:
            break
    assert best is not None
    return replace(best, attempts=attempts)


def _attempt(case: Case, attempt: CaseRun, assumed: tuple[str, ...]) -> Result:
    try:
        found = attempt.run(case.steps)
    except (UnsupportedStep, UsanceError) as reason:
        return Result(case.position, case.group, problems=(str(reason),))
    except (ArithmeticError, LookupError, ValueError) as error:
        # A life that the model does not foresee fails its case, not the file, and says whose fault.
        reason_text = f"a fault of ours, please report it: {type(error).__name__} {error}".strip()
        return Result(case.position, case.group, problems=(reason_text,))
    if found is None:
        return Result(case.position, case.group, assumed=assumed)
    return Result(case.position, case.group, *found, assumed=assumed)


MAX_ATTEMPTS = 243
_CHARGEBACKS = (
    (Component.INTEREST, PENALTY, FEE, Component.PRINCIPAL),
    (PENALTY, FEE, Component.INTEREST, Component.PRINCIPAL),
    (Component.PRINCIPAL, Component.INTEREST, FEE, PENALTY),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of one open option: what it says, and how it changes the terms."""

    says: str
    change: dict[str, Any]


def option_settings(
    terms: MigratedTerms, steps: Sequence[Step]
) -> Iterator[tuple[list[str], MigratedTerms]]:
    """The terms as stated, then with every combination of what they leave open."""
    open_options = [
        *_rules(terms, steps),
        *_tranches(terms, steps),
        *_refunds(terms, steps),
        *_chargebacks(steps),
        *_sweeps(terms, steps),
        *_years(terms),
    ]
    combinations = product(*([None, *choices] for choices in open_options))
    for combination in islice(combinations, MAX_ATTEMPTS):
        chosen = [setting for setting in combination if setting]
        changed = terms
        for setting in chosen:
            changed = changed.changed(**setting.change)
        yield [setting.says for setting in chosen], changed


def _count(steps: Sequence[Step], *names: str) -> int:
    return sum(1 for step in steps if step["type"] in names)


def _rules(terms: MigratedTerms, steps: Sequence[Step]) -> list[list[Setting]]:
    """A rule that is put back at the end of a case was another one during it."""
    found: dict[str, list[Setting]] = {}
    drawn = False
    for step in steps:
        drawn = drawn or step["type"] == "disburse"
        if step["type"] != "set_future_instalment_rule" or not drawn:
            continue
        kind, restored = (
            str(step.get("transaction_type")).lower(),
            FUTURE.get(str(step.get("rule"))),
        )
        others = [rule for rule in FUTURE.values() if rule is not restored]
        found[kind] = [_rule(terms, kind, rule) for rule in others]
    return list(found.values())


def _rule(terms: MigratedTerms, kind: str, rule: EarlyPayment) -> Setting:
    orders = {**terms.orders, kind: AllocationRule(terms.order(kind).buckets, rule)}
    return Setting(f"future instalments of {kind}: {rule}", {"orders": orders})


def _tranches(terms: MigratedTerms, steps: Sequence[Step]) -> list[list[Setting]]:
    if _count(steps, "disburse") < 2 or terms.plan is PlanMethod.CUMULATIVE:
        return []
    found = [[Setting("tranches: full_term", {"tranches": TrancheTerm.FULL_TERM})]]
    if terms.basis is InterestBasis.REPAYMENT_PERIOD:
        found.append([Setting("part_periods: false", {"part_periods": False})])
    return found


def _sweeps(terms: MigratedTerms, steps: Sequence[Step]) -> list[list[Setting]]:
    if not _count(steps, *PAYMENTS, "payoff") or terms.plan is PlanMethod.CUMULATIVE:
        return []
    return [[Setting("sweep: by_bucket", {"sweep": Sweep.BY_BUCKET})]]


def _years(terms: MigratedTerms) -> list[list[Setting]]:
    """Settings of leap years and New Year; needed by an actual year only."""
    if terms.days_in_year is not DaysInYear.ACTUAL or not terms.rate_pct:
        return []
    leap, split = LeapYearRule.FEB_29_PERIOD_ONLY, YearSplit.FIRST_DAY
    return [
        [Setting(f"leap_year: {leap}", {"leap_year": leap})],
        [Setting(f"year_split: {split}", {"year_split": split})],
    ]


def _refunds(terms: MigratedTerms, steps: Sequence[Step]) -> list[list[Setting]]:
    if terms.refunds_interest or not _count(steps, "merchant_issued_refund", "payout_refund"):
        return []
    return [[Setting("refunds give interest back", {"refunds_interest": True})]]


def _chargebacks(steps: Sequence[Step]) -> list[list[Setting]]:
    if not _count(steps, "chargeback"):
        return []
    return [
        [
            Setting(f"chargeback: {', '.join(c.label for c in order)}", {"chargeback": order})
            for order in _CHARGEBACKS
        ]
    ]
