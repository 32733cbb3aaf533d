"""The stages of a run that every shard goes through by itself: opened, served, booked, written.

A work is all that a shard is told of its stage. It can be sent to another process, reads nothing
but the run's folder, and leaves a part there: so it does not matter who does it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.ids import PER_USER
from usance.base.manifest import TableEntry
from usance.base.packed import pack, unpack
from usance.base.tables import table
from usance.twin.month.opening_shard import open_shard
from usance.twin.month.routing import Routing, book_shard
from usance.twin.month.shard import Served, Shard, empty_shard, new_loans
from usance.twin.month.shard_month import serve_shard
from usance.twin.month.tape import state_table
from usance.twin.run.checkpoint import shard_bytes, shard_of
from usance.twin.run.driver import sums_of
from usance.twin.run.ledger_facts import approved_by_channel, lent_by_model, owed_by_model
from usance.twin.run.run_context import Setting
from usance.twin.run.stage_output import Kept, Part, Place, make_part, shard_name

SHARD, SUMS, ROUTED = "shard", "sums", "routed"
_SOURCE, _ATTEMPTS = "routed.source", "routed.attempts"


def checkpoint_path(month: int, name: str) -> str:
    """Checkpoints of even and odd months take turns: the older one stands until the end."""
    return f"checkpoint/run/{month % 2}/{name}"


@dataclass(frozen=True)
class Work(ABC):
    """What every shard of a stage is told."""

    setting: Setting
    place: Place
    book: Book
    """No more of it than the stage reads: see `only`."""
    workers: int
    """Threads inside a shard."""
    held: dict[int, Shard] | None
    """Shards that stay in this process's memory, if any do."""

    @abstractmethod
    def part(self, number: int) -> Part:
        """What the stage makes of a shard."""

    def _shard(self, number: int, month: int) -> Shard:
        """A shard as it stood at the end of a month."""
        found = self.held.pop(number, None) if self.held is not None else None
        if found is not None:
            return found
        return shard_of(self.book.kept(checkpoint_path(month, shard_name(number))))

    def _write(self, number: int, tables: dict[str, pa.Table], kept: list[Kept],
               figures: dict[str, int], *, by_month: bool = True) -> Part:  # fmt: skip
        return make_part(
            self.place, shard_name(number), tables=tables, kept=kept, figures=figures,
            shard=number, by_month=by_month,
        )  # fmt: skip

    def _served(self, served: Served, lines: pa.Table | None = None) -> Part:
        """A shard at the end of a month: its rows, its checkpoint and its sums."""
        month, name = self.place.month, shard_name(served.shard.number)
        owed = owed_by_model(self.setting, served.tables["tape"])
        approved = approved_by_channel(self.setting, lines)
        kept = [
            Kept(SHARD, checkpoint_path(month, name), shard_bytes(served.shard)),
            Kept(SUMS, "", pack(sums_of(served, owed, approved))),
        ]
        some = {table: rows for table, rows in served.tables.items() if rows.num_rows}
        part = self._write(served.shard.number, some, kept, served.figures)
        if self.held is not None:
            self.held[served.shard.number] = served.shard
        return part


class Opening(Work):
    """A shard is drawn as it stands at the opening."""

    def part(self, number: int) -> Part:
        """Its users, and the loans they have."""
        return self._served(open_shard(self.setting, number, workers=self.workers))


@dataclass(frozen=True)
class Serving(Work):
    """A shard is taken through a month."""

    thresholds: I64

    def part(self, number: int) -> Part:
        """Loans are served, users come, and some ask for money."""
        setting, month = self.setting, self.place.month
        booked = None
        if number not in setting.shards(month - 1):
            shard = empty_shard(setting, number)
        else:
            shard = self._shard(number, month - 1)
            if month > setting.scenario.first_month:
                booked = self.book.read("loans", month=month - 1, shard=number)
        served = serve_shard(setting, shard, month, self.thresholds, booked, workers=self.workers)
        return self._served(served, served.tables.get("lines"))


@dataclass(frozen=True)
class Booking(Work):
    """A shard's loans are booked by what the router answered."""

    routed: Part

    def part(self, number: int) -> Part:
        """Terms, disbursement and the first row of the tape."""
        routing = _routing_of(self.routed.read(shard_name(number)))
        made = book_shard(self.setting, routing, number, self.place.month)
        some = {name: rows for name, rows in made._asdict().items() if rows.num_rows}
        sums = Kept(SUMS, "", pack({"lent": lent_by_model(made.loans)}))
        return self._write(number, some, [sums], {"loans": made.loans.num_rows})


@dataclass(frozen=True)
class Stating(Work):
    """The states of a shard's open loans are written."""

    def part(self, number: int) -> Part:
        """One row for each loan that is open at the end of the month."""
        month = self.place.month
        shard = shard_of(self.book.kept(checkpoint_path(month, shard_name(number))))
        booked = self.book.read("loans", month=month, shard=number)
        states = state_table(shard.loans.joined(new_loans(self.setting, booked)), month)
        # Of a shard whose last loan is over, what an earlier end wrote must not stay.
        again = states.num_rows or self.book.files("state", shard=number)
        return self._write(number, {"state": states} if again else {}, [], {}, by_month=False)


def write_routed(place: Place, setting: Setting, routing: Routing) -> Part:
    """What the router answered to each shard, as a part of the stage that books its loans."""

    def kept(each: tuple[int, Routing]) -> Kept:
        number, own = each
        return Kept(shard_name(number), "", _routing_bytes(own))

    answers = parallel_map(kept, _by_shard(setting, routing, place.month), available_cores())
    return make_part(place, ROUTED, tables={}, kept=answers, figures={"plans": routing.plans})


def only(book: Book, month: int | None, names: list[str]) -> Book:
    """The book as far as a work reads it: loans and checkpoints of a month, and the states."""
    tables, marks = dict[str, TableEntry](), dict[str, str]()
    if month is not None:
        loans, states = book.files("loans", month=month), book.files("state")
        for name, files in (("loans", loans), ("state", states)):
            tables[name] = TableEntry(table(name).number, files)
        paths = {checkpoint_path(month, name) for name in names}
        marks = {path: mark for path, mark in book.manifest.versions.items() if path in paths}
    return Book(book.path, replace(book.manifest, tables=tables, versions=marks, periods={}))


def _by_shard(setting: Setting, routing: Routing, month: int) -> Iterator[tuple[int, Routing]]:
    """The answers of each shard, in order."""
    users = routing.requests["loan_id"] // PER_USER if routing.requests else np.zeros(0, np.int64)
    # Of each shard in the order they have: numbers of 16 bits are put in order in one go.
    shard_of_each = (users >> setting.shard_bits).astype(np.int16)
    order = np.argsort(shard_of_each, kind="stable")
    shards = setting.shards(month)
    bounds = np.searchsorted(shard_of_each[order], np.arange(len(shards) + 1))
    attempts = routing.attempts
    loan = attempts["loan_id"].to_numpy() if attempts is not None else np.zeros(0, np.int64)
    for number in shards:
        own = order[bounds[number] : bounds[number + 1]]
        asked = {name: values[own] for name, values in routing.requests.items()}
        start, stop = (
            int(np.searchsorted(loan, (bound << setting.shard_bits) * PER_USER))
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
    source, told = arrays.pop(_SOURCE), arrays.pop(_ATTEMPTS, None)
    attempts = pa.ipc.open_stream(told.tobytes()).read_all() if told is not None else None
    return Routing(arrays, source, attempts, 0)
