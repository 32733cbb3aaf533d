"""The folder of a run: one process works in it, and only on files that are as they were written.

Its file `run.json` says what was run, its figures, notes, seconds and digests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from usance.base.atomic_files import replace
from usance.base.book import Book
from usance.base.book_step import MANIFEST
from usance.base.dates import format_month
from usance.base.errors import FULL, raise_all
from usance.books.close.closes import controls_of, effective_closes
from usance.twin.errors import DiskFull, OtherRun
from usance.twin.run.engine import Engine
from usance.twin.run.plan import RunPlan
from usance.twin.run.quarter_close import ACTOR
from usance.world.scenario.scenario import Scenario

RUN_FILE = "run.json"


@contextmanager
def book_in(folder: Path, scenario: Scenario) -> Iterator[Book]:
    """The book of the run, a new one or the one that is there, to write alone inside the block."""
    with _room_in(folder):
        book = _book(folder, scenario)
        with book.held():
            _check(book)
            yield book


def _book(folder: Path, scenario: Scenario) -> Book:
    if (folder / MANIFEST).exists():
        return Book.open(folder)
    return Book.create(folder, currency=scenario.currency, time_zone=scenario.time_zone)


def _check(book: Book) -> None:
    """Compare the files of an earlier run once, so that nothing is built on a damaged one."""
    found = book.damaged()
    for each in found:
        each.fix = "Restore it from a copy, or run again with another --out"
    raise_all(found, where=str(book.path))
    by_hand = [
        each.name for each in effective_closes(book) if controls_of(book, each)["actor"] != ACTOR
    ]
    if by_hand:
        fix = "Work on a copy of a run, and run again with another --out"
        raise OtherRun(f"{by_hand[0]} was closed by hand", where=str(book.path), fix=fix)


@contextmanager
def _room_in(folder: Path) -> Iterator[None]:
    """A disk that is full is said as such."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        fix = "Make room, and run the same command again: it goes on where it was"
        raise DiskFull("the disk is full", where=str(folder), fix=fix) from error


def run_content(
    plan: RunPlan, engine: Engine, book: Book, figures: Counter[str], seconds: float,
    by_stage: Mapping[str, float], in_background: Mapping[str, float],
) -> dict[str, Any]:  # fmt: skip
    """Content of the file before the release."""
    return {
        "scenario": plan.scenario.name, "seed": plan.scenario.seed, "scale": str(plan.scale),
        "from": format_month(plan.first), "to": format_month(plan.last), "key": plan.key,
        "engine": engine.name, "workers": engine.workers,
        "figures": dict(figures), "notes": _notes(figures),
        "seconds": round(seconds, 3), "seconds_by_stage": _rounded(by_stage),
        "seconds_beside": _rounded(in_background),
        "disk_bytes_expected": plan.bytes_needed, "release": {},
        "digests": {name: str(entry.digest) for name, entry in book.manifest.tables.items()},
    }  # fmt: skip


def write_run_file(book: Book, content: Mapping[str, Any]) -> None:
    """Write the file in one step."""
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    replace(book.path / RUN_FILE, text.encode())


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(each, 3) for name, each in seconds.items()}


def _notes(figures: Counter[str]) -> list[str]:
    """Targets of the scenario that a run missed, beyond chance."""
    asked, wanted = figures["asks"], figures["asks_wanted"]
    if wanted - asked <= max(wanted / 20, 4 * wanted**0.5):
        return []
    return [f"users asked {asked:,} of the {wanted:,} times the scenario wants: too few may ask"]
