"""Costs over time: by cost driver, prepaid expenses, depreciation and disposals of assets.

Amounts are cumulative and rounded once: a price times a count, or a share of a cost by elapsed days
or months.

>>> prepaid_used(12_000, date(2024, 1, 1), date(2024, 12, 31), date(2024, 6, 30))
5967
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from usance.base.dates import to_month
from usance.base.money import MILLION, half_up, spread
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.lines import Amount, Poster
from usance.books.group.readers import CostDriver
from usance.capital.prices import amount_minor

_FUNCTIONS: Mapping[CostDriver, str] = {
    CostDriver.PROVIDER_FEE: "servicing_cost",
    CostDriver.BUREAU_FEE: "servicing_cost",
    CostDriver.COLLECTION_COMMISSION: "servicing_cost",
    CostDriver.CHANNEL_COST: "marketing",
}


def driver_cost_minor(fact: GroupFact) -> int:
    """A price for each event, or a share of an amount, or both."""
    price, rate = fact.detail["price"], fact.detail["rate"]
    by_count = amount_minor(fact.quantity, price, fact.currency.label) if price is not None else 0
    return by_count + (half_up(fact.amount_minor * rate, MILLION) if rate is not None else 0)


def prepaid_used(cost: int, first: date, last: date, day: date) -> int:
    """The part of a prepaid cost used by a day; its first and last day are included."""
    length = (last - first).days + 1
    return spread(cost, min(max((day - first).days + 1, 0), length), length)


def depreciation(cost: int, bought_on: date, months: int, day: date) -> int:
    """Straight-line depreciation to date, from the month after the purchase."""
    return spread(cost, min(max(to_month(day) - to_month(bought_on), 0), months), months)


def cost_amounts(facts: Iterable[GroupFact], poster: Poster, day: date) -> Iterator[Amount]:
    """Costs by driver, prepaid costs as used, depreciation and disposals."""
    given = list(facts)
    sales = {each.detail["name"]: each for each in given if each.kind is GroupFactKind.ASSET_SOLD}
    for each in given:
        if each.kind is GroupFactKind.COST_DRIVER:
            accounts = {"function": _FUNCTIONS[each.detail["driver"]]}
            yield Amount("cost_driver", each, driver_cost_minor(each), each.effective_on, accounts)
        elif each.kind is GroupFactKind.COST_PREPAID:
            detail, own = each.detail, poster.entities[each.entity].currency
            minor = prepaid_used(poster.worth(each), detail["first"], detail["last"], day)
            accounts = {"function": detail["function"]}
            yield Amount("prepaid_used", each, minor, day, accounts, in_currency=own)
        elif each.kind is GroupFactKind.ASSET_BOUGHT:
            yield from _asset(each, sales.get(each.detail["name"]), poster, day)


def _asset(
    bought: GroupFact, sold: GroupFact | None, poster: Poster, day: date
) -> Iterator[Amount]:
    """An asset stays at its cost in the entity's own currency on the day of purchase."""
    detail, own = bought.detail, poster.entities[bought.entity].currency
    cost = poster.worth(bought)
    accounts = {"asset": detail["asset"], "function": detail["function"]}
    until = min(day, sold.effective_on) if sold else day
    minor = depreciation(cost, bought.effective_on, detail["months"], until)
    yield Amount("depreciation", bought, minor, day, accounts, in_currency=own)
    if sold:
        gain, on = poster.worth(sold) - (cost - minor), sold.effective_on
        yield Amount("asset_sold", sold, sold.amount_minor, on, accounts)
        yield Amount("asset_gain", sold, gain, on, accounts, in_currency=own)
