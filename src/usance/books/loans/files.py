"""The files of one shard's loans and facts, and the loans that each of them has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64, Bools
from usance.base.book import Book
from usance.base.columns import arrays, check_keys, sort
from usance.base.manifest import FileEntry
from usance.base.merge_kernel import mark_shared
from usance.base.parquet import check_unchanged, opened
from usance.base.tables import table
from usance.books.close.carry_forward import CarryForward
from usance.books.loans.loans_with_facts import LOANS, TERMS, LoansWithFacts
from usance.loan.fact_files import NO_BOOKING_TIMES, booked_after, collect_facts
from usance.loan.kernel.fact_files import FactFile, FactRows
from usance.loan.stored_rows import EXACT_KINDS
from usance.loan.visible_facts import known_at_bound

_FACTS = table("facts")
_FACT_COLUMNS = ("loan_id", "effective_on", "kind", "ref", "amount_minor", "arg")
_BOOKED = "booked_at"
_NO_SHARD = -1
_FAR = 16
"""So many times as many numbers are searched; fewer are walked through."""


def shards_of(book: Book) -> list[int]:
    """The shards that have loans."""
    return sorted({file.shard for file in book.files("loans")})


class TermFile(NamedTuple):
    """The loans that a file has terms of, and how to read those."""

    sha256: str
    """The file's SHA-256."""
    ids: I64
    """One for each row."""
    rows: Callable[[], pa.Table]


@dataclass(frozen=True, slots=True)
class LoanFiles:
    """A shard's files: which loans each has, and all facts as they were read."""

    book: Book
    shard: int
    ids: I64
    """Every loan of these files, rising."""
    term_files: Sequence[TermFile]
    fact_files: Sequence[tuple[str, FactFile]]
    """With each file's SHA-256."""

    @classmethod
    def of(
        cls, book: Book, shard: int, known_at: datetime, before: CarryForward | None
    ) -> LoanFiles:
        """The files of a shard; when a fact was booked is read where it may matter."""
        terms = [_term_file(book, file) for file in book.files("loans", shard=shard)]
        surely = min([known_at, *([before.known_at] if before else [])])
        facts = [
            (file.sha256, _fact_file(book, file, surely))
            for file in book.files("facts", shard=shard)
        ]
        return cls._with(book, shard, terms, facts)

    @classmethod
    def since(
        cls,
        book: Book,
        shard: int,
        known_at: datetime,
        before: CarryForward,
        open_loans: LoansWithFacts,
    ) -> LoanFiles:
        """The open loans of the close before, as one file, and what came since."""
        owner = arrays(open_loans.terms.select(["loan_id"]))["loan_id"]
        terms = [TermFile("", owner, lambda: open_loans.terms)]
        facts = [("", open_loans.facts.as_file(open_loans.ids))]
        for file in book.files("loans", shard=shard):
            if file.sha256 not in before.files:
                terms.append(_term_file(book, file))
            else:
                check_unchanged(book.path / file.path, file.sha256)
        for file in book.files("facts", shard=shard):
            if file.sha256 not in before.files:
                facts.append((file.sha256, _fact_file(book, file, known_at)))
            elif not _is_known(book, file, before.known_at):
                found = _fact_file(book, file, before.known_at)
                facts.append((file.sha256, booked_after(found, known_at_bound(before.known_at))))
        return cls._with(book, shard, terms, facts)

    @classmethod
    def _with(
        cls, book: Book, shard: int, terms: Sequence[TermFile],
        facts: Sequence[tuple[str, FactFile]],
    ) -> LoanFiles:  # fmt: skip
        return cls(book, shard, _unique([file.ids for file in terms]), terms, facts)

    def as_of(self, before: CarryForward) -> LoanFiles:
        """The files that the close before has read."""
        terms = [file for file in self.term_files if file.sha256 in before.files]
        facts = [pair for pair in self.fact_files if pair[0] in before.files]
        return self._with(self.book, self.shard, terms, facts)

    def settled_and_moved(self, before: CarryForward) -> tuple[Bools, Bools]:
        """Loans fully settled at the close before, and loans with a fact or terms since."""
        came = [file.ids for file in self.term_files if file.sha256 not in before.files]
        moment = known_at_bound(before.known_at)
        for mark, facts in self.fact_files:
            if mark not in before.files:
                came.append(facts.loan_id)
            elif len(facts.booked):
                came.append(facts.loan_id[facts.booked > moment])
        settled = self._among_earlier(before) & ~is_among(self.ids, before.open_ids(self.shard))
        return settled, is_among(self.ids, _unique(came))

    def _among_earlier(self, before: CarryForward) -> Bools:
        """Loans that the close before has read."""
        if self._have_one_file_each:
            new = [file.ids for file in self.term_files if file.sha256 not in before.files]
            return ~is_among(self.ids, _unique(new))
        return is_among(self.ids, self.as_of(before).ids)

    @property
    def _have_one_file_each(self) -> bool:
        """True if no loan has terms twice."""
        return sum(len(file.ids) for file in self.term_files) == len(self.ids)

    def needs_exact_form(self) -> Bools:
        """Loans for the exact form: with several terms, or facts that only it knows."""
        changed = [
            facts.loan_id[np.logical_or.reduce([facts.facts.kind == kind for kind in EXACT_KINDS])]
            for _, facts in self.fact_files
        ]
        if not self._have_one_file_each:
            every = np.sort(np.concatenate([file.ids for file in self.term_files]))
            changed.append(every[1:][every[1:] == every[:-1]])
        return is_among(self.ids, _unique(changed))

    def known(self, wanted: Bools, known_at: datetime) -> LoansWithFacts:
        """Some loans with their facts that were known at a moment."""
        facts = collect_facts([facts for _, facts in self.fact_files], self.ids, wanted, known_at)
        return LoansWithFacts(self.ids[wanted], self._terms(wanted), facts)

    def _terms(self, wanted: Bools) -> pa.Table:
        """The terms of some loans, in order."""
        if wanted.all():
            parts = [file.rows() for file in self.term_files]
        else:
            parts = list(self._some_terms(wanted))
        if not parts:
            return self.book.read(LOANS, TERMS, shard=_NO_SHARD)
        found = sort(pa.concat_tables(parts), LOANS)
        check_keys(found, LOANS, where=str(self.book.path / "tables" / "loans"))
        return found

    def _some_terms(self, wanted: Bools) -> Iterator[pa.Table]:
        for file in self.term_files:
            some = wanted[np.searchsorted(self.ids, file.ids)]
            if some.any():
                rows = file.rows()
                yield rows if some.all() else rows.filter(pa.array(some))

    def fact_rows(self, ids: I64) -> pa.Table:
        """The facts of some loans as rows, with when they were booked."""
        columns = (*_FACT_COLUMNS, _BOOKED)
        parts = [self.book.read("facts", columns, shard=_NO_SHARD)]
        for file in self.book.files("facts", shard=self.shard) if len(ids) else ():
            mine = is_among(_column(self.book, file, "loan_id"), ids)
            if mine.any():
                rows = self.book.read_file(_FACTS, file, columns)
                parts.append(rows.filter(pa.array(mine)))
        return sort(pa.concat_tables(parts), _FACTS)


def _unique(parts: Sequence[I64]) -> I64:
    """Ids of all parts, rising; sorted parts are merged, which is quicker than `np.unique`."""
    every = np.sort(np.concatenate([NO_BOOKING_TIMES, *parts]), kind="stable")
    return every[np.append(True, every[1:] != every[:-1])] if len(every) else every


def is_among(ids: I64, some: I64) -> Bools:
    """True for ids that are among some others; both rise."""
    found = np.zeros(len(ids), np.bool_)
    if len(some) > _FAR * len(ids):
        found[:] = some[np.searchsorted(some, ids).clip(0, len(some) - 1)] == ids
    else:
        mark_shared(ids, some, found)
    return found


def _term_file(book: Book, file: FileEntry) -> TermFile:
    ids = arrays(book.read_file(LOANS, file, ["loan_id"]))["loan_id"]
    return TermFile(file.sha256, ids, lambda: book.read_file(LOANS, file, TERMS))


def _column(book: Book, file: FileEntry, name: str) -> NDArray[Any]:
    return arrays(book.read_file(_FACTS, file, [name]))[name]


def _fact_file(book: Book, file: FileEntry, surely: datetime) -> FactFile:
    """A file's facts; without their moments if the last of them was surely known."""
    columns = arrays(book.read_file(_FACTS, file, _FACT_COLUMNS))
    booked = NO_BOOKING_TIMES if _is_known(book, file, surely) else _column(book, file, _BOOKED)
    rows: Any = (columns[name] for name in _FACT_COLUMNS[1:])
    return FactFile(columns["loan_id"], FactRows(*rows), booked)


def _is_known(book: Book, file: FileEntry, moment: datetime) -> bool:
    """True if all facts of a file were booked by a moment, as the file itself says."""
    check_unchanged(book.path / file.path, file.sha256)
    with opened(book.path / file.path) as found:
        place = found.schema_arrow.names.index(_BOOKED)
        groups = [
            found.metadata.row_group(number).column(place).statistics
            for number in range(found.metadata.num_row_groups)
        ]
    if not groups or any(each is None or not each.has_min_max for each in groups):
        return False
    last: datetime = max(each.max for each in groups)
    return last.astimezone(UTC) <= moment
