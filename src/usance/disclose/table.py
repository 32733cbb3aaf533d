"""The facts of one or several documents, found by statement, name, column and concept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date

from usance.disclose.facts import NO_CURRENCY, Fact, label
from usance.disclose.periods import Period
from usance.disclose.profile import Profile

Key = tuple[str, str, str]
Column = tuple[str, str, str, str]


class Table:
    """An index over facts. Documents are kept in the order of the periods they report on."""

    def __init__(self, facts: Iterable[Fact], profile: Profile) -> None:
        self.profile = profile
        self.facts = tuple(facts)
        self.numbers = tuple(fact for fact in self.facts if fact.is_number)
        self._names: dict[str, str] = {}
        self._concepts: dict[tuple[str, str, str, str], tuple[str, ...]] = {}
        self._by_key: dict[tuple[Key, str, str], list[Fact]] = defaultdict(list)
        self._by_concept: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        self.columns: dict[Column, list[Fact]] = defaultdict(list)
        self.under: dict[tuple[str, str], set[str]] = defaultdict(set)
        for fact in self.numbers:
            self._by_key[self.key(fact), fact.period.name, fact.currency].append(fact)
            self.columns[self.column(fact)].append(fact)
            self.under[fact.statement, self.name(fact.parent)].add(self.name(fact.line))
            for concept in self.concepts_of(fact):
                self._by_concept[concept, fact.period.name].append(fact)
        durations = {fact.period for fact in self.numbers if not fact.period.instant}
        self.durations = tuple(
            sorted(durations, key=lambda each: (each.start, each.end, each.name))
        )
        self._rates = {fact.document: fact for fact in reversed(self.all_of("rate"))}
        self.rank = {name: place for place, name in enumerate(self._in_order())}
        self._ends = self._by_end()

    def _in_order(self) -> list[str]:
        latest: dict[str, date] = {}
        for fact in self.facts:
            if fact.statement != "outlook" and not fact.period.written.isdigit():
                known = latest.get(fact.document, fact.period.end)
                latest[fact.document] = max(known, fact.period.end)
        names = dict.fromkeys(fact.document for fact in self.facts)
        return sorted(names, key=lambda name: (latest.get(name, date.max), name))

    def _by_end(self) -> dict[tuple[str, date], list[Fact]]:
        ends: dict[tuple[str, date], list[Fact]] = defaultdict(list)
        for (concept, _), facts in self._by_concept.items():
            for fact in facts:
                ends[concept, fact.period.end].append(fact)
        return ends

    def name(self, line: str) -> str:
        """The name under which a line is compared."""
        if line not in self._names:
            self._names[line] = self.profile.name_of(line)
        return self._names[line]

    def key(self, fact: Fact) -> Key:
        """Statement, line and heading, without the ways they may be written."""
        return fact.statement, self.name(fact.line), self.name(fact.parent)

    @staticmethod
    def column(fact: Fact) -> Column:
        """Document, statement, period and currency."""
        return fact.document, fact.statement, fact.period.name, fact.currency

    def concepts_of(self, fact: Fact) -> tuple[str, ...]:
        """The concepts a fact is a figure of."""
        place = fact.statement, fact.line, fact.parent, fact.unit
        if place not in self._concepts:
            self._concepts[place] = tuple(
                name
                for name, concept in self.profile.concepts.items()
                if (concept.unit in ("", fact.unit) or (concept.unit == "money" and fact.is_money))
                and concept.statement.fullmatch(fact.statement)
                and concept.line.fullmatch(label(fact.line))
                and concept.parent.fullmatch(label(fact.parent))
            )
        return self._concepts[place]

    def all_of(self, concept: str) -> list[Fact]:
        """Every fact of a concept."""
        return [
            fact
            for (name, _), facts in self._by_concept.items()
            if name == concept
            for fact in facts
        ]

    def same_line(self, fact: Fact, period: Period, currency: str) -> list[Fact]:
        """The same line in another column, in any document."""
        return self._by_key.get((self.key(fact), period.name, currency), [])

    def line_in(self, fact: Fact, period: str) -> list[Fact]:
        """The same line, currency and unit in another period, in any document."""
        found = self._by_key.get((self.key(fact), period, fact.currency), [])
        return [each for each in found if each.unit == fact.unit]

    def cells(self) -> Iterator[list[Fact]]:
        """The facts of each line, period, currency and unit, over all documents."""
        for facts in self._by_key.values():
            for unit in dict.fromkeys(fact.unit for fact in facts):
                same = [fact for fact in facts if fact.unit == unit]
                if len(same) > 1:
                    yield same

    def counterpart(self, fact: Fact, currency: str) -> Fact | None:
        """The same line of the same document and period in another currency."""
        return _first(self.same_line(fact, fact.period, currency), fact.document)

    def find(self, concept: str, like: Fact, period: Period, modifier: str = "") -> Fact | None:
        """The figure of a concept for a column: the document's own, or the latest of another's."""
        if modifier in ("start", "end"):
            day = period.opens_on if modifier == "start" else period.end
            found = self._ends.get((concept, day), [])
        else:
            found = self._by_concept.get((concept, period.name), [])
        currency = self.currency(like, modifier)
        for wanted in (currency, NO_CURRENCY) if not modifier else (currency,):
            matching = [fact for fact in found if fact.currency == wanted]
            own = _first(matching, like.document)
            if own:
                return own
            others = [fact for fact in matching if not self.is_translated(fact)]
            if others:
                return max(others, key=lambda fact: self.rank[fact.document])
        return None

    def currency(self, like: Fact, modifier: str) -> str:
        """The currency a modifier of an identity names; the fact's own if it names none."""
        named = {
            "reporting": self.profile.reporting,
            "translated": self.profile.translated,
            "none": NO_CURRENCY,
        }
        return named.get(modifier, like.currency)

    def is_translated(self, fact: Fact) -> bool:
        """True if a figure depends on its own document's rate."""
        kinds = self.profile.statements
        own = fact.statement in kinds["tables"] or fact.statement in kinds["text"]
        return fact.currency == self.profile.translated and own

    def rate(self, document: str) -> Fact | None:
        """The one rate a document translates by."""
        return self._rates.get(document)


def _first(facts: Iterable[Fact], document: str) -> Fact | None:
    return next((fact for fact in facts if fact.document == document), None)
