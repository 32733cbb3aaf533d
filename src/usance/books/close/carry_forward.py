"""Carry-forward of a close: sums of fully settled loans, so that no close begins at the start.

A loan that is paid to the end and cleared has the same amounts at every later close. The close that
finds it so marks it in its subledger and adds it to these sums. The next one begins with the open
loans, which are kept together with their facts, and reads what came since. A fact that comes late
reopens its loan: what the sums hold of it is subtracted, as the close before knew it, and it is
closed like any other.

Sums are carried forward only from a close whose files all exist and whose policies are unchanged;
else every loan is read again, with the same result.
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
from usance.base.book_step import Step
from usance.base.columns import arrays
from usance.base.errors import CorruptFile
from usance.books.close.closes import CloseRef, known_at_of
from usance.books.loans.amounts import AMOUNTS, SUBLEDGER
from usance.books.loans.cohorts import CohortOutcomes
from usance.books.loans.loans_with_facts import LoansWithFacts
from usance.books.policies import Policies

_READ = ("loans", "facts", "shares", "cells")
"""Tables that may grow; files that were read must still be there."""


@dataclass(frozen=True, slots=True)
class SettledSums:
    """Sums of fully settled loans."""

    loans: int
    cells: Mapping[int, I64]
    """Amounts by cell."""
    outcomes: CohortOutcomes
    fee_instalments: Mapping[int, I64]
    """By segment: loans with service fees, those fees, and the part collected."""


@dataclass(frozen=True, slots=True)
class CarryForward:
    """The sums of the close before, and the files and facts it knew."""

    book: Book
    close: CloseRef
    known_at: datetime
    settled: SettledSums
    files: frozenset[str]
    """The SHA-256 of every file it read."""
    open_loans: Mapping[int, str]
    """By shard, the SHA-256 of the file of its open loans."""

    @property
    def day(self) -> date:
        """The day of its balance sheet."""
        return self.close.day

    def open_ids(self, shard: int) -> I64:
        """Ids of the open loans of a shard."""
        columns = ["loan_id", "is_fully_settled"]
        with _naming_whole():
            rows = arrays(self.book.read(SUBLEDGER, columns, shard=shard, folder=self.close.folder))
        return np.asarray(rows["loan_id"][rows["is_fully_settled"] == 0], np.int64)

    def open_loans_of(self, shard: int, known_at: datetime) -> LoansWithFacts | None:
        """Open loans of a shard with their facts, if they are still kept.

        A close as known at an earlier moment must not see what this one has known. Tables say the
        same, only more slowly; so what cannot be read, or was written over, is no loss.
        """
        if shard not in self.open_loans or known_at < self.known_at:
            return None
        try:
            content = (self.book.path / open_loans_path(shard)).read_bytes()
        except OSError:
            return None
        is_whole = sha256(content).hexdigest() == self.open_loans[shard]
        return LoansWithFacts.of_bytes(content) if is_whole else None

    @classmethod
    def of(cls, book: Book, before: CloseRef | None, policies: Policies) -> CarryForward | None:
        """The carry-forward of the close before, if it can be used."""
        if before is None or _path(before) not in book.manifest.versions:
            return None
        with _naming_whole():
            content = json.loads(book.kept(_path(before)))
        files = frozenset(content["files"])
        if content["policies"] != _policy_hash(book, policies) or not files <= _files(book):
            return None
        columns = {name: np.array(rows, np.int64) for name, rows in content["outcomes"].items()}
        cells, fees = (
            {int(key): np.array(held, np.int64) for key, held in content[part].items()}
            for part in ("cells", "fee_instalments")
        )
        settled = SettledSums(content["loans"], cells, CohortOutcomes(**columns), fees)
        open_loans = {int(shard): mark for shard, mark in content["open_loans"].items()}
        return cls(book, before, known_at_of(book, before), settled, files, open_loans)


def open_loans_path(shard: int) -> str:
    """The file of a shard's open loans; each close writes over that of the one before.

    >>> open_loans_path(7)
    'checkpoint/open_loans/s0007'
    """
    return f"checkpoint/open_loans/s{shard:04}"


def keep_carry_forward(
    step: Step, book: Book, close: CloseRef, policies: Policies, settled: SettledSums,
    open_loans: Mapping[int, str],
) -> None:  # fmt: skip
    """Keep the sums of a close for the next one, and name the files of its open loans."""
    content = {
        "cells": {str(cell): held.tolist() for cell, held in settled.cells.items()},
        "fee_instalments": {str(k): held.tolist() for k, held in settled.fee_instalments.items()},
        "files": sorted(_files(book)),
        "loans": settled.loans,
        "open_loans": {str(shard): mark for shard, mark in open_loans.items()},
        "outcomes": {name: rows.tolist() for name, rows in settled.outcomes.columns.items()},
        "policies": _policy_hash(book, policies),
    }
    step.keep(_path(close), (json.dumps(content, sort_keys=True) + "\n").encode())


@contextmanager
def _naming_whole() -> Iterator[None]:
    """Errors of a damaged carry-forward, with the way out: all of it follows from facts."""
    try:
        yield
    except CorruptFile as error:
        fix = "Restore it from a copy, or close with --whole, which does not need it"
        raise CorruptFile(error.what, where=error.where, fix=fix) from None


def _path(close: CloseRef) -> str:
    return f"{close.folder}/carry_forward.json"


def _files(book: Book) -> frozenset[str]:
    return frozenset(file.sha256 for name in _READ for file in book.files(name))


def _policy_hash(book: Book, policies: Policies) -> str:
    """SHA-256 of all that the amounts of a settled loan depend on; estimates no longer matter."""
    sources = [file.sha256 for file in book.files("sources")]
    used = [__version__, *AMOUNTS, policies.numbers, policies.non_accrual_days, *sources]
    return sha256(json.dumps(used).encode()).hexdigest()
