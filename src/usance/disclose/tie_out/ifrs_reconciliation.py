"""The reconciliation of two frameworks: one matrix over operations, one over the balance sheet.

Each line runs from the first framework through the adjustments to the second. Each adjustment is
also a small set of books: what it does to income moves its balance sheet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from usance.disclose.facts import Fact, label
from usance.disclose.periods import Period
from usance.disclose.table import Table
from usance.disclose.ties import Term, Tie, TieKind

ACROSS = "line adds up across the adjustments"
FIRST = "first column = the statement itself"
TAXED = "tax on the adjustment"
EARNED = "adjustment rolls forward: retained earnings"
DEFERRED = "adjustment rolls forward: deferred tax"
BEFORE_TAX = "adjustment rolls forward: net assets before tax"

Cells = dict[tuple[str, str, str], Fact]


class Matrix:
    """The cells of one document's matrices by line, column and period."""

    def __init__(self, table: Table, document: str) -> None:
        self.table = table
        columns = table.profile.statements["matrix"]
        self.first, self.last, self.prefix = columns["from"], columns["to"], columns["prefix"]
        self.cells: dict[str, Cells] = defaultdict(dict)
        self.by_column: dict[tuple[str, str, str], list[Fact]] = defaultdict(list)
        self.columns: dict[str, list[str]] = defaultdict(list)
        self.periods: dict[str, dict[str, Period]] = defaultdict(dict)
        for fact in table.numbers:
            base, _, column = fact.statement.partition(":")
            if fact.document == document and column and base.startswith(self.prefix):
                self._add(base.removeprefix(self.prefix), column, fact)

    def _add(self, base: str, column: str, fact: Fact) -> None:
        line = f"{self.table.name(fact.line)}|{self.table.name(fact.parent)}"
        self.cells[base][line, column, fact.period.name] = fact
        self.by_column[base, column, fact.period.name].append(fact)
        self.periods[base][fact.period.name] = fact.period
        if column not in self.columns[base]:
            self.columns[base].append(column)

    def adjustments(self, base: str) -> list[str]:
        """The columns between the two frameworks."""
        return [each for each in self.columns[base] if each not in (self.first, self.last)]

    def ties(self) -> Iterator[Tie]:
        """Everything that holds in and between the matrices."""
        for base, cells in self.cells.items():
            for (line, column, period), fact in cells.items():
                if column == self.last:
                    terms = [
                        cells.get((line, other, period))
                        for other in (self.first, *self.adjustments(base))
                    ]
                    tie = Tie(ACROSS, fact, tuple((term, 1) for term in terms if term))
                    # A cell that is not there may be nil or lost: then only a fit says something.
                    if all(terms) or tie.judge() is TieKind.EXACT:
                        yield tie
                if column == self.first:
                    yield from self._first(base, fact)
        yield from self._taxes()
        yield from self._rolls()

    def _first(self, base: str, fact: Fact) -> Iterator[Tie]:
        table = self.table
        for other in table.columns.get((fact.document, base, fact.period.name, fact.currency), ()):
            same_name = table.name(other.line) == table.name(fact.line)
            same_parent = table.name(other.parent) == table.name(fact.parent)
            if same_name and (same_parent or other.is_total):
                yield Tie(FIRST, fact, ((other, 1),))
                return

    def _taxes(self) -> Iterator[Tie]:
        rate = self.table.profile.rounding.adjustment_tax_rate
        for column in self.adjustments("operations"):
            for period in self.periods["operations"]:
                tax = self._line("operations", column, period, "income_tax")
                pretax = self._line("operations", column, period, "pretax_income")
                taxed = column.endswith("net_of_tax") and pretax and pretax.value
                if tax and pretax and (tax.value or taxed):
                    yield Tie(
                        TAXED, tax, ((pretax, -1),), scale=rate, step=tax.step, check_only=True,
                        method=self.table.profile.rounding.method,
                    )  # fmt: skip

    def _rolls(self) -> Iterator[Tie]:
        days = {each.end.isoformat(): name for name, each in self.periods["balance_sheet"].items()}
        for column in self.adjustments("operations"):
            for name, period in self.periods["operations"].items():
                start, end = period.opens_on.isoformat(), period.end.isoformat()
                if column in self.columns["balance_sheet"] and start in days and end in days:
                    yield from self._roll(column, name, days[start], days[end])

    def _roll(self, column: str, period: str, start: str, end: str) -> Iterator[Tie]:
        income = self._line("operations", column, period, "attributable", "net_income")
        tax = self._line("operations", column, period, "income_tax")
        pretax = self._line("operations", column, period, "pretax_income")
        earned = self._named(column, end, r"retained earnings")
        before = self._named(column, start, r"retained earnings")
        if earned and before and income:
            terms = ((before[0], 1), (income, 1))
            yield Tie(EARNED, earned[0], terms, check_only=True, over=period)
        deferred = self._change(column, start, end, "deferred tax assets", 1)
        deferred += self._change(column, start, end, "deferred tax liabilities", -1)
        if tax and deferred:
            yield Tie(DEFERRED, tax, deferred, check_only=True, over=period)
        rest = self._change(column, start, end, "total assets", 1)
        rest += self._change(column, start, end, "total liabilities", -1)
        rest += tuple((fact, -times) for fact, times in deferred)
        rest += self._other_equity(column, start, end)
        if pretax and rest:
            yield Tie(BEFORE_TAX, pretax, rest, check_only=True, over=period)

    def _other_equity(self, column: str, start: str, end: str) -> tuple[Term, ...]:
        """Equity lines that an adjustment moves without income: premiums, reserves.

        Retained earnings and non-controlling interests are where its income goes.
        """
        noncontrolling = self.table.profile.concepts["noncontrolling"].line
        terms: list[Term] = []
        for (line, where, period), fact in self.cells["balance_sheet"].items():
            name, _, parent = line.partition("|")
            earned = "retained" in name or noncontrolling.fullmatch(label(fact.line))
            if where != column or fact.is_total or earned:
                continue
            if "equity" in parent and "liabilities" not in parent and period in (start, end):
                terms.append((fact, -1 if period == end else 1))
        return tuple(terms)

    def _change(self, column: str, start: str, end: str, name: str, times: int) -> tuple[Term, ...]:
        closing, opening = self._named(column, end, name), self._named(column, start, name)
        if not closing or not opening:
            return ()
        return ((closing[0], times), (opening[0], -times))

    def _named(self, column: str, period: str, name: str) -> list[Fact]:
        column_facts = self.by_column["balance_sheet", column, period]
        return [fact for fact in column_facts if self.table.name(fact.line) == name]

    def _line(self, base: str, column: str, period: str, *concepts: str) -> Fact | None:
        for name in concepts:
            pattern = self.table.profile.concepts[name].line
            for fact in self.by_column[base, column, period]:
                if pattern.fullmatch(label(fact.line)):
                    return fact
        return None


def matrix_ties(table: Table) -> Iterator[Tie]:
    """The ties of every document's matrices."""
    for document in table.rank:
        yield from Matrix(table, document).ties()


def balances(table: Table) -> Iterator[Tie]:
    """Both sides of every column of a balance sheet matrix."""
    sides = (table.profile.concepts[name].line for name in ("total_assets", "total_claims"))
    assets, claims = sides
    for (_, statement, _, _), facts in table.columns.items():
        if ":" in statement and "balance_sheet" in statement:
            left = [fact for fact in facts if assets.fullmatch(label(fact.line))]
            right = [fact for fact in facts if claims.fullmatch(label(fact.line))]
            if left and right:
                terms = ((left[0], 1),)
                yield Tie("balance sheet balances", right[0], terms, check_only=True)
