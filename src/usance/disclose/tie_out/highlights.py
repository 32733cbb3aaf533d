"""Changes, shares of a total, growth of an outlook, average prices, and dates that follow.

Their inputs are printed rounded, so a figure that the plain ratio misses may still be right: the
tie is then an interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from usance.disclose.facts import Fact, label
from usance.disclose.periods import parse_period
from usance.disclose.table import Table
from usance.disclose.tie_out.narrative import NarrativeTies
from usance.disclose.ties import Tie, TieKind

CHANGE = re.compile(r"(?P<line>.+?) - change vs (?P<base>\S+)", re.IGNORECASE)
SHARE = re.compile(r"(?P<line>.+?) - share of (?P<of>.+)", re.IGNORECASE)
GROWTH = re.compile(r"(?P<line>.+?) growth - (?P<end>low|high)", re.IGNORECASE)
PRICE = re.compile(r"(?P<plan>.+?) average price", re.IGNORECASE)


def highlight_ties(table: Table, narrative: NarrativeTies) -> Iterator[Tie]:
    """Every tie of the highlights, the outlook and the share repurchases."""
    for fact in table.numbers:
        line = label(fact.line)
        if found := CHANGE.fullmatch(line):
            yield from _change(table, fact, found["line"], found["base"])
        elif found := SHARE.fullmatch(line):
            yield from _ratio(table, fact, found["line"], fact.parent)
        elif found := GROWTH.fullmatch(line):
            yield from _growth(table, narrative, fact, found["line"], found["end"])
        elif found := PRICE.fullmatch(line):
            yield from _price(table, fact, found["plan"])


def _lines(table: Table, like: Fact, name: str, period: str) -> list[Fact]:
    """The money or count figures of a named line among a document's highlights."""
    wanted = table.name(name)
    return [
        fact
        for statement in dict.fromkeys((*table.profile.statements["figures"], like.statement))
        for column, facts in table.columns.items()
        if column[:3] == (like.document, statement, period)
        for fact in facts
        if fact.unit != "percent" and table.name(fact.line) == wanted
    ]


def _change(table: Table, fact: Fact, line: str, base: str) -> Iterator[Tie]:
    period = parse_period(base.upper())
    now = _lines(table, fact, line, fact.period.name)
    then = _lines(table, fact, line, period.name) if period else []
    for one in now[:1]:
        for other in [each for each in then if each.unit == one.unit][:1]:
            yield Tie(
                "change on the earlier period", fact, ((one, 1),), ((other, 1),), Fraction(100),
                Fraction(-100), fact.step, interval=True,
            )  # fmt: skip


def _ratio(table: Table, fact: Fact, line: str, whole: str) -> Iterator[Tie]:
    part = _lines(table, fact, line, fact.period.name)
    total = _lines(table, fact, whole, fact.period.name)
    if part and total:
        yield Tie(
            "share of the total", fact, ((part[0], 1),), ((total[0], 1),), Fraction(100),
            step=fact.step, interval=True,
        )  # fmt: skip


def _growth(
    table: Table, narrative: NarrativeTies, fact: Fact, line: str, end: str
) -> Iterator[Tie]:
    aim = _lines(table, fact, f"{line} - {end}", fact.period.name)
    concept = table.profile.text_lines.get(table.name(line), "")
    before = fact.period.year_before()
    found = [
        each
        for each in (*table.all_of(concept), *narrative.facts)
        if each.period.end == before and abs(each.period.days - fact.period.days) <= 1
        and each.currency == table.profile.reporting
        and (concept in table.concepts_of(each) or table.name(each.line) == table.name(line))
    ]  # fmt: skip
    if aim and found:
        yield Tie(
            "growth of the outlook on the year before", fact, ((aim[0], 1),), ((found[0], 1),),
            Fraction(100), Fraction(-100), fact.step, interval=True,
            check_only=found[0].document != fact.document,
        )  # fmt: skip


def _price(table: Table, fact: Fact, plan: str) -> Iterator[Tie]:
    amount = _lines(table, fact, f"{plan} amount", fact.period.name)
    bought = _lines(table, fact, f"{plan} ADSs purchased", fact.period.name)
    if amount and bought:
        yield Tie(
            "average price = amount / number", fact, ((amount[0], 1),), ((bought[0], 1),),
            step=fact.step, interval=True,
        )  # fmt: skip


def date_ties(table: Table) -> Iterator[Tie]:
    """Dates that follow from a period or from another date."""
    dates = [fact for fact in table.facts if fact.unit == "date" and fact.value]
    for rule in table.profile.dates:
        for fact in dates:
            if fact.statement == rule["statement"] and _matches(rule["line"], fact.line):
                yield from _date(rule, fact, dates)


def _date(rule: dict[str, Any] | Any, fact: Fact, dates: list[Fact]) -> Iterator[Tie]:
    if "as" not in rule:
        day = fact.period.end if rule["is"] == "end of the period" else _weekday(fact.period.end)
        yield _day(rule["rule"], fact, (), day)
        return
    statement, line = rule["as"]
    others = [
        each
        for each in dates
        if each.statement == statement and _matches(line, each.line)
        and each.period == fact.period
    ]  # fmt: skip
    for other in others[:1]:
        if rule["is"] == "same":
            yield Tie(rule["rule"], fact, ((other, 1),), check_only=True)
        else:
            known = date.fromordinal(int(other.value))
            yield _day(rule["rule"], fact, (other,), _weekday(known - timedelta(days=1)))


def _day(rule: str, fact: Fact, of: tuple[Fact, ...], expected: date) -> Tie:
    """A date with room for a holiday: another day of the week before is an interval."""
    early = expected.toordinal() - int(fact.value)
    known = sum(int(each.value) for each in of)
    return Tie(
        rule, fact, tuple((each, 1) for each in of), offset=Fraction(expected.toordinal() - known),
        check_only=True, otherwise=TieKind.INTERVAL if 0 < early < 7 else TieKind.BROKEN,
    )  # fmt: skip


def _weekday(day: date) -> date:
    while day.weekday() > 4:
        day -= timedelta(days=1)
    return day


def _matches(pattern: str, line: str) -> bool:
    return re.fullmatch(pattern, label(line), re.IGNORECASE) is not None
