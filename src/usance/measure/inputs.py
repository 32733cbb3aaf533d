"""What is measured: the tables of a book, a folder of Parquet files, or tables in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from usance.base.book import MANIFEST, Book
from usance.base.digest import digest
from usance.base.errors import DocumentError, UsanceError
from usance.base.parquet import read_parquet
from usance.base.tables import TABLES, table

Given: TypeAlias = pa.Table | Sequence[Path]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Tables by name, each in memory or as files; `snapshot` tells two states of them apart."""

    tables: Mapping[str, Given]
    snapshot: str
    time_zone: str = "Asia/Shanghai"

    @classmethod
    def of_book(cls, book: Book) -> Inputs:
        """The tables a book has, as its manifest names them."""
        found: dict[str, Given] = {}
        marks = []
        for name in sorted(TABLES):
            files = book.files(name)
            if files and name != "metrics":
                found[name] = [book.path / file.path for file in files]
                marks.append(f"{name} {book.digest(name)}")
        return cls(found, _mark(marks), book.manifest.time_zone)

    @classmethod
    def of_tables(cls, tables: Mapping[str, pa.Table], time_zone: str = "Asia/Shanghai") -> Inputs:
        """Tables in memory."""
        marks = [f"{name} {digest(tables[name], table(name))}" for name in sorted(tables)]
        return cls(dict(tables), _mark(marks), time_zone)

    @classmethod
    def open(cls, path: Path | str, time_zone: str = "Asia/Shanghai") -> Inputs:
        """A book folder, or a folder with `<table>.parquet` files or `<table>/` folders."""
        folder = Path(path)
        if (folder / MANIFEST).exists():
            return cls.of_book(Book.open(folder))
        found: dict[str, Given] = {}
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
        marks = [f"{name} {_footer(file)}" for name in sorted(found) for file in found[name]]
        return cls(found, _mark(marks), time_zone)

    def read(self, name: str, columns: Sequence[str] = ()) -> pa.Table:
        """A whole table, for those small enough."""
        spec, given = table(name), self.tables.get(name, ())
        if isinstance(given, pa.Table):
            return given.select(list(columns)) if columns else given
        parts = [read_parquet(file, spec, columns) for file in given]
        return pa.concat_tables(parts)

    def __contains__(self, name: str) -> bool:
        return name in self.tables


def _mark(lines: Sequence[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()[:16]


def _footer(file: Path) -> str:
    """A mark of a Parquet file from its footer, which has the sizes and bounds of every column."""
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
