"""Re-amortisation: what is overdue is spread over the instalments still to come."""

from __future__ import annotations

from datetime import date

from usance.migration.account import PRINCIPAL, Account
from usance.migration.instalments import Sort
from usance.migration.level import even_out, set_level, take_difference
from usance.migration.running_plan import Model


def re_amortise(account: Account, day: date) -> None:
    """Spread what is overdue on a day."""
    if account.is_live:
        _level_anew(account.model, day)
        account.sync(day)
    else:
        _spread(account, day)
        account.has_own_rows = True


def _level_anew(model: Model, day: date) -> None:
    """Close what is overdue at what was paid, and level the rest over the coming instalments."""
    close_overdue(model, day)
    coming = [period for period in model.periods if period.end > day]
    model.refresh()
    if not coming:
        return
    set_level(model, coming)
    model.refresh()
    take_difference(model, day)
    even_out(model, coming)


def close_overdue(model: Model, day: date) -> None:
    """Leave open instalments up to a day with what was paid for them, and move the rest on."""
    for period in model.periods:
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
    coming = [row for row in account.rows if row.end > day and row.sort is Sort.REGULAR]
    if not coming:
        return
    overdue = 0
    for row in account.rows:
        if row.end <= day:
            overdue += row.open(PRINCIPAL)
            row.due[PRINCIPAL] = row.paid[PRINCIPAL]
            row.settle(day)
    account.add_to_principal(coming, overdue, day)
