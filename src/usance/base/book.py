"""A book: a folder of tables in which only what the manifest names exists.

    BOOK/manifest.json                                      replaced by every step
    BOOK/tables/<table>/<month>/s0007-<12 hex>.parquet
    BOOK/inputs/<sha256>                                    parameters, rules, models, as used
    BOOK/pack/                                              a country pack of one's own
    BOOK/<path>                                             kept by a step under its own path
    BOOK/checkpoint/<path>                                  kept too, written over by later steps
    BOOK/tmp/, BOOK/lock                                    the writer's own

>>> from tempfile import TemporaryDirectory
>>> from usance.base.columns import make
>>> with TemporaryDirectory() as folder:
...     book = Book.create(Path(folder) / "book", currency="CNY", time_zone="Asia/Shanghai")
...     with book.writing() as step:
...         step.add("refs", make("refs", loan_id=[16385], loan_ref=["A-1"]))
...     book.read("refs").to_pylist(), book.rows("refs")
([{'loan_id': 16385, 'loan_ref': 'A-1'}], 1)
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from hashlib import sha256
from itertools import chain
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa

from usance.base.atomic_files import lock
from usance.base.atomic_files import replace as replace_file
from usance.base.book_step import CHECKPOINT, MANIFEST, Step, declared_table, repeats
from usance.base.codes import Currency, code_lists, parse
from usance.base.columns import arrow_schema, check_keys, sort
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.digest import Digest
from usance.base.errors import (
    BookLocked,
    CodeError,
    DocumentError,
    DuplicateKey,
    SchemaError,
    UsanceError,
)
from usance.base.manifest import FileEntry, Manifest, TableEntry
from usance.base.packs import CountryPack
from usance.base.parquet import (
    check_sha256,
    check_unchanged,
    read_parquet,
)
from usance.base.schemas import Table
from usance.base.tables import TABLES, table

_LOCK, _PACK = "lock", "pack"


class Book:
    """A book folder, read as its manifest stood when it was opened or last written here."""

    def __init__(self, path: Path, manifest: Manifest, mark: str = "") -> None:
        self.path = path
        self.manifest = manifest
        self._mark = mark  # the SHA-256 of the manifest's file, if it is as here
        self._is_held = self._is_in_step = False

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        currency: str | None = None,
        time_zone: str | None = None,
        pack: CountryPack | None = None,
    ) -> Book:
        """Make an empty book in a new or empty folder; what is left out is that of the pack."""
        folder, rules = Path(path), pack or CountryPack.load()
        manifest = cls.in_memory(
            folder, currency=currency, time_zone=time_zone, pack=rules
        ).manifest
        _check_empty(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with lock(folder / _LOCK):
            _check_empty(folder)  # again: another may have made one meanwhile
            replace_file(folder / MANIFEST, manifest.to_bytes())
        made = cls(folder, manifest)
        if not rules.is_shipped:
            with made.writing() as step:
                for name, content in rules.files().items():
                    step.keep(f"{_PACK}/{name}", content)
        return made

    @classmethod
    def in_memory(
        cls,
        path: Path,
        *,
        currency: str | None = None,
        time_zone: str | None = None,
        pack: CountryPack | None = None,
    ) -> Book:
        """A book that is not on disk yet."""
        rules = pack or CountryPack.load()
        code = rules.currency if currency is None else currency
        zone = rules.time_zone(date.max) if time_zone is None else time_zone
        parse(Currency, code, where=str(path))
        _check_time_zone(zone, str(path))
        return cls(path, Manifest(code, zone, pack=rules.name))

    @classmethod
    def open(cls, path: Path | str) -> Book:
        """Open a book by its folder."""
        content, mark = _read_manifest(Path(path))
        return cls(Path(path), _manifest(Path(path), content), mark)

    @property
    def pack(self) -> CountryPack:
        """The country pack of the book: the one it keeps, else the shipped one it names."""
        kept = [name for name in self.manifest.versions if name.startswith(f"{_PACK}/")]
        if not kept:
            return CountryPack.load(self.manifest.pack)
        for name in kept:
            check_unchanged(self.path / name, self.manifest.versions[name])
        return replace(CountryPack.load(self.path / _PACK), name=self.manifest.pack)

    def files(
        self, name: str, *, month: int | None = None, shard: int | None = None, folder: str = ""
    ) -> tuple[FileEntry, ...]:
        """The files of a table, or those of a month, shard or folder of the book."""
        entry = self.manifest.tables.get(name, TableEntry(table(name).number))
        return tuple(
            file
            for file in entry.files
            if month in (None, file.month)
            and shard in (None, file.shard)
            and (not folder or file.path.startswith(f"{folder}/"))
        )

    def kept(self, path: str) -> bytes:
        """A small file that was kept under a path of the book."""
        mark = self.manifest.versions.get(path)
        if mark is None:
            raise DocumentError("the book has no such file", where=path, fix="Check the name")
        check_unchanged(self.path / path, mark)
        return (self.path / path).read_bytes()

    def used(self, name: str) -> bytes | None:
        """An input as it was last used, or None if it never was."""
        mark = self.manifest.versions.get(name)
        if mark is None:
            return None
        path = self.path / "inputs" / mark
        check_unchanged(path, mark)
        return path.read_bytes()

    def read_file(
        self, spec: Table, file: FileEntry, columns: Sequence[str] = (), *, verify: bool = True
    ) -> pa.Table:
        """One file of a table; `verify` compares it with the manifest, once a process."""
        if verify:
            check_unchanged(self.path / file.path, file.sha256)
        return read_parquet(self.path / file.path, spec, columns, file.rows)

    def read(
        self,
        declared: Table | str,
        columns: Sequence[str] = (),
        *,
        month: int | None = None,
        shard: int | None = None,
        folder: str = "",
        verify: bool = True,
    ) -> pa.Table:
        """All rows of a table, or of a month, shard or folder of the book, in key order."""
        spec = self._spec(declared)
        files = self.files(spec.name, month=month, shard=shard, folder=folder)
        keyed = [*dict.fromkeys((*spec.key, *columns))] if columns else []
        parts = [self.read_file(spec, file, keyed, verify=verify) for file in files]
        if not parts:
            return arrow_schema(spec).empty_table().select(list(columns or spec.names))
        data = parts[0] if len(parts) == 1 else sort(pa.concat_tables(parts), spec)
        check_keys(data, spec, where=str(self.path / "tables" / spec.name))
        return data.select(list(columns)) if columns else data

    def rows(self, name: str) -> int:
        """The number of rows of a table."""
        return self.digest(name).rows

    def digest(self, name: str) -> Digest:
        """The digest of a table, as published."""
        return self.manifest.tables.get(name, TableEntry(0)).digest

    def check(self) -> list[UsanceError]:
        """Read every file against its SHA-256, and its keys against the others'; all findings."""
        findings = self.damaged(check_sha256)
        bad = {finding.where for finding in findings}
        for name, entry in self.manifest.tables.items():
            whole = [file for file in entry.files if str(self.path / file.path) not in bad]
            if name in TABLES and TABLES[name].number == entry.schema:
                findings += self._shared_keys(TABLES[name], whole)
        return findings

    def damaged(self, check: Callable[[Path, str], None] = check_unchanged) -> list[UsanceError]:
        """A finding for each file the manifest names that is missing, cut short or edited.

        Checkpoints may be newer than the manifest, if a step was cut off; their readers check them.
        """

        def found(file: tuple[Path, str]) -> list[UsanceError]:
            try:
                check(*file)
            except UsanceError as error:
                return [error]
            return []

        return list(
            chain.from_iterable(parallel_map(found, self.named().items(), available_cores()))
        )

    def named(self) -> dict[Path, str]:
        """Every file with its SHA-256, without checkpoints."""
        entries = self.manifest.tables.values()
        files = {self.path / file.path: file.sha256 for entry in entries for file in entry.files}
        for name, mark in self.manifest.versions.items():
            if not name.startswith(CHECKPOINT):
                kept, used = self.path / name, self.path / "inputs" / mark
                files[used if used.exists() and not kept.exists() else kept] = mark
        return files

    def _shared_keys(self, spec: Table, files: list[FileEntry]) -> Iterator[DuplicateKey]:
        for place, file in enumerate(files):
            path = self.path / file.path
            yield from repeats(spec, file, path, files[:place], self.path.joinpath)

    @contextmanager
    def writing(self) -> Iterator[Step]:
        """One step of the one writer: published when the block ends well, else nothing happened."""
        with self._only_step(), nullcontext() if self._is_held else self._locked():
            tmp = self.path / "tmp"
            shutil.rmtree(tmp, ignore_errors=True)
            tmp.mkdir()
            try:
                before = replace(self.manifest, codes=code_lists(), previous=self._mark)
                step = Step(self.path, before)
                yield step
                self.manifest, self._mark = step.publish()
            finally:
                shutil.rmtree(tmp, ignore_errors=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be the one writer for many steps: until the block ends, no other process begins one."""
        with self._locked():
            self._is_held = True
            try:
                yield
            finally:
                self._is_held = False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with lock(self.path / _LOCK):
            # Another process may have published since this book was opened.
            content, mark = _read_manifest(self.path)
            if mark != self._mark:
                self.manifest, self._mark = _manifest(self.path, content), mark
            yield

    @contextmanager
    def _only_step(self) -> Iterator[None]:
        if self._is_in_step:
            fix = "Let it end first"
            raise BookLocked("a step is being written", where=str(self.path), fix=fix)
        self._is_in_step = True
        try:
            yield
        finally:
            self._is_in_step = False

    def _spec(self, declared: Table | str) -> Table:
        spec = declared_table(declared)
        entry = self.manifest.tables.get(spec.name)
        if entry is not None and entry.schema != spec.number:
            fix = f"This version reads {spec.tag}; use the one that wrote the book"
            raise SchemaError(
                f"{spec.name} has the schema number {entry.schema}", where=str(self.path), fix=fix
            )
        return spec


def is_empty(folder: Path) -> bool:
    """True if a new book can be created there; one whose creation was cut off does not count."""
    begun = {folder / _LOCK, folder / f"{MANIFEST}.new"}
    return not folder.exists() or (folder.is_dir() and set(folder.iterdir()) <= begun)


def _check_empty(folder: Path) -> None:
    if not is_empty(folder):
        fix = "Choose another folder, or open the book in it"
        raise DocumentError("is not an empty folder", where=str(folder), fix=fix)


def _check_time_zone(name: str, where: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        fix = "Give a name of the IANA database, such as Asia/Shanghai"
        raise CodeError(f"unknown time zone {name!r}", where=where, fix=fix) from None


def _manifest(folder: Path, content: bytes) -> Manifest:
    return Manifest.from_bytes(content, where=str(folder / MANIFEST))


def _read_manifest(folder: Path) -> tuple[bytes, str]:
    """The manifest's bytes and their SHA-256."""
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError:
        raise DocumentError(
            "is not a book: it has no manifest.json", where=str(folder), fix="Name a book folder"
        ) from None
    return content, sha256(content).hexdigest()
