"""Re-amortisation: overdue amounts are spread over the instalments still to come."""

from __future__ import annotations

from datetime import date

from usance.migration.account import PRINCIPAL, Account
from usance.migration.instalments import InstalmentOrigin
from usance.migration.level import set_level, spread_difference, take_difference
from usance.migration.running_plan import RunningPlan


def re_amortise(account: Account, day: date) -> None:
    """Spread what is overdue on a day."""
    if account.is_live:
        _level_anew(account.plan, day)
        account.update_instalments(day)
    else:
        _spread(account, day)
        account.has_own_rows = True


def _level_anew(plan: RunningPlan, day: date) -> None:
    """Close what is overdue at what was paid, and level the rest over the coming instalments."""
    close_overdue(plan, day)
    coming = [period for period in plan.periods if period.end > day]
    plan.recompute()
    if not coming:
        return
    set_level(plan, coming)
    plan.recompute()
    take_difference(plan, day)
    spread_difference(plan, coming)


def close_overdue(plan: RunningPlan, day: date) -> None:
    """Leave open instalments up to a day with what was paid for them, and move the rest on."""
    for period in plan.periods:
        if period.start > day or period.is_paid:
            continue
        for span in period.spans:
            if span.end == day:
                span.correction = 0
        last = period.spans[-1]
        if last.correction:
            last.correction -= period.open_principal
        period.level = period.paid
        period.moved_credit += period.credited


def _spread(account: Account, day: date) -> None:
    """Without interest: the overdue principal in equal parts, the last taking the difference."""
    coming = [
        row for row in account.rows if row.end > day and row.origin is InstalmentOrigin.REGULAR
    ]
    if not coming:
        return
    overdue = 0
    for row in account.rows:
        if row.end <= day:
            overdue += row.open(PRINCIPAL)
            row.due[PRINCIPAL] = row.paid[PRINCIPAL]
            row.settle(day)
    account.add_to_principal(coming, overdue, day)
