"""A book: a folder of tables in which only what the manifest names exists.

    BOOK/manifest.json                                      the only file ever replaced
    BOOK/tables/<table>/<month>/s0007-<12 hex>.parquet
    BOOK/inputs/<sha256>                                    parameters, rules, models, as used
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa

from usance.base.ahead import ahead
from usance.base.codes import Currency, code_lists, parse
from usance.base.columns import arrow_schema, as_numpy, check_keys, sort
from usance.base.dates import format_month, parse_month
from usance.base.digest import Digest, digest
from usance.base.errors import (
    CodeError,
    DocumentError,
    DuplicateKey,
    SchemaError,
    UsanceError,
    unknown,
)
from usance.base.manifest import PERIOD_STATES, FileEntry, Manifest, Period, TableEntry
from usance.base.parquet import (
    as_declared,
    check_sha256,
    check_unchanged,
    parquet_writer,
    read_parquet,
    sha256_of,
    write_parquet,
)
from usance.base.publish import lock, publish
from usance.base.publish import replace as replace_file
from usance.base.schemas import Table
from usance.base.shared_keys import may_share, shared_key
from usance.base.tables import TABLES, table

MANIFEST = "manifest.json"


class Book:
    """A book folder, read as its manifest stood when it was opened or last written here."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(cls, path: Path | str, *, currency: str, time_zone: str) -> Book:
        """Make an empty book in a new or empty folder."""
        folder = Path(path)
        parse(Currency, currency, where=str(folder))
        _check_time_zone(time_zone, str(folder))
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            fix = "Choose another folder, or open the book in it"
            raise DocumentError("is not an empty folder", where=str(folder), fix=fix)
        folder.mkdir(parents=True, exist_ok=True)
        manifest = Manifest(currency, time_zone)
        replace_file(folder / MANIFEST, manifest.to_bytes())
        return cls(folder, manifest)

    @classmethod
    def open(cls, path: Path | str) -> Book:
        """Open a book by its folder."""
        return cls(Path(path), _read_manifest(Path(path))[0])

    def files(
        self, name: str, *, month: int | None = None, shard: int | None = None
    ) -> tuple[FileEntry, ...]:
        """The files of a table, or those of a month or shard."""
        entry = self.manifest.tables.get(name, TableEntry(table(name).number))
        return tuple(
            file
            for file in entry.files
            if month in (None, file.month) and shard in (None, file.shard)
        )

    def close_files(
        self, name: str, close: str, *, shard: int | None = None
    ) -> tuple[FileEntry, ...]:
        """The files of a table that a close wrote, such as close `2024-06.1`."""
        place = f"closes/{close}/"
        return tuple(f for f in self.files(name, shard=shard) if f.path.startswith(place))

    def read_close(
        self, declared: Table | str, close: str, columns: Sequence[str] = (), *,
        shard: int | None = None,
    ) -> pa.Table:  # fmt: skip
        """All rows of a table that a close wrote, in key order."""
        spec = self._spec(declared)
        return self._together(spec, self.close_files(spec.name, close, shard=shard), columns)

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
        verify: bool = True,
    ) -> pa.Table:
        """All rows of a table, or of a month or shard, in key order."""
        spec = self._spec(declared)
        files = self.files(spec.name, month=month, shard=shard)
        return self._together(spec, files, columns, verify=verify)

    def _together(
        self, spec: Table, files: Sequence[FileEntry], columns: Sequence[str], *,
        verify: bool = True,
    ) -> pa.Table:  # fmt: skip
        keyed = [*dict.fromkeys((*spec.key, *columns))] if columns else []
        parts = [self.read_file(spec, file, keyed, verify=verify) for file in files]
        if not parts:
            return arrow_schema(spec).empty_table().select(list(columns or spec.names))
        data = parts[0] if len(parts) == 1 else sort(pa.concat_tables(parts), spec)
        check_keys(data, spec, where=str(self.path / "tables" / spec.name))
        return data.select(list(columns)) if columns else data

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return self.digest(name).rows

    def digest(self, name: str) -> Digest:
        """The digest of a table, as published."""
        return self.manifest.tables.get(name, TableEntry(0)).digest

    def check(self) -> list[UsanceError]:
        """Read every file against its SHA-256, and its keys against the others'; all findings."""
        findings: list[UsanceError] = []
        for name, entry in self.manifest.tables.items():
            whole: list[FileEntry] = []
            for file in entry.files:
                try:
                    check_sha256(self.path / file.path, file.sha256)
                    whole.append(file)
                except UsanceError as error:
                    findings.append(error)
            if name in TABLES and TABLES[name].number == entry.schema:
                findings += self._shared_keys(TABLES[name], whole)
        return findings

    def _shared_keys(self, spec: Table, files: list[FileEntry]) -> Iterator[DuplicateKey]:
        for place, file in enumerate(files):
            path = self.path / file.path
            yield from _repeats(spec, file, path, files[:place], self.path.joinpath)

    @contextmanager
    def writing(self) -> Iterator[Step]:
        """One step of the one writer: published when the block ends well, else nothing happened."""
        with lock(self.path / "lock"):
            # Another process may have published since this book was opened.
            self.manifest, mark = _read_manifest(self.path)
            tmp = self.path / "tmp"
            shutil.rmtree(tmp, ignore_errors=True)
            tmp.mkdir()
            try:
                step = Step(self.path, replace(self.manifest, codes=code_lists(), previous=mark))
                yield step
                self.manifest = step.publish()
            finally:
                shutil.rmtree(tmp, ignore_errors=True)

    def _spec(self, declared: Table | str) -> Table:
        spec = table(declared) if isinstance(declared, str) else declared
        entry = self.manifest.tables.get(spec.name)
        if entry is not None and entry.schema != spec.number:
            fix = f"This version reads {spec.tag}; use the one that wrote the book"
            raise SchemaError(
                f"{spec.name} has the schema number {entry.schema}", where=str(self.path), fix=fix
            )
        return spec


class Step:
    """What one writing step adds to a book; nothing of it exists before it is published."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._path = path
        self._manifest = manifest
        self._moves: list[tuple[Path, Path]] = []
        self._numbers = count()

    def add(
        self,
        declared: Table | str,
        data: pa.Table,
        *,
        month: int | None = None,
        shard: int = 0,
        instead: bool = False,
    ) -> None:
        """Add sorted rows as a file; `instead` drops the files of the same month and shard."""
        spec = table(declared) if isinstance(declared, str) else declared
        temporary = self.aside()
        entry = written(data, spec, temporary, month=month, shard=shard)
        self._name(spec, entry, temporary, instead=instead)

    def take(
        self, declared: Table | str, entry: FileEntry, file: Path, *, instead: bool = False
    ) -> None:
        """Take a file that was `written` elsewhere on the same disk."""
        spec = table(declared) if isinstance(declared, str) else declared
        self._name(spec, entry, file, instead=instead)

    def add_to_close(
        self, close: str, declared: Table | str, parts: Iterable[pa.Table], *, shard: int = 0,
        month: int | None = None,
    ) -> None:  # fmt: skip
        """Add the rows of a close, such as `2024-06.1`, as they come."""
        file = self.aside()
        entry = written_to_close(close, declared, parts, file, shard=shard, month=month)
        self.take(declared, entry, file)

    def aside(self) -> Path:
        """A place for a file that is still to be taken; any thread may ask for one."""
        return self._path / "tmp" / str(next(self._numbers))

    def _name(
        self, spec: Table, entry: FileEntry, temporary: Path, *, instead: bool = False
    ) -> None:
        """Put a written file on the list of what will be published."""
        manifest = self._manifest.with_files(spec.name, spec.number, [entry], instead=instead)
        path = entry.path
        others = manifest.tables[spec.name].files[:-1]
        for repeat in _repeats(spec, entry, temporary, others, self._found):
            raise repeat
        self._manifest = manifest
        self._moves.append((temporary, self._path / path))

    def _found(self, path: str) -> Path:
        """Where a file of the table is now: in its place, or still aside."""
        final = self._path / path
        return next((aside for aside, goes_to in self._moves if goes_to == final), final)

    def use(self, name: str, content: bytes) -> str:
        """Keep an input (parameters, rules, a model) as it was used; returns its SHA-256."""
        mark = sha256(content).hexdigest()
        temporary = self.aside()
        temporary.write_bytes(content)
        self._moves.append((temporary, self._path / "inputs" / mark))
        self._manifest = replace(self._manifest, versions={**self._manifest.versions, name: mark})
        return mark

    def keep(self, path: str, content: bytes) -> str:
        """Keep a file under a path of the book; its SHA-256, by which the manifest names it."""
        temporary, mark = self.aside(), sha256(content).hexdigest()
        temporary.write_bytes(content)
        self.take_kept(path, temporary, mark)
        return mark

    def take_kept(self, path: str, file: Path, mark: str) -> None:
        """Keep a file that was written elsewhere on the same disk and has that SHA-256."""
        self._moves.append((file, self._path / path))
        self._manifest = replace(self._manifest, versions={**self._manifest.versions, path: mark})

    def period(self, month: str, state: str, close_no: int) -> None:
        """Set the state of a period, such as `2024-06`."""
        parse_month(month)
        if state not in PERIOD_STATES:
            raise unknown("period state", state, PERIOD_STATES)
        periods = {**self._manifest.periods, month: Period(state, close_no)}
        self._manifest = replace(self._manifest, periods=periods)

    def publish(self) -> Manifest:
        """Put the files in place, then the manifest that names them."""
        for temporary, final in self._moves:
            publish(temporary, final)
        replace_file(self._path / MANIFEST, self._manifest.to_bytes())
        return self._manifest


def written(
    data: pa.Table, declared: Table | str, file: Path, *, month: int | None = None, shard: int = 0
) -> FileEntry:
    """Write sorted rows to a file that no book names yet; the entry that one can name it by."""
    spec = table(declared) if isinstance(declared, str) else declared
    rows = as_declared(data, spec)
    with ThreadPoolExecutor(1) as other:
        # The digest is made meanwhile; pages carry checksums, so nothing is read back.
        total = other.submit(digest, rows, spec)
        write_parquet(rows, spec, file)
        made = str(total.result())
    mark = sha256_of(file)
    folder = format_month(month) if month is not None else "all"
    path = f"tables/{spec.name}/{folder}/s{shard:04}-{mark[:12]}.parquet"
    ends = _key(rows, spec, 0), _key(rows, spec, -1)
    return FileEntry(path, rows.num_rows, mark, made, shard, month, *ends)


def written_to_close(
    close: str, declared: Table | str, parts: Iterable[pa.Table], file: Path, *, shard: int = 0,
    month: int | None = None,
) -> FileEntry:  # fmt: skip
    """Write rows of a close as they come; the entry that a book can name the file by."""
    spec = table(declared) if isinstance(declared, str) else declared
    total = Digest()
    first: tuple[int | str, ...] = ()
    last = first
    with parquet_writer(spec, file) as write:
        for part in ahead(parts):
            write(part)
            total += digest(part, spec)
            first, last = first or _key(part, spec, 0), _key(part, spec, -1) or last
    name = spec.name if shard == 0 else f"{spec.name}/s{shard:04}"
    path = f"closes/{close}/{name}.parquet"
    return FileEntry(path, total.rows, sha256_of(file), str(total), shard, month, first, last)


def _repeats(
    spec: Table, file: FileEntry, path: Path, others: Sequence[FileEntry],
    place: Callable[[str], Path],
) -> Iterator[DuplicateKey]:  # fmt: skip
    """The first key of each other file that a file repeats."""
    for other in others:
        key = shared_key(path, place(other.path), spec) if may_share(file, other) else ""
        if key:
            what = f"repeats a key of {other.path} ({key})"
            fix = "Leave the row out, or publish instead of that file"
            yield DuplicateKey(what, where=file.path, fix=fix)


def _check_time_zone(name: str, where: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        fix = "Give a name of the IANA database, such as Asia/Shanghai"
        raise CodeError(f"unknown time zone {name!r}", where=where, fix=fix) from None


def _key(data: pa.Table, spec: Table, row: int) -> tuple[int | str, ...]:
    if data.num_rows == 0:
        return ()
    at = data.slice(row % data.num_rows, 1)
    return tuple(as_numpy(at.column(name)).tolist()[0] for name in spec.key)


def _read_manifest(folder: Path) -> tuple[Manifest, str]:
    """The manifest and the SHA-256 of its bytes."""
    file = folder / MANIFEST
    try:
        content = file.read_bytes()
    except OSError:
        raise DocumentError(
            "is not a book: it has no manifest.json", where=str(folder), fix="Name a book folder"
        ) from None
    return Manifest.from_bytes(content, where=str(file)), sha256(content).hexdigest()
