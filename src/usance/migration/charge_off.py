"""Charge-off: its effect on the instalments still to come."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.early_payments import plan_until
from usance.migration.instalments import Instalment, InstalmentOrigin
from usance.migration.terms import FEE, PENALTY, ChargeOff


def charge_off(account: Account, day: date) -> None:
    """Charge a loan off by the rule of its terms."""
    if not account.outstanding:
        return
    rule = account.terms.charge_off
    if rule is ChargeOff.ZERO_INTEREST:
        _without_interest(account, day)
    elif rule is ChargeOff.ACCELERATE_MATURITY:
        _all_due(account, day)
    account.is_frozen = True


def _interest_to(account: Account, row: Instalment, day: date) -> int:
    """The interest of a running instalment up to a day."""
    if account.is_live:
        trial = plan_until(account.plan, day)
        period = trial.period_of(row.start, row.end)
        return period.accrued if period else row.due[INTEREST]
    math, days = account.plan.math, Decimal((row.end - row.start).days)
    a_day = math.over(Decimal(row.open(INTEREST)), days)
    return math.whole(math.times(a_day, Decimal((day - row.start).days)))


def _without_interest(account: Account, day: date) -> None:
    """No interest after the day; what instalments lose of it they gain in principal."""
    regular = [row for row in account.rows if row.origin is InstalmentOrigin.REGULAR]
    for row in regular:
        if row.start <= day < row.end:
            interest = _interest_to(account, row, day)
            if row.open(INTEREST) or interest:
                row.due[PRINCIPAL] += row.due[INTEREST] - interest
                row.due[INTEREST] = interest
        elif row.start > day and row.is_open:
            row.due[PRINCIPAL] += row.open(INTEREST)
            row.due[INTEREST] -= row.open(INTEREST)
    _trim_principal(account, day)


def _trim_principal(account: Account, day: date) -> None:
    """Take what is now too much principal from the last open instalments."""
    rows = [row for row in account.rows if row.origin is not InstalmentOrigin.EXTRA]
    owed = sum(amount for _, amount in account.drawn) + account.plan.credited_principal
    left = owed - sum(row.due[PRINCIPAL] for row in rows)
    for row in reversed(rows):
        if left and row.is_open:
            change = max(left, -row.due[PRINCIPAL])
            row.due[PRINCIPAL] += change
            left -= change
            row.settle(day)


def _is_running(row: Instalment, day: date) -> bool:
    return row.origin is InstalmentOrigin.REGULAR and row.start < day <= row.end


def _all_due(account: Account, day: date) -> None:
    """All principal falls due on the day; instalments after it are gone."""
    running = next((row for row in account.rows if _is_running(row, day)), None)
    if running is None:
        return
    if running.is_open:
        running.due[INTEREST] = _interest_to(account, running, day)
    later = [r for r in account.rows if r.start >= day and r.origin is InstalmentOrigin.REGULAR]
    running.end = day
    for component in (PRINCIPAL, FEE, PENALTY):
        running.due[component] += sum(row.due[component] for row in later)
        running.paid[component] += sum(row.paid[component] for row in later)
    running.in_advance += sum(row.in_advance for row in later)
    account.rows = [r for r in account.rows if not any(r is each for each in later)]
    running.settle(day)
