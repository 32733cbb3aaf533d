"""Contacts of a file, in the order of their moments, each with the rules that forbid it.

A contact that is allowed counts for those after it, by what came of it: `reached` is connected,
not_connected or open, which counts as connected. One that is forbidden is not made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from usance.base.dates import parse_date, parse_moment
from usance.base.documents import read_csv
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.parameters import Parameters
from usance.service.collections.contact_rules import (
    Attempt,
    Channel,
    Contact,
    ContactOutcome,
    ContactRule,
    ContactRules,
    Debtor,
    Party,
    Stop,
    broken_rules,
    local_moment,
    zone_of,
)
from usance.service.errors import ContactError

NEEDED = ("person", "at", "channel")
E = TypeVar("E", bound=Enum)
T = TypeVar("T")


class PlannedContact(NamedTuple):
    """A contact of a file, with what its row says about the debtor."""

    person: str
    contact: Contact
    debtor: Debtor
    reached: ContactOutcome


class CheckedContact(NamedTuple):
    """A contact with the rules that forbid it; none if it may be made."""

    planned: PlannedContact
    rules: tuple[ContactRule, ...]


def checked_contacts(planned: list[PlannedContact], parameters: Parameters) -> list[CheckedContact]:
    """Every contact in the order of its moment, those of a person after one another."""
    made: dict[str, list[Attempt]] = defaultdict(list)
    found = []
    for each in sorted(planned, key=lambda one: one.contact.at):
        local = local_moment(each.contact.at, zone_of(each.debtor.time_zone))
        rules = ContactRules.at(local.date(), parameters)
        broken = broken_rules(each.contact, each.debtor, made[each.person], rules)
        if not broken:
            attempt = Attempt(each.contact.at, each.contact.channel, each.reached)
            made[each.person].append(attempt)
        found.append(CheckedContact(each, broken))
    return found


def read_contacts(path: Path | str, time_zone: str) -> list[PlannedContact]:
    """Contacts of a CSV file; everything wrong with it is raised together, each with its line."""
    rows = list(read_csv(path))
    if missing := [name for name in NEEDED if rows and name not in rows[0][1]]:
        raise ContactError(f"has no column {', '.join(missing)}", where=str(path),
                           fix=f"Give the columns {', '.join(NEEDED)}")  # fmt: skip
    wrong: list[UsanceError] = []
    found = []
    for line, row in rows:
        try:
            found.append(_wanted(row, time_zone, f"{path} line {line}"))
        except UsanceError as error:
            wrong.append(error)
    raise_all(wrong, where=str(path))
    return found


def _wanted(row: dict[str, str], time_zone: str, where: str) -> PlannedContact:
    def cell(name: str, read: Callable[[str], T], absent: T) -> T:
        text = (row.get(name) or "").strip()
        return read(text) if text else absent

    def days(text: str) -> date:
        return parse_date(text, where=where)

    zone = cell("time_zone", str, time_zone)
    try:
        zone_of(zone)
    except ContactError as error:
        raise ContactError(error.what, where=where, fix=error.fix) from error
    debtor = Debtor(
        zone,
        cell("consents", lambda text: frozenset(_members(Channel, text, where)), frozenset()),
        cell("stops", lambda text: frozenset(_members(Stop, text, where)), frozenset()),
        cell("promised_on", days, None), cell("promised_for", days, None),
    )  # fmt: skip
    party = cell("party", lambda text: _member(Party, text, where), Party.DEBTOR)
    contact = Contact(_moment(row["at"], where), _member(Channel, row["channel"], where), party)
    reached = cell(
        "reached", lambda text: _member(ContactOutcome, text, where), ContactOutcome.OPEN
    )
    return PlannedContact(row["person"], contact, debtor, reached)


def _moment(text: str, where: str) -> datetime:
    at = parse_moment(text, where=where)
    if at.tzinfo is None:
        raise ContactError(f"{text} has no time zone", where=where,
                           fix="Write it as 2024-07-01T13:00:00+08:00")  # fmt: skip
    return at


def _members(kind: type[E], text: str, where: str) -> Iterator[E]:
    return (_member(kind, each, where) for each in text.split())


def _member(kind: type[E], text: str, where: str) -> Any:
    names = {each.value: each for each in kind}
    if text not in names:
        raise unknown(kind.__name__.lower(), text, names, where=where)
    return names[text]
