"""Re-ageing: all that is open is spread over new instalments."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from usance.base.codes import Component
from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.arithmetic import EqualParts, equal_parts
from usance.migration.changes import draw
from usance.migration.dates import step
from usance.migration.early_payments import charge_back_to_plan, settlement_on
from usance.migration.facts import ReAgeing
from usance.migration.instalments import Instalment, InstalmentOrigin
from usance.migration.level import spread_difference, take_difference
from usance.migration.periods import Period, new_period
from usance.migration.re_age_rows import (
    CHARGES,
    clear_open_amounts,
    due_dates,
    spread_rows,
    take_prepaid,
)
from usance.migration.re_amortise import close_overdue
from usance.migration.running_plan import RunningPlan
from usance.migration.terms import ReAgeInterest


def re_age(account: Account, day: date, ageing: ReAgeing) -> None:
    """Spread what is open on a day over new instalments."""
    if not account.is_live:
        spread_rows(account, day, ageing)
        account.has_own_rows = True
    elif ageing.interest is ReAgeInterest.DEFAULT:
        _plan_anew(account, day, ageing)
    else:
        _spread_equally(account, day, ageing)


def _end_plan(plan: RunningPlan, day: date) -> tuple[int, int]:
    """End the plan on a day; principal and interest that were paid for later instalments."""
    later = [p for p in plan.periods if p.end >= day]
    paid = sum(p.paid_principal for p in later), sum(p.paid_interest for p in later)
    credited = sum(p.credited_principal for p in later if p.start >= day and p.end > day)
    running = plan.period_at(day)
    if running:
        running.is_stub = True
        running.end = running.spans[-1].end = day
        plan.periods = [period for period in plan.periods if period.end <= day]
        plan.rate([running])
    plan.recompute()
    if credited:
        charge_back_to_plan(plan, day, credited, 0)
    return paid


def _hold_prepaid(plan: RunningPlan, paid: tuple[int, int]) -> None:
    """Let the last period hold what was paid ahead."""
    last = plan.last
    last.paid_principal, last.paid_interest = paid
    last.level = last.paid
    last.is_stub = True
    plan.rate([last])


def _join_stubs(plan: RunningPlan) -> None:
    """Make one of neighbouring stubs that hold nothing."""
    kept: list[Period] = []
    for period in plan.periods:
        if kept and _is_empty(kept[-1]) and _is_empty(period):
            kept[-1].end = kept[-1].spans[-1].end = period.end
            plan.rate([kept[-1]])
        else:
            kept.append(period)
    plan.periods = kept


def _is_empty(period: Period) -> bool:
    return period.is_stub and not (period.level or period.principal or period.interest)


def _plan_anew(account: Account, day: date, ageing: ReAgeing) -> None:
    """A new plan that bears interest like any other; what has accrued waits for its first."""
    plan = account.plan
    principal = plan.open_principal
    early = take_prepaid(account, day)
    paid = _end_plan(plan, day)
    close_overdue(plan, day)
    plan.recompute()
    _join_stubs(plan)
    new = _fresh_plan(plan, principal, ageing)
    if any(paid):
        _hold_prepaid(plan, paid)
    added = []
    for period in new.periods:
        start = plan.last.end
        appended = new_period(start, period.end)
        appended.level = appended.agreed_level = period.principal + period.interest
        plan.periods.append(appended)
        added.append(appended)
    plan.rate(added)
    plan.recompute()
    take_difference(plan, day)
    spread_difference(plan, added)
    _rows_of_plan(account, day, early)


def _fresh_plan(plan: RunningPlan, principal: int, ageing: ReAgeing) -> RunningPlan:
    """A loan of the open principal, drawn one step before the first new due date."""
    start = step(ageing.first_due_on, ageing.unit, -ageing.every)
    terms = plan.terms.changed(
        disbursed_on=start, first_due_on=ageing.first_due_on, instalments=ageing.instalments,
        every=ageing.every, unit=ageing.unit, multiple_of=0, fixed_length=0,
        grace_principal=0, grace_interest=0, interest_free=0,
    )  # fmt: skip
    fresh = RunningPlan.of(terms)
    fresh.factors.changes = list(plan.factors.changes)
    draw(fresh, start, principal)
    return fresh


def _rows_of_plan(account: Account, day: date, early: Instalment) -> None:
    """Instalments by the periods of the new plan; what was paid before the day stays."""
    maturity = account.plan.last.end
    by_start = {row.start: row for row in account.rows if row.origin is InstalmentOrigin.REGULAR}
    rows = [
        r
        for r in account.rows
        if r.origin is InstalmentOrigin.DOWN_PAYMENT or _is_after(r, maturity)
    ]
    used: list[Instalment] = []
    for period in account.plan.periods:
        row = by_start.get(period.start) if period.end <= day else None
        if row is None or any(row is each for each in used):
            row = _charges_of(by_start.get(period.start), period)
        row.end = period.end
        row.due[PRINCIPAL], row.due[INTEREST] = period.principal, period.interest
        if period.is_stub and period.end == day:
            _hold_prepaid_in(row, period, early)
        row.settle(day)
        used.append(row)
    _carry_charges(account, used)
    account.rows = sorted(
        [*rows, *used], key=lambda r: (r.end, r.origin is not InstalmentOrigin.DOWN_PAYMENT)
    )


def _charges_of(old: Instalment | None, period: Period) -> Instalment:
    """A new instalment with the open charges of the one it replaces."""
    row = Instalment(period.start, period.end)
    if old and old.start == period.start and old.end >= period.end:
        for component in CHARGES:
            row.due[component] = old.open(component)
            old.due[component] = old.paid[component]
    return row


def _hold_prepaid_in(row: Instalment, period: Period, early: Instalment) -> None:
    """Let one instalment hold all that was paid ahead."""
    row.paid[PRINCIPAL], row.paid[INTEREST] = period.paid_principal, period.paid_interest
    for component in CHARGES:
        row.due[component] = row.paid[component] = early.paid[component]
    row.in_advance = early.in_advance


def _is_after(row: Instalment, maturity: date) -> bool:
    return row.origin is InstalmentOrigin.EXTRA and row.end > maturity


def _carry_charges(account: Account, used: list[Instalment]) -> None:
    """Let the charges of instalments that are gone fall due with the last new one."""
    maturity = account.plan.last.end
    for row in account.rows:
        if _is_after(row, maturity):
            row.start = maturity
        elif row.origin is not InstalmentOrigin.DOWN_PAYMENT and not any(
            row is each for each in used
        ):
            for component in CHARGES:
                used[-1].due[component] += row.due[component]
                used[-1].paid[component] += row.paid[component]


def _spread_equally(account: Account, day: date, ageing: ReAgeing) -> None:
    """Principal, interest and charges in equal parts; nothing bears interest any more."""
    plan, maturity = account.plan, account.plan.last.end
    till = day if ageing.interest is ReAgeInterest.PAYABLE else maturity
    principal, interest = settlement_on(plan, till)
    charges = {c: clear_open_amounts(account, c) for c in CHARGES}
    early = take_prepaid(account, day)
    paid = _end_plan(plan, day)
    for period in plan.periods:
        _close(period)
    if maturity >= day:
        _hold_prepaid(plan, paid)
        plan.last.re_aged = True
    plan.recompute()
    _join_stubs(plan)
    parts = _all_parts(account, ageing, principal, interest, charges)
    _append_fixed(plan, ageing, parts)
    plan.factors.change(min(day, maturity), Decimal(0))
    plan.recompute()
    take_difference(plan, day)
    _rows_of_spread(account, day, parts, early)


def _close(period: Period) -> None:
    """Leave a period with what was paid for it; its interest has moved on."""
    credited_interest = max(0, sum(span.credited_interest for span in period.spans))
    period.spans[-1].credited_interest -= min(period.open_interest, credited_interest)
    period.moved_credit = 0
    period.level = period.paid
    period.moved_credit = period.credited
    period.closed = True


def _all_parts(
    account: Account, ageing: ReAgeing, principal: int, interest: int, charges: dict[Component, int]
) -> dict[Component, EqualParts]:
    math, count = account.plan.math, ageing.instalments
    parts = {INTEREST: equal_parts(math, interest, count)}
    parts |= {c: equal_parts(math, amount, count) for c, amount in charges.items()}
    total = principal + interest + sum(charges.values())
    whole = equal_parts(math, total, count).each
    parts[PRINCIPAL] = EqualParts(whole - sum(p.each for p in parts.values()), principal, count)
    return parts


def _append_fixed(plan: RunningPlan, ageing: ReAgeing, parts: dict[Component, EqualParts]) -> None:
    principal, interest = parts[PRINCIPAL], parts[INTEREST]
    levels = EqualParts(
        principal.each + interest.each, principal.total + interest.total, principal.count
    )
    for index, due in enumerate(due_dates(ageing)):
        period = new_period(plan.last.end, due)
        period.re_aged = True
        period.fixed_interest = parts[INTEREST].part(index)
        period.level = levels.part(index)
        period.agreed_level = period.level
        plan.periods.append(period)


def _rows_of_spread(
    account: Account, day: date, parts: dict[Component, EqualParts], early: Instalment
) -> None:
    plan = account.plan
    known = {period.dates for period in plan.periods}
    kept = [row for row in account.rows if _is_kept(row, day, plan.last.end)]
    kept = [
        row
        for row in kept
        if row.origin is not InstalmentOrigin.REGULAR or (row.start, row.end) in known
    ]
    for row in kept:
        if row.origin is InstalmentOrigin.REGULAR:
            row.due[PRINCIPAL], row.due[INTEREST] = row.paid[PRINCIPAL], row.paid[INTEREST]
            row.settle(day)
    aged = [period for period in plan.periods if period.end >= day]
    index = 0
    for period in aged:
        row = Instalment(period.start, period.end)
        row.due[PRINCIPAL], row.due[INTEREST] = period.principal, period.interest
        if period.is_stub:
            _hold_prepaid_in(row, period, early)
        else:
            for component in CHARGES:
                row.due[component] = parts[component].part(index)
            index += 1
        row.settle(day)
        kept.append(row)
    account.rows = sorted(
        kept, key=lambda r: (r.end, r.origin is not InstalmentOrigin.DOWN_PAYMENT)
    )


def _is_kept(row: Instalment, day: date, maturity: date) -> bool:
    if row.origin is InstalmentOrigin.DOWN_PAYMENT:
        return True
    return row.end < day if row.origin is InstalmentOrigin.REGULAR else row.end > maturity
