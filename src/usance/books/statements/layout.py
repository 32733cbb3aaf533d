"""Where each line stands in the primary statements, as data.

>>> layout = load_layout()
>>> layout.balance_sheet["Total current assets"][0]
'Cash and cash equivalents'
>>> layout.name("Other services fees-platform")
'Other services fees'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from usance.base.documents import parse_yaml, read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.base.fields import Fields, document_places, text
from usance.books.chart import Account, AccountKind, Chart, load_chart
from usance.books.errors import ChartError

SHIPPED = Path(__file__).resolve().parents[1] / "data" / "statements.yaml"
OUTSIDE_LINE = "Noncontrolling interests"
Sections = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Layout:
    """Lines of the chart by the total they are part of."""

    balance_sheet: Sections
    operations: Sections
    equity: tuple[str, ...]
    printed: Mapping[str, str]

    def name(self, line: str) -> str:
        """What a line is called on the page."""
        return self.printed.get(line, line)


def accounts_of(chart: Chart, line: str, total: str) -> list[Account]:
    """The accounts behind a line; two lines may share a name, one of them not current."""
    later = "non-current" in total
    shared = {account.is_later for account in chart if account.line == line}
    return [
        account
        for account in chart
        if account.line == line and (len(shared) < 2 or account.is_later == later)
    ]


@cache
def load_layout(path: Path = SHIPPED) -> Layout:
    """Read the layout, or raise every line that is in no statement or in none of the chart."""
    content = read_text(path)
    problems: list[UsanceError] = []
    places = document_places(path.name, lambda: content)
    given = Fields(parse_yaml(content, where=path.name), places, problems)
    sheet = given.need("balance_sheet", _sections) or {}
    operations = given.need("operations", _sections) or {}
    equity = given.need("equity", _texts) or ()
    printed = given.take("printed", _names) or {}
    given.close()
    layout = Layout(sheet, operations, equity, printed)
    problems += _missing(layout, load_chart())
    raise_all(problems, where=path.name)
    return layout


def _missing(layout: Layout, chart: Chart) -> Iterator[UsanceError]:
    listed = {line for section in layout.balance_sheet.values() for line in section}
    listed |= {line for section in layout.operations.values() for line in section}
    listed |= {*layout.equity, OUTSIDE_LINE}
    for account in chart:
        if account.line not in listed and not account.within_group:
            fix = "Add its line to a statement"
            yield ChartError(f"{account.name} is in no statement", where=account.line, fix=fix)
    known = {account.line for account in chart}
    for line in sorted(listed - known):
        yield ChartError("no account has this line", where=line, fix="Correct it, or add one")


def _sections(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, dict):
        raise DocumentError("is no mapping of totals", where=where, fix="Write total: [lines]")
    return {str(total): _texts(lines, where) for total, lines in given.items()}


def _texts(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise DocumentError("is no list of lines", where=where, fix="List them with '- '")
    return tuple(text(each, where) for each in given)


def _names(given: Any, where: str) -> dict[str, str]:
    if not isinstance(given, dict):
        raise DocumentError("is no mapping of names", where=where, fix="Write line: name")
    return {str(line): text(name, where) for line, name in given.items()}


def is_profit(account: Account) -> bool:
    """Whether an account is part of the statement of operations."""
    return account.kind in (AccountKind.INCOME, AccountKind.EXPENSE)
