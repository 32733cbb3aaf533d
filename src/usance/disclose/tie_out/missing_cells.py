"""The cells a table of one document may lack: derived lines and translated columns.

`data/derived_lines.yaml` lists the derived lines of the statements of a release. A missing cell
stands for a figure that is not known yet; the ties compute it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.disclose.facts import MONEY, NO_CURRENCY, UNITS, Fact
from usance.disclose.periods import Period
from usance.disclose.table import Table
from usance.disclose.tie_out.highlights import CHANGE

DERIVED_LINES = Path(__file__).resolve().parents[1] / "data" / "derived_lines.yaml"
_DECIMALS = {"percent": 1, "per_share": 2, "per_ads": 2, "million": 1, "million_ads": 2}
_TRANSLATED_UNITS = (*MONEY, "per_share", "per_ads", "shares", "ads")
_NO_CURRENCY = ("percent", "ads", "shares", "million_ads")
_AMOUNT = re.compile(r"(?P<plan>.+) amount")
_BUSINESS, _RESULTS = "business_highlights", "release_results"


@cache
def derived_lines() -> dict[str, list[dict[str, Any]]]:
    """The derived lines of a release by statement."""
    return dict(read_document(DERIVED_LINES))


class MissingCells:
    """The cells that a table of one document may lack."""

    def __init__(self, table: Table, company: str) -> None:
        self.table, self.company = table, company
        self._company = table.name(company)
        self.profile = table.profile
        self.first = table.facts[0]
        self.known = {self._cell(fact) for fact in table.numbers}
        self.lines = {self._line(fact) for fact in table.numbers}
        tables, text = (self.profile.statements[kind] for kind in ("tables", "text"))
        money = [fact for fact in table.numbers if fact.statement in tables and fact.is_money]
        self.unit = money[0].unit if money else "thousand"
        self.finest = max((len(fact.text.partition(".")[2]) for fact in money), default=0)
        self.periods: dict[str, dict[str, Period]] = {}
        for fact in money:
            self.periods.setdefault(fact.statement, {})[fact.period.name] = fact.period
        reported = self.periods.get("operations", {})
        present = {fact.statement for fact in table.numbers if fact.period.name in reported}
        self.missing_texts = {
            name for name in text if name not in present and self._can_be_derived(name)
        }
        self._names: dict[tuple[str, str], str] = {}
        self.latest = max((fact.period.end for fact in money), default=None)

    def _can_be_derived(self, text: str) -> bool:
        """True if all statements are there that a text needs."""
        needs = [need for need in self.profile.statements["needs"] if text in need["any"]]
        return all(name in self.periods for need in needs for name in need["all"])

    def cells(self) -> Iterator[Fact]:
        """Every missing cell, once."""
        own = [*self._derived(), *self._matrices()]
        own += self._results([*self.table.numbers, *own])
        yield from own
        yield from self._changes()
        yield from self._actions()
        if self.latest and self.table.rate(self.first.document):
            yield from self._translated([*self.table.numbers, *own])

    def _derived(self) -> Iterator[Fact]:
        for statement, rows in derived_lines().items():
            like = "operations" if statement in self.missing_texts else statement
            named = self._named(statement)
            for row in rows:
                if self._is_total(row) and not self._reached(rows, row["line"], named):
                    continue
                for period in self.periods.get(like, {}).values():
                    yield from self._derived_row(statement, row, period)

    def _named(self, statement: str) -> set[str]:
        facts = [fact for fact in self.table.numbers if fact.statement == statement]
        return {self._compared_name(text) for fact in facts for text in (fact.line, fact.parent)}

    @staticmethod
    def _is_total(row: Mapping[str, Any]) -> bool:
        return bool(row.get("total", "unit" not in row))

    def _results(self, facts: Sequence[Fact]) -> Iterator[Fact]:
        """The text on each line of operations."""
        lines = [fact for fact in facts if fact.statement == "operations" and fact.unit in MONEY]
        headings: dict[str, set[str]] = {}
        for fact in lines:
            headings.setdefault(fact.line, set()).add(fact.parent)
        for fact in lines if _RESULTS in self.missing_texts else ():
            if fact.currency == self.profile.reporting:
                parent = fact.parent if len(headings[fact.line]) > 1 else ""
                place = _RESULTS, fact.line, parent, fact.period
                yield from self._missing(*place, fact.currency, "million", False)

    def _actions(self) -> Iterator[Fact]:
        """A dividend per ADS, and the average price of what was bought back."""
        for fact in self.table.numbers:
            if "dividend_share" in self.table.concepts_of(fact):
                place = fact.statement, "Dividend per ADS", fact.parent, fact.period
                yield from self._missing(*place, fact.currency, "per_ads", False)
            if found := _AMOUNT.fullmatch(fact.line):
                line = f"{found['plan']} average price"
                place = fact.statement, line, fact.parent, fact.period
                yield from self._missing(*place, fact.currency, "per_ads", False)

    def _matrices(self) -> Iterator[Fact]:
        """The first and last column of each line that is adjusted, and totals in all columns."""
        matrix = self.profile.statements["matrix"]
        ends = matrix["from"], matrix["to"]
        columns: dict[tuple[str, str, Period], set[str]] = {}
        for fact in self.table.numbers:
            base, _, column = fact.statement.partition(":")
            if column and base.startswith(matrix["prefix"]):
                for end in ends:
                    place = f"{base}:{end}", fact.line, fact.parent, fact.period
                    yield from self._missing(*place, fact.currency, fact.unit, fact.is_total)
                for each in (column, *ends):
                    named = columns.setdefault((base, each, fact.period), set())
                    named.update(self._compared_name(text) for text in (fact.line, fact.parent))
        for (base, column, period), named in columns.items():
            rows = derived_lines().get(base.removeprefix(matrix["prefix"]), [])
            for row in rows:
                if self._is_total(row) and self._reached(rows, row["line"], named):
                    yield from self._derived_row(f"{base}:{column}", row, period)

    def _reached(self, rows: Sequence[Mapping[str, Any]], line: str, named: set[str]) -> bool:
        """True if a total has a part among the lines that are named, or a total under it has."""
        below = [row["line"] for row in rows if row.get("under") == line]
        return self._compared_name(line) in named or any(
            self._reached(rows, each, named) for each in below
        )

    def _derived_row(
        self, statement: str, row: Mapping[str, Any], period: Period
    ) -> Iterator[Fact]:
        unit = row.get("unit", self.unit)
        currency = NO_CURRENCY if unit in _NO_CURRENCY else self.profile.reporting
        line, under = (self._written_name(statement, row.get(key, "")) for key in ("line", "under"))
        place = statement, line, under, period
        yield from self._missing(*place, currency, unit, self._is_total(row))

    def _written_name(self, statement: str, name: str) -> str:
        """The name of a derived line as the table itself writes it, if it does."""
        if not self._names:
            for fact in self.table.numbers:
                for given in (fact.line, fact.parent):
                    self._names.setdefault((fact.statement, self._compared_name(given)), given)
        return self._names.get(
            (statement, self._compared_name(name)), name.format(company=self.company)
        )

    def _compared_name(self, name: str) -> str:
        """The name under which a line is compared, the filer's own being `company`."""
        named = self.table.name(name.replace("{company}", "company"))
        return named.replace(self._company, "company")

    def _changes(self) -> Iterator[Fact]:
        """Changes of the highlights on the same period a year ago, where none is given."""
        facts = [fact for fact in self.table.numbers if fact.statement == _BUSINESS]
        if any(CHANGE.fullmatch(fact.line) for fact in facts):
            return
        for now in facts:
            for then in facts:
                same = self.table.key(now) == self.table.key(then) and now.unit == then.unit
                earlier = then.period.end == now.period.year_before()
                if same and earlier and now.unit != "percent":
                    line = f"{now.line} - change vs {then.period.written}"
                    place = _BUSINESS, line, now.line, now.period
                    yield from self._missing(*place, NO_CURRENCY, "percent", False)

    def _translated(self, facts: Sequence[Fact]) -> Iterator[Fact]:
        """The translated column of each column that ends on the last day."""
        kinds = self.profile.statements
        for fact in facts:
            place = fact.statement in kinds["tables"] or fact.statement in self.missing_texts
            own = fact.currency == self.profile.reporting or fact.unit in ("shares", "ads")
            if place and own and fact.unit in _TRANSLATED_UNITS and fact.period.end == self.latest:
                yield from self._missing(
                    fact.statement, fact.line, fact.parent, fact.period, self.profile.translated,
                    fact.unit, fact.is_total, -1 if fact.value < 0 else 1,
                )  # fmt: skip

    def _missing(
        self, statement: str, line: str, parent: str, period: Period, currency: str, unit: str,
        total: bool, sign: int = 1,
    ) -> Iterator[Fact]:  # fmt: skip
        stated = unit == self.unit and statement not in self.profile.statements["text"]
        decimals = self.finest if stated else _DECIMALS.get(unit, 0)
        step = Fraction(UNITS[unit], 10**decimals)
        text = f"1.{'0' * decimals}" if decimals else "1"
        made = Fact(
            self.first.document, statement, line, parent, period, currency, unit, text, total, 0,
            self.first.file, Fraction(sign * UNITS[unit]), step,
        )  # fmt: skip
        if self._cell(made) in self.known or (total and self._line(made) in self.lines):
            return
        self.known.add(self._cell(made))
        yield made

    def _cell(self, fact: Fact) -> tuple[str, ...]:
        return *self._line(fact), self.table.name(fact.parent), fact.unit

    def _line(self, fact: Fact) -> tuple[str, ...]:
        """A line of one column; of a total there is one, whatever its parent."""
        return fact.statement, self.table.name(fact.line), fact.period.name, fact.currency
