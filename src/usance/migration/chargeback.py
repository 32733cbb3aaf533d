"""A payment taken back: what it paid is owed again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from usance.base.codes import Component
from usance.migration.account import INTEREST, PRINCIPAL, Account
from usance.migration.early_payments import charge_back_to_plan
from usance.migration.instalments import Instalment, InstalmentOrigin


def charge_back(account: Account, day: date, amount: int, paid: Sequence[int] | None) -> None:
    """Owe an amount again with the running instalment.

    `paid` says how the payment was split. Where the terms name no order of components, all of it
    comes back as principal.
    """
    parts = _parts(account.terms.chargeback, amount, paid)
    if account.is_live and day <= account.plan.last.end:
        charge_back_to_plan(account.plan, day, parts[PRINCIPAL], parts[INTEREST])
        account.update_instalments(day)
        planned: tuple[Component, ...] = (PRINCIPAL, INTEREST)
    else:
        planned = ()
    row = _running(account, day)
    for component in Component:
        if component not in planned:
            row.due[component] += parts[component]
    row.credited += parts[PRINCIPAL]
    row.settle(day)


def _parts(order: Sequence[Component], amount: int, paid: Sequence[int] | None) -> list[int]:
    parts = [0] * len(Component)
    if not order or paid is None:
        parts[PRINCIPAL] = amount
        return parts
    for component in order:
        parts[component] = min(amount, paid[component])
        amount -= parts[component]
    return parts


def _running(account: Account, day: date) -> Instalment:
    regular = [row for row in account.rows if row.origin is InstalmentOrigin.REGULAR]
    for row in regular:
        if row.end > day:
            return row
    return regular[-1] if regular[-1].end == day else account.extra_row(day)
