"""Files of declared tables: one writer, and a reader that names the file that is wrong.

A file carries `usance.schema = <table>/<number>` and no clock. Readers ignore columns they do not
know and fill the defaults of columns added later; an unknown number is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from usance.base.columns import SCHEMA_KEY, arrays, arrow_schema, check_keys, conform
from usance.base.errors import CorruptFile, SchemaError
from usance.base.schemas import Table

ROW_GROUP = 1 << 18
_LARGE, _SOME = 1 << 14, 1 << 10
_AGAIN = "Restore it from a copy, or make it again"
_HASHED: dict[Path, tuple[tuple[int, ...], str]] = {}
"""Files this process has hashed: what they were then, and their SHA-256."""


def write_parquet(data: pa.Table, spec: Table, path: Path) -> None:
    """Write a checked, sorted table; the same rows give the same bytes."""
    with parquet_writer(spec, path) as write:
        write(data)


def as_declared(data: pa.Table, spec: Table) -> pa.Table:
    """A table as its file will give it back: columns in their order, defaults filled."""
    columns = {name: data.column(name) for name in data.column_names}
    return conform(columns, spec, rows=data.num_rows, where=spec.name)


@contextmanager
def parquet_writer(spec: Table, path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """A file to write part by part inside the block; rows rise by key from part to part."""
    held: list[Any] = []
    before: list[pa.Table] = []
    files = ExitStack()  # also where the last bytes cannot be written: the disk has the room again

    def write(data: pa.Table) -> None:
        checked = as_declared(data, spec)
        check_keys(pa.concat_tables([*before, checked]) if before else checked, spec)
        before[:] = [checked.slice(checked.num_rows - 1)] if checked.num_rows else before
        if not held:
            few, delta = _encodings(checked, spec)
            held.append(
                pq.ParquetWriter(
                    files.enter_context(pa.OSFile(str(path), "wb")),
                    checked.schema,
                    compression="zstd",
                    compression_level=1,
                    use_dictionary=few,
                    column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
                    write_page_checksum=True,
                    max_rows_per_page=ROW_GROUP,
                )
            )
        held[0].write_table(checked, row_group_size=ROW_GROUP)

    with files:
        try:
            yield write
            if not held:
                write(arrow_schema(spec).empty_table())
        finally:
            for writer in held:
                writer.close()


def _encodings(data: pa.Table, spec: Table) -> tuple[list[str], list[str]]:
    """The columns written as a dictionary of their values, and those as differences.

    Wide columns are differences; in a large file some rows say where that is not the best: what
    is mostly zero is written as it is, and few values make a dictionary.
    """
    few = [column.name for column in spec.columns if column.type in {"i8", "i16", "text"}]
    wide = [column for column in spec.columns if column.type in {"i32", "i64", "day", "moment"}]
    delta = [column.name for column in wide if column.key or not column.sparse]
    if data.num_rows < _LARGE:
        return few, delta
    some = arrays(data.select(delta).take(np.arange(0, data.num_rows, data.num_rows // _SOME)))
    for name, values in some.items():
        if spec.column(name).key:
            continue
        if np.count_nonzero(values) * 4 <= len(values):
            delta.remove(name)
        elif len(np.unique(values)) * 8 <= len(values):
            delta.remove(name)
            few.append(name)
    return few, delta


def read_parquet(
    path: Path, spec: Table, columns: Sequence[str] = (), rows: int | None = None
) -> pa.Table:
    """A file as its declared table, or those columns of it; `rows` is how many there must be."""
    for name in columns:
        spec.column(name)
    with opened(path) as file:
        _check_head(file, spec, path, rows)
        known = [name for name in columns or spec.names if name in file.schema_arrow.names]
        data = file.read(columns=known)
    found: dict[str, Any] = {name: data.column(name) for name in data.column_names}
    return conform(found, spec, rows=data.num_rows, where=str(path), only=columns)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A Parquet file, to read inside the block; what cannot be read is a `CorruptFile`."""
    try:
        # Pages carry checksums, so a damaged one is noticed also without the file's SHA-256.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError as error:
        raise _unread(path, error) from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise CorruptFile(
            f"is not a readable Parquet file ({reason})", where=str(path), fix=_AGAIN
        ) from None


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unread(path, error) from None


def check_sha256(path: Path, expected: str) -> None:
    """Raise `CorruptFile` if the file is not the one that was published."""
    _compare(path, sha256_of(path), expected)


def check_unchanged(path: Path, expected: str) -> None:
    """As `check_sha256`, but a file this process has hashed is hashed again only if touched."""
    version = _version(path)
    then, mark = _HASHED.get(path, ((), ""))
    if then != version:
        mark = sha256_of(path)
        _HASHED[path] = version, mark
    _compare(path, mark, expected)


def hashed(path: Path, mark: str) -> None:
    """Remember the SHA-256 of a file that this process has just put in its place."""
    _HASHED[path] = _version(path), mark


def _version(path: Path) -> tuple[int, ...]:
    try:
        now = path.stat()
    except OSError as error:
        raise _unread(path, error) from None
    # The time of the last change of the entry cannot be set back, other than that of the content.
    return now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def _compare(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise CorruptFile("has changed since it was published", where=str(path), fix=_AGAIN)


def _unread(path: Path, error: OSError) -> CorruptFile:
    missing = isinstance(error, FileNotFoundError)
    what = "the file is missing" if missing else f"cannot be read ({error.strerror})"
    return CorruptFile(what, where=str(path), fix=_AGAIN)


def _check_head(file: Any, spec: Table, path: Path, rows: int | None) -> None:
    tag = (file.schema_arrow.metadata or {}).get(SCHEMA_KEY, b"").decode(errors="replace")
    if not tag:
        fix = f"Import it first; only files marked {spec.tag} are read as they are"
        raise SchemaError("is not a file of a declared table", where=str(path), fix=fix)
    if tag != spec.tag:
        fix = f"Give a file of {spec.tag}, or use the version of usance that wrote it"
        raise SchemaError(f"is {tag}", where=str(path), fix=fix)
    if rows is not None and file.metadata.num_rows != rows:
        what = f"has {file.metadata.num_rows} rows instead of {rows}"
        raise CorruptFile(what, where=str(path), fix=_AGAIN)
