"""Small migrated loans for the tests: 100.00 at 7 % a year, six instalments, 30/360."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from usance.migration import MigratedTerms, replay, schedule
from usance.migration.account import Account
from usance.migration.facts import MigratedFact, MigratedFactKind
from usance.migration.terms import Recalculation

START = date(2024, 1, 1)


def day(text: str) -> date:
    return date.fromisoformat(f"2024-{text}")


def terms(**options: Any) -> MigratedTerms:
    stated: dict[str, Any] = {"disbursed_on": START, "rate_pct": Decimal(7), "instalments": 6}
    return MigratedTerms(**(stated | options))


def plan(amount: int = 100_00, **options: Any) -> list[tuple[int, int]]:
    """Principal and interest of every instalment."""
    return [(row.principal, row.interest) for row in schedule(terms(**options), amount)]


def interest(amount: int = 100_00, **options: Any) -> list[int]:
    return [part for _, part in plan(amount, **options)]


class Life:
    """A loan being lived: each call adds a fact, `account` replays them all."""

    def __init__(self, amount: int = 100_00, *, live: bool = True, **options: Any) -> None:
        if live:
            options.setdefault("recalculation", Recalculation())
        self.terms = terms(**options)
        self.facts: list[MigratedFact] = []
        self.add(MigratedFactKind.DISBURSED, self.terms.disbursed_on, amount=amount)

    def add(self, kind: MigratedFactKind, on: date, **content: Any) -> Life:
        known = content.pop("known_on", on)
        self.facts.append(MigratedFact(kind, on, known, len(self.facts) + 1, **content))
        return self

    def pay(self, on: str, amount: int, transaction: str = "repayment") -> Life:
        return self.add(MigratedFactKind.PAID, day(on), amount=amount, transaction=transaction)

    def account(self, today: str | date) -> Account:
        at = today if isinstance(today, date) else day(today)
        return replay(self.terms, self.facts, at)

    def rows(self, today: str | date) -> list[tuple[int, int]]:
        return [(row.principal, row.interest) for row in self.account(today).rows]


def sums(account: Account) -> tuple[int, int, int]:
    """Totals due, paid and outstanding."""
    rows: Sequence[Any] = account.rows
    return sum(r.total for r in rows), sum(r.total_paid for r in rows), account.outstanding
