"""The headline of a release and the words above its tables: the period told, units, currencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usance.disclose.facts import Fact
from usance.disclose.periods import Period
from usance.disclose.profile import Profile
from usance.disclose.release.wording import fill_template, period_in_words

FORM = "dividend_form"
"""The exchange's form: a table of words, with headings of its own."""
SPANNED = ("release_highlights", "release_results")
"""Statements that are told apart for a quarter and for the year so far."""


def headline(
    facts: Sequence[Fact], texts: Mapping[str, Any], company: str, period: str
) -> str:  # fmt: skip
    """The title of a page: the results of a period, or the form it is."""
    if all(fact.statement == FORM for fact in facts):
        return str(texts["statements"][FORM])
    return fill_template(texts["headline"], "texts.headline", company=company, period=period)


def reported_period(facts: Sequence[Fact], texts: Mapping[str, Any]) -> str:
    """The period of a release: its quarter, with the half-year or year it ends, if it tells it."""
    given = [fact for fact in facts if not fact.period.instant and fact.statement != "outlook"]
    if not given:
        return period_in_words(facts[0].period, texts)
    end = max(fact.period.end for fact in given)
    latest = [fact for fact in given if fact.period.end == end]
    shortest = min((fact.period for fact in latest), key=lambda each: each.days)
    told = {fact.period for fact in latest if fact.statement in SPANNED}
    longest = max(told, key=lambda each: each.days, default=shortest)
    first = period_in_words(shortest, texts)
    if longest.days == shortest.days:
        return first
    kind = {6: "half", 12: "year"}.get(months_of(longest), "")
    if kind and longest.start.year == shortest.end.year:
        return _both_of_year(kind, shortest, texts)
    words = {"shorter": first, "longer": period_in_words(longest, texts)}
    return fill_template(texts["both"], "texts.both", **words)


def _both_of_year(kind: str, quarter: Period, texts: Mapping[str, Any]) -> str:
    """A quarter and the half-year or year it ends, with the year once."""
    month, ordinals = quarter.end.month, texts["ordinals"]
    words = {
        "quarter": ordinals["quarter"][month // 3 - 1], "half": ordinals["half"][month // 7],
        "year": str(quarter.end.year),
    }  # fmt: skip
    return fill_template(texts["both_of_year"][kind], "texts.both_of_year", **words)


def months_of(period: Period) -> int:
    """The length of a period in months."""
    return round(period.days / 30)


def opening_words(
    facts: Sequence[Fact], texts: Mapping[str, Any], profile: Profile
) -> tuple[str, ...]:  # fmt: skip
    """How figures are printed, where there are tables of money."""
    tables = profile.statements["tables"]
    units = [fact.unit for fact in facts if fact.is_money and fact.statement in tables]
    if not units:
        return ()
    words = {"unit": _in_unit(units[0], texts, [profile.reporting])}
    return (fill_template(texts["opening"], "texts.opening", **words),)


def amounts_in(facts: Sequence[Fact], texts: Mapping[str, Any]) -> str:
    """The unit and currencies of a table of money."""
    units = [fact.unit for fact in facts if fact.is_money]
    if not units:
        return ""
    named = dict.fromkeys(fact.currency for fact in facts if fact.is_money)
    words = {"unit": _in_unit(units[0], texts, list(named))}
    has_shares = any(fact.is_number and not fact.is_money for fact in facts)
    template = texts["amounts_in"]["shares" if has_shares else "plain"]
    return fill_template(template, "texts.amounts_in", **words)


def _in_unit(unit: str, texts: Mapping[str, Any], currencies: Sequence[str]) -> str:
    """Thousands of two currencies, or a currency itself where amounts are whole."""
    template = texts["in_units"].get(unit, f"{unit} {{currencies}}")
    names = texts["currency_names"]
    named = texts["and"].join(names.get(each, each) for each in currencies)
    return fill_template(template, "texts.in_units", currencies=named)
