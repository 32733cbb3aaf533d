"""Dividends and repurchases of a release: from facts of the group, or a capital document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from usance.base.book import Book
from usance.base.codes import Currency
from usance.base.parameters import Parameters
from usance.base.stated_fact import StatedFact
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, facts_of_table, visible_facts
from usance.books.group.shares import register_of
from usance.capital.dividends import Dividend, Market
from usance.capital.facts import records_of
from usance.capital.prices import rounded, whole
from usance.capital.records import Capital
from usance.capital.register import Register
from usance.capital.repurchases import Programme, Utilisation, utilisation
from usance.disclose.facts import NO_CURRENCY
from usance.disclose.periods import parse_period
from usance.disclose.release.business_highlights import TEN_MILLION
from usance.disclose.release.figure import Figure, printed_currency

if TYPE_CHECKING:
    from usance.disclose.release.release import Release

DIVIDEND, REPURCHASE = "dividend", "share_repurchase"
PER_SHARE, PER_ADS = "Dividend per ordinary share", "Dividend per ADS"
AGGREGATE, PAYOUT = "Aggregate dividend", "Payout of net income"
LODGE = "Latest time to lodge transfer documents"


@dataclass(frozen=True)
class CorporateActions:
    """The dividends and repurchase programmes of a company, by a day."""

    dividends: tuple[Dividend, ...]
    programmes: tuple[Programme, ...]
    register: Register
    fact_ids: dict[str, tuple[int, ...]]
    """Facts of the group by the name of a dividend or programme; none from a document."""

    @classmethod
    def of_capital(cls, capital: Capital) -> CorporateActions:
        """Those of a capital document."""
        return cls(capital.of(Dividend), capital.of(Programme), capital.register, {})

    @classmethod
    def of_book(cls, book: Book) -> CorporateActions:
        """Those of all facts of the group in a book."""
        facts = facts_of_table(book.read("group_facts"))
        return cls.of_facts(visible_facts(facts, date.max, datetime.max.replace(tzinfo=UTC)))

    @classmethod
    def of_facts(cls, facts: Sequence[GroupFact]) -> CorporateActions:
        """Those of facts of the group; a dividend counts if it says so much for each share."""
        ids: dict[str, tuple[int, ...]] = {}
        for each in facts:
            if each.kind in _NAMED and (name := each.detail.get(_NAMED[each.kind])):
                ids[name] = (*ids.get(name, ()), each.fact_id)
        return cls(
            tuple(_dividends(facts)), tuple(_programmes(facts)), register_of(facts), ids
        )  # fmt: skip


_NAMED = {
    GroupFactKind.DIVIDEND_DECLARED: "name",
    GroupFactKind.PROGRAMME_OPENED: "name",
    GroupFactKind.SHARES_REPURCHASED: "programme",
}


def _dividends(facts: Iterable[GroupFact]) -> Iterator[Dividend]:
    for each in facts:
        detail = each.detail
        is_stated = detail.get("per_share") and (detail.get("ordinary") or detail.get("ads"))
        if each.kind is GroupFactKind.DIVIDEND_DECLARED and is_stated:
            stated = StatedFact(
                each.kind.label, each.entity, each.effective_on, each.currency.label,
                each.amount_minor, quantity=each.quantity, detail=json.loads(each.detail_json),
            )  # fmt: skip
            yield from records_of([stated]).of(Dividend)


def _programmes(facts: Iterable[GroupFact]) -> Iterator[Programme]:
    for each in facts:
        if each.kind is GroupFactKind.PROGRAMME_OPENED:
            yield Programme(
                each.detail["name"], each.currency.label, each.amount_minor, each.effective_on,
                each.detail["until"], each.where,
            )  # fmt: skip


class CorporateActionFigures:
    """The figures of dividends and repurchases in one release."""

    def __init__(self, release: Release) -> None:
        self.release, self.actions = release, release.corporate_actions
        self.on = release.as_of
        self.ratio = release.profile.rounding.ads_ratio

    def figures(self) -> Iterator[Figure]:
        """Dividends declared since the period (or in it), then every open programme."""
        for each in self.actions.dividends:
            if self._since < each.declared_on <= self.on:
                yield from self._dividend(each)
        for programme in self.actions.programmes:
            first = self.release.periods.current.start
            if programme.opens_on <= self.on and programme.closes_on >= first:
                yield from self._programme(programme)

    @property
    def _since(self) -> date:
        announced_on = self.release.announcement.on
        last = self.release.period.last_day
        return (
            last if announced_on and announced_on > last else self.release.periods.current.opens_on
        )

    def _dividend(self, dividend: Dividend) -> Iterator[Figure]:
        period = dividend_period(dividend) or self.release.periods.current.written

        def figure(line: str, unit: str, text: str, currency: str = NO_CURRENCY) -> Figure:
            return Figure(DIVIDEND, line, "", period, currency, unit, text)

        code, ads = printed_currency(dividend.currency), dividend.per_ads(self.ratio)
        yield figure(PER_SHARE, "per_share", f"{dividend.per_share:f}", code)
        yield figure(PER_ADS, "per_ads", f"{ads:f}", code)
        owed = dividend.declared_minor(self.actions.register, self.on)
        if owed:
            yield figure(AGGREGATE, *money(owed, dividend.currency), code)
            yield from self._payout(figure, dividend, owed, period)
        ordinary, american = map(dividend.entitlement, (Market.ORDINARY, Market.ADS))
        if ordinary:
            if ordinary.ex_on:
                yield figure("Ex-dividend date", "date", ordinary.ex_on.isoformat())
            if ordinary.lodge_by:
                yield figure(LODGE, "date", f"{ordinary.lodge_by:%Y-%m-%d %H:%M}")
            yield figure("Record date", "date", ordinary.record_on.isoformat())
            yield figure("Payment date - ordinary shares", "date", ordinary.pays_on.isoformat())
        if american:
            yield figure("Record date - ADS", "date", american.record_on.isoformat())
            yield figure("Payment date - ADS", "date", american.pays_on.isoformat())

    def _payout(
        self, figure: FigureOf, dividend: Dividend, owed_minor: int, period: str
    ) -> Iterator[Figure]:
        """The share of the period's net income, and the range of the policy."""
        income_minor = self.release.net_income_minor(period)
        worth = self.release.in_reporting(owed_minor, Currency[dividend.currency])
        if income_minor is None or worth is None or income_minor <= 0:
            return
        share = rounded(worth * Fraction(100, income_minor), 1)
        yield figure(PAYOUT, "percent", str(share))
        known = Parameters.load()
        for end, name in (("low", "payout_minimum"), ("high", "payout_maximum")):
            ppm = known.at(f"capital.{name}", dividend.declared_on).integer
            text = f"{Decimal(ppm) / 10_000:f}"
            yield figure(f"Dividend policy payout - {end}", "percent", text)

    def _programme(self, programme: Programme) -> Iterator[Figure]:
        used = utilisation(programme, self.actions.register.changes, self.on)
        opened, name = programme.opens_on.isoformat(), f"{programme.name} plan"
        code = printed_currency(programme.currency)
        value = money(programme.limit_minor, programme.currency)
        yield Figure(REPURCHASE, f"{name} authorized value", "", opened, code, *value)
        yield Figure(REPURCHASE, f"{name} opens", "", opened, NO_CURRENCY, "date", opened)
        closes = programme.closes_on.isoformat()
        yield Figure(REPURCHASE, f"{name} closes", "", opened, NO_CURRENCY, "date", closes)
        yield from self._bought(name, used)

    def _bought(self, name: str, used: Utilisation) -> Iterator[Figure]:
        day, code = self.on.isoformat(), printed_currency(used.programme.currency)
        if not used.shares:
            return
        ads = Fraction(used.shares, self.ratio)
        count = ("million_ads", str(rounded(ads / 10**6, 1))) if ads >= TEN_MILLION else (
            "ads", str(whole(ads))
        )  # fmt: skip
        yield Figure(REPURCHASE, f"{name} ADSs purchased", "", day, NO_CURRENCY, *count)
        paid = money(used.amount_minor, used.programme.currency)
        yield Figure(REPURCHASE, f"{name} amount", "", day, code, *paid)
        price = str(rounded(used.average_price(self.ratio), 2))
        yield Figure(REPURCHASE, f"{name} average price", "", day, code, "per_ads", price)
        share = Fraction(100 * used.amount_minor, used.programme.limit_minor)
        yield Figure(REPURCHASE, f"{name} utilisation", "", day, NO_CURRENCY, "percent",
                     str(rounded(share, 1)))  # fmt: skip


if TYPE_CHECKING:
    from typing import Protocol

    class FigureOf(Protocol):
        """Makes a figure of one dividend."""

        def __call__(self, line: str, unit: str, text: str, currency: str = ...) -> Figure:
            """The figure of a line."""


def money(minor: int, currency: str) -> tuple[str, str]:
    """The unit and text of an amount: in millions where it is large, else exact.

    >>> money(350_000_000_00, "USD"), money(1_234_50, "USD")
    (('million', '350.0'), ('unit', '1234.50'))
    """
    exponent = Currency[currency].exponent
    units = Fraction(minor, 10**exponent)
    if abs(units) >= TEN_MILLION:
        return "million", str(rounded(units / 10**6, 1))
    return "unit", str(rounded(units, exponent))


def dividend_period(dividend: Dividend) -> str:
    """The period a dividend is for: its name if that is one, else the half year its form names."""
    if parse_period(dividend.name):
        return dividend.name
    end = dividend.form.period_end if dividend.form else None
    return f"{end.year}H{1 if end.month <= 6 else 2}" if end else ""
