"""Income tax: current, deferred, and the reconciliation of the effective rate.

Deferred tax is the rate times temporary differences (their accounts are data, `tax.yaml`). Current
tax is the rate times profit plus permanent differences, less the change of temporary ones; it is
cumulative within the year and rounded once.

>>> balances = {"financial_allowance": -38_16, "contract_allowance": -12_02, "contingent": -360_00}
>>> deferred(balances, 250_000).asset_minor
10255
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from usance.base.codes import Currency
from usance.base.documents import read_text
from usance.base.errors import raise_all
from usance.base.fields import fields_of
from usance.base.money import MILLION, half_up
from usance.books.chart import load_chart
from usance.books.group.entities import Entity
from usance.books.group.readers import account_of

SHIPPED = Path(__file__).resolve().parents[1] / "data" / "tax.yaml"
Balances = Mapping[str, int]
"""A trial balance: amounts by account, debit positive, in the entity's own currency."""
_NOT_BEFORE_TAX = frozenset({"income_tax", "deferred_tax", "non_controlling_income"})


class Differences(NamedTuple):
    """Accounts with temporary differences."""

    deductible: tuple[str, ...]
    taxable: tuple[str, ...]


@cache
def load_differences(path: Path = SHIPPED) -> Differences:
    """Read the accounts that give rise to deferred tax."""
    given = fields_of(read_text(path), path.name)
    found = [given.need(key, _accounts) or () for key in Differences._fields]
    given.close()
    raise_all(given.problems, where=path.name)
    return Differences(*found)


def _accounts(given: Any, where: str) -> tuple[str, ...]:
    read = account_of(*load_chart().accounts)
    return tuple(read(each, where) for each in (given if isinstance(given, list) else [given]))


class Deferred(NamedTuple):
    """Deferred tax of an entity, asset and liability apart."""

    asset_minor: int
    liability_minor: int


def temporary_differences(balances: Balances) -> int:
    """Taxable less deductible temporary differences."""
    listed = load_differences()
    return sum(balances.get(name, 0) for name in (*listed.taxable, *listed.deductible))


def deferred(balances: Balances, tax_ppm: int) -> Deferred:
    """Deferred tax on the differences of a trial balance."""
    listed = load_differences()
    deductible = -sum(balances.get(name, 0) for name in listed.deductible)
    taxable = sum(balances.get(name, 0) for name in listed.taxable)
    asset, liability = _tax(deductible, tax_ppm), _tax(taxable, tax_ppm)
    # A negative asset is a debt, and the other way round.
    return Deferred(max(asset, 0) + max(-liability, 0), max(liability, 0) + max(-asset, 0))


def profit_before_tax(balances: Balances) -> int:
    """Profit before tax of a trial balance."""
    chart = load_chart()
    return -sum(
        minor
        for name, minor in balances.items()
        if not chart[name].kind.on_balance_sheet and name not in _NOT_BEFORE_TAX
    )


@dataclass(frozen=True, slots=True)
class TaxYear:
    """An entity's year so far; balances are those without the tax that is computed here."""

    entity: Entity
    now: Balances
    at_start: Balances
    """As the year before ended."""
    opening: Balances = field(default_factory=dict)
    """As the books began; deferred tax that was there then is taken as given."""
    permanent_minor: int = 0
    """Permanent differences of the year: non-deductible costs less tax-exempt income."""
    permanent_before_minor: int = 0
    """The same of all years before."""
    current_before_minor: int = 0
    """Current tax computed up to the year before."""

    @property
    def profit(self) -> int:
        """Earned this year before tax."""
        return profit_before_tax(self.now) - profit_before_tax(self.at_start)

    @property
    def current(self) -> int:
        """Current tax of the year to date: cumulative tax less that of the years before.

        Taking the difference of two cumulative amounts keeps cents from drifting over the years.
        """
        known = self.permanent_before_minor
        before = profit_before_tax(self.at_start) + known - temporary_differences(self.at_start)
        known += self.permanent_minor
        now = profit_before_tax(self.now) + known - temporary_differences(self.now)
        return _tax(now, self.entity.tax_ppm) - _tax(before, self.entity.tax_ppm)

    @property
    def deferred(self) -> Deferred:
        """Deferred tax that arose since the books began."""
        rate = self.entity.tax_ppm
        now, then = deferred(self.now, rate), deferred(self.opening, rate)
        asset = now.asset_minor - then.asset_minor
        liability = now.liability_minor - then.liability_minor
        current = self.current_before_minor + self.current
        kept = _undistributed(self.now) - current - (liability - asset)
        held_back = _withholding_tax(kept, self.entity) - _withholding_tax(
            _undistributed(self.opening), self.entity
        )
        return Deferred(asset, liability + held_back)

    def amounts(self) -> dict[str, int]:
        """Cumulative amounts to post."""
        return {
            "current_tax": self.current_before_minor + self.current,
            "deferred_tax_asset": self.deferred.asset_minor,
            "deferred_tax_liability": self.deferred.liability_minor,
        }


def _undistributed(balances: Balances) -> int:
    """Undistributed profits, before the tax that is computed here."""
    paid = ("income_tax", "retained_earnings", "group_dividends")
    return profit_before_tax(balances) - sum(balances.get(name, 0) for name in paid)


def _withholding_tax(kept_minor: int, entity: Entity) -> int:
    """Withholding tax on profits to be distributed to the owner."""
    return _tax(max(kept_minor, 0), entity.withholding_ppm)


class ReconciliationStep(NamedTuple):
    """A step from tax at the standard rate to the tax expense."""

    name: str
    minor: int


def rate_reconciliation(
    years: Iterable[TaxYear], expense_minor: int, standard_ppm: int,
    worth: Callable[[int, Currency], int] = lambda minor, _: minor,
) -> list[ReconciliationStep]:  # fmt: skip
    """From profit at the standard rate to the tax expense of the year; the last is the total.

    `worth` converts an amount from an entity's own currency to the group's.
    """
    earned = [(year.entity, worth(year.profit, year.entity.currency),
               worth(year.permanent_minor, year.entity.currency)) for year in years]  # fmt: skip
    profit = sum(minor for _, minor, _ in earned)
    own_rates = sum(_tax(minor, entity.tax_ppm - standard_ppm) for entity, minor, _ in earned)
    never = sum(_tax(minor, entity.tax_ppm) for entity, _, minor in earned)
    steps = [
        ReconciliationStep("Tax at the standard rate", _tax(profit, standard_ppm)),
        ReconciliationStep("Entities with rates of their own", own_rates),
        ReconciliationStep("Costs and income outside taxation", never),
    ]
    rest = expense_minor - sum(step.minor for step in steps)
    return [
        *steps,
        ReconciliationStep("Tax on payouts, earlier years and rounding", rest),
        ReconciliationStep("Income taxes expense", expense_minor),
    ]


def _tax(minor: int, rate_ppm: int) -> int:
    return half_up(minor * rate_ppm, MILLION)
