r"""The general ledger for another program: every posting under the account numbers of its chart.

```yaml
accounts: {cash: "1001", retained_earnings: "3131"}
entities: {1: HQ}              # by number where nothing is said
ifrs_adjustments: false        # postings of US GAAP alone
```

An account that the map does not name is refused by name, so that nothing leaves the books silently.

>>> made = parse_chart_map("accounts: {cash: '1001', cahs: '1002'}", "chart.yaml")
Traceback (most recent call last):
usance.base.errors.CodeError: chart.yaml line 1, accounts.cahs: unknown account 'cahs'. Did you
mean 'cash'? ...
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from usance.base.atomic_files import naming_failures, replace
from usance.base.book import Book
from usance.base.codes import Basis, Currency, IfrsAdjustment
from usance.base.dates import format_month
from usance.base.documents import read_text
from usance.base.errors import DocumentError, raise_all, unknown
from usance.base.fields import fields_of, truth
from usance.base.money import Money
from usance.books.chart import load_chart
from usance.books.close.closes import effective_closes
from usance.books.errors import ChartError
from usance.books.exports import journal_rows

COLUMNS = (
    "journal", "line", "date", "period", "entity", "basis", "adjustment", "account", "debit",
    "credit", "currency", "text",
)  # fmt: skip
"""Columns of the file; amounts in major units, on one side."""


@dataclass(frozen=True, slots=True)
class ChartMap:
    """Accounts and entities of the books under the names of another program."""

    accounts: Mapping[str, str]
    entities: Mapping[str, str]
    ifrs_adjustments: bool


def read_chart_map(path: Path) -> ChartMap:
    """The map in a YAML file, or everything that is wrong with it."""
    return parse_chart_map(read_text(path), str(path))


def parse_chart_map(given: str, where: str) -> ChartMap:
    """The map in a text."""
    fields = fields_of(given, where)
    accounts = fields.need("accounts", _texts) or {}
    entities = fields.take("entities", _texts) or {}
    adjustments = fields.take("ifrs_adjustments", truth)
    fields.close()
    names = [account.name for account in load_chart()]
    for name in accounts:
        if name not in names:
            place = fields.where("accounts", name)
            fields.problems.append(unknown("account", name, names, where=place))
    raise_all(fields.problems, where=where)
    return ChartMap(accounts, entities, adjustments is not False)


def ledger_rows(book: Book, chart: ChartMap) -> Iterator[tuple[str, ...]]:
    """Every posting of the closes in force, in order; raises first if an account is not mapped."""
    closes = effective_closes(book)
    tables = [_leaving(journal_rows(book, close), chart) for close in closes]
    used = {name for table in tables for name in table["name"].unique().to_pylist()}
    raise_all(
        [
            ChartError("has no number in the map", where=name, fix=f"Add '{name}: …' to accounts")
            for name in sorted(used - chart.accounts.keys())
        ],
        where="general ledger",
    )
    for table in tables:
        for row in table.to_pylist():
            yield _row(row, chart)


def _leaving(table: Any, chart: ChartMap) -> Any:
    """The postings that the map wants; accounts of others need no number."""
    import pyarrow.compute as pc

    if chart.ifrs_adjustments:
        return table
    return table.filter(pc.equal(table["basis"], int(Basis.US_GAAP)))


def write_general_ledger(book: Book, chart: ChartMap, path: Path) -> int:
    """Write the ledger as CSV, whole or not at all; the number of postings."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = list(ledger_rows(book, chart))
    writer.writerows(rows)
    with naming_failures(path):
        replace(path, text.getvalue().encode())
    return len(rows)


def _row(row: Mapping[str, Any], chart: ChartMap) -> tuple[str, ...]:
    currency = Currency(row["currency"]).label
    amount = Money(abs(row["amount_minor"]), currency).number
    is_debit = row["amount_minor"] >= 0
    entity = str(row["entity"])
    return (
        str(row["journal_id"]), str(row["line"]), str(row["effective_on"]),
        format_month(row["period"]), chart.entities.get(entity, entity),
        Basis(row["basis"]).label, IfrsAdjustment(row["tag"]).label, chart.accounts[row["name"]],
        amount if is_debit else "", "" if is_debit else amount, currency, row["text"],
    )  # fmt: skip


def _texts(given: Any, where: str) -> dict[str, str]:
    if not isinstance(given, dict):
        fix = "Write 'name: number' under it"
        raise DocumentError("is no mapping", where=where, fix=fix)
    return {str(key): str(value) for key, value in given.items()}
