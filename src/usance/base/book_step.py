"""One write to a book: files written to a temporary folder, named in the manifest together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path

import pyarrow as pa

from usance.base.atomic_files import publish
from usance.base.atomic_files import replace as replace_file
from usance.base.columns import as_numpy
from usance.base.concurrency import parallel_map, prefetch
from usance.base.dates import format_month, parse_month
from usance.base.digest import Digest, digest
from usance.base.errors import DuplicateKey, unknown
from usance.base.manifest import PERIOD_STATES, FileEntry, Manifest, Period, TableEntry
from usance.base.parquet import as_declared, hashed, parquet_writer, sha256_of, write_parquet
from usance.base.schemas import Table
from usance.base.shared_keys import may_share, shared_keys
from usance.base.tables import table

MANIFEST = "manifest.json"
CHECKPOINT = "checkpoint/"
"""Files kept below this are written over by later steps, which go on from them."""
_THREADS = 2


class Step:
    """One writing step of a book; nothing of it exists before it is published."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._path = path
        self._manifest = manifest
        self._moves: dict[Path, tuple[Path, str]] = {}
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
        spec = declared_table(declared)
        temporary = self.aside()
        entry = written(data, spec, temporary, month=month, shard=shard)
        self.take(spec, entry, temporary, instead=instead)

    def take(
        self, declared: Table | str, entry: FileEntry, file: Path, *, instead: bool = False
    ) -> None:
        """Take a file that was `written` elsewhere on the same disk."""
        self.take_all([(declared, entry, file)], instead=instead)

    def take_all(
        self, files: Sequence[tuple[Table | str, FileEntry, Path]], *, instead: bool = False
    ) -> None:
        """Take files of as many tables; keys are compared with those there, two tables at once."""
        named = [(declared_table(each), entry, file) for each, entry, file in files]

        def with_one(each: tuple[Table, FileEntry, Path]) -> TableEntry:
            return self._with(*each, instead=instead)

        entries = list(parallel_map(with_one, named, _THREADS))
        tables = {spec.name: entry for (spec, *_), entry in zip(named, entries, strict=True)}
        assert len(tables) == len(named), "each file is of another table"
        self._manifest = replace(self._manifest, tables={**self._manifest.tables, **tables})
        self._moves |= {self._path / each.path: (file, each.sha256) for _, each, file in named}

    def add_to_folder(
        self, folder: str, declared: Table | str, parts: Iterable[pa.Table], *, shard: int = 0,
        month: int | None = None,
    ) -> None:  # fmt: skip
        """Add rows as a file of one of the book's folders, part by part."""
        file = self.aside()
        entry = written_to_folder(folder, declared, parts, file, shard=shard, month=month)
        self.take(declared, entry, file)

    def aside(self) -> Path:
        """A place for a file that is still to be taken; any thread may ask for one."""
        return self._path / "tmp" / str(next(self._numbers))

    def _with(self, spec: Table, entry: FileEntry, file: Path, *, instead: bool) -> TableEntry:
        """A table that also names a file, which repeats none of its keys."""
        tables = self._manifest.with_files(spec.name, spec.number, [entry], instead=instead).tables
        for repeat in repeats(spec, entry, file, tables[spec.name].files[:-1], self._found):
            raise repeat
        return tables[spec.name]

    def _found(self, path: str) -> Path:
        """The present path of a file of the table: in its place, or still aside."""
        final = self._path / path
        return self._moves.get(final, (final, ""))[0]

    def use(self, name: str, content: bytes) -> str:
        """Keep an input (parameters, rules, a model) as it was used; returns its SHA-256."""
        mark = sha256(content).hexdigest()
        temporary = self.aside()
        temporary.write_bytes(content)
        self._moves[self._path / "inputs" / mark] = temporary, mark
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
        assert "/" in path, path
        self._moves[self._path / path] = file, mark
        self._manifest = replace(self._manifest, versions={**self._manifest.versions, path: mark})

    def period(self, month: str, state: str, close_no: int) -> None:
        """Set the state of a period, such as `2024-06`."""
        parse_month(month)
        if state not in PERIOD_STATES:
            raise unknown("period state", state, PERIOD_STATES)
        periods = {**self._manifest.periods, month: Period(state, close_no)}
        self._manifest = replace(self._manifest, periods=periods)

    def publish(self) -> tuple[Manifest, str]:
        """Put the files in place, then the manifest that names them; it and its SHA-256."""
        for final, (temporary, mark) in self._moves.items():
            publish(temporary, final)
            hashed(final, mark)
        content = self._manifest.to_bytes()
        replace_file(self._path / MANIFEST, content)
        return self._manifest, sha256(content).hexdigest()


def written(
    data: pa.Table, declared: Table | str, file: Path, *, month: int | None = None, shard: int = 0
) -> FileEntry:
    """Write sorted rows to a file that no book names yet; the entry that one can name it by."""
    spec = declared_table(declared)
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


def written_to_folder(
    folder: str, declared: Table | str, parts: Iterable[pa.Table], file: Path, *, shard: int = 0,
    month: int | None = None,
) -> FileEntry:  # fmt: skip
    """Write rows part by part; the entry that a book can name the file by, in that folder."""
    spec = declared_table(declared)
    total = Digest()
    first: tuple[int | str, ...] = ()
    last = first
    with parquet_writer(spec, file) as write:
        for part in prefetch(parts):
            write(part)
            total += digest(part, spec)
            first, last = first or _key(part, spec, 0), _key(part, spec, -1) or last
    name = spec.name if shard == 0 else f"{spec.name}/s{shard:04}"
    path = f"{folder}/{name}.parquet"
    return FileEntry(path, total.rows, sha256_of(file), str(total), shard, month, first, last)


def declared_table(given: Table | str) -> Table:
    """A declared table, or the one of that name."""
    return table(given) if isinstance(given, str) else given


def repeats(
    spec: Table, file: FileEntry, path: Path, others: Sequence[FileEntry],
    place: Callable[[str], Path],
) -> Iterator[DuplicateKey]:  # fmt: skip
    """The first key of each other file that a file repeats."""
    near = [other for other in others if may_share(file, other)]
    paths = (place(other.path) for other in near)
    found = shared_keys(path, paths, spec) if near else iter(())
    for other, key in zip(near, found, strict=True):
        if key:
            what = f"repeats a key of {other.path} ({key})"
            fix = "Leave the row out, or publish instead of that file"
            yield DuplicateKey(what, where=file.path, fix=fix)


def _key(data: pa.Table, spec: Table, row: int) -> tuple[int | str, ...]:
    if data.num_rows == 0:
        return ()
    at = data.slice(row % data.num_rows, 1)
    return tuple(as_numpy(at.column(name)).tolist()[0] for name in spec.key)
