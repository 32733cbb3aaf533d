"""The manifest of a book: the one list of what exists, as JSON, chained to the one before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from usance.base.codes import DEFAULT_PACK, code_lists
from usance.base.digest import Digest
from usance.base.documents import parse_json
from usance.base.errors import CorruptFile, DocumentError, DuplicateKey

FORMAT = "usance-book"
MARK = "sha256"
"""The key under which a document carries the hash of all its other values."""
VERSION = 1
PERIOD_STATES = ("open", "closed", "locked")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a table: where it is and what must be in it."""

    path: str
    rows: int
    sha256: str
    digest: str
    shard: int
    month: int | None
    first: tuple[int | str, ...]
    last: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table: its schema number and its files."""

    schema: int
    files: tuple[FileEntry, ...] = ()

    @property
    def digest(self) -> Digest:
        """The digest of all rows: the sum over the files."""
        return reduce(Digest.__add__, (Digest.parse(file.digest) for file in self.files), Digest())


@dataclass(frozen=True, slots=True)
class Period:
    """A month of the books: open, closed or locked, and how often it was closed."""

    state: str = "open"
    close_no: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a book holds, as one value."""

    currency: str
    time_zone: str
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=code_lists)
    tables: Mapping[str, TableEntry] = field(default_factory=dict)
    periods: Mapping[str, Period] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    previous: str = ""
    pack: str = DEFAULT_PACK
    """The country pack: the name of a shipped one, or of one the book keeps."""

    def with_files(
        self, table: str, schema: int, files: list[FileEntry], *, instead: bool = False
    ) -> Manifest:
        """A manifest that also names these files, or names them instead of their likes."""
        kept = self.tables.get(table, TableEntry(schema)).files
        if instead:
            places = {(file.shard, file.month) for file in files}
            kept = tuple(file for file in kept if (file.shard, file.month) not in places)
        known = {file.path for file in kept}
        for file in files:
            if file.path in known:
                what = "the same rows were published before"
                raise DuplicateKey(what, where=file.path, fix="Leave them out")
        entry = TableEntry(schema, (*kept, *files))
        return replace(self, tables={**self.tables, table: entry})

    def to_bytes(self) -> bytes:
        """The manifest as it is written: sorted keys, one entry a line, no clock."""
        tables = {
            name: {
                "schema": entry.schema,
                "digest": str(entry.digest),
                "files": [_plain(file) for file in entry.files],
            }
            for name, entry in self.tables.items()
        }
        periods = {month: _plain(period) for month, period in self.periods.items()}
        content = {
            "format": FORMAT, "version": VERSION, **_plain(self), "tables": tables,
            "periods": periods,
        }  # fmt: skip
        marked = {**content, MARK: mark_of(content)}
        return (json.dumps(marked, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_bytes(cls, content: bytes, *, where: str) -> Manifest:
        """Read a manifest, or say what is wrong with it."""
        try:
            document = parse_json(content.decode(), where=where)
            found = _manifest(document, where)
            mark = document.pop(MARK)
        except (DocumentError, UnicodeDecodeError) as error:
            raise _corrupt(f"is not JSON ({error})", where) from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _corrupt(f"lacks or misspells {error}", where) from None
        if mark_of(document) != mark:
            raise _corrupt("has changed since it was written", where)
        return found


def mark_of(content: Mapping[str, Any]) -> str:
    """A hash of the values, however they are written."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a value as they are; `asdict` copies what is in them as well."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _manifest(document: Any, where: str) -> Manifest:
    if document["format"] != FORMAT:
        raise _corrupt(f"has the format {document['format']!r}", where)
    if document["version"] != VERSION:
        raise _corrupt(f"has the unknown version {document['version']!r}", where)
    tables = {}
    for name, entry in document["tables"].items():
        tables[name] = TableEntry(entry["schema"], tuple(map(_file, entry["files"])))
        if str(tables[name].digest) != entry["digest"]:
            raise _corrupt(f"has a digest for {name} that its files do not sum to", where)
    _check_codes(document["codes"], where)
    for state in (period["state"] for period in document["periods"].values()):
        if state not in PERIOD_STATES:
            raise _corrupt(f"has a period in the state {state!r}", where)
    return Manifest(
        document["currency"],
        document["time_zone"],
        document["codes"],
        tables,
        {month: Period(**period) for month, period in document["periods"].items()},
        document["versions"],
        document["previous"],
        document.get("pack", DEFAULT_PACK),
    )


def _check_codes(lists: Mapping[str, Mapping[str, int]], where: str) -> None:
    own = code_lists()
    for name, codes in lists.items():
        for label, number in codes.items():
            if own.get(name, {}).get(label, number) != number:
                raise _corrupt(f"numbers {name} {label} {number}, which is not its number", where)


def _file(entry: dict[str, Any]) -> FileEntry:
    path = PurePosixPath(entry["path"])
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"a path inside the book: {path}")
    return FileEntry(**{**entry, "first": tuple(entry["first"]), "last": tuple(entry["last"])})


def _corrupt(what: str, where: str) -> CorruptFile:
    return CorruptFile(what, where=where, fix="Restore it from a copy of the book")
