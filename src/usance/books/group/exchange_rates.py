"""Exchange rates as facts of the group: on a day, over a period, between any two currencies.

A rate is the price of one unit of a currency in the reporting currency, from its day until the
next one.

>>> from datetime import UTC, datetime
>>> from usance.books.group.facts import fact
>>> known = datetime(2024, 1, 1, tzinfo=UTC)
>>> kind = GroupFactKind.EXCHANGE_RATE
>>> usd = {"currency": Currency.USD}
>>> rates = Rates.of(
...     [
...         fact(1, 1, kind, date(2024, 1, 1), known, rate="7.10", **usd),
...         fact(2, 1, kind, date(2024, 1, 21), known, rate="7.21", **usd),
...     ],
...     Currency.CNY,
... )
>>> rates.convert(100_00, Currency.USD, Currency.CNY, date(2024, 1, 20))
71000
>>> str(rates.average(Currency.USD, date(2024, 1, 1), date(2024, 1, 31)))
'22131/3100'
>>> rates.stated_on(Currency.USD, date(2024, 6, 30)).isoformat()
'2024-01-21'
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from usance.base.codes import Currency
from usance.base.money import half_up
from usance.books.errors import GroupFactError
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.capital.prices import daily_average


@dataclass(frozen=True, slots=True)
class Rates:
    """By currency, days and from each on what a minor unit is worth in minor units."""

    reporting: Currency
    days: Mapping[Currency, tuple[date, ...]]
    values: Mapping[Currency, tuple[Fraction, ...]]

    @classmethod
    def of(cls, facts: Iterable[GroupFact], reporting: Currency) -> Rates:
        """The rates that facts state; of two on one day the later number counts."""
        found: dict[Currency, dict[date, Fraction]] = {}
        for each in sorted(facts, key=lambda fact: fact.fact_id):
            if each.kind is GroupFactKind.EXCHANGE_RATE:
                scale = Fraction(10) ** (reporting.exponent - each.currency.exponent)
                rate = Fraction(each.detail["rate"]) * scale
                found.setdefault(each.currency, {})[each.effective_on] = rate
        ordered = {currency: sorted(by_day.items()) for currency, by_day in found.items()}
        return cls(
            reporting,
            {currency: tuple(day for day, _ in rows) for currency, rows in ordered.items()},
            {currency: tuple(rate for _, rate in rows) for currency, rows in ordered.items()},
        )

    def at(self, currency: Currency, day: date) -> Fraction:
        """The price of a minor unit on a day, in minor units of the reporting currency."""
        if currency is self.reporting:
            return Fraction(1)
        position = self._position(currency, day)
        return self.values[currency][position]

    def stated_on(self, currency: Currency, day: date) -> date:
        """The day from which the rate on a day is; that day of the reporting currency."""
        if currency is self.reporting:
            return day
        position = self._position(currency, day)
        return self.days[currency][position]

    def _position(self, currency: Currency, day: date) -> int:
        position = bisect_right(self.days.get(currency, ()), day) - 1
        if position < 0:
            what = f"there is no rate of exchange for {currency.label} on {day}"
            fix = f"State an exchange_rate of {currency.label} from that day or before"
            raise GroupFactError(what, fix=fix)
        return position

    def average(self, currency: Currency, first: date, last: date) -> Fraction:
        """The average over the days of a period, both included."""
        if currency is self.reporting:
            return Fraction(1)
        changes = self.days.get(currency, ())
        return daily_average(lambda day: self.at(currency, day), changes, first, last)

    def convert(self, minor: int, given: Currency, wanted: Currency, day: date) -> int:
        """An amount in another currency on a day, half-up."""
        if given is wanted:
            return minor
        return converted_at(minor, self.at(given, day) / self.at(wanted, day))


def converted_at(minor: int, rate: Fraction) -> int:
    """An amount times an exact rate, half-up."""
    return half_up(minor * rate.numerator, rate.denominator)
