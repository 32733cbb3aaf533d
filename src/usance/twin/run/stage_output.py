"""Stage outputs: the result of one stage of a month for one shard, whole in a folder of its own.

    RUN/run/parts/2023-02-serve/s0007/facts.parquet, tape.parquet, …   rows of tables
    RUN/run/parts/2023-02-serve/s0007/shard, sums                      what the run resumes from
    RUN/run/parts/2023-02-serve/s0007/part.json                        hashes of all of them

An output is written under a temporary name and renamed when it is durable: it is there whole or
not at all, whatever process made it. It counts only if it is of the same run, resumes from the same
manifest, and every file is unchanged. A stage is done when the book has taken all its outputs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import pyarrow as pa

from usance.base.atomic_files import publish, sync
from usance.base.book_step import Step, written
from usance.base.concurrency import parallel_map
from usance.base.dates import format_month
from usance.base.errors import CorruptFile, UsanceError
from usance.base.manifest import MARK, FileEntry, mark_of
from usance.base.parquet import check_sha256

PARTS, PART = "run/parts", "part.json"
_THREADS = 2
"""Tables written at once: the last shards of a stage have the other cores for themselves."""


class StoredFile(NamedTuple):
    """Bytes that an output stores; `path` is their path in the book, if they are to have one."""

    name: str
    path: str
    content: bytes


class FileHash(NamedTuple):
    """Hash of a stored file, and its path in the book, if it is to have one."""

    path: str
    sha256: str


@dataclass(frozen=True)
class StageFolder:
    """Folder of the outputs of one stage, and the manifest they must resume from."""

    book: Path
    month: int
    stage: str
    key: str
    """The run's."""
    after: str
    """Hash of the manifest that the stage begins with."""

    @property
    def path(self) -> Path:
        """Path of the folder."""
        return self.book / PARTS / f"{format_month(self.month)}-{self.stage}"


@dataclass(frozen=True)
class StageOutput:
    """A finished output."""

    book: Path
    folder: Path
    tables: Mapping[str, FileEntry]
    stored: Mapping[str, FileHash]
    figures: Mapping[str, int]

    @property
    def name(self) -> str:
        """Name within its stage, such as `s0007`."""
        return self.folder.name

    def file(self, name: str, path: str) -> Path:
        """Path of a file: in the output, or in the book if a kill came while it was published."""
        own = self.folder / name
        return own if own.exists() or not path else self.book / path

    def read(self, name: str) -> bytes:
        """Bytes of a stored file."""
        mark = self.stored[name]
        content = self.file(name, mark.path).read_bytes()
        if sha256(content).hexdigest() != mark.sha256:
            fix = "Run the same command again: the part is made anew"
            raise CorruptFile("has changed since it was made", where=str(self.folder), fix=fix)
        return content

    def publish(self, step: Step, *, instead: bool = False) -> None:
        """Hand everything that has a path in the book to a step."""
        rows = self.tables.items()
        files = [(name, entry, self.file(_rows_of(name), entry.path)) for name, entry in rows]
        step.take_all(files, instead=instead)
        for name, mark in self.stored.items():
            if mark.path:
                step.take_kept(mark.path, self.file(name, mark.path), mark.sha256)

    def check(self) -> None:
        """Raise if a file has changed."""
        for name, entry in self.tables.items():
            check_sha256(self.file(_rows_of(name), entry.path), entry.sha256)
        for name, mark in self.stored.items():
            check_sha256(self.file(name, mark.path), mark.sha256)


def shard_name(number: int) -> str:
    """Name of a shard's output, checkpoint and files.

    >>> shard_name(7)
    's0007'
    """
    return f"s{number:04}"


def write_output(
    folder: StageFolder, name: str, *, tables: Mapping[str, pa.Table], stored: Iterable[StoredFile],
    figures: Mapping[str, int], shard: int = 0, by_month: bool = True,
) -> StageOutput:  # fmt: skip
    """Write an output; if another attempt has finished it meanwhile, that one is taken."""
    folder.path.mkdir(parents=True, exist_ok=True)
    aside = Path(mkdtemp(prefix=f".{name}-", dir=folder.path))
    try:
        month = folder.month if by_month else None

        def write(table: str) -> FileEntry:
            return written(tables[table], table, aside / _rows_of(table), month=month, shard=shard)

        entries = dict(zip(tables, parallel_map(write, tables, _THREADS), strict=True))
        marks = {each.name: _store(aside, each) for each in stored}
        output = StageOutput(folder.book, folder.path / name, entries, marks, figures)
        content = _content(folder, output)
        (aside / PART).write_text(json.dumps({**content, MARK: mark_of(content)}))
        for file in aside.iterdir():
            sync(file)
        publish(aside, output.folder)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        there = find_output(folder, name)
        if there is None:
            raise
        return there
    return output


def find_output(stage: StageFolder, name: str) -> StageOutput | None:
    """The finished output of that name, if it is of this run and nothing in it has changed."""
    folder = stage.path / name
    try:
        content = json.loads((folder / PART).read_text())
        if content.pop(MARK) != mark_of(content):
            return None
        output = StageOutput(
            stage.book, folder,
            {table: _entry(each) for table, each in content["tables"].items()},
            {name: FileHash(*each) for name, each in content["kept"].items()}, content["figures"],
        )  # fmt: skip
        if content != _plain(_content(stage, output)):
            return None
        output.check()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsanceError):
        return None
    return output


def finished_outputs(stage: StageFolder) -> dict[str, StageOutput]:
    """Finished outputs of a stage; any other file there, or of another stage, is removed."""
    found: dict[str, StageOutput] = {}
    for folder in _inside(stage.book / PARTS):
        if folder != stage.path:
            shutil.rmtree(folder)
    for folder in _inside(stage.path):
        output = find_output(stage, folder.name)
        if output is None:
            shutil.rmtree(folder)
        else:
            found[output.name] = output
    return found


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def remove_outputs(stage: StageFolder) -> None:
    """Remove the outputs of a stage that is done."""
    shutil.rmtree(stage.path, ignore_errors=True)


def _rows_of(table: str) -> str:
    return f"{table}.parquet"


def _store(folder: Path, file: StoredFile) -> FileHash:
    (folder / file.name).write_bytes(file.content)
    return FileHash(file.path, sha256(file.content).hexdigest())


def _content(stage: StageFolder, output: StageOutput) -> dict[str, Any]:
    return {
        "key": stage.key, "after": stage.after, "month": stage.month, "stage": stage.stage,
        "name": output.name, "tables": {name: asdict(each) for name, each in output.tables.items()},
        "kept": output.stored, "figures": output.figures,
    }  # fmt: skip


def _plain(content: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(content))


def _entry(content: dict[str, Any]) -> FileEntry:
    ends = {"first": tuple(content["first"]), "last": tuple(content["last"])}
    return FileEntry(**{**content, **ends})
