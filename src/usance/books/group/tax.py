"""Income tax: current, deferred, and the reconciliation of the effective rate.

Deferred tax is the rate times temporary differences (their accounts are data, `tax.yaml`). Current
tax is the rate times profit plus permanent differences, less the change of temporary ones; it is
cumulative within the year and rounded once. The loss of a year lowers the tax of later ones; what
it is expected to save is an asset, up to what taxable differences and some years of recent profits
would bring (the rest is the valuation allowance). An entity that may carry losses back is refunded
at once.

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
    with_vat: tuple[str, ...]

    def net(self, name: str, minor: int, vat_ppm: int) -> int:
        """The balance of an account without value-added tax."""
        return half_up(minor * MILLION, MILLION + vat_ppm) if name in self.with_vat else minor


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


def temporary_differences(balances: Balances, vat_ppm: int = 0) -> int:
    """Taxable less deductible temporary differences."""
    listed = load_differences()
    names = (*listed.taxable, *listed.deductible)
    return sum(listed.net(name, balances.get(name, 0), vat_ppm) for name in names)


def deferred(balances: Balances, tax_ppm: int, vat_ppm: int = 0) -> Deferred:
    """Deferred tax on the differences of a trial balance."""
    listed = load_differences()
    deductible, taxable = (
        sum(listed.net(name, balances.get(name, 0), vat_ppm) for name in names)
        for names in (listed.deductible, listed.taxable)
    )
    deductible = -deductible
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
    vat_ppm: int = 0
    carried_minor: int = 0
    """Losses of earlier years that no profit has used up."""
    recent_profit_minor: int = 0
    """Profit before tax of the twelve months up to now."""
    valuation_years: int = 0
    """Years of such profit that are expected to come, for the test of the valuation allowance."""
    distributed_ppm: int = MILLION
    """The share of this year's profit that will be paid out to the owner."""
    earmarked_minor: int = 0
    """Of the profits up to the year before the part that was to be paid out, paid or not."""
    earmarked_opening_minor: int = 0
    """The same of profits made before the books began."""
    withheld_minor: int = 0
    """Tax withheld this year on what was paid out."""

    @property
    def profit(self) -> int:
        """Earned this year before tax."""
        return profit_before_tax(self.now) - profit_before_tax(self.at_start)

    @property
    def taxable(self) -> int:
        """Taxable income of the year to date; below zero it is a loss."""
        before = taxable_income(self.at_start, self.vat_ppm)
        return taxable_income(self.now, self.vat_ppm) - before + self.permanent_minor

    @property
    def current(self) -> int:
        """Current tax of the year to date.

        Where losses are refunded it is cumulative tax less that of the years before: taking the
        difference of two cumulative amounts keeps cents from drifting over the years.
        """
        rate = self.entity.tax_ppm
        if not self.entity.carry_back:
            return _tax(max(0, self.taxable - self.carried_minor), rate)
        before = taxable_income(self.at_start, self.vat_ppm) + self.permanent_before_minor
        return _tax(before + self.taxable, rate) - _tax(before, rate)

    @property
    def losses_carried(self) -> int:
        """Losses that later profits can be set against."""
        return 0 if self.entity.carry_back else max(0, self.carried_minor - self.taxable)

    @property
    def valuation_allowance(self) -> int:
        """Tax on losses carried forward that nothing in sight will be set against."""
        rate = self.entity.tax_ppm
        own = deferred(self.now, rate, self.vat_ppm)
        in_sight = max(0, self.recent_profit_minor) * self.valuation_years
        usable = max(0, own.liability_minor - own.asset_minor) + _tax(in_sight, rate)
        return max(0, _tax(self.losses_carried, rate) - usable)

    @property
    def deferred(self) -> Deferred:
        """Deferred tax that arose since the books began."""
        rate = self.entity.tax_ppm
        now, then = (deferred(each, rate, self.vat_ppm) for each in (self.now, self.opening))
        asset = now.asset_minor - then.asset_minor
        asset += _tax(self.losses_carried, rate) - self.valuation_allowance
        liability = now.liability_minor - then.liability_minor
        if self.entity.one_taxpayer:
            asset, liability = self._set_off(asset, liability)
        held_back = self._held_back(self.earmarked_now, self.now) - self._held_back(
            self.earmarked_opening_minor, self.opening
        )
        return Deferred(asset, liability + held_back)

    def _set_off(self, asset: int, liability: int) -> Deferred:
        """The same with what stood there when the books began, on one side of the balance sheet."""
        stated = self.now.get("deferred_tax_asset", 0), -self.now.get("deferred_tax_liability", 0)
        net = stated[0] + asset - stated[1] - liability
        return Deferred(max(net, 0) - stated[0], max(-net, 0) - stated[1])

    @property
    def earmarked_now(self) -> int:
        """Of all profits so far the part that was and is to be paid out."""
        made = self.after_tax(self.now, self.current_before_minor + self.current)
        made -= self.after_tax(self.at_start, self.current_before_minor)
        return self.earmarked_minor + share_of(made, self.distributed_ppm)

    def after_tax(self, balances: Balances, current_minor: int) -> int:
        """Profits up to a trial balance less the entity's own tax on them."""
        rate = self.entity.tax_ppm
        now, then = (deferred(each, rate, self.vat_ppm) for each in (balances, self.opening))
        net = (now.liability_minor - now.asset_minor) - (then.liability_minor - then.asset_minor)
        return earned_so_far(balances) - current_minor - net

    def _held_back(self, earmarked_minor: int, balances: Balances) -> int:
        """Tax that will be withheld on what is still to be paid out."""
        to_come = max(0, earmarked_minor - balances.get("group_dividends", 0))
        return _tax(to_come, self.entity.withholding_ppm)

    @property
    def withheld(self) -> int:
        """Tax of this year on profits paid up to the owner, and on those that will be."""
        before = self._held_back(self.earmarked_minor, self.at_start)
        return self.withheld_minor + self._held_back(self.earmarked_now, self.now) - before

    def amounts(self) -> dict[str, int]:
        """Cumulative amounts to post."""
        return {
            "current_tax": self.current_before_minor + self.current,
            "deferred_tax_asset": self.deferred.asset_minor,
            "deferred_tax_liability": self.deferred.liability_minor,
        }


def earned_so_far(balances: Balances) -> int:
    """Profits, those before the books began included, before the tax that is computed here."""
    given = sum(balances.get(name, 0) for name in ("income_tax", "retained_earnings"))
    return profit_before_tax(balances) - given


def share_of(minor: int, ppm: int) -> int:
    """A share of an amount, half-up."""
    return half_up(minor * ppm, MILLION)


def taxable_income(balances: Balances, vat_ppm: int) -> int:
    """Profit of a trial balance less temporary differences: what tax is charged on, cumulative."""
    return profit_before_tax(balances) - temporary_differences(balances, vat_ppm)


def carried_forward(taxable: Iterable[int]) -> int:
    """Losses left of the taxable income of some years, the oldest first.

    >>> carried_forward([-100, 30, -5, 20])
    55
    """
    left = 0
    for minor in taxable:
        left = max(0, left - minor)
    return left


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
    given = list(years)
    earned = [(year.entity, worth(year.profit, year.entity.currency),
               worth(year.permanent_minor, year.entity.currency)) for year in given]  # fmt: skip
    profit = sum(minor for _, minor, _ in earned)
    own_rates = sum(_tax(minor, entity.tax_ppm - standard_ppm) for entity, minor, _ in earned)
    never = sum(_tax(minor, entity.tax_ppm) for entity, _, minor in earned)
    unused = sum(worth(year.valuation_allowance, year.entity.currency) for year in given)
    paid_up = sum(worth(year.withheld, year.entity.currency) for year in given)
    steps = [
        ReconciliationStep("Tax at the standard rate", _tax(profit, standard_ppm)),
        ReconciliationStep("Entities with rates of their own", own_rates),
        ReconciliationStep("Costs and income outside taxation", never),
        ReconciliationStep("Withholding tax on profits to be distributed", paid_up),
        ReconciliationStep("Losses carried forward without an asset", unused),
    ]
    rest = expense_minor - sum(step.minor for step in steps)
    return [
        *steps,
        ReconciliationStep("Earlier years and rounding", rest),
        ReconciliationStep("Income taxes expense", expense_minor),
    ]


def _tax(minor: int, rate_ppm: int) -> int:
    return half_up(minor * rate_ppm, MILLION)
