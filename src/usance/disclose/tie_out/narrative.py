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
        self._signs: dict[tuple[str, str, str], int] = {}

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
            source = self._source(fact, sources)
            if source:
                yield self._narrative_tie(fact, ((source, self._sign(fact, source)),))
            else:
                yield from self._difference(fact, sources)

    def _source(self, fact: Fact, sources: Sequence[Fact]) -> Fact | None:
        """The table's figure in the column of a narrative one."""
        column = [
            each
            for each in sources
            if each.period == fact.period and each.currency in (fact.currency, NO_CURRENCY)
        ]
        return _best(self.table, fact, column)

    def _sign(self, fact: Fact, source: Fact) -> int:
        """The sign of a figure against its table: that of its line, or a benefit by its size."""
        is_benefit = fact.value > 0 and source.value > 0 and _is_tax(fact)
        return 1 if is_benefit else self.line_sign(fact)

    def line_sign(self, fact: Fact) -> int:
        """-1 where a text names by its size what the table prints in brackets.

        The columns of a line that stand in both text and table tell, so a figure that stands in
        the text alone, such as that of the quarter before, is read as they are.
        """
        key = fact.document, self.table.name(fact.line), self.table.name(fact.parent)
        if key not in self._signs:
            same = [
                each
                for each in self.facts
                if (each.document, self.table.name(each.line), self.table.name(each.parent)) == key
            ]
            pairs = [(each, self._source(each, self.sources(each))) for each in same]
            signs = [each.value * source.value for each, source in pairs if source]
            turned = sum(sign < 0 for sign in signs)
            kept = sum(sign > 0 for sign in signs)
            # A benefit is often printed by its size too: one bracket tells that of all charges.
            self._signs[key] = -1 if turned > kept or (turned and _is_tax(fact)) else 1
        return self._signs[key]

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
                    sign = self.line_sign(fact)
                    rest = tuple((column[part], -sign) for part in partition if part != fact.period)
                    yield self._narrative_tie(fact, ((total, sign), *rest), DIFFERENCE)
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
                whole = self.line_sign(target) if target else 1
                terms = tuple(
                    (fact, times * whole * self.line_sign(fact)) for fact, times in parts if fact
                )
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


def _is_tax(fact: Fact) -> bool:
    return "tax" in fact.line.lower().replace("before income tax", "")


def _best(table: Table, fact: Fact, found: Sequence[Fact]) -> Fact | None:
    own = [each for each in found if each.document == fact.document]
    others = [each for each in found if not table.is_translated(each)]
    chosen = own or others
    if not chosen:
        return None
    first = chosen[0].statement
    same = [each for each in chosen if each.statement == first]
    return max(same, key=lambda each: (table.rank[each.document], each.is_total))
