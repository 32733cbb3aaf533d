"""Figures in the text of a release: the table's value, rounded at what the text prints.

A text may also name a quarter whose table is in another document, or in none of those given. Then
the figure is a longer period less its other parts, or at least its own text must add up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from usance.disclose.facts import NO_CURRENCY, Fact
from usance.disclose.periods import partitions
from usance.disclose.table import Table
from usance.disclose.tie_out.identities import precision
from usance.disclose.ties import Term, Tie

ROUNDED = "text = table value, rounded"
ADJUSTED = "non gaap "
DIFFERENCE = "text = longer period less the others"
SAME_STEP = "text has one adjustment for every figure"
ADDS_UP = "text adds up within its rounding"


class NarrativeTies:
    """The narrative statements of a table, each figure with the table line it repeats."""

    def __init__(self, table: Table) -> None:
        self.table = table
        kinds = table.profile.statements
        self.facts = [fact for fact in table.numbers if fact.statement in kinds["text"]]
        self.lines: dict[str, list[Fact]] = {}
        sources = (*kinds["tables"], *kinds["figures"])
        for fact in table.numbers:
            if fact.statement in sources and fact.statement != "management_quote":
                self.lines.setdefault(table.name(fact.line), []).append(fact)

    def sources(self, fact: Fact) -> list[Fact]:
        """The facts of every table line that a narrative figure may repeat, in any column."""
        table, name = self.table, self.table.name(fact.line)
        concept = table.profile.text_lines.get(name)
        found = table.all_of(concept) if concept else self.lines.get(name, [])
        if fact.parent and not concept:
            parent = table.name(fact.parent)
            under = [each for each in found if table.name(each.parent) == parent]
            found = under or found
        return [each for each in found if each.is_money == fact.is_money]

    def ties(self) -> Iterator[Tie]:
        """A tie for each text figure that can be derived."""
        for fact in self.facts:
            sources = self.sources(fact)
            column = [
                each
                for each in sources
                if each.period == fact.period and each.currency in (fact.currency, NO_CURRENCY)
            ]
            source = _best(self.table, fact, column)
            if source:
                yield self._narrative_tie(fact, ((source, _sign(fact, source)),))
            else:
                yield from self._difference(fact, sources)

    def _narrative_tie(self, fact: Fact, terms: tuple[Term, ...], rule: str = ROUNDED) -> Tie:
        decimals = self.table.profile.rounding.text_decimals.get(fact.unit)
        fine = fact.statement == "management_quote" or decimals is None
        return Tie(
            rule, fact, terms, step=fact.step if fine else precision(fact, decimals),
            method=self.table.profile.rounding.method,
            check_only=any(term.document != fact.document for term, _ in terms),
        )  # fmt: skip

    def _difference(self, fact: Fact, sources: Sequence[Fact]) -> Iterator[Tie]:
        """A quarter without a table: a longer period less the other parts of it."""
        table = self.table
        if fact.currency != table.profile.reporting or fact.period.instant or not fact.is_money:
            return
        column = {each.period: each for each in sources if each.currency == fact.currency}
        for whole, total in column.items():
            parts = (*column, fact.period)
            for partition in partitions(whole, parts):
                if fact.period in partition:
                    rest = tuple((column[part], -1) for part in partition if part != fact.period)
                    yield self._narrative_tie(fact, ((total, 1), *rest), DIFFERENCE)
                    return

    def sums(self, footings: Sequence[Tie], derived: Collection[Fact]) -> Iterator[Tie]:
        """Figures that nothing else derives: total and parts of a text, as intervals."""
        by_line = {}
        for fact in self.facts:
            if fact.statement == "management_quote" or fact in derived:
                continue
            for source in self.sources(fact)[:1]:
                place = fact.document, fact.statement, fact.period, fact.currency
                by_line[place, self.table.key(source)] = fact
        places = dict.fromkeys(place for place, _ in by_line)
        yield from self._adjusted(derived)
        trees = {self.table.key(tie.target): tie for tie in footings if not tie.target.is_money
                 or tie.target.statement in ("operations", "non_gaap_reconciliation")}  # fmt: skip
        for place in places:
            for key, tie in trees.items():
                target = by_line.get((place, key))
                parts = [(by_line.get((place, self.table.key(fact))), times)
                         for fact, times in tie.top]  # fmt: skip
                terms = tuple((fact, times) for fact, times in parts if fact)
                if target and len(terms) == len(tie.top):
                    yield Tie(ADDS_UP, target, terms, step=target.step, interval=True,
                              check_only=True)  # fmt: skip

    def _adjusted(self, derived: Collection[Fact]) -> Iterator[Tie]:
        """The same adjustment lies between every plain figure and its adjusted one."""
        pairs: dict[object, list[tuple[Fact, Fact]]] = {}
        plain = {}
        rest = [fact for fact in self.facts if fact.unit == "million" and fact not in derived]
        for fact in rest:
            place = fact.document, fact.statement, fact.period, fact.currency
            plain[place, self.table.name(fact.line)] = fact
        for fact in rest:
            place = fact.document, fact.statement, fact.period, fact.currency
            name = self.table.name(fact.line)
            other = plain.get((place, name.removeprefix(ADJUSTED)))
            if other and name.startswith(ADJUSTED):
                pairs.setdefault(place, []).append((other, fact))
        for (one, more), *others in pairs.values():
            for base, adjusted in others:
                terms = ((base, 1), (more, 1), (one, -1))
                yield Tie(SAME_STEP, adjusted, terms, step=adjusted.step, interval=True,
                          check_only=True)  # fmt: skip


def _sign(fact: Fact, source: Fact) -> int:
    """A text names a charge by its size where the table prints it in brackets."""
    return -1 if (fact.value > 0 > source.value and "tax" in fact.line.lower()) else 1


def _best(table: Table, fact: Fact, found: Sequence[Fact]) -> Fact | None:
    own = [each for each in found if each.document == fact.document]
    others = [each for each in found if not table.is_translated(each)]
    chosen = own or others
    if not chosen:
        return None
    first = chosen[0].statement
    same = [each for each in chosen if each.statement == first]
    return max(same, key=lambda each: (table.rank[each.document], each.is_total))
