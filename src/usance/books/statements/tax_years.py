"""Tax years of the group's entities, from a ledger: what each has earned, by the end of each year.

A trust's balances belong to the entity that is taxed on them. Entries that follow from tax, such as
overpaid tax turned into an asset, move no income and may be in the ledger or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, cached_property
from itertools import pairwise

import numpy as np

from usance.base.codes import IfrsAdjustment
from usance.base.dates import last_of_month, to_month
from usance.base.parameters import Parameters
from usance.books.group.entities import Entities, Entity
from usance.books.group.exchange_rates import Rates
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.rules import group_rules_of
from usance.books.group.tax import (
    Balances,
    TaxYear,
    carried_forward,
    profit_before_tax,
    share_of,
    taxable_income,
)
from usance.books.statements.ledger import BEGINNING, Ledger, own_balances

TAXES = ("current_tax", "deferred_tax_asset", "deferred_tax_liability")
_NO_INCOME = (
    "overpaid_vat",
    "overpaid_income_tax",
    "ifrs_overpaid_vat",
    "ifrs_deferred_tax_turned",
)


def tax_years(
    ledger: Ledger, facts: Iterable[GroupFact], entities: Entities, rates: Rates, day: date,
    parameters: Parameters | None = None,
) -> list[TaxYear]:  # fmt: skip
    """Every entity's tax year to date; `ledger` holds everything but this close's tax."""
    known = parameters or shipped_parameters()
    made = _TaxYears(ledger, list(facts), entities, rates, day, known)
    own = [each for each in entities if entities.taxed_in(each.number) == each.number]
    return [made.of(entity) for entity in own]


@dataclass(frozen=True)
class _TaxYears:
    """Balances and tax by the ends of years, read once for all entities."""

    ledger: Ledger
    facts: Sequence[GroupFact]
    entities: Entities
    rates: Rates
    day: date
    known: Parameters
    _bases: dict[int, dict[int, dict[str, int]]] = field(default_factory=dict)
    _current: dict[int, dict[int, int]] = field(default_factory=dict)

    @cached_property
    def start(self) -> int:
        """The last month of the year before."""
        return to_month(date(self.day.year, 1, 1)) - 1

    @cached_property
    def ends(self) -> list[int]:
        """The last months of the years before that closes have posted to."""
        years = {period // 12 * 12 + 11 for period in self.ledger.periods()}
        return [*sorted(month for month in years if month < self.start), self.start]

    @cached_property
    def vat(self) -> int:
        return self.known.at("tax.vat", self.day).integer

    @cached_property
    def _plain(self) -> Ledger:
        rules = [number for name in (*TAXES, *_NO_INCOME, "non_controlling_income")
                 for number in _numbers(name)]  # fmt: skip
        return self.ledger.without(rules)

    def base(self, period: int, number: int) -> Balances:
        """An entity's trial balance up to a month, trusts of its own included, before its tax."""
        if period not in self._bases:
            on = self.day if period in (BEGINNING, to_month(self.day)) else last_of_month(period)
            plain = self._plain.through(period)
            self._bases[period] = tax_bases(plain, self.entities, self.rates, on)
        return self._bases[period].get(number, {})

    def charged(self, period: int, number: int) -> int:
        """Current tax computed up to a month."""
        if period not in self._current:
            taxed = self.ledger.through(period)
            taxed = taxed.take(np.isin(taxed.rule, _numbers("current_tax")))
            found = own_balances(taxed, self.entities, self.rates, last_of_month(period))
            self._current[period] = {
                entity: held.get("income_tax", 0) for (entity, _), held in found.items()
            }
        return self._current[period].get(number, 0)

    def stated(self, kind: GroupFactKind, number: int, first: date, last: date) -> int:
        """The amounts that facts of a kind state for some days."""
        return sum(each.amount_minor for each in self.facts
                   if each.kind is kind and each.entity == number
                   and first <= each.effective_on <= last)  # fmt: skip

    def carried(self, number: int) -> int:
        """Losses of earlier years that no profit has used up."""
        never = GroupFactKind.PERMANENT_DIFFERENCE
        incomes = [taxable_income(self.base(BEGINNING, number), self.vat)]
        incomes += [
            taxable_income(self.base(month, number), self.vat)
            + self.stated(never, number, date.min, last_of_month(month))
            for month in self.ends
        ]
        return carried_forward(after - earlier for earlier, after in pairwise(incomes))

    def of(self, entity: Entity) -> TaxYear:
        """The tax year of one entity."""
        number, first, month = entity.number, date(self.day.year, 1, 1), to_month(self.day)
        never = GroupFactKind.PERMANENT_DIFFERENCE
        now, year_ago = self.base(month, number), self.base(month - 12, number)
        year = TaxYear(
            entity, now, self.base(self.start, number), self.base(BEGINNING, number),
            self.stated(never, number, first, self.day),
            self.stated(never, number, date.min, last_of_month(self.start)),
            self.charged(self.start, number), self.vat, self.carried(number),
            profit_before_tax(now) - profit_before_tax(year_ago),
            self.known.at("accounting.valuation_years", self.day).integer,
        )  # fmt: skip
        return self.with_payouts(year) if entity.withholding_ppm else year

    def with_payouts(self, year: TaxYear) -> TaxYear:
        """The year with what was, is and will be paid up to the owner, by the shares of each."""
        entity, number = year.entity, year.entity.number
        kept = [year.after_tax(year.opening, 0)]
        kept += [year.after_tax(self.base(month, number), self.charged(month, number))
                 for month in self.ends]  # fmt: skip
        opened = share_of(kept[0], entity.distributed_ppm)
        earmarked = opened
        for month, (earlier, after) in zip(self.ends, pairwise(kept), strict=True):
            earmarked += share_of(after - earlier, entity.distributed_on(last_of_month(month)))
        first = date(self.day.year, 1, 1)
        return replace(
            year, distributed_ppm=entity.distributed_on(self.day), earmarked_minor=earmarked,
            earmarked_opening_minor=opened,
            withheld_minor=self.stated(GroupFactKind.WITHHOLDING, number, first, self.day),
        )  # fmt: skip


def tax_bases(
    ledger: Ledger, entities: Entities, rates: Rates, day: date
) -> dict[int, dict[str, int]]:
    """Trial balances by the entity that is taxed on them: a trust's result is its beneficiary's."""
    found: dict[int, dict[str, int]] = {}
    for (entity, tag), balances in own_balances(ledger, entities, rates, day).items():
        if tag == IfrsAdjustment.NONE:
            summed = found.setdefault(entities.taxed_in(entity), {})
            for name, minor in balances.items():
                summed[name] = summed.get(name, 0) + minor
    return found


@cache
def shipped_parameters() -> Parameters:
    """The parameters that come with the platform."""
    return Parameters.load()


def _numbers(name: str) -> list[int]:
    return [rule.number for rule in group_rules_of(name)]
