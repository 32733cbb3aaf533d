"""Facts laid out as people read them: sentences, tables and definitions; whoever made the facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from usance.disclose.facts import NO_CURRENCY, Fact
from usance.disclose.profile import Profile
from usance.disclose.release.figure import Addresses
from usance.disclose.release.wording import filled, said

COLUMN = tuple[str, str, str]
"""Column of a matrix (or nothing), period, currency."""


@dataclass(frozen=True)
class Row:
    """One line of a table; `depth` says how far it is set in."""

    line: str
    parent: str
    is_total: bool
    depth: int
    cells: Mapping[COLUMN, Fact]


@dataclass(frozen=True)
class Sheet:
    """One table."""

    name: str
    title: str
    columns: tuple[COLUMN, ...]
    headings: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Section:
    """Sentences under a title, each with the definitions it needs by number."""

    title: str
    sentences: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Page:
    """A whole release."""

    document: str
    headline: str
    opening: tuple[str, ...]
    sections: tuple[Section, ...]
    sheets: tuple[Sheet, ...]
    footnotes_title: str
    footnotes: tuple[str, ...]
    language: str
    address: Mapping[Fact, str] = field(repr=False)


def page_of(
    facts: Sequence[Fact], profile: Profile, texts: Mapping[str, Any], company: str,
    language: str = "en",
) -> Page:  # fmt: skip
    """The page of one document's facts."""
    document = facts[0].document
    addresses = Addresses(document, facts, profile.reporting)
    spoken = (*profile.statements["text"], *profile.statements["figures"])
    words = _Words(texts, profile)
    sections = tuple(
        Section(texts["sections"].get(name, name), tuple(words.sentences(group)))
        for name, group in _by_statement(facts).items()
        if name in spoken
    )
    sheets = tuple(
        _sheet(name, group, texts, profile)
        for name, group in _by_statement(facts).items()
        if name not in spoken
    )
    return Page(
        document, _headline(facts, texts, company), _opening(facts, texts, profile), sections,
        sheets, texts["footnotes_title"], tuple(words.footnotes), language,
        {fact: addresses.of(fact) for fact in facts},
    )  # fmt: skip


def shown(fact: Fact) -> str:
    """A figure as it stands in a table: separators, and brackets below zero.

    >>> grouped("-1234567.80"), grouped("0")
    ('(1,234,567.80)', '0')
    """
    if not fact.is_number:
        return fact.text
    percent = "%" if fact.unit == "percent" else ""
    return grouped(fact.text) + percent if fact.unit not in ("rmb_per_usd", "rate") else fact.text


def grouped(text: str) -> str:
    """A number with separators, in brackets if it is below zero."""
    whole, point, rest = text.lstrip("-").partition(".")
    number = f"{int(whole):,}{point}{rest}"
    return f"({number})" if text.startswith("-") else number


class _Words:
    """Sentences made from templates; definitions are numbered as they are first needed."""

    def __init__(self, texts: Mapping[str, Any], profile: Profile) -> None:
        self.texts, self.profile = texts, profile
        self.footnotes: list[str] = []
        self._numbers: dict[str, int] = {}

    def sentences(self, facts: Iterable[Fact]) -> Iterable[tuple[str, tuple[int, ...]]]:
        """One sentence for each line."""
        lines: dict[tuple[str, str], list[Fact]] = {}
        for fact in facts:
            lines.setdefault((fact.line, fact.parent), []).append(fact)
        for (line, parent), own in lines.items():
            yield self._sentence(line, parent, own), self._notes(line)

    def _notes(self, line: str) -> tuple[int, ...]:
        definition = self.texts["definitions"].get(line)
        if definition is None:
            return ()
        if line not in self._numbers:
            self.footnotes.append(f"{line}: {definition}")
            self._numbers[line] = len(self.footnotes)
        return (self._numbers[line],)

    def _sentence(self, line: str, parent: str, facts: Sequence[Fact]) -> str:
        texts = self.texts
        end = max(fact.period.end for fact in facts)
        latest = [fact for fact in facts if fact.period.end == end]
        now, *others = sorted(latest, key=lambda fact: fact.currency == self.profile.translated)
        translated = "".join(f" ({self._value(fact)})" for fact in others)
        name = f"{line} ({parent})" if parent else line
        template = texts["share"] if now.unit == "percent" else texts["sentence"]
        said_ = filled(
            template, "texts.sentence", line=name, now=self._value(now), translated=translated
        )
        earlier = [
            filled(
                texts["compared"]["year_ago" if self._is_year_ago(fact, now) else "prior"],
                "texts.compared", value=self._value(fact), period=said(fact.period, texts),
            )
            for fact in facts
            if fact.period.end < end
        ]  # fmt: skip
        tail = filled(texts["against"], "texts.against", list=texts["and"].join(earlier))
        return f"{said_}{tail if earlier else ''}."

    @staticmethod
    def _is_year_ago(fact: Fact, now: Fact) -> bool:
        return fact.period.end == now.period.year_before()

    def _value(self, fact: Fact) -> str:
        if not fact.is_number:
            return fact.text
        sign = self.texts["currencies"].get(fact.currency, fact.currency)
        money = fact.currency != NO_CURRENCY and fact.unit not in ("shares", "ads")
        unit = self.texts["units"].get(fact.unit, "")
        minus = "-" if fact.text.startswith("-") else ""
        return f"{minus}{sign if money else ''}{grouped(fact.text.lstrip('-'))}{unit}"


def _by_statement(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts by statement; the columns of a matrix are one."""
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.statement.partition(":")[0], []).append(fact)
    return found


def _sheet(
    name: str, facts: Sequence[Fact], texts: Mapping[str, Any], profile: Profile
) -> Sheet:  # fmt: skip
    cells: dict[tuple[str, str], dict[COLUMN, Fact]] = {}
    for fact in facts:
        # The plain name of a matrix column or table; counts stand under the reporting currency.
        currency = profile.reporting if fact.currency == NO_CURRENCY else fact.currency
        column = fact.statement.partition(":")[2], fact.period.name, currency
        cells.setdefault((fact.line, fact.parent), {})[column] = fact
    columns = tuple(dict.fromkeys(column for row in cells.values() for column in row))
    parents = dict(cells)
    rows = tuple(
        Row(line, parent, any(fact.is_total for fact in own.values()), _depth(parent, parents), own)
        for (line, parent), own in cells.items()
    )
    headings = tuple(
        tuple(part for part in (texts["columns"].get(matrix, matrix), period, currency) if part)
        for matrix, period, currency in columns
    )
    return Sheet(name, texts["statements"].get(name, name), columns, headings, rows)


def _depth(parent: str, rows: Mapping[tuple[str, str], object]) -> int:
    """How many totals stand above a line, as far as a page shows it."""
    above = dict(rows.keys())
    depth = 0
    while parent and parent in above and depth < 2:
        parent, depth = above[parent], depth + 1
    return depth


def _headline(facts: Sequence[Fact], texts: Mapping[str, Any], company: str) -> str:
    durations = [fact.period for fact in facts if not fact.period.instant]
    latest = min(
        (each for each in durations if each.end == max(other.end for other in durations)),
        key=lambda each: each.days, default=facts[0].period,
    )  # fmt: skip
    return filled(texts["headline"], "texts.headline", company=company, period=said(latest, texts))


def _opening(
    facts: Sequence[Fact], texts: Mapping[str, Any], profile: Profile
) -> tuple[str, ...]:  # fmt: skip
    tables = profile.statements["tables"]
    units = [fact.unit for fact in facts if fact.is_money and fact.statement in tables]
    words = {"unit": f"{units[0]}s" if units else "units", "currency": profile.reporting}
    opening = [filled(texts["opening"], "texts.opening", **words)]
    rates = [fact for fact in facts if fact.unit == "rmb_per_usd"]
    dates = [fact for fact in facts if fact.unit == "date" and fact.line == "Rate date"]
    if rates:
        opening.append(filled(
            texts["opening_translated"], "texts.opening_translated", **words,
            translated=profile.translated, rate=rates[0].text,
            rate_on=dates[0].text if dates else rates[0].period.name,
        ))  # fmt: skip
    return tuple(opening)
