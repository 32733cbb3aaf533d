"""Stages of a run that every shard goes through by itself: opening, serving, booking, states.

A task holds all that a shard needs for its stage. It can be sent to another process, reads nothing
but the run's folder, and leaves its output there, so that any process can do it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.array_bytes import pack, unpack
from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.ids import PER_USER
from usance.base.manifest import TableEntry
from usance.base.tables import table
from usance.twin.month.booking import book_shard
from usance.twin.month.opening_shard import open_shard
from usance.twin.month.routing import Routing
from usance.twin.month.shard import Shard, ShardMonth, empty_shard, new_loans
from usance.twin.month.shard_month import run_shard_month
from usance.twin.month.special_month import history_of
from usance.twin.month.tape import state_table
from usance.twin.run.checkpoint import shard_bytes, shard_of
from usance.twin.run.ledger_facts import (
    approved_by_channel,
    lent_by_model,
    owed_by_model,
    received,
)
from usance.twin.run.run_context import RunContext
from usance.twin.run.run_totals import sums_of
from usance.twin.run.stage_output import (
    StageFolder,
    StageOutput,
    StoredFile,
    shard_name,
    write_output,
)

SHARD, SUMS, ROUTING = "shard", "sums", "routed"
_HISTORY = ("loans", "facts")
_SOURCE, _ATTEMPTS = "routed.source", "routed.attempts"


def checkpoint_path(month: int, name: str) -> str:
    """Path of a checkpoint; those of even and odd months alternate, so that the older one stays."""
    return f"checkpoint/run/{month % 2}/{name}"


@dataclass(frozen=True)
class ShardTask(ABC):
    """Arguments of a stage, the same for every shard."""

    context: RunContext
    folder: StageFolder
    book: Book
    """As much of it as the stage reads: see `book_view`."""
    workers: int
    """Threads inside a shard."""
    cached_shards: dict[int, Shard] | None
    """Shards kept in this process's memory, if any are."""

    @abstractmethod
    def output(self, number: int) -> StageOutput:
        """Output of the stage for a shard."""

    def _shard(self, number: int, month: int) -> Shard:
        """A shard at the end of a month."""
        found = self.cached_shards.pop(number, None) if self.cached_shards is not None else None
        if found is not None:
            return found
        return shard_of(self.book.kept(checkpoint_path(month, shard_name(number))))

    def _write(self, number: int, tables: dict[str, pa.Table], stored: list[StoredFile],
               figures: dict[str, int], *, by_month: bool = True) -> StageOutput:  # fmt: skip
        return write_output(
            self.folder, shard_name(number), tables=tables, stored=stored, figures=figures,
            shard=number, by_month=by_month,
        )  # fmt: skip

    def _write_month(self, done: ShardMonth, lines: pa.Table | None = None) -> StageOutput:
        """Write a shard at the end of a month: its rows, its checkpoint and its sums."""
        month, name = self.folder.month, shard_name(done.shard.number)
        owed = owed_by_model(self.context, done.tables["tape"])
        approved = approved_by_channel(self.context, lines)
        stored = [
            StoredFile(SHARD, checkpoint_path(month, name), shard_bytes(done.shard)),
            StoredFile(SUMS, "", pack(sums_of(done, owed, approved, received(done.tables)))),
        ]
        some = {table: rows for table, rows in done.tables.items() if rows.num_rows}
        output = self._write(done.shard.number, some, stored, done.figures)
        if self.cached_shards is not None:
            self.cached_shards[done.shard.number] = done.shard
        return output


class OpeningTask(ShardTask):
    """Draw a shard at the opening."""

    def output(self, number: int) -> StageOutput:
        """Its users, and their loans."""
        return self._write_month(open_shard(self.context, number, workers=self.workers))


@dataclass(frozen=True)
class ServingTask(ShardTask):
    """Carry a shard through a month."""

    thresholds: I64

    def output(self, number: int) -> StageOutput:
        """Facts of loans, new users, and requests."""
        context, month = self.context, self.folder.month
        booked = None
        if number not in context.shards(month - 1):
            shard = empty_shard(context, number)
        else:
            shard = self._shard(number, month - 1)
            if month > context.scenario.first_month:
                booked = first_terms(self.book.read("loans", month=month - 1, shard=number))
        history = None
        if context.scenario.incidents.are_any:
            history = history_of(*(self.book.read(name, shard=number) for name in _HISTORY))
        done = run_shard_month(context, shard, month, self.thresholds, booked, history=history,
                               workers=self.workers)  # fmt: skip
        return self._write_month(done, done.tables.get("lines"))


@dataclass(frozen=True)
class BookingTask(ShardTask):
    """Book a shard's loans by the router's answers."""

    routing: StageOutput

    def output(self, number: int) -> StageOutput:
        """Terms, disbursement and the first row of the tape."""
        routing = _routing_of(self.routing.read(shard_name(number)))
        made = book_shard(self.context, routing, number, self.folder.month)
        some = {name: rows for name, rows in made._asdict().items() if rows.num_rows}
        sums = StoredFile(SUMS, "", pack({"lent": lent_by_model(made.loans)}))
        return self._write(number, some, [sums], {"loans": made.loans.num_rows})


@dataclass(frozen=True)
class StatesTask(ShardTask):
    """Write the states of a shard's open loans."""

    def output(self, number: int) -> StageOutput:
        """One row for each loan that is open at the end of the month."""
        month = self.folder.month
        shard = shard_of(self.book.kept(checkpoint_path(month, shard_name(number))))
        booked = first_terms(self.book.read("loans", month=month, shard=number))
        states = state_table(shard.loans.joined(new_loans(self.context, booked)), month)
        # Of a shard whose last loan is over, what an earlier end wrote must not stay.
        again = states.num_rows or self.book.files("state", shard=number)
        return self._write(number, {"state": states} if again else {}, [], {}, by_month=False)


def write_routing(folder: StageFolder, context: RunContext, routing: Routing) -> StageOutput:
    """Write the router's answers to each shard, as an output of the stage that books its loans."""

    def stored(each: tuple[int, Routing]) -> StoredFile:
        number, own = each
        return StoredFile(shard_name(number), "", _routing_bytes(own))

    answers = parallel_map(stored, _by_shard(context, routing, folder.month), available_cores())
    return write_output(
        folder, ROUTING, tables={}, stored=answers, figures={"plans": routing.plans}
    )


def first_terms(loans: pa.Table) -> pa.Table:
    """The rows of loans that were drawn; later versions of terms left out."""
    return loans.filter(pc.equal(loans["terms_no"], 1))


def book_view(
    book: Book, month: int | None, names: list[str], *, with_history: bool = False
) -> Book:
    """The part of a book that a task reads: loans and checkpoints of a month, and the states.

    Where loans have incidents, all their terms and facts.
    """
    tables, marks = dict[str, TableEntry](), dict[str, str]()
    if month is not None:
        held = {"loans": book.files("loans", month=month), "state": book.files("state")}
        if with_history:
            held |= {name: book.files(name) for name in _HISTORY}
        for name, files in held.items():
            tables[name] = TableEntry(table(name).number, files)
        paths = {checkpoint_path(month, name) for name in names}
        marks = {path: mark for path, mark in book.manifest.versions.items() if path in paths}
    return Book(book.path, replace(book.manifest, tables=tables, versions=marks, periods={}))


def _by_shard(context: RunContext, routing: Routing, month: int) -> Iterator[tuple[int, Routing]]:
    """Answers to each shard, in order."""
    users = routing.requests["loan_id"] // PER_USER if routing.requests else np.zeros(0, np.int64)
    # Of each shard in the order they have: numbers of 16 bits are put in order in one go.
    shard_of_each = (users >> context.shard_bits).astype(np.int16)
    order = np.argsort(shard_of_each, kind="stable")
    shards = context.shards(month)
    bounds = np.searchsorted(shard_of_each[order], np.arange(len(shards) + 1))
    attempts = routing.attempts
    loan = attempts["loan_id"].to_numpy() if attempts is not None else np.zeros(0, np.int64)
    for number in shards:
        own = order[bounds[number] : bounds[number + 1]]
        asked = {name: values[own] for name, values in routing.requests.items()}
        start, stop = (
            int(np.searchsorted(loan, (bound << context.shard_bits) * PER_USER))
            for bound in (number, number + 1)
        )
        tried = attempts.slice(start, stop - start) if attempts is not None else None
        yield number, Routing(asked, routing.source[own], tried, routing.plans)


def _routing_bytes(routing: Routing) -> bytes:
    arrays: dict[str, NDArray[Any]] = {**routing.requests, _SOURCE: routing.source}
    if routing.attempts is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, routing.attempts.schema) as stream:
            stream.write_table(routing.attempts)
        arrays[_ATTEMPTS] = np.frombuffer(sink.getvalue(), np.uint8)
    return pack(arrays)


def _routing_of(content: bytes) -> Routing:
    arrays = unpack(content)
    source, packed = arrays.pop(_SOURCE), arrays.pop(_ATTEMPTS, None)
    attempts = pa.ipc.open_stream(packed.tobytes()).read_all() if packed is not None else None
    return Routing(arrays, source, attempts, 0)
