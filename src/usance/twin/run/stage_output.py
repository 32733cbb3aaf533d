"""A part of a run: what one stage of a month makes of one shard, whole in a folder of its own.

    RUN/run/parts/2023-02-serve/s0007/facts.parquet, tape.parquet, …   rows of tables
    RUN/run/parts/2023-02-serve/s0007/shard, sums                      what the run goes on from
    RUN/run/parts/2023-02-serve/s0007/part.json                        what must be in all of them

A part is made under a passing name and renamed when it is durable: it is there whole or not at
all, whoever made it. It counts only if it is of the same run, goes on from the same manifest, and
every file is what it was. A stage is done when the book has taken all its parts.
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

from usance.base.concurrency import parallel_map
from usance.base.dates import format_month
from usance.base.errors import CorruptFile, UsanceError
from usance.base.manifest import MARK, FileEntry, mark_of
from usance.base.parquet import check_sha256
from usance.base.publish import publish, sync
from usance.base.step import Step, written

PARTS, PART = "run/parts", "part.json"
_THREADS = 2
"""Tables written at once: the last shards of a stage have the other cores for themselves."""


class Kept(NamedTuple):
    """Bytes that a part keeps; `path` is their place in the book, if they are to have one."""

    name: str
    path: str
    content: bytes


class Mark(NamedTuple):
    """What must be in a kept file, and its place in the book, if it is to have one."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Place:
    """Where the parts of one stage are made, and what they must go on from."""

    book: Path
    month: int
    stage: str
    key: str
    """The run's."""
    after: str
    """A hash of the manifest that the stage begins with."""

    @property
    def folder(self) -> Path:
        """The folder of the stage's parts."""
        return self.book / PARTS / f"{format_month(self.month)}-{self.stage}"


@dataclass(frozen=True)
class Part:
    """A finished part."""

    book: Path
    folder: Path
    tables: Mapping[str, FileEntry]
    kept: Mapping[str, Mark]
    figures: Mapping[str, int]

    @property
    def name(self) -> str:
        """Which part of its stage it is, such as `s0007`."""
        return self.folder.name

    def file(self, name: str, path: str) -> Path:
        """Where a file is: in the part, or in its place if a kill came while it was published."""
        own = self.folder / name
        return own if own.exists() or not path else self.book / path

    def read(self, name: str) -> bytes:
        """The bytes of a kept file."""
        mark = self.kept[name]
        content = self.file(name, mark.path).read_bytes()
        if sha256(content).hexdigest() != mark.sha256:
            fix = "Run the same command again: the part is made anew"
            raise CorruptFile("has changed since it was made", where=str(self.folder), fix=fix)
        return content

    def publish(self, step: Step, *, instead: bool = False) -> None:
        """Hand everything that has a place in the book to a step."""
        rows = self.tables.items()
        files = [(name, entry, self.file(_rows_of(name), entry.path)) for name, entry in rows]
        step.take_all(files, instead=instead)
        for name, mark in self.kept.items():
            if mark.path:
                step.take_kept(mark.path, self.file(name, mark.path), mark.sha256)

    def check(self) -> None:
        """Raise if a file is not what it was."""
        for name, entry in self.tables.items():
            check_sha256(self.file(_rows_of(name), entry.path), entry.sha256)
        for name, mark in self.kept.items():
            check_sha256(self.file(name, mark.path), mark.sha256)


def shard_name(number: int) -> str:
    """The name of a shard's part, checkpoint and files.

    >>> shard_name(7)
    's0007'
    """
    return f"s{number:04}"


def make_part(
    place: Place, name: str, *, tables: Mapping[str, pa.Table], kept: Iterable[Kept],
    figures: Mapping[str, int], shard: int = 0, by_month: bool = True,
) -> Part:  # fmt: skip
    """Write a part; if another attempt has finished it meanwhile, that one is taken."""
    place.folder.mkdir(parents=True, exist_ok=True)
    aside = Path(mkdtemp(prefix=f".{name}-", dir=place.folder))
    try:
        month = place.month if by_month else None

        def write(table: str) -> FileEntry:
            return written(tables[table], table, aside / _rows_of(table), month=month, shard=shard)

        entries = dict(zip(tables, parallel_map(write, tables, _THREADS), strict=True))
        marks = {each.name: _keep(aside, each) for each in kept}
        part = Part(place.book, place.folder / name, entries, marks, figures)
        content = _content(place, part)
        (aside / PART).write_text(json.dumps({**content, MARK: mark_of(content)}))
        for file in aside.iterdir():
            sync(file)
        publish(aside, part.folder)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        there = find_part(place, name)
        if there is None:
            raise
        return there
    return part


def find_part(place: Place, name: str) -> Part | None:
    """The finished part of that name, if it is of this run and nothing in it has changed."""
    folder = place.folder / name
    try:
        content = json.loads((folder / PART).read_text())
        if content.pop(MARK) != mark_of(content):
            return None
        part = Part(
            place.book, folder,
            {table: _entry(each) for table, each in content["tables"].items()},
            {kept: Mark(*each) for kept, each in content["kept"].items()}, content["figures"],
        )  # fmt: skip
        if content != _plain(_content(place, part)):
            return None
        part.check()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsanceError):
        return None
    return part


def standing(place: Place) -> dict[str, Part]:
    """The finished parts of a stage; what else lies there, or is of another stage, is removed."""
    found: dict[str, Part] = {}
    for folder in _inside(place.book / PARTS):
        if folder != place.folder:
            shutil.rmtree(folder)
    for folder in _inside(place.folder):
        part = find_part(place, folder.name)
        if part is None:
            shutil.rmtree(folder)
        else:
            found[part.name] = part
    return found


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def clear(place: Place) -> None:
    """Remove the parts of a stage that is done."""
    shutil.rmtree(place.folder, ignore_errors=True)


def _rows_of(table: str) -> str:
    return f"{table}.parquet"


def _keep(folder: Path, kept: Kept) -> Mark:
    (folder / kept.name).write_bytes(kept.content)
    return Mark(kept.path, sha256(kept.content).hexdigest())


def _content(place: Place, part: Part) -> dict[str, Any]:
    return {
        "key": place.key, "after": place.after, "month": place.month, "stage": place.stage,
        "name": part.name, "tables": {name: asdict(each) for name, each in part.tables.items()},
        "kept": part.kept, "figures": part.figures,
    }  # fmt: skip


def _plain(content: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(content))


def _entry(content: dict[str, Any]) -> FileEntry:
    ends = {"first": tuple(content["first"]), "last": tuple(content["last"])}
    return FileEntry(**{**content, **ends})
