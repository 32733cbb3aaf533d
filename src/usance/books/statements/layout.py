"""Lines of the primary statements as data: each with its accounts and their signs.

>>> layout = load_layout()
>>> line = layout.lines("operations")[1]
>>> line.line, line.parent, dict(line.signs)
('Financing income', 'Credit driven services', {'financing_income': -1})
>>> layout.lines("balance_sheet", "Acme, Inc.")[-4].line
'TOTAL ACME INC EQUITY'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from usance.base.codes import Code
from usance.base.documents import read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.fields import Fields, fields_of, one_of, text, truth
from usance.books.chart import Chart, load_chart
from usance.books.errors import ChartError

SHIPPED = Path(__file__).resolve().parents[1] / "data" / "statements.yaml"
NON_CONTROLLING = "Noncontrolling interests"
CLAIMS = "TOTAL LIABILITIES AND EQUITY"
OPERATIONS, EQUITY, SHEET = "operations", "equity", "balance_sheet"
COMPREHENSIVE = "comprehensive_income"
OPERATIONS_MATRIX = "ifrs_reconciliation_operations"
SHEET_MATRIX = "ifrs_reconciliation_balance_sheet"

TITLES = {
    OPERATIONS: "Statement of operations", SHEET: "Balance sheet",
    COMPREHENSIVE: "Comprehensive income", "cash_flows": "Cash flows",
    SHEET_MATRIX: "Balance sheet", OPERATIONS_MATRIX: "Statement of operations",
    "changes_in_equity": "Changes in equity", "tax_reconciliation": "Income tax explained",
    "awards_to_come": "Awards still to be recognised", "per_share": "Per share",
}  # fmt: skip
"""Titles of statements and notes, by their name in tables."""

Parts = tuple[str, tuple[str, ...]]
"""A printed name, and the lines of the chart, accounts and `$lines` it is made of."""


class Side(Code):
    """The side on which a line is positive, as a sign of balances (debit positive)."""

    DEBIT = 1
    CREDIT = -1


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A line of a statement, the total it belongs to, and its accounts with their signs."""

    line: str
    parent: str
    signs: Mapping[str, int] = field(hash=False)
    is_total: bool = False
    is_subtracted: bool = False
    """True if it lowers its total."""

    @property
    def weight(self) -> int:
        """Its sign in its total."""
        return -1 if self.is_subtracted else 1


@dataclass(frozen=True)
class Layout:
    """The lines of every statement, in print order."""

    statements: Mapping[str, tuple[StatementLine, ...]]

    def lines(self, statement: str, company: str = "") -> tuple[StatementLine, ...]:
        """The lines of a statement of a company."""
        name = company.replace(",", "").upper()
        # As filed: the balance sheet leaves out the stop of "Inc.", the reconciliation has it.
        name = name if statement == SHEET_MATRIX else name.replace(".", "")
        return tuple(
            replace(line, line=line.line.replace("{COMPANY}", name),
                    parent=line.parent.replace("{COMPANY}", name))
            for line in self.statements[statement]
        )  # fmt: skip


def title_of(name: str) -> str:
    """The title of a statement or note; one that has none is written in words.

    >>> title_of("cash_flows"), title_of("parent_only")
    ('Cash flows', 'Parent only')
    """
    return TITLES.get(name) or name.replace("_", " ").capitalize()


@cache
def load_layout(path: Path = SHIPPED) -> Layout:
    """Read the layout, or raise every account that is in no line and every part that is unknown."""
    given = fields_of(read_text(path), path.name)
    reader = _Reader(load_chart(), given.problems)
    for statement in (OPERATIONS, EQUITY, SHEET, COMPREHENSIVE):
        reader.read(statement, given.each(statement))
    if changes := given.inner("reconciliation"):
        replaced = changes.need("replaced", _replacements) or {}
        itemised = changes.need("itemised", _replacements) or {}
        changes.close()
        for source, matrix in ((OPERATIONS, OPERATIONS_MATRIX), (SHEET, SHEET_MATRIX)):
            reader.reconcile(source, matrix, replaced, itemised)
    given.close()
    given.problems += reader.missing()
    raise_all(given.problems, where=path.name)
    return Layout({name: tuple(lines) for name, lines in reader.statements.items()})


@dataclass
class _Reader:
    chart: Chart
    problems: list[UsanceError]
    statements: dict[str, list[StatementLine]] = field(default_factory=dict)

    def read(self, statement: str, blocks: Iterable[Fields]) -> None:
        lines = self.statements[statement] = []
        for block in blocks:
            parent = block.take("of", text) or ""
            total, subtracted = block.take("total", text), bool(block.take("subtracted", truth))
            side = block.take("side", one_of(Side)) or Side.DEBIT
            non_current = bool(block.take("non_current", truth))
            for name, parts in block.take("lines", _lines) or ():
                signs = self.signs(parts, side, non_current=non_current)
                lines.append(StatementLine(name, parent, signs))
            if total:
                signs = self._sum(line for line in lines if line.parent == total)
                lines.append(StatementLine(total, parent, signs, True, subtracted))
            block.close()

    def reconcile(
        self, source: str, matrix: str, replaced: Mapping[str, tuple[Parts, ...]],
        itemised: Mapping[str, tuple[Parts, ...]],
    ) -> None:  # fmt: skip
        lines = self.statements[matrix] = []
        for line in self.statements[source]:
            side = Side(next(iter(line.signs.values()), Side.DEBIT))
            for name, parts in replaced.get(line.line, ()):
                lines.append(replace(line, line=name, signs=self.signs(parts, side)))
            for name, parts in itemised.get(line.line, ()):
                lines.append(StatementLine(name, line.line, self.signs(parts, side)))
            if line.line not in replaced:
                lines.append(replace(line, is_total=line.is_total or line.line in itemised))

    def signs(
        self, parts: Iterable[str], side: Side, *, non_current: bool = False
    ) -> dict[str, int]:
        """Accounts with their signs, in the order of the chart."""
        found: dict[str, int] = {}
        for part in parts:
            if part.startswith("$"):
                own = dict(self._referred(part[1:]))
            elif part in self.chart.accounts:
                own = {part: int(side)}
            else:
                own = {
                    account.name: int(side)
                    for account in self.chart
                    if account.line == part and account.is_non_current == non_current
                }
            if not own:
                fix = "Correct it, or add one"
                self.problems.append(ChartError("no account has this line", where=part, fix=fix))
            found |= own
        return self._ordered(found)

    def _referred(self, name: str) -> Mapping[str, int]:
        lines = (*self.statements[OPERATIONS], *self.statements[EQUITY])
        return next((line.signs for line in lines if line.line == name), {})

    def _sum(self, lines: Iterable[StatementLine]) -> dict[str, int]:
        return self._ordered(
            {name: line.weight * sign for line in lines for name, sign in line.signs.items()}
        )

    def _ordered(self, signs: Mapping[str, int]) -> dict[str, int]:
        return {
            account.name: signs[account.name] for account in self.chart if account.name in signs
        }

    def missing(self) -> Iterator[UsanceError]:
        """Accounts that are not once on a balance sheet: then it does not balance."""
        for statement in (SHEET, SHEET_MATRIX):
            counted = [
                name
                for line in self.statements.get(statement, ())
                if not line.is_total
                for name in line.signs
            ]
            for account in self.chart:
                if counted.count(account.name) != (not account.within_group):
                    what = f"{account.name} is {counted.count(account.name)} times in {statement}"
                    fix = "Give its line a place in one statement"
                    yield ChartError(what, where=account.line, fix=fix)


def _lines(given: Any, where: str) -> tuple[Parts, ...]:
    if not isinstance(given, list):
        raise DocumentError("is no list of lines", where=where, fix="List them with '- '")
    return tuple(_line(each, where) for each in given)


def _line(given: Any, where: str) -> Parts:
    if not isinstance(given, dict):
        return (name := text(given, where)), (name,)
    ((name, parts),) = given.items()
    if not isinstance(parts, list):
        raise DocumentError("has no list of parts", where=where, fix="Write name: [parts]")
    return str(name), tuple(text(each, where) for each in parts)


def _replacements(given: Any, where: str) -> dict[str, tuple[Parts, ...]]:
    if not isinstance(given, dict):
        raise DocumentError("is no mapping of lines", where=where, fix="Write line: [lines]")
    return {str(line): _lines(lines, where) for line, lines in given.items()}
