"""Options that a case file does not state, and the settings they may have.

A schedule can turn on an option of its product that the case file has no field for. Such a case
is tried as stated first, then with each setting of the options it leaves open; a report says which
it needed. One stated value is tried otherwise: a rule for future instalments that a step of the
case restores was another before that step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from usance.base.codes import Component
from usance.conform.schedules.steps import PAYMENTS, Step
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
