"""The files of one shard's loans and facts, read so that only what is wanted is put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.book import Book
from usance.base.columns import arrays, check_keys, sort
from usance.base.manifest import FileEntry
from usance.base.parquet import opened
from usance.base.tables import table
from usance.books.carried import Carried
from usance.loan.columns import FactColumns
from usance.loan.gathered import NO_MOMENTS, FactFile, gathered
from usance.loan.known import microseconds
from usance.loan.table_rows import EXACT_KINDS

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
_LOANS, _FACTS = table("loans"), table("facts")
_TERMS = (
    "loan_id", "terms_no", "product", "convention", "model", "source", "disbursed_on",
    "first_due_on", "instalments", "principal_minor", "rate_ppm", "coupon_ppm",
    "guarantee_fee_minor", "eir_ppb", "flat_fee_minor", "upfront_fee_minor",
)  # fmt: skip
_TOLD = ("loan_id", "effective_on", "kind", "ref", "amount_minor", "arg")
_BOOKED = "booked_at"
_NO_SHARD = -1


def shards_of(book: Book) -> list[int]:
    """The shards that have loans."""
    return sorted({file.shard for file in book.files("loans")})


@dataclass(frozen=True, slots=True)
class LoanFiles:
    """A shard's files: which loans each has, and all facts as they were read."""

    book: Book
    ids: I64
    """Every loan of these files, rising."""
    term_files: Sequence[tuple[FileEntry, I64]]
    fact_files: Sequence[tuple[FileEntry, FactFile]]

    @classmethod
    def of(cls, book: Book, shard: int, known_at: datetime, carried: Carried | None) -> LoanFiles:
        """The files of a shard; when a fact was booked is read where it may matter."""
        terms = [
            (file, _column(book, file, "loan_id")) for file in book.files("loans", shard=shard)
        ]
        surely = min([known_at, *([carried.known_at] if carried else [])])
        facts = [
            (file, _fact_file(book, file, surely)) for file in book.files("facts", shard=shard)
        ]
        return cls(book, _unique([ids for _, ids in terms]), terms, facts)

    def as_of(self, carried: Carried) -> LoanFiles:
        """The files that the close before has read."""
        terms = [pair for pair in self.term_files if pair[0].sha256 in carried.files]
        facts = [pair for pair in self.fact_files if pair[0].sha256 in carried.files]
        return LoanFiles(self.book, _unique([ids for _, ids in terms]), terms, facts)

    def over(self, carried: Carried) -> tuple[Mask, Mask]:
        """Which loans were over at the close before, and which have had a fact or terms since."""
        shard = {file.shard for file, _ in self.term_files}
        still = [carried.open_ids(number) for number in shard]
        came = [ids for file, ids in self.term_files if file.sha256 not in carried.files]
        moment = microseconds(carried.known_at)
        for file, facts in self.fact_files:
            if file.sha256 not in carried.files:
                came.append(facts.loan_id)
            elif len(facts.booked):
                came.append(facts.loan_id[facts.booked > moment])
        over = self._among_earlier(carried) & ~among(self.ids, _unique(still))
        return over, among(self.ids, _unique(came))

    def _among_earlier(self, carried: Carried) -> Mask:
        """Which loans the close before has read."""
        if self._have_one_file_each:
            new = [ids for file, ids in self.term_files if file.sha256 not in carried.files]
            return ~among(self.ids, _unique(new))
        return among(self.ids, self.as_of(carried).ids)

    @property
    def _have_one_file_each(self) -> bool:
        """Whether no loan has terms twice."""
        return sum(len(ids) for _, ids in self.term_files) == len(self.ids)

    def apart(self) -> Mask:
        """Loans for the exact form: with several terms, or facts that only it knows."""
        changed = [
            facts.loan_id[np.logical_or.reduce([facts.kind == kind for kind in EXACT_KINDS])]
            for _, facts in self.fact_files
        ]
        if not self._have_one_file_each:
            every = np.sort(np.concatenate([ids for _, ids in self.term_files]))
            changed.append(every[1:][every[1:] == every[:-1]])
        return among(self.ids, _unique(changed))

    def loans(self, wanted: Mask) -> pa.Table:
        """The terms of some loans, in order."""
        parts = []
        for file, ids in self.term_files:
            some = wanted[np.searchsorted(self.ids, ids)]
            if some.any():
                rows = self.book.read_file(_LOANS, file, _TERMS)
                parts.append(rows if some.all() else rows.filter(pa.array(some)))
        if not parts:
            return self.book.read("loans", _TERMS, shard=_NO_SHARD)
        found = sort(pa.concat_tables(parts), _LOANS)
        check_keys(found, _LOANS, where=str(self.book.path / "tables" / "loans"))
        return found

    def facts(self, wanted: Mask, known_at: datetime) -> FactColumns:
        """The facts of some loans that were known at a moment and stand."""
        return gathered([facts for _, facts in self.fact_files], self.ids, wanted, known_at)

    def fact_rows(self, wanted: Mask) -> pa.Table:
        """The facts of some loans as rows, with when they were booked."""
        columns, some = (*_TOLD, _BOOKED), self.ids[wanted]
        parts = [self.book.read("facts", columns, shard=_NO_SHARD)]
        for file, facts in self.fact_files if len(some) else ():
            mine = among(facts.loan_id, some)
            if mine.any():
                rows = self.book.read_file(_FACTS, file, columns)
                parts.append(rows.filter(pa.array(mine)))
        return sort(pa.concat_tables(parts), _FACTS)


def _unique(parts: Sequence[I64]) -> I64:
    """Ids of all parts, rising; sorted parts are merged, which is quicker than `np.unique`."""
    every = np.sort(np.concatenate([NO_MOMENTS, *parts]), kind="stable")
    return every[np.append(True, every[1:] != every[:-1])] if len(every) else every


def among(ids: I64, some: I64) -> Mask:
    """Which ids are among some others; both rise."""
    if len(some) == 0:
        return np.zeros(len(ids), np.bool_)
    return np.asarray(some[np.searchsorted(some, ids).clip(0, len(some) - 1)] == ids)


def _column(book: Book, file: FileEntry, name: str) -> NDArray[Any]:
    spec = _LOANS if name in _LOANS.names else _FACTS
    return arrays(book.read_file(spec, file, [name]))[name]


def _fact_file(book: Book, file: FileEntry, surely: datetime) -> FactFile:
    """A file's facts; without their moments if the last of them was surely known."""
    columns = arrays(book.read_file(_FACTS, file, _TOLD))
    last = _last_booking(book, file)
    known = last is not None and last <= surely
    booked = NO_MOMENTS if known else _column(book, file, _BOOKED)
    day, kind, ref, amount, arg = (columns[name] for name in _TOLD[1:])
    return FactFile(columns["loan_id"], day, kind, ref, amount, arg, booked)


def _last_booking(book: Book, file: FileEntry) -> datetime | None:
    """When the last fact of a file was booked, as the file itself says; None if it does not."""
    with opened(book.path / file.path) as found:
        place = found.schema_arrow.names.index(_BOOKED)
        groups = [
            found.metadata.row_group(number).column(place).statistics
            for number in range(found.metadata.num_row_groups)
        ]
    if not groups or any(each is None or not each.has_min_max for each in groups):
        return None
    last: datetime = max(each.max for each in groups)
    return last.astimezone(UTC)
