"""The books for other programs: trial balance and journals as CSV and Parquet, and for beancount.

Amounts are whole minor units in CSV and Parquet, major units in a beancount file. Accounts are
named; in beancount an account is `Assets:Entity1:FinancialReceivable`, and the IFRS adjustments
stand in commodities of their own (`CNY.ECL`), since beancount knows one basis.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from usance.base.book import Book
from usance.base.codes import Basis, Currency, IfrsAdjustment
from usance.base.dates import format_month
from usance.base.errors import InputError
from usance.base.money import Money
from usance.books.chart import AccountKind, Chart, load_chart
from usance.books.close.closes import CloseRef, effective_closes, postings_of

_ROOTS = {
    AccountKind.ASSET: "Assets",
    AccountKind.LIABILITY: "Liabilities",
    AccountKind.EQUITY: "Equity",
    AccountKind.INCOME: "Income",
    AccountKind.EXPENSE: "Expenses",
}
BALANCE_COLUMNS = ("entity", "basis", "tag", "account", "name", "line", "currency", "amount_minor")


def trial_balance(book: Book, last: CloseRef | None = None) -> list[dict[str, Any]]:
    """Balances of all accounts after a close, the latest if none is named; zeros are left out."""
    closes = [each for each in effective_closes(book) if last is None or each.month <= last.month]
    keys = ["entity", "basis", "tag", "account", "currency"]
    sums = postings_of(book, closes).group_by(keys).aggregate([("amount_minor", "sum")])
    chart = load_chart()
    rows = [
        {
            "entity": row["entity"],
            "basis": Basis(row["basis"]).label,
            "tag": IfrsAdjustment(row["tag"]).label,
            "account": row["account"],
            "name": chart.by_number[row["account"]].name,
            "line": chart.by_number[row["account"]].line,
            "currency": Currency(row["currency"]).label,
            "amount_minor": row["amount_minor_sum"],
        }
        for row in sums.to_pylist()
        if row["amount_minor_sum"]
    ]
    return sorted(rows, key=lambda row: [row[name] for name in keys])


def journal_rows(book: Book, close: CloseRef) -> pa.Table:
    """The postings of a close with names beside the numbers, and their journals' texts."""
    chart = load_chart()
    postings = book.read("postings", folder=close.folder)
    heads = book.read("journals", ["journal_id", "text", "hash"], folder=close.folder)
    names = pa.array([chart.by_number[each].name for each in postings["account"].to_pylist()])
    joined = postings.append_column("name", names).join(heads, "journal_id")
    return joined.sort_by([("journal_id", "ascending"), ("line", "ascending")])


def export(book: Book, out: Path) -> list[Path]:
    """Write the trial balance, all journals and a beancount file; the files that were written."""
    try:
        return _written(book, out)
    except OSError as error:
        what, fix = f"cannot be written: {error.strerror or error}", "Choose another folder"
        raise InputError(what, where=str(error.filename or out), fix=fix) from None


def _written(book: Book, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    balance = trial_balance(book)
    written = [out / "trial_balance.csv", out / "trial_balance.parquet"]
    with written[0].open("w", newline="") as file:
        writer = csv.DictWriter(file, BALANCE_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(balance)
    pq.write_table(pa.Table.from_pylist(balance), written[1])
    for close in effective_closes(book):
        rows = journal_rows(book, close)
        parquet = out / f"journals-{close.name}.parquet"
        pq.write_table(rows, parquet)
        _write_csv(rows, parquet.with_suffix(".csv"))
        written += [parquet, parquet.with_suffix(".csv")]
    (out / "books.beancount").write_text("\n".join(beancount_lines(book)) + "\n")
    return [*written, out / "books.beancount"]


_NAMES: dict[str, Callable[[int], str]] = {
    "period": format_month,
    "basis": lambda code: Basis(code).label,
    "tag": lambda code: IfrsAdjustment(code).label,
    "currency": lambda code: Currency(code).label,
}
"""Codes that a CSV file spells out."""


def _write_csv(rows: pa.Table, path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows.column_names)
        for batch in rows.to_batches():
            columns = [
                [_NAMES[name](each) for each in values] if name in _NAMES else values
                for name, values in batch.to_pydict().items()
            ]
            writer.writerows(zip(*columns, strict=True))


def beancount_lines(book: Book) -> Iterator[str]:
    """The journals of all closes as a beancount ledger."""
    chart, closes = load_chart(), effective_closes(book)
    postings = postings_of(book, closes)
    yield f'option "title" {_quoted(book.path.resolve().name)}'
    # Facts of the group may lie before the first close, an opening balance always does.
    first = pc.min(postings["effective_on"]).as_py() or date(1970, 1, 1)
    pairs = postings.select(["entity", "account"]).group_by(["entity", "account"]).aggregate([])
    for row in sorted(pairs.to_pylist(), key=lambda row: (row["account"], row["entity"])):
        yield f"{first} open {_account(chart, row['account'], row['entity'])}"
    texts = {
        row["journal_id"]: row["text"]
        for close in closes
        for row in book.read("journals", ["journal_id", "text"], folder=close.folder).to_pylist()
    }
    yield from _transactions(postings, texts, chart)
    yield ""


def _transactions(postings: pa.Table, texts: dict[int, str], chart: Chart) -> Iterator[str]:
    journal = None
    for row in postings.sort_by([("journal_id", "ascending"), ("line", "ascending")]).to_pylist():
        if row["journal_id"] != journal:
            journal = row["journal_id"]
            yield ""
            yield f"{row['effective_on']} * {_quoted(texts[journal])}"
            yield f'  journal: "{journal}"'
        currency = Currency(row["currency"]).label
        number = Money(row["amount_minor"], currency).number
        tag = IfrsAdjustment(row["tag"])
        unit = currency if tag is IfrsAdjustment.NONE else f"{currency}.{tag.name}"
        yield f"  {_account(chart, row['account'], row['entity'])}  {number} {unit}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _account(chart: Chart, number: int, entity: int) -> str:
    account = chart.by_number[number]
    name = "".join(part.capitalize() for part in account.name.split("_"))
    return f"{_ROOTS[account.kind]}:Entity{entity}:{name}"
