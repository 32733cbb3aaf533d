"""Re-ageing: all that is open is spread over new instalments."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from usance.base.codes import Component
from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.changes import draw
from usance.migration.dates import step
from usance.migration.early_payments import credit, open_on
from usance.migration.equal_parts import Parts, equal_parts
from usance.migration.facts import Ageing
from usance.migration.instalments import Instalment, Sort
from usance.migration.level import even_out, take_difference
from usance.migration.periods import Period, new_period
from usance.migration.re_age_rows import CHARGES, due_dates, lift, spread_rows, take_early
from usance.migration.re_amortise import close_overdue
from usance.migration.running_plan import Model
from usance.migration.terms import AgeingInterest


def re_age(account: Account, day: date, ageing: Ageing) -> None:
    """Spread what is open on a day over new instalments."""
    if not account.is_live:
        spread_rows(account, day, ageing)
        account.has_own_rows = True
    elif ageing.interest is AgeingInterest.DEFAULT:
        _plan_anew(account, day, ageing)
    else:
        _spread_equally(account, day, ageing)


def _end_plan(model: Model, day: date) -> tuple[int, int]:
    """End the plan on a day; principal and interest that were paid for later instalments."""
    later = [p for p in model.periods if p.end >= day]
    paid = sum(p.paid_principal for p in later), sum(p.paid_interest for p in later)
    credited = sum(p.credited_principal for p in later if p.start >= day and p.end > day)
    running = model.period_at(day)
    if running:
        running.is_stub = True
        running.end = running.spans[-1].end = day
        model.periods = [period for period in model.periods if period.end <= day]
        model.rate([running])
    model.refresh()
    if credited:
        credit(model, day, credited, 0)
    return paid


def _hold_early(model: Model, paid: tuple[int, int]) -> None:
    """Let the last period hold what was paid ahead."""
    last = model.last
    last.paid_principal, last.paid_interest = paid
    last.level = last.paid
    last.is_stub = True
    model.rate([last])


def _join_stubs(model: Model) -> None:
    """Make one of neighbouring stubs that hold nothing."""
    kept: list[Period] = []
    for period in model.periods:
        if kept and _is_bare(kept[-1]) and _is_bare(period):
            kept[-1].end = kept[-1].spans[-1].end = period.end
            model.rate([kept[-1]])
        else:
            kept.append(period)
    model.periods = kept


def _is_bare(period: Period) -> bool:
    return period.is_stub and not (period.level or period.principal or period.interest)


def _plan_anew(account: Account, day: date, ageing: Ageing) -> None:
    """A new plan that bears interest like any other; what has accrued waits for its first."""
    model = account.model
    principal = model.open_principal
    early = take_early(account, day)
    paid = _end_plan(model, day)
    close_overdue(model, day)
    model.refresh()
    _join_stubs(model)
    new = _fresh_plan(model, principal, ageing)
    if any(paid):
        _hold_early(model, paid)
    added = []
    for period in new.periods:
        start = model.last.end
        appended = new_period(start, period.end)
        appended.level = appended.agreed_level = period.principal + period.interest
        model.periods.append(appended)
        added.append(appended)
    model.rate(added)
    model.refresh()
    take_difference(model, day)
    even_out(model, added)
    _rows_of_plan(account, day, early)


def _fresh_plan(model: Model, principal: int, ageing: Ageing) -> Model:
    """A loan of the open principal, drawn one step before the first new due date."""
    start = step(ageing.first_due_on, ageing.unit, -ageing.every)
    terms = model.terms.changed(
        disbursed_on=start, first_due_on=ageing.first_due_on, instalments=ageing.instalments,
        every=ageing.every, unit=ageing.unit, multiple_of=0, fixed_length=0,
        grace_principal=0, grace_interest=0, interest_free=0,
    )  # fmt: skip
    plan = Model.of(terms)
    plan.factors.changes = list(model.factors.changes)
    draw(plan, start, principal)
    return plan


def _rows_of_plan(account: Account, day: date, early: Instalment) -> None:
    """Instalments by the periods of the new plan; what was paid before the day stays."""
    maturity = account.model.last.end
    by_start = {row.start: row for row in account.rows if row.sort is Sort.REGULAR}
    rows = [r for r in account.rows if r.sort is Sort.DOWN_PAYMENT or _is_after(r, maturity)]
    used: list[Instalment] = []
    for period in account.model.periods:
        row = by_start.get(period.start) if period.end <= day else None
        if row is None or any(row is each for each in used):
            row = _charges_of(by_start.get(period.start), period)
        row.end = period.end
        row.due[PRINCIPAL], row.due[INTEREST] = period.principal, period.interest
        if period.is_stub and period.end == day:
            _hold(row, period, early)
        row.settle(day)
        used.append(row)
    _carry_charges(account, used)
    account.rows = sorted([*rows, *used], key=lambda r: (r.end, r.sort is not Sort.DOWN_PAYMENT))


def _charges_of(old: Instalment | None, period: Period) -> Instalment:
    """A new instalment with the open charges of the one it replaces."""
    row = Instalment(period.start, period.end)
    if old and old.start == period.start and old.end >= period.end:
        for component in CHARGES:
            row.due[component] = old.open(component)
            old.due[component] = old.paid[component]
    return row


def _hold(row: Instalment, period: Period, early: Instalment) -> None:
    """Let one instalment hold all that was paid ahead."""
    row.paid[PRINCIPAL], row.paid[INTEREST] = period.paid_principal, period.paid_interest
    for component in CHARGES:
        row.due[component] = row.paid[component] = early.paid[component]
    row.in_advance = early.in_advance


def _is_after(row: Instalment, maturity: date) -> bool:
    return row.sort is Sort.EXTRA and row.end > maturity


def _carry_charges(account: Account, used: list[Instalment]) -> None:
    """Let the charges of instalments that are gone fall due with the last new one."""
    maturity = account.model.last.end
    for row in account.rows:
        if _is_after(row, maturity):
            row.start = maturity
        elif row.sort is not Sort.DOWN_PAYMENT and not any(row is each for each in used):
            for component in CHARGES:
                used[-1].due[component] += row.due[component]
                used[-1].paid[component] += row.paid[component]


def _spread_equally(account: Account, day: date, ageing: Ageing) -> None:
    """Principal, interest and charges in equal parts; nothing bears interest any more."""
    model, maturity = account.model, account.model.last.end
    till = day if ageing.interest is AgeingInterest.PAYABLE else maturity
    principal, interest = open_on(model, till)
    charges = {c: lift(account, c) for c in CHARGES}
    early = take_early(account, day)
    paid = _end_plan(model, day)
    for period in model.periods:
        _close(period)
    if maturity >= day:
        _hold_early(model, paid)
        model.last.re_aged = True
    model.refresh()
    _join_stubs(model)
    parts = _all_parts(account, ageing, principal, interest, charges)
    _append_fixed(model, ageing, parts)
    model.factors.change(min(day, maturity), Decimal(0))
    model.refresh()
    take_difference(model, day)
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
    account: Account, ageing: Ageing, principal: int, interest: int, charges: dict[Component, int]
) -> dict[Component, Parts]:
    math, count = account.model.math, ageing.instalments
    parts = {INTEREST: equal_parts(math, interest, count)}
    parts |= {c: equal_parts(math, amount, count) for c, amount in charges.items()}
    total = principal + interest + sum(charges.values())
    whole = equal_parts(math, total, count).each
    parts[PRINCIPAL] = Parts(whole - sum(p.each for p in parts.values()), principal, count)
    return parts


def _append_fixed(model: Model, ageing: Ageing, parts: dict[Component, Parts]) -> None:
    principal, interest = parts[PRINCIPAL], parts[INTEREST]
    levels = Parts(
        principal.each + interest.each, principal.total + interest.total, principal.count
    )
    for index, due in enumerate(due_dates(ageing)):
        period = new_period(model.last.end, due)
        period.re_aged = True
        period.fixed_interest = parts[INTEREST].part(index)
        period.level = levels.part(index)
        period.agreed_level = period.level
        model.periods.append(period)


def _rows_of_spread(
    account: Account, day: date, parts: dict[Component, Parts], early: Instalment
) -> None:
    model = account.model
    known = {period.dates for period in model.periods}
    kept = [row for row in account.rows if _is_kept(row, day, model.last.end)]
    kept = [row for row in kept if row.sort is not Sort.REGULAR or (row.start, row.end) in known]
    for row in kept:
        if row.sort is Sort.REGULAR:
            row.due[PRINCIPAL], row.due[INTEREST] = row.paid[PRINCIPAL], row.paid[INTEREST]
            row.settle(day)
    aged = [period for period in model.periods if period.end >= day]
    index = 0
    for period in aged:
        row = Instalment(period.start, period.end)
        row.due[PRINCIPAL], row.due[INTEREST] = period.principal, period.interest
        if period.is_stub:
            _hold(row, period, early)
        else:
            for component in CHARGES:
                row.due[component] = parts[component].part(index)
            index += 1
        row.settle(day)
        kept.append(row)
    account.rows = sorted(kept, key=lambda r: (r.end, r.sort is not Sort.DOWN_PAYMENT))


def _is_kept(row: Instalment, day: date, maturity: date) -> bool:
    if row.sort is Sort.DOWN_PAYMENT:
        return True
    return row.end < day if row.sort is Sort.REGULAR else row.end > maturity
