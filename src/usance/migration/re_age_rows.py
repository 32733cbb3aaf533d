"""Re-ageing of instalments whose interest is not recalculated, and helpers of every kind of it."""

from __future__ import annotations

from datetime import date

from usance.base.codes import Component
from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.arithmetic import EqualParts, equal_parts
from usance.migration.dates import step
from usance.migration.facts import ReAgeing
from usance.migration.instalments import Instalment, InstalmentOrigin
from usance.migration.terms import FEE, PENALTY, ReAgeInterest

CHARGES = (FEE, PENALTY)


def due_dates(ageing: ReAgeing) -> list[date]:
    """The due dates of the new instalments."""
    first, unit, every = ageing.first_due_on, ageing.unit, ageing.every
    return [step(first, unit, every * k) for k in range(ageing.instalments)]


def clear_open_amounts(
    account: Account, component: Component, *, down_payments: bool = True
) -> int:
    """Take what is open of a component off all instalments."""
    total = 0
    for row in account.rows:
        if row.origin is InstalmentOrigin.DOWN_PAYMENT and not down_payments:
            continue
        total += row.open(component)
        row.due[component] = row.paid[component]
    return total


def take_prepaid(account: Account, day: date) -> Instalment:
    """Amounts paid for instalments due from a day on, as one instalment."""
    early = Instalment(day, day)
    for row in account.rows:
        if row.origin is InstalmentOrigin.REGULAR and row.end >= day:
            for component in Component:
                early.paid[component] += row.paid[component]
            early.in_advance += row.in_advance
    return early


def spread_rows(account: Account, day: date, ageing: ReAgeing) -> None:
    """Without recalculated interest: instalments from the first new due date are replaced."""
    bears = bool(account.terms.rate_pct) and ageing.interest is not ReAgeInterest.DEFAULT
    parts = _open_in_equal_parts(account, ageing, bears=bears)
    early = take_prepaid(account, day)
    is_early = early.total_paid > 0
    kept = [row for row in account.rows if _is_kept(row, day, ageing, is_early=is_early)]
    start = max((row.end for row in kept), default=account.terms.disbursed_on)
    if is_early:
        early.start, early.end, early.due = start, day, list(early.paid)
        kept.append(early)
        start = day
    new = _new_rows(start, ageing, parts)
    gone = [row for row in account.rows if not any(row is each for each in kept)]
    account.rows = [*kept, *new, *_carry_charges(gone, new)]
    for row in account.rows:
        row.settle(day)


def _open_in_equal_parts(
    account: Account, ageing: ReAgeing, *, bears: bool
) -> dict[Component, EqualParts]:
    """The open amounts in equal parts: principal alone, or with interest and charges."""
    moved = (PRINCIPAL, INTEREST, *CHARGES) if bears else (PRINCIPAL,)
    amounts = {
        component: clear_open_amounts(account, component, down_payments=not bears)
        for component in moved
    }
    math, count = account.plan.math, ageing.instalments
    parts = {c: equal_parts(math, amounts[c], count) for c in moved if c is not PRINCIPAL}
    whole = equal_parts(math, sum(amounts.values()), count).each
    whole = math.multiple(whole, account.terms.multiple_of * 10**account.terms.decimals)
    each = whole - sum(part.each for part in parts.values())
    return parts | {PRINCIPAL: EqualParts(each, amounts[PRINCIPAL], count)}


def _is_kept(row: Instalment, day: date, ageing: ReAgeing, *, is_early: bool) -> bool:
    if row.origin is InstalmentOrigin.DOWN_PAYMENT:
        return True
    if row.origin is InstalmentOrigin.EXTRA or row.end >= ageing.first_due_on:
        return False
    return row.end < day or not is_early


def _new_rows(
    start: date, ageing: ReAgeing, parts: dict[Component, EqualParts]
) -> list[Instalment]:
    rows = []
    for index, due in enumerate(due_dates(ageing)):
        row = Instalment(start, due)
        for component, part in parts.items():
            row.due[component] = part.part(index)
        rows.append(row)
        start = due
    return rows


def _carry_charges(gone: list[Instalment], new: list[Instalment]) -> list[Instalment]:
    """Let open charges stay with the instalment in the same place; those after the end remain."""
    after = []
    for index, row in enumerate(gone):
        if row.origin is InstalmentOrigin.EXTRA and row.end > new[-1].end:
            row.start = new[-1].end
            after.append(row)
            continue
        heir = new[min(index, len(new) - 1)]
        for component in CHARGES:
            heir.due[component] += row.open(component)
    return after
