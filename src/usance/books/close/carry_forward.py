"""What a close carries over: the sums of loans that are over, so that no close begins at the start.

A loan that is paid to the end and cleared has the same amounts at every later close. The close that
finds it so marks it in its subledger and adds it to these sums. The next one begins with the loans
that are left, which are kept together with their facts, and reads what came since. A fact that
comes late wakes its loan: what is held of it is taken back, as the close before knew it, and it is
closed like any other.

Sums are carried only from a close whose files all stand and whose policies are today's; else every
loan is read again, with the same result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256

import numpy as np

from usance import __version__
from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.columns import arrays
from usance.base.errors import CorruptFile
from usance.base.step import Step
from usance.books.close.closes import CloseRef, known_at_of
from usance.books.loans.amounts import AMOUNTS, SUBLEDGER
from usance.books.loans.cohorts import Told
from usance.books.loans.shard_loans import KnownLoans
from usance.books.policies import Policies

_READ = ("loans", "facts", "shares", "cells")
"""Tables that may grow; files that were read must still be there."""


@dataclass(frozen=True, slots=True)
class Over:
    """Sums of loans that are over."""

    loans: int
    cells: Mapping[int, I64]
    """Amounts by cell."""
    told: Told
    """What became of them by cohort and age."""
    slices: Mapping[int, I64]
    """By segment: loans with service slices, those slices, and what was collected of them."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The sums that the close before has left, and what it knew."""

    book: Book
    close: CloseRef
    known_at: datetime
    over: Over
    files: frozenset[str]
    """The SHA-256 of every file it read."""
    left: Mapping[int, str]
    """By shard, the SHA-256 of what it kept of loans that are not over."""

    @property
    def day(self) -> date:
        """The day of its balance sheet."""
        return self.close.day

    def open_ids(self, shard: int) -> I64:
        """The loans of a shard that were not over."""
        columns = ["loan_id", "is_over"]
        with _or_whole():
            rows = arrays(self.book.read(SUBLEDGER, columns, shard=shard, folder=self.close.folder))
        return np.asarray(rows["loan_id"][rows["is_over"] == 0], np.int64)

    def left_open(self, shard: int, known_at: datetime) -> KnownLoans | None:
        """The loans of a shard that were not over, with their facts, if they are still kept.

        A close as known at an earlier moment must not see what this one has known. Files say the
        same, only more slowly; so what cannot be read, or was written over, is no loss.
        """
        if shard not in self.left or known_at < self.known_at:
            return None
        try:
            content = (self.book.path / left_path(shard)).read_bytes()
        except OSError:
            return None
        is_whole = sha256(content).hexdigest() == self.left[shard]
        return KnownLoans.of_bytes(content) if is_whole else None

    @classmethod
    def of(cls, book: Book, before: CloseRef | None, policies: Policies) -> Carried | None:
        """What can be carried over from the close before, if anything can."""
        if before is None or _path(before) not in book.manifest.versions:
            return None
        with _or_whole():
            content = json.loads(book.kept(_path(before)))
        files = frozenset(content["files"])
        if content["policies"] != _mark(book, policies) or not files <= _files(book):
            return None
        told = Told(**{name: np.array(rows, np.int64) for name, rows in content["told"].items()})
        cells, slices = (
            {int(key): np.array(held, np.int64) for key, held in content[part].items()}
            for part in ("cells", "slices")
        )
        over = Over(content["loans"], cells, told, slices)
        left = {int(shard): mark for shard, mark in content.get("left", {}).items()}
        return cls(book, before, known_at_of(book, before), over, files, left)


def left_path(shard: int) -> str:
    """Where the open loans of a shard are kept for the next close; the last one's stand there.

    >>> left_path(7)
    'checkpoint/open_loans/s0007'
    """
    return f"checkpoint/open_loans/s{shard:04}"


def keep_over(
    step: Step, book: Book, close: CloseRef, policies: Policies, over: Over,
    left: Mapping[int, str],
) -> None:  # fmt: skip
    """Keep what a close has found over for the next one, and name what it has left open."""
    content = {
        "cells": {str(cell): held.tolist() for cell, held in over.cells.items()},
        "files": sorted(_files(book)),
        "left": {str(shard): mark for shard, mark in left.items()},
        "loans": over.loans,
        "policies": _mark(book, policies),
        "slices": {str(segment): held.tolist() for segment, held in over.slices.items()},
        "told": {name: rows.tolist() for name, rows in over.told.columns.items()},
    }
    step.keep(_path(close), (json.dumps(content, sort_keys=True) + "\n").encode())


@contextmanager
def _or_whole() -> Iterator[None]:
    """What the close before has left is damaged: all of it can be made again from facts."""
    try:
        yield
    except CorruptFile as error:
        fix = "Restore it from a copy, or close with --whole, which does not need it"
        raise CorruptFile(error.what, where=error.where, fix=fix) from None


def _path(close: CloseRef) -> str:
    return f"{close.folder}/over.json"


def _files(book: Book) -> frozenset[str]:
    return frozenset(file.sha256 for name in _READ for file in book.files(name))


def _mark(book: Book, policies: Policies) -> str:
    """What the amounts of a settled loan depend on, in one word; estimates no longer matter."""
    sources = [file.sha256 for file in book.files("sources")]
    told = [__version__, *AMOUNTS, policies.numbers.tolist(), policies.non_accrual_days, *sources]
    return sha256(json.dumps(told).encode()).hexdigest()
