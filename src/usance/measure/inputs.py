"""Inputs of metrics: the tables of a book, a folder of Parquet files, or tables in memory.

They also tell the dimensions that metrics are divided by, for each cell and source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from usance.base.book import Book
from usance.base.book_step import MANIFEST
from usance.base.codes import Currency, parse
from usance.base.columns import arrays
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.dates import last_of_month, parse_month
from usance.base.digest import digest
from usance.base.errors import DocumentError, UsanceError, unknown
from usance.base.parquet import check_unchanged, read_parquet
from usance.base.tables import TABLES, table

TableSource: TypeAlias = pa.Table | Sequence[Path]
ROLES_FILE = "measure/roles.json"
"""The input of a book with the accounts of each role."""

_BY_MONTH = ("tape", "facts")
_CLOSE = re.compile(r"closes/(\d{4}-\d{2})\.(\d+)/")


@dataclass(frozen=True, slots=True)
class Role:
    """The accounts of a metric, without the entries of some posting rules."""

    accounts: tuple[int, ...]
    without_rules: tuple[int, ...] = ()


def parse_roles(given: Any, *, where: str) -> dict[str, Role]:
    """Roles from `revenue: [4011]` or `net_income: {accounts: [4011], without_rules: [911]}`."""
    if not isinstance(given, dict):
        raise _no_roles(where)
    return {str(name): _role(value, where) for name, value in given.items()}


def _role(given: Any, where: str) -> Role:
    parts = given if isinstance(given, dict) else {"accounts": given}
    if not {"accounts"} <= set(parts) <= {"accounts", "without_rules"}:
        raise _no_roles(where)
    for numbers in parts.values():
        if not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
            raise _no_roles(where)
    return Role(**{name: tuple(numbers) for name, numbers in parts.items()})


def _no_roles(where: str) -> DocumentError:
    fix = "Write 'role: [account, account]' lines"
    return DocumentError("is no list of accounts by role", where=where, fix=fix)


def _is_effective(book: Book, path: str) -> bool:
    """False for a file of a close that was reopened."""
    close = _CLOSE.match(path)
    if close is None:
        return True
    period = book.manifest.periods.get(close[1])
    return period is not None and period.state != "open" and period.close_no == int(close[2])


@dataclass(frozen=True, slots=True)
class Inputs:
    """Tables by name, each in memory or as files; `snapshot` identifies their state."""

    tables: Mapping[str, TableSource]
    snapshot: str
    time_zone: str = "Asia/Shanghai"
    currency: int = int(Currency.CNY)
    """The currency of the book; journals in others are not added to those in it."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """The roles of accounts as the closes of a book stated them."""
    by_month: Mapping[str, Mapping[int, tuple[Path, ...]]] = field(default_factory=dict)
    """The files of each month of some tables of a book, which never change."""
    published: Mapping[Path, str] = field(default_factory=dict)
    """The files of a book with their SHA-256."""
    told_until: date | None = None
    """The last day that the facts or closes of a book are of; none where nothing tells."""

    @classmethod
    def of_book(cls, book: Book) -> Inputs:
        """The tables of a book's manifest; of its closes, the effective ones."""
        found: dict[str, TableSource] = {}
        marks: list[str] = []
        published: dict[Path, str] = {}
        for name in sorted(TABLES):
            files = [file for file in book.files(name) if _is_effective(book, file.path)]
            if files and name != "metrics":
                found[name] = [book.path / file.path for file in files]
                published |= {book.path / file.path: file.sha256 for file in files}
                marks += [f"{name} {book.digest(name)}", *(file.path for file in files)]
        currency = int(parse(Currency, book.manifest.currency))
        roles = parse_roles(json.loads(book.used(ROLES_FILE) or b"{}"), where=str(book.path))
        months = {name: _by_month(book, name) for name in _BY_MONTH}
        return cls(
            found, _fingerprint(marks), book.manifest.time_zone, currency, roles, months, published,
            _told_until(book, months["facts"]),
        )  # fmt: skip

    @classmethod
    def of_tables(cls, tables: Mapping[str, pa.Table], time_zone: str = "Asia/Shanghai") -> Inputs:
        """Tables in memory."""
        marks = [f"{name} {digest(tables[name], table(name))}" for name in sorted(tables)]
        return cls(dict(tables), _fingerprint(marks), time_zone)

    @classmethod
    def open(cls, path: Path | str, time_zone: str = "Asia/Shanghai") -> Inputs:
        """A book folder, or a folder with `<table>.parquet` files or `<table>/` folders."""
        folder = Path(path)
        if (folder / MANIFEST).exists():
            return cls.of_book(Book.open(folder))
        found: dict[str, TableSource] = {}
        for name in TABLES:
            files = sorted(folder.glob(f"{name}.parquet")) + sorted(
                (folder / name).rglob("*.parquet")
            )
            if files:
                found[name] = files
        if not found:
            raise DocumentError(
                "is neither a book nor a folder of tables", where=str(path),
                fix="Name a folder with manifest.json, or with files such as tape.parquet",
            )  # fmt: skip
        marks = [f"{name} {_footer_digest(file)}" for name in sorted(found) for file in found[name]]
        return cls(found, _fingerprint(marks), time_zone)

    def read(self, name: str, columns: Sequence[str] = ()) -> pa.Table:
        """A whole table, for those small enough."""
        spec, given = table(name), self.tables.get(name, ())
        if isinstance(given, pa.Table):
            return given.select(list(columns)) if columns else given
        self.check([name])
        return pa.concat_tables([read_parquet(file, spec, columns) for file in given])

    def check(self, names: Iterable[str]) -> None:
        """Raise `CorruptFile` if a file of these tables is not as its book published it."""
        tables = [self.tables.get(name, ()) for name in names]
        files = [file for given in tables if not isinstance(given, pa.Table) for file in given]
        ours = [file for file in files if file in self.published]
        for _ in parallel_map(self._check, ours, available_cores()):
            pass

    def _check(self, file: Path) -> None:
        check_unchanged(file, self.published[file])

    def __contains__(self, name: str) -> bool:
        return name in self.tables


def _told_until(book: Book, facts: Collection[int]) -> date | None:
    """The end of the last month with facts or a close: of the days after it nothing is known."""
    if not facts and book.files("facts"):
        return None
    closed = [
        parse_month(label)
        for label, period in book.manifest.periods.items()
        if period.state != "open"
    ]
    return max(map(last_of_month, [*facts, *closed]), default=None)


def _by_month(book: Book, name: str) -> dict[int, tuple[Path, ...]]:
    """A table's files by month; empty where rows of a month could lie in another's file."""
    months: dict[int, tuple[Path, ...]] = {}
    leads = table(name).key[0] == "month"
    for file in book.files(name):
        if file.month is None or (leads and not file.first[0] == file.last[0] == file.month):
            return {}
        months[file.month] = (*months.get(file.month, ()), book.path / file.path)
    return months


def _fingerprint(lines: Sequence[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()[:16]


def _footer_digest(file: Path) -> str:
    """The digest of a Parquet file's footer, which has the sizes and bounds of every column."""
    try:
        meta = pq.ParquetFile(file).metadata
        with file.open("rb") as content:
            content.seek(-(meta.serialized_size + 8), 2)
            return sha256(content.read()).hexdigest()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UsanceError(
            f"is not a readable Parquet file ({reason})", where=str(file), fix="Write it again"
        ) from None


DIMENSIONS = (
    "model", "product", "source", "institution", "channel", "region", "grade", "model_no",
)  # fmt: skip
OF_CELL = ("model", "product", "source", "institution")
"""Dimensions that every loan of a cell shares."""
OF_BORROWER = ("channel", "region", "grade")
"""Dimensions of the loan's own borrower."""


def dimension_mappings(inputs: Inputs) -> dict[tuple[str, str], dict[int, int]]:
    """The dimensions of each cell and source."""
    owners: dict[int, int] = {}
    if "sources" in inputs:
        columns = arrays(inputs.read("sources", ("source", "institution")))
        owners = dict(zip(*(columns[n].tolist() for n in ("source", "institution")), strict=True))
    mappings: dict[tuple[str, str], dict[int, int]] = {("cell", name): {} for name in OF_CELL} | {
        ("source", "institution"): owners
    }
    if "cells" in inputs:
        cells = arrays(inputs.read("cells"))
        for name in ("model", "product", "source"):
            mappings["cell", name] = dict(
                zip(cells["cell"].tolist(), cells[name].tolist(), strict=True)
            )
        mappings["cell", "institution"] = {
            cell: owners.get(source, -1) for cell, source in mappings["cell", "source"].items()
        }
    return mappings


def check_dimensions(by: Sequence[str]) -> None:
    """Refuse an unknown dimension."""
    for name in by:
        if name not in DIMENSIONS:
            raise unknown("dimension", name, DIMENSIONS, where="--by")
