"""Flat interest of a plan that is made as a whole, and made anew with every disbursement."""

from __future__ import annotations

from decimal import Decimal

from usance.loan.convention import PeriodUnit
from usance.migration.arithmetic import equal_parts
from usance.migration.running_plan import RunningPlan
from usance.migration.terms import InterestBasis

_UNITS_A_YEAR = {PeriodUnit.WEEKS: 52, PeriodUnit.MONTHS: 12, PeriodUnit.YEARS: 1}


def plan_flat(plan: RunningPlan) -> None:
    """Interest on all that was drawn, in equal parts; principal in equal parts of what was known.

    An instalment due before a later disbursement keeps its principal; the last takes the rest.
    """
    math, count = plan.math, len(plan.periods)
    interest = equal_parts(math, math.whole(_whole_interest(plan)), count)
    known = repaid = 0
    for index, period in enumerate(plan.periods):
        known += period.drawn
        is_last = index == count - 1
        principal = plan.drawn - repaid if is_last else math.part(known, count)
        repaid += principal
        period.closed = True
        period.fixed_interest = interest.part(index)
        period.level = period.agreed_level = _rounded(plan, principal, period.fixed_interest)
        repaid += period.level - principal - period.fixed_interest
    plan.last.level += plan.drawn - repaid
    plan.recompute()


def _rounded(plan: RunningPlan, principal: int, interest: int) -> int:
    unit = plan.terms.multiple_of * 10**plan.terms.decimals
    return plan.math.multiple(principal + interest, unit)


def _whole_interest(plan: RunningPlan) -> Decimal:
    """The interest of all periods together."""
    terms, math = plan.terms, plan.math
    drawn = Decimal(plan.drawn)
    if terms.basis is InterestBasis.REPAYMENT_PERIOD and terms.unit in _UNITS_A_YEAR:
        units = Decimal(terms.every * len(plan.periods))
        years = math.over(units, Decimal(_UNITS_A_YEAR[terms.unit]))
        return math.times(math.times(drawn, plan.factors.rate(terms.disbursed_on)), years)
    factors = (p.spans[-1].interest_factor for p in plan.periods)
    return math.times(drawn, sum(factors, Decimal(0)))
