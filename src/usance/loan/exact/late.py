"""Late fees and late interest that the terms charge by themselves, in the exact form."""

from __future__ import annotations

from usance.loan.convention import Rounding
from usance.loan.exact.dates import ROUND
from usance.loan.exact.rows import PRINCIPAL, Row
from usance.loan.exact.state import State
from usance.loan.terms import LateBase, LateRule

_YEAR_PPM = 365 * 1_000_000


def charge_late(state: State, day: int) -> None:
    """Charge what has become due under the late rule by the beginning of `day`.

    Between two facts the overdue part of an instalment does not change, so late interest is
    summed as minor units × days and rounded once per instalment.
    """
    rule, since = state.terms.late, state.late_day
    state.late_day = day
    if rule is None or not rule.cap_ppm or state.settled:
        return
    for row in state.rows:
        if row.end >= day:
            break
        if row.is_paid:
            continue
        row.late_weight += _overdue(row, rule) * (day - max(row.end, since))
        if day - row.end > rule.grace_days:
            more = late_cost(row, rule, state.terms.convention.rounding) - row.late_charged
            if more > 0:
                row.late_charged += more
                state.penalty += more


def late_cost(row: Row, rule: LateRule, rounding: Rounding) -> int:
    """All that an overdue instalment has cost so far, at most the cap."""
    rnd = ROUND[rounding]
    cost = rule.fee_minor + rnd(row.late_weight * rule.rate_ppm, _YEAR_PPM)
    return min(cost, rnd(sum(row.due) * rule.cap_ppm, 1_000_000))


def _overdue(row: Row, rule: LateRule) -> int:
    if rule.base is LateBase.PRINCIPAL:
        return row.due[PRINCIPAL] - row.covered[PRINCIPAL]
    return sum(row.due) - sum(row.covered)
