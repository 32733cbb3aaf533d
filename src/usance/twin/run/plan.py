"""A run before it begins: checked, named by its key, with the disk it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from usance.base.book import Book, is_empty
from usance.base.book_step import MANIFEST
from usance.base.codes import DEFAULT_PACK
from usance.base.dates import format_month
from usance.base.errors import UsanceError, raise_all
from usance.base.parameters import COMMON, PACKS
from usance.base.tables import TABLES
from usance.twin.errors import (
    MAX_SCALE,
    MIN_SCALE,
    DiskFull,
    LostManifest,
    OtherRun,
    RunError,
    scale_error,
    scale_text,
)
from usance.twin.run.disk_space import ELSEWHERE, free_if_too_small, readable_sizes, unwritable
from usance.twin.run.stage_output import PARTS
from usance.world.scenario.scenario import Scenario

BYTES_A_LOAN, BYTES_A_USER, BYTES_FIXED = 220, 30, 60_000_000
"""On disk: tables, the subledgers of every close and two checkpoints, measured on `2024`."""
FORMAT = 8
"""Of marks and checkpoints: a run that has others cannot be gone on with."""
MARKS = "run/done"
"""Folder with a mark for each finished stage."""
OF_A_RUN = ("run.json", MARKS, PARTS)
"""Files that show that a folder held a run, whatever else is missing."""


@dataclass(frozen=True)
class RunPlan:
    """A run to be made."""

    scenario: Scenario
    scale: Fraction
    first: int
    last: int

    @cached_property
    def key(self) -> str:
        """A hash of everything the result depends on; last month and engine are no part of it."""
        schemas = {name: each.number for name, each in TABLES.items()}
        files = [*COMMON.rglob("*.yaml"), *(PACKS / DEFAULT_PACK / "parameters").rglob("*.yaml")]
        rules = [sha256(file.read_bytes()).hexdigest() for file in sorted(files)]
        content = [
            _plain(asdict(self.scenario)), str(self.scale), self.first, schemas, rules, FORMAT,
        ]  # fmt: skip
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def months(self) -> range:
        """The months that are simulated."""
        return range(self.first, self.last + 1)

    @property
    def loans(self) -> int:
        """Rough number of loans the run will hold."""
        requests = sum(n for month, n in self.scenario.demand.requests.items()
                       if self.first <= month <= self.last)  # fmt: skip
        users = self.scenario.users
        opening = users.opening * users.opening_approved_ppm * users.opening_borrowers_ppm
        return int((requests + opening * 2 // 10**12) * self.scale)

    @property
    def bytes_needed(self) -> int:
        """Disk the finished run takes, roughly."""
        users = self.scenario.users.opening + sum(self.scenario.users.registered.values())
        return self.loans * BYTES_A_LOAN + int(users * self.scale) * BYTES_A_USER + BYTES_FIXED

    @property
    def users(self) -> int:
        """Number of users by the last month at full size."""
        users = self.scenario.users
        return users.opening + sum(n for month, n in users.registered.items() if month <= self.last)

    def check(self, folder: Path) -> None:
        """Raise every error of the run."""
        scale, write = list(self._scale_errors()), list(unwritable(folder))
        inside = [] if scale or write else [*self._folder_errors(folder), *self._disk_space(folder)]
        raise_all([*scale, *self._month_errors(), *write, *inside], where="twin run")

    def check_other(self, folder: Path) -> None:
        """Raise if the folder holds something else than this run."""
        raise_all(list(self._folder_errors(folder)), where=str(folder))

    def check_anywhere(self) -> None:
        """Raise every error of the run that no folder would mend."""
        raise_all([*self._scale_errors(), *self._month_errors()], where="twin run")

    def _scale_errors(self) -> Iterator[UsanceError]:
        scale = scale_text(self.scale)
        if not MIN_SCALE <= self.scale <= MAX_SCALE:
            yield scale_error(scale)
        elif self.users and self.users * self.scale < 1:
            what = f"{self.scenario.name} has no user at the scale {scale}"
            yield RunError(what, where="--scale", fix=f"Give 1/{self.users} or more")

    def _month_errors(self) -> Iterator[UsanceError]:
        scenario = self.scenario
        if self.first > self.last:
            what = f"{format_month(self.first)} comes after {format_month(self.last)}"
            yield RunError(what, where="--from", fix="Give the earlier month first")
        if self.first != scenario.first_month:
            begins = format_month(scenario.first_month)
            fix = f"Begin with {begins}: its opening book stands on the eve of it"
            yield RunError(f"{scenario.name} begins with {begins}", where="--from", fix=fix)
        if self.last > scenario.final_month:
            ends = format_month(scenario.final_month)
            yield RunError(f"{scenario.name} ends with {ends}", where="--to", fix="End there")

    def _folder_errors(self, folder: Path) -> Iterator[UsanceError]:
        """Errors of a folder that holds something else than this run."""
        if not (folder / MANIFEST).exists():
            yield from _without_manifest(folder)
            return
        book = Book.open(folder)
        marks = [path for path in book.manifest.versions if path.startswith(f"{MARKS}/")]
        keys = {json.loads(book.kept(path))["key"] for path in marks}
        if keys - {self.key} or (book.manifest.tables and not keys):
            fix = f"{ELSEWHERE}, or ask for the run that is in it"
            yield OtherRun("holds another run or another book", where=str(folder), fix=fix)
            return
        reached = max((path.removeprefix(f"{MARKS}/")[:7] for path in marks), default="")
        if reached > format_month(self.last):
            what = f"holds a run that has come to {reached}"
            fix = f"Give --to {reached} or a later month"
            yield OtherRun(what, where=str(folder), fix=fix)

    def _disk_space(self, folder: Path) -> Iterator[UsanceError]:
        needed, free = self.bytes_needed, free_if_too_small(folder, self.bytes_needed)
        if free is not None:
            what = "needs about {}, and {} are free".format(*readable_sizes(needed, free))
            fix = "Choose another disk, or a smaller --scale"
            yield DiskFull(what, where=str(folder), fix=fix)


def _without_manifest(folder: Path) -> Iterator[UsanceError]:
    """Errors of a folder without a manifest that holds something."""
    if any((folder / name).exists() for name in OF_A_RUN):
        fix = f"Put its {MANIFEST} back, or empty the folder, or choose another with --out"
        yield LostManifest(f"holds a run whose {MANIFEST} is missing", where=str(folder), fix=fix)
    elif not is_empty(folder):
        yield RunError("is not an empty folder", where=str(folder), fix=ELSEWHERE)


def _plain(value: Any) -> Any:
    """Dataclasses, codes and mappings as JSON knows them, keys in order."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, IntEnum):
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
