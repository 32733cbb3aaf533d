"""Everything that one or more commands change, gathered before it is written in one call.

A command decides on what it has read and gives a `WriteSet`; the sets of commands that waited
together are joined. `write` hands the whole to the database, which checks that what the decisions
rested on still holds, and keeps all of it or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from usance.base.tables import TABLES
from usance.platform.errors import NoHeadroom, NotYours, PlatformError, StaleRead

if TYPE_CHECKING:
    import asyncpg

Row = tuple[Any, ...]
NEW = -1
"""The expected version of what is not there yet."""
_XID = frozenset({"users", "cells", "sources", "limits"})
"""Tables of the contract whose rows do not carry their transaction."""
LATER_COLUMNS: dict[str, int] = {}
"""By table, how many of its columns a migration added: they stand behind the transaction."""
STALE, FULL, FOREIGN, SHUT = "US010", "US011", "US020", "US003"
MOVED = (STALE, SHUT, "23505", "40001", "40P01")
"""Somebody was quicker: a version has moved, a period closes, a key is taken, or both waited."""


class Owner(NamedTuple):
    """The principal of a command and the user that the command is about."""

    principal_id: int
    user_id: int


class UserChange(NamedTuple):
    """The counters of a user after a command, and the version the command has read."""

    user_id: int
    expected: int
    decisions: int = 0
    lines: int = 0
    requests: int = 0
    journals: int = 0
    borrowed: int = 0
    worst_days: int = 0
    held_minor: int = 0
    records: int = 0
    """Accounts, consents, quotes, offers, orders and payments, numbered together."""


class LimitChange(NamedTuple):
    """A movement of one limit: held for an answer, taken by a loan, freed by repayment."""

    name: str
    held_minor: int = 0
    taken_minor: int = 0
    freed_minor: int = 0
    ceiling_minor: int | None = None
    """The ceiling in force, or none to leave it; the limit begins with the first."""
    whole: str = ""
    """The denominator, of a share or average; its ceiling is then in parts per million."""
    ramp_minor: int = 0
    """Of the denominator: before this much a share is not judged."""


class Event(NamedTuple):
    """An event of the outbox: its dotted name, its subject, and its data as JSON."""

    name: str
    subject: str
    user_id: int
    data: str


class AuditEntry(NamedTuple):
    """One command in the audit: who, which, about what, how it ended, and a hash of its content."""

    principal_id: int
    command: str
    subject: str
    outcome: str
    content: bytes


class Answer(NamedTuple):
    """The stored answer of a command, found again by its key."""

    principal_id: int
    command: str
    key: str
    body: bytes
    answer: str
    event: int = 0
    """The place of the event that carries the answer, from 1; 0 if the answer itself does."""


class LiveRow(NamedTuple):
    """A row of a live table, inserted or changed, with the user who owns it (0 is nobody)."""

    table: str
    user_id: int
    data: str


@dataclass
class WriteSet:
    """Rows and changes by table, in the order in which the write call takes them."""

    user_changes: list[UserChange] = field(default_factory=list)
    state_changes: list[Row] = field(default_factory=list)
    limit_changes: list[LimitChange] = field(default_factory=list)
    users: list[Row] = field(default_factory=list)
    decisions: list[Row] = field(default_factory=list)
    decision_inputs: list[Row] = field(default_factory=list)
    lines: list[Row] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    routing: list[Row] = field(default_factory=list)
    loans: list[Row] = field(default_factory=list)
    shares: list[Row] = field(default_factory=list)
    facts: list[Row] = field(default_factory=list)
    journals: list[Row] = field(default_factory=list)
    postings: list[Row] = field(default_factory=list)
    group_facts: list[Row] = field(default_factory=list)
    payments: list[Row] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    audit: list[AuditEntry] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    owners: list[Owner] = field(default_factory=list)
    live_rows: list[LiveRow] = field(default_factory=list)
    changes_configuration: bool = False
    releases: list[tuple[str, int, date, int]] = field(default_factory=list)
    """Principal that came back, by limit, source and day: the router learns it after the commit."""

    def put(self, table: str, /, **values: Any) -> None:
        """Insert or change a row of a live table; every column is given."""
        owner = values.get("user_id", 0)
        self.live_rows.append(LiveRow(table, owner, json.dumps(values, default=_plain)))

    def add(self, table: str, **values: Any) -> None:
        """Add a row of a table of the contract, its columns by name."""
        declared = TABLES[table]
        row = tuple(
            values.pop(each.name) if each.name in values else each.default
            for each in declared.columns
        )
        assert not values, f"{table} has no column {', '.join(values)}"
        if table not in _XID:
            place = len(row) - LATER_COLUMNS.get(table, 0)
            row = (*row[:place], None, *row[place:])
        getattr(self, table).append(row)

    def arguments(self) -> list[Any]:
        """The lists, in the order of the write call."""
        return [getattr(self, name) for name in (*_LISTS, "changes_configuration")]

    @classmethod
    def joined(cls, sets: Iterable[WriteSet]) -> WriteSet:
        """One set of several, each row in its order."""
        whole = cls()
        for each in sets:
            before = len(whole.events)
            for name in _LISTS:
                if more := getattr(each, name):
                    getattr(whole, name).extend(more)
            if before and each.answers:
                whole.answers[-len(each.answers) :] = [
                    one._replace(event=one.event + before) if one.event else one
                    for one in each.answers
                ]
            whole.changes_configuration |= each.changes_configuration
            whole.releases += each.releases
        return whole


_LISTS = tuple(each.name for each in fields(WriteSet)
               if each.name not in ("changes_configuration", "releases"))  # fmt: skip
"""Rows and changes, in the order of the write call."""
WRITE = (
    "select usance.write($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,"
    " $17, $18, $19, $20, $21, $22, $23, $24)"
)


async def write(
    connection: asyncpg.Connection, at: datetime, configuration: int, changes: WriteSet
) -> None:
    """Write a set in the current transaction; what has moved since it was read is refused."""
    import asyncpg

    try:
        await connection.execute(WRITE, at, configuration, *changes.arguments())
    except asyncpg.PostgresError as error:
        raise _named(error) from error


def _named(error: asyncpg.PostgresError) -> PlatformError:
    """The failure of a write as one of ours."""
    if error.sqlstate in MOVED:
        return StaleRead(str(error), fix="Read again and decide again")
    if error.sqlstate == FULL:
        what = f"there is no headroom in {error.message}"
        return NoHeadroom(what, where=error.message, fix="Try the next candidate, or raise it")
    if error.sqlstate == FOREIGN:
        return NotYours(str(error), fix="Give the id of something that is yours")
    return PlatformError(f"the database refused: {error}", fix="Nothing was written")


def _plain(value: object) -> object:
    """A value as JSON takes it: days and moments as text, bytes as PostgreSQL reads them."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    raise TypeError(f"{type(value).__name__} has no form in JSON")
